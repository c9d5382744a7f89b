//! What in the chart follows from something else: its roles from the code and the policies, its table from its values.

use std::{fs, path::PathBuf, process::Command};

fn chart(file: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("charts/trainmaster").join(file)
}

fn read(file: &str) -> String {
    fs::read_to_string(chart(file)).unwrap_or_default()
}

#[test]
fn its_roles_are_what_the_command_prints() {
    let output = Command::new(env!("CARGO_BIN_EXE_trainmaster")).arg("rbac").output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "no resource is a guess");
    let printed = String::from_utf8(output.stdout).unwrap();
    if std::env::var_os("UPDATE_GOLDENS").is_some() {
        fs::write(chart("files/rbac.yaml"), &printed).unwrap();
    }
    assert!(printed == read("files/rbac.yaml"), "files/rbac.yaml is out of date: make manifests");
}

#[test]
fn its_version_is_that_of_the_package() {
    let version = env!("CARGO_PKG_VERSION");
    let text = read("Chart.yaml");
    for line in [format!("\nversion: {version}\n"), format!("\nappVersion: {version}\n")] {
        assert!(text.contains(&line), "Chart.yaml lacks {line}");
    }
}

#[test]
fn its_table_has_every_value() {
    let values: serde_json::Value = serde_saphyr::from_str(&read("values.yaml")).unwrap();
    let readme = read("README.md");
    let mut missing = Vec::new();
    leaves("", &values, &readme, &mut missing);
    assert!(missing.is_empty(), "the README of the chart has no row for {missing:?}");
}

/// The values below `path` of which neither they nor what they are in has a row.
fn leaves(path: &str, value: &serde_json::Value, readme: &str, missing: &mut Vec<String>) {
    if readme.contains(&format!("| `{path}` |")) {
        return;
    }
    match value.as_object().filter(|fields| !fields.is_empty()) {
        None => missing.push(path.to_owned()),
        Some(fields) => {
            for (name, value) in fields {
                leaves(format!("{path}.{name}").trim_start_matches('.'), value, readme, missing);
            }
        }
    }
}
