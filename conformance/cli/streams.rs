//! What the streams of the process are like: pipes that break, scripts for shells.

use crate::command::BINARY;
use std::{
    io::{BufRead as _, BufReader},
    process::{Command, Stdio},
};
use trainmaster::diagnostic::codes;

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let mut child = Command::new(BINARY)
        .args(["completion", "bash"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The pipe holds less than the script has: the command is still writing when its reader leaves.
    let mut line = String::new();
    BufReader::with_capacity(16, child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""));
}

#[test]
fn each_shell_has_a_script_that_knows_the_verbs() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let output = Command::new(BINARY).args(["completion", shell]).output().unwrap();
        let script = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{shell}");
        for verb in ["render", "check", "explain", "version", "--policy-dir"] {
            assert!(script.contains(verb.trim_start_matches('-')), "{shell}: {verb}");
        }
    }
}

#[test]
fn every_code_is_listed() {
    let output = Command::new(BINARY).arg("explain").output().unwrap();
    let want: Vec<String> = codes::ALL.iter().map(|code| format!("{}  {}", code.id, code.name)).collect();
    assert_eq!(String::from_utf8(output.stdout).unwrap().lines().collect::<Vec<_>>(), want);
}
