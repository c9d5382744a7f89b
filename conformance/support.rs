//! Cases, what they expect, and the report of those that end otherwise.

use serde_json::Value;
use std::{
    fmt::Write,
    fs,
    path::{Path, PathBuf},
};
use trainmaster::{
    diagnostic::{Color, Diagnostic, Source, has_errors, render},
    object::{
        Untyped,
        diff::{self, Quantities},
    },
    policy::PolicySet,
    yaml,
};

/// A folder of files that belong together.
pub struct Case {
    /// The path below the folder of its kind: `torch/two-nodes`.
    pub name: String,
    path: PathBuf,
}

impl Case {
    /// The text of one of its files; `None` if there is none.
    pub fn read(&self, file: &str) -> Option<String> {
        let path = self.path.join(file);
        path.exists()
            .then(|| fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
    }

    /// The same as a text with a name, for messages that show it.
    pub fn source(&self, file: &str) -> Option<Source> {
        self.read(file).map(|text| Source::new(file, text))
    }

    /// The one tree that is in one of its files; `None` if there is no such file.
    pub fn tree(&self, file: &str) -> Option<Value> {
        let (nodes, diagnostics) = yaml::parse(&self.source(file)?);
        assert!(diagnostics.is_empty(), "{}: {}", self.name, shown(&diagnostics));
        Some(nodes.first().unwrap_or_else(|| panic!("{}/{file} is empty", self.name)).to_json())
    }

    /// The names of its files, sorted.
    pub fn files(&self) -> Vec<String> {
        let files = entries(&self.path).into_iter().filter(|it| it.is_file());
        files.map(|it| it.file_name().unwrap().to_string_lossy().into_owned()).collect()
    }

    fn write(&self, file: &str, text: Option<&str>) {
        let path = self.path.join(file);
        match text {
            Some(text) => fs::write(&path, text).unwrap(),
            None if path.exists() => fs::remove_file(&path).unwrap(),
            None => {}
        }
    }
}

/// The cases of a kind: the folders below `conformance/KIND` that hold files.
pub fn cases(kind: &str) -> Vec<Case> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance").join(kind);
    let mut cases = Vec::new();
    collect(&root, &root, &mut cases);
    assert!(!cases.is_empty(), "{} holds no case", root.display());
    cases
}

fn collect(root: &Path, folder: &Path, cases: &mut Vec<Case>) {
    let entries = entries(folder);
    if entries.iter().any(|it| it.is_file()) {
        let name = folder.strip_prefix(root).unwrap().to_string_lossy().into_owned();
        cases.push(Case { name, path: folder.to_owned() });
    }
    for folder in entries.iter().filter(|it| it.is_dir()) {
        collect(root, folder, cases);
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    entries
}

/// What came out of the cases of a kind, held against what they expect.
pub struct Report {
    update: bool,
    cases: usize,
    problems: String,
}

impl Report {
    pub fn new() -> Report {
        Report { update: std::env::var_os("UPDATE_GOLDENS").is_some(), cases: 0, problems: String::new() }
    }

    /// Holds the `files` that came out of `case` against those that stand there; a file that did not come out must not
    /// stand there. `explain` says more about a difference.
    pub fn compare(
        &mut self,
        case: &Case,
        files: &[(&str, Option<String>)],
        explain: impl Fn(&str, &str) -> String,
    ) {
        self.cases += 1;
        for (file, found) in files {
            if self.update {
                case.write(file, found.as_deref());
                continue;
            }
            let expected = case.read(file);
            if expected == *found {
                continue;
            }
            let (expected, found) = (expected.unwrap_or_default(), found.clone().unwrap_or_default());
            let more = explain(&expected, &found);
            writeln!(self.problems, "{}/{file}:\n{}{more}", case.name, difference(&expected, &found))
                .unwrap();
        }
    }

    /// Adds a problem that no update removes.
    pub fn problem(&mut self, problem: &str) {
        self.cases += 1;
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

/// Two texts, `-` what is expected and `+` what is found.
fn difference(expected: &str, found: &str) -> String {
    let (expected, found) = (Value::from(expected), Value::from(found));
    diff::text(&diff::diff(&expected, &found, Untyped, Quantities::AsWritten))
}

/// `diagnostics` as a user reads them.
pub fn shown(diagnostics: &[Diagnostic]) -> String {
    let texts: Vec<String> = diagnostics.iter().map(|it| render::text(it, Color::Never)).collect();
    texts.join("\n")
}

/// What is said about policies, and which of those of `source` serve.
pub fn check(source: &Source) -> (Vec<Diagnostic>, Vec<String>) {
    let (set, diagnostics) = PolicySet::with(std::slice::from_ref(source));
    let ours = set.iter().filter(|policy| policy.span().source() == source);
    let serving = ours.map(|policy| policy.name().to_owned()).collect();
    (diagnostics, serving)
}

/// The built-in policies, and those of the case, or what is wrong with them.
pub fn policies(case: &Case) -> Result<PolicySet, String> {
    let Some(source) = case.source("policy.yaml") else { return Ok(PolicySet::builtin()) };
    let (policies, diagnostics) = PolicySet::with(&[source]);
    if has_errors(&diagnostics) {
        return Err(format!("{}: {}", case.name, shown(&diagnostics)));
    }
    Ok(policies)
}

/// What keys are made of: always the same, so that the same keys come out.
pub const RANDOM: [u8; 32] = *b"the same keys for every run here";

/// The namespace of objects that name none.
pub fn namespace() -> &'static str {
    "ml"
}
