//! The library's sources: headers, length, the direction of `use`, the names it must not know, what it is built from.

use crate::{files, none, read, root};
use std::{path::PathBuf, process::Command};

/// The library's modules, each with what it may use besides itself.
const MODULES: &[(&str, &[&str])] = &[
    ("diagnostic", &[]),
    ("yaml", &["diagnostic"]),
    ("quantity", &[]),
    ("object", &["quantity", "yaml"]),
    ("cel", &["diagnostic", "quantity"]),
    ("schema", &["cel", "diagnostic", "object", "quantity", "yaml"]),
    ("api", &["schema", "yaml"]),
    ("policy", &["api", "cel", "diagnostic", "object", "quantity", "schema", "yaml"]),
    ("plan", &["api", "cel", "diagnostic", "object", "policy", "quantity", "schema", "yaml"]),
    ("status", &["api", "cel", "diagnostic", "object", "plan", "policy", "schema"]),
    ("admission", &["api", "diagnostic", "object", "plan", "policy", "schema"]),
    ("offline", &["api", "diagnostic", "object", "plan", "policy", "schema", "status", "yaml"]),
];

/// Names of frameworks and schedulers, which policies know and the library does not.
const NAMES: &[&str] = &[
    "torch",
    "mpi",
    "jax",
    "xgboost",
    "flux",
    "volcano",
    "coscheduling",
    "plainml",
    "deepspeed",
    "horovod",
    "tensorflow",
    "kai",
];
/// The table of policies, and that of schemas, name files.
const TABLES: &[&str] = &["src/policy/builtin.rs", "src/schema/mod.rs"];

/// Lines in a file; more, and a type is missing.
const LONGEST: usize = 600;

fn sources() -> impl Iterator<Item = (PathBuf, String)> {
    files(".rs").into_iter().filter(|path| path.starts_with("src")).map(|path| {
        let text = read(&path);
        (path, text)
    })
}

/// The code of a file without its tests and comments.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = (1..).zip(text.lines()).take_while(|(_, line)| *line != "#[cfg(test)]");
    lines.filter(|(_, line)| !line.trim_start().starts_with("//"))
}

fn is_test(path: &std::path::Path) -> bool {
    path.components().any(|part| part.as_os_str() == "tests" || part.as_os_str() == "tests.rs")
}

#[test]
fn modules_open_with_what_they_are_for() {
    let without = sources().filter(|(path, text)| !is_test(path) && !text.starts_with("//! "));
    none("no header", &without.map(|(path, _)| path.display().to_string()).collect::<Vec<_>>());
}

#[test]
fn files_are_no_longer_than_can_be_read() {
    let long = sources().filter(|(_, text)| text.lines().count() > LONGEST);
    none("too long", &long.map(|(path, _)| path.display().to_string()).collect::<Vec<_>>());
}

#[test]
fn modules_use_only_those_below() {
    let mut problems = Vec::new();
    for (path, text) in sources().filter(|(path, _)| !path.starts_with("src/bin") && !is_test(path)) {
        let Some(module) = path.iter().nth(1).and_then(|name| name.to_str()) else { continue };
        let module = module.trim_end_matches(".rs");
        let Some((_, below)) = MODULES.iter().find(|(name, _)| *name == module) else {
            assert!(module == "lib", "{}: not in the table of modules", path.display());
            continue;
        };
        for (number, line) in code(&text) {
            for (other, _) in MODULES.iter().filter(|(name, _)| *name != module && !below.contains(name)) {
                let direct = line.contains(&format!("crate::{other}"));
                // Inside `use crate::{…}` each module begins a line.
                let grouped = line.strip_prefix("    ").is_some_and(|line| {
                    line.starts_with(&format!("{other}::")) && (line.ends_with(',') || line.ends_with('{'))
                });
                if direct || grouped {
                    problems.push(format!("{}:{number}: {line}", path.display()));
                }
            }
        }
    }
    none("used from below", &problems);
}

#[test]
fn only_policies_know_frameworks() {
    let mut problems = Vec::new();
    for (path, text) in sources().filter(|(path, _)| !is_test(path)) {
        if TABLES.iter().any(|table| path == std::path::Path::new(table)) {
            continue;
        }
        for (number, line) in code(&text) {
            let line = line.to_lowercase();
            let mut words = line.split(|char: char| !char.is_ascii_alphanumeric());
            if let Some(word) = words.find(|word| NAMES.contains(word)) {
                problems.push(format!("{}:{number}: {word}", path.display()));
            }
        }
    }
    none("a name in the library", &problems);
}

#[test]
fn the_library_is_built_without_a_client_or_a_runtime() {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--edges", "normal", "--prefix", "none", "--no-default-features"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let tree = String::from_utf8(output.stdout).unwrap();
    let crates: Vec<&str> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
    assert!(crates.contains(&"serde_json"), "{tree}");
    let heavy =
        ["tokio", "hyper", "rustls", "kube", "kube-client", "reqwest", "mio", "clap", "rand", "getrandom"];
    let found: Vec<_> = heavy.iter().filter(|name| crates.contains(name)).map(ToString::to_string).collect();
    none("in the library", &found);
}
