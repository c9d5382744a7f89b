//! Files that are made from others. `UPDATE_GOLDENS=1` makes them again.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{has_go, repository};

/// Compares each file of `dir` with what it should be, or writes it.
fn compare(dir: &Path, wanted: &[(String, String)]) {
    if std::env::var_os("UPDATE_GOLDENS").is_some() {
        for (name, text) in wanted {
            std::fs::write(dir.join(name), text).unwrap();
        }
    }
    let mut found: Vec<String> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    found.retain(|name| name != "Kustomization");
    found.sort();
    let mut names: Vec<&String> = wanted.iter().map(|(name, _)| name).collect();
    names.sort();
    assert_eq!(found.iter().collect::<Vec<_>>(), names, "files of {}", dir.display());
    for (name, text) in wanted {
        let path = dir.join(name);
        let same = std::fs::read_to_string(&path).unwrap() == *text;
        assert!(same, "{} is out of date: UPDATE_GOLDENS=1 cargo test --test schemas", path.display());
    }
}

#[test]
fn crds_are_those_of_the_types() {
    compare(&repository().join("charts/trainmaster/crds"), &trainmaster::api::crd_files());
}

#[test]
fn schema_data_is_that_of_the_pinned_modules() {
    let tools = repository().join("conformance/schemas");
    if !has_go("the schema data is not compared with its sources") {
        return;
    }
    let out = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("schema-data");
    let _ = std::fs::remove_dir_all(&out);
    std::fs::create_dir_all(&out).unwrap();
    let status =
        Command::new("go").args(["run", "./generate"]).arg(&out).current_dir(&tools).status().unwrap();
    assert!(status.success(), "the generator failed");
    let read = |entry: std::io::Result<std::fs::DirEntry>| {
        let entry = entry.unwrap();
        (entry.file_name().into_string().unwrap(), std::fs::read_to_string(entry.path()).unwrap())
    };
    let wanted: Vec<(String, String)> = std::fs::read_dir(&out).unwrap().map(read).collect();
    compare(&repository().join("src/schema/data"), &wanted);
}
