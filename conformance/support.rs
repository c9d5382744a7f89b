//! Folders of cases, and the report of those that end otherwise than they expect.

use std::{
    fmt::Write,
    fs,
    path::{Path, PathBuf},
};
use trainmaster::{
    diagnostic::{Color, Diagnostic, Source, render},
    offline::case::{Case, Kind, Outcome},
    policy::PolicySet,
    yaml,
};

pub use trainmaster::offline::case::{NAMESPACE, RANDOM};

/// The folder of the cases of a kind.
pub fn root(kind: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance").join(kind)
}

/// The cases of a kind: the folders below `conformance/KIND` that hold files, by their paths below it.
pub fn cases(kind: &str) -> Vec<Case> {
    let root = root(kind);
    let mut cases = Vec::new();
    collect(&root, &root, &mut cases);
    assert!(!cases.is_empty(), "{} holds no case", root.display());
    cases
}

fn collect(root: &Path, folder: &Path, cases: &mut Vec<Case>) {
    let mut entries: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    let files: Vec<Source> = entries.iter().filter(|it| it.is_file()).map(source).collect();
    if !files.is_empty() {
        let name = folder.strip_prefix(root).unwrap().to_string_lossy().into_owned();
        cases.push(Case { name, files });
    }
    for folder in entries.iter().filter(|it| it.is_dir()) {
        collect(root, folder, cases);
    }
}

fn source(path: &PathBuf) -> Source {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    Source::new(path.file_name().unwrap().to_string_lossy(), text)
}

/// What came out of the cases of a kind, held against what they expect.
pub struct Report {
    kind: &'static str,
    update: bool,
    cases: usize,
    problems: String,
}

impl Report {
    pub fn new(kind: &'static str) -> Report {
        let update = std::env::var_os("UPDATE_GOLDENS").is_some();
        Report { kind, update, cases: 0, problems: String::new() }
    }

    /// Runs every case, which must be of kind `wanted`, and hands on what comes out.
    pub fn run(&mut self, wanted: Kind, policies: &PolicySet, mut then: impl FnMut(&Case, &Outcome)) {
        for case in cases(self.kind) {
            assert_eq!(case.kind(), wanted, "{}", case.name);
            match case.run(policies) {
                Ok(outcome) => {
                    self.compare(&case, &outcome);
                    then(&case, &outcome);
                }
                Err(why) => self.problem(&format!("{}: {}", case.name, shown(&why))),
            }
        }
    }

    /// Holds what came out of `case` against what stands there, or writes it there.
    fn compare(&mut self, case: &Case, outcome: &Outcome) {
        self.cases += 1;
        if self.update {
            for (file, text) in &outcome.files {
                let path = root(self.kind).join(&case.name).join(file);
                match text {
                    Some(text) => fs::write(&path, text).unwrap(),
                    None if path.exists() => fs::remove_file(&path).unwrap(),
                    None => {}
                }
            }
            return;
        }
        for difference in outcome.differences(case) {
            let problems = &mut self.problems;
            writeln!(problems, "{}/{}:\n{}", case.name, difference.file, difference.text).unwrap();
            difference.writers.iter().for_each(|it| writeln!(problems, "  {it}").unwrap());
        }
    }

    /// Adds a problem that no update removes.
    pub fn problem(&mut self, problem: &str) {
        writeln!(self.problems, "{problem}").unwrap();
    }

    /// Fails if anything differs.
    pub fn finish(self) {
        assert!(
            self.problems.is_empty(),
            "{}\nwhere what is found is right: UPDATE_GOLDENS=1 cargo test --test conformance",
            self.problems
        );
        assert!(self.cases > 0, "no case has run");
    }
}

/// `diagnostics` as a user reads them.
pub fn shown(diagnostics: &[Diagnostic]) -> String {
    let texts: Vec<String> = diagnostics.iter().map(|it| render::text(it, Color::Never)).collect();
    texts.join("\n")
}

/// The tree in a file of a case.
pub fn tree(text: &str) -> serde_json::Value {
    yaml::parse(&Source::new("tree", text)).0[0].to_json()
}
