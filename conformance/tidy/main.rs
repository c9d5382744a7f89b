//! What holds for the tree as a whole: generated pages, links, the direction of `use`, what the library is free of.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test fails by panicking and reads the files of the tree"
)]

mod documents;
mod functions;
mod sources;

use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The files of the tree whose names end in `ending`, relative to the root, but for what is built.
fn files(ending: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(root().join(&folder)).unwrap().map(Result::unwrap) {
            let name = entry.file_name().into_string().unwrap();
            let is_folder = entry.file_type().unwrap().is_dir();
            if is_folder && name != "target" && (!name.starts_with('.') || name == ".ci") {
                folders.push(folder.join(name));
            } else if !is_folder && name.ends_with(ending) {
                files.push(folder.join(name));
            }
        }
    }
    files.sort();
    files
}

/// Panics with every problem at once.
fn none(what: &str, problems: &[String]) {
    assert!(problems.is_empty(), "{what}:\n{}", problems.join("\n"));
}
