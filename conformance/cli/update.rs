//! `trainmaster test --update`: what comes out becomes what is expected.

use crate::command::BINARY;
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(|entry| entry.unwrap().path()) {
        let target = to.join(entry.file_name().unwrap());
        if entry.is_dir() {
            copy(&entry, &target);
        } else {
            fs::copy(&entry, &target).unwrap();
        }
    }
}

fn run(folder: &Path, flags: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(BINARY);
    command.args(["test", "cases", "--policy-dir", "policies"]).args(flags).current_dir(folder);
    let output = command.output().unwrap();
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

#[test]
fn an_update_writes_what_differs_and_the_next_run_has_nothing_to_say() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("update");
    _ = fs::remove_dir_all(&folder);
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance/cli/test"), &folder);
    fs::remove_dir_all(folder.join("cases/broken")).unwrap();
    // Nothing is said about this one.
    fs::write(folder.join("cases/count/one/expected.txt"), "no more\n").unwrap();

    let (code, text) = run(&folder, &[]);
    assert_eq!((code, text.matches("FAILED").count()), (Some(1), 3), "{text}");
    let (code, text) = run(&folder, &["--update"]);
    assert_eq!((code, text.matches("updated").count()), (Some(0), 3), "{text}");
    let (code, text) = run(&folder, &[]);
    assert_eq!((code, text.matches("ok ").count()), (Some(0), 5), "{text}");
    assert!(!folder.join("cases/count/one/expected.txt").exists());
}
