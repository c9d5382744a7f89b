//! The command as users meet it: sessions at a terminal, replayed.
//!
//! A case is a folder with the files that it needs and `session.txt`: commands, each with what it printed and its exit
//! code. `UPDATE_GOLDENS=1 cargo test --test cli` writes what the commands print now.
//!
//! ```text
//! $ trainmaster explain TM9999
//! 2> error: there is no code `TM9999`
//! exit 2
//! ```
//!
//! `1>` is standard output, `2>` standard error, `␛` the escape character. Commands run in the case's folder, without a
//! shell: `'…'` quotes, `< FILE` is standard input, `NAME=VALUE` before the command its environment.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test fails by panicking and reads the files of the tree"
)]

mod chart;
mod command;
mod contributing;
mod hostile;
mod keys;
mod streams;
mod update;

use command::Command;
use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

#[test]
fn sessions_go_as_they_are_written_down() {
    let update = std::env::var_os("UPDATE_GOLDENS").is_some();
    let mut problems = String::new();
    for case in cases() {
        let path = case.join("session.txt");
        let written = fs::read_to_string(&path).unwrap();
        let found = replay(&written, &case);
        if found == written {
            continue;
        }
        if update {
            fs::write(&path, found).unwrap();
        } else {
            _ = writeln!(problems, "{}:\n{}", path.display(), difference(&written, &found));
        }
    }
    assert!(problems.is_empty(), "{problems}\nto accept: UPDATE_GOLDENS=1 cargo test --test cli");
}

/// The folders of cases, in alphabetical order.
fn cases() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance/cli");
    let mut cases: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.retain(|path| path.join("session.txt").exists());
    cases.sort();
    assert!(cases.len() > 10, "{cases:?}");
    cases
}

/// The session with what its commands print now. Lines that begin with `#` are kept.
fn replay(written: &str, folder: &Path) -> String {
    let mut session = String::new();
    for line in written.lines() {
        if line.starts_with('#') || line.is_empty() {
            session += line;
            session += "\n";
        } else if let Some(command) = line.strip_prefix("$ ") {
            _ = writeln!(session, "{line}");
            session += &Command::read(command, folder).run().to_string();
        }
    }
    session
}

/// The lines that differ, with one line around them.
fn difference(written: &str, found: &str) -> String {
    let (written, found): (Vec<&str>, Vec<&str>) = (written.lines().collect(), found.lines().collect());
    let same = |(a, b): &(&&str, &&str)| a == b;
    let before = written.iter().zip(&found).take_while(same).count();
    let shorter = written.len().min(found.len()) - before;
    let after = written.iter().rev().zip(found.iter().rev()).take_while(same).count().min(shorter);
    let mut text = String::new();
    for line in &written[before.saturating_sub(1)..before] {
        _ = writeln!(text, "  {line}");
    }
    for line in &written[before..written.len() - after] {
        _ = writeln!(text, "- {line}");
    }
    for line in &found[before..found.len() - after] {
        _ = writeln!(text, "+ {line}");
    }
    text
}
