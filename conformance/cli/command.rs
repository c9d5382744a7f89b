//! One command of a session.

use std::{
    fmt,
    fs::File,
    path::Path,
    process::{self, Output, Stdio},
};

/// The binary under test.
pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_trainmaster");

pub(crate) struct Command(process::Command);

/// What a command printed, and its exit code.
pub(crate) struct Printed(Output);

impl Command {
    /// A command line, to be run in `folder`.
    pub(crate) fn read(line: &str, folder: &Path) -> Command {
        let mut words = words(line).into_iter();
        let mut command = process::Command::new(BINARY);
        command.current_dir(folder).env_clear().stdin(Stdio::null());
        let mut word = words.next().unwrap();
        while let Some((name, value)) = word.split_once('=') {
            command.env(name, value);
            word = words.next().unwrap();
        }
        assert_eq!(word, "trainmaster", "{line}");
        while let Some(word) = words.next() {
            if word == "<" {
                command.stdin(File::open(folder.join(words.next().unwrap())).unwrap());
            } else {
                command.arg(word);
            }
        }
        Command(command)
    }

    pub(crate) fn run(mut self) -> Printed {
        Printed(self.0.output().unwrap())
    }
}

/// The words of a line, `'…'` quoted.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (index, part) in line.split('\'').enumerate() {
        if index % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words
}

impl fmt::Display for Printed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (sign, bytes) in [("1>", &self.0.stdout), ("2>", &self.0.stderr)] {
            let text = std::str::from_utf8(bytes).unwrap().replace('\u{1b}', "␛");
            for line in text.lines() {
                writeln!(f, "{}", format!("{sign} {line}").trim_end())?;
            }
        }
        writeln!(f, "exit {}", self.0.status.code().unwrap())
    }
}
