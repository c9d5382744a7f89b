//! The two outside authorities: the API server's own code, and what was recorded of a real cluster.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

pub fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Whether `go` can be run; says so where not.
pub fn has_go(what: &str) -> bool {
    let found = Command::new("go").arg("version").output().is_ok();
    if !found {
        skipped(&format!("no `go` here, so {what}"));
    }
    found
}

/// Says what is not tested, also where the output of tests that pass is not shown.
fn skipped(why: &str) {
    let _ = writeln!(std::io::stderr(), "SKIPPED: {why}");
}

/// The Go program in `judge/`, which answers by the API server's own code.
pub struct Judge {
    process: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Judge {
    /// Builds and starts it, with our CRDs installed; `None` without `go`.
    pub fn start() -> Option<Judge> {
        if !has_go("nothing is compared with the API server's own code") {
            return None;
        }
        let program = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("schema-judge");
        let mut build = Command::new("go");
        build
            .args(["build", "-o"])
            .arg(&program)
            .arg("./judge")
            .current_dir(repository().join("conformance/schemas"));
        assert!(build.status().unwrap().success(), "the judge does not build");
        let mut process = Command::new(program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("start the judge");
        let questions = process.stdin.take().unwrap();
        let answers = BufReader::new(process.stdout.take().unwrap());
        let mut judge = Judge { process, questions, answers };
        for definition in trainmaster::api::crds() {
            let answer = judge.ask(&json!({"crd": definition}));
            assert_eq!(answer, json!({}), "the API server refuses the CRD");
        }
        Some(judge)
    }

    pub fn ask(&mut self, question: &Value) -> Value {
        writeln!(self.questions, "{question}").unwrap();
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(answer.get("failure"), None, "{question}");
        answer
    }
}

impl Drop for Judge {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The cases of one file of the recorded corpus; `None` where there is none.
pub fn corpus(file: &str) -> Option<Vec<Value>> {
    let Some(folder) = std::env::var_os("TRAINMASTER_TEST_DATA") else {
        eprintln!(
            "SKIPPED: TRAINMASTER_TEST_DATA is not set, so nothing is compared with the recorded corpus"
        );
        return None;
    };
    let path = Path::new(&folder).join("corpus").join(file);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    // `NS` stands for the case's namespace, `<time>` for any time.
    let text =
        text.replace("\"NS\"", "\"ns\"").replace("\"NS-", "\"ns-").replace("<time>", "2026-01-02T03:04:05Z");
    Some(text.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}
