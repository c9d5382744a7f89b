//! Kubernetes' own CEL environment as the judge.
//!
//! The files in `kubernetes/` hold one expression per line. `let name: type = value` declares a variable for the rest of
//! the file, `!` before an expression gives the reason why it ends otherwise here, `#` begins a comment. The program in
//! `conformance/celjudge` says how each ends in Kubernetes: refused by the check, with an error, or with a value. Here it
//! must end the same way, with the same value; a text that never is what a function wants may be refused here by the
//! check already. An expression that has a reason and ends the same way fails the test too.

use crate::support::{Variable, data, env, files, issues, normal, read, tag, values};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::{
    collections::BTreeSet,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};
use trainmaster::{
    cel::{Budget, Library, functions},
    diagnostic::{Severity, codes},
};

/// An expression to be judged.
pub(crate) struct Question {
    /// Where it stands, for messages.
    pub(crate) place: String,
    pub(crate) expression: String,
    pub(crate) variables: Vec<Variable>,
    /// Why it ends otherwise here, if it should.
    pub(crate) differs: Option<String>,
}

/// How an expression ends.
#[derive(Debug, PartialEq)]
enum Ends {
    /// The check refuses it.
    Refused(String),
    /// The check refuses a constant that the evaluation would fail for.
    Constant(String),
    Fails(String),
    Value(Value),
}

/// Asks Kubernetes about every question and panics with a list of those that end otherwise here; `None` without Go.
pub(crate) fn compare(questions: &[Question]) -> Option<usize> {
    let answers = ask(questions)?;
    let mut problems = Vec::new();
    for (question, theirs) in questions.iter().zip(answers) {
        let ours = here(question);
        let same = match (&ours, &theirs) {
            (Ends::Value(ours), Ends::Value(theirs)) => ours == theirs,
            (Ends::Constant(_), Ends::Refused(_) | Ends::Fails(_))
            | (Ends::Refused(_), Ends::Refused(_))
            | (Ends::Fails(_), Ends::Fails(_)) => true,
            _ => false,
        };
        let Question { place, expression, differs, .. } = question;
        match (same, differs) {
            (false, None) => {
                problems.push(format!("{place}: {expression}\n    here {ours:?}\n    there {theirs:?}"));
            }
            (true, Some(reason)) => {
                problems.push(format!("{place}: {expression} ends the same way ({reason})"));
            }
            _ => {}
        }
    }
    assert!(
        problems.is_empty(),
        "{} of {} differ:\n{}",
        problems.len(),
        questions.len(),
        problems.join("\n")
    );
    Some(questions.len())
}

fn here(question: &Question) -> Ends {
    let compiled = env(&question.variables).compile(&question.expression);
    let errors = compiled.issues.iter().filter(|issue| issue.severity == Severity::Error);
    let errors: Vec<_> = errors.collect();
    let Some(program) = &compiled.program else {
        let only_constants = errors.iter().all(|issue| issue.code == codes::INVALID_LITERAL);
        let messages = issues(&compiled);
        return if only_constants { Ends::Constant(messages) } else { Ends::Refused(messages) };
    };
    match program.eval(&values(&question.variables), &mut Budget::default()) {
        Ok(value) => Ends::Value(tag(&value)),
        Err(error) => Ends::Fails(format!("{error:?}")),
    }
}

/// How each question ends in Kubernetes; `None` without Go.
fn ask(questions: &[Question]) -> Option<Vec<Ends>> {
    let judge = build()?;
    let mut asked = String::new();
    for question in questions {
        let schemas = question
            .variables
            .iter()
            .filter_map(|variable| Some((&variable.name, variable.schema.as_ref()?)));
        let values = question.variables.iter().map(|variable| (&variable.name, &variable.value));
        let line = json!({
            "expression": question.expression,
            "schemas": schemas.map(|(name, schema)| (name.clone(), schema.clone())).collect::<serde_json::Map<_, _>>(),
            "values": values.map(|(name, value)| (name.clone(), value.clone())).collect::<serde_json::Map<_, _>>(),
        });
        asked.push_str(&line.to_string());
        asked.push('\n');
    }
    let mut child = Command::new(judge).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(asked.as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success(), "the judge failed");
    let answers = String::from_utf8(output.stdout).unwrap();
    let answers: Vec<_> = answers.lines().map(answer).collect();
    assert_eq!(answers.len(), questions.len());
    Some(answers)
}

fn answer(line: &str) -> Ends {
    let answer: Value = serde_json::from_str(line).unwrap();
    let error = answer["error"].as_str().unwrap_or_default().to_owned();
    match answer["ends"].as_str() {
        Some("check") => Ends::Refused(error),
        Some("eval") => Ends::Fails(error),
        _ => Ends::Value(normal(&answer["value"])),
    }
}

/// The judge, built once for each version of its source; `None` without Go.
fn build() -> Option<PathBuf> {
    if Command::new("go").arg("version").stdout(Stdio::null()).status().is_err() {
        println!("SKIPPED: there is no `go`, so nothing is compared with Kubernetes' own CEL");
        return None;
    }
    let source = data("../celjudge");
    let mut hash = Sha256::new();
    for file in ["go.mod", "go.sum", "main.go"] {
        hash.update(read(&source.join(file)));
    }
    let version = u64::from_be_bytes(hash.finalize()[..8].try_into().unwrap());
    let folder = cache().join(format!("celjudge-{version:016x}"));
    let program = folder.join("celjudge");
    if !program.exists() {
        println!("building Kubernetes' CEL environment, which takes a minute or two");
        std::fs::create_dir_all(&folder).unwrap();
        let unfinished = folder.join(format!("unfinished-{}", std::process::id()));
        let built =
            Command::new("go").arg("build").arg("-o").arg(&unfinished).arg(".").current_dir(source).status();
        assert!(built.unwrap().success(), "the judge does not build");
        std::fs::rename(unfinished, &program).unwrap();
    }
    Some(program)
}

/// Where things are kept that take long to build.
fn cache() -> PathBuf {
    let var = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let user = || var("XDG_CACHE_HOME").or_else(|| var("HOME").map(|home| home.join(".cache")));
    var("TRAINMASTER_CACHE")
        .or_else(|| user().map(|cache| cache.join("trainmaster")))
        .unwrap_or_else(std::env::temp_dir)
}

fn questions(path: &Path) -> Vec<Question> {
    let (mut variables, mut differs, mut questions) = (Vec::new(), None, Vec::new());
    for (number, line) in (1..).zip(read(path).lines()) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(variable) = Variable::parse(line) {
            variables.push(variable);
        } else if let Some(reason) = line.strip_prefix("! ") {
            differs = Some(reason.to_owned());
        } else {
            questions.push(Question {
                place: format!("{}:{number}", path.display()),
                expression: line.to_owned(),
                variables: variables.clone(),
                differs: differs.take(),
            });
        }
    }
    questions
}

fn all_questions() -> Vec<Question> {
    files("kubernetes", "cel").iter().flat_map(|path| questions(path)).collect()
}

#[test]
fn expressions_end_as_in_kubernetes() {
    let questions = all_questions();
    assert!(questions.len() >= 400);
    if let Some(compared) = compare(&questions) {
        println!("{compared} expressions compared with Kubernetes' own CEL");
    }
}

/// Every overload of every library that Kubernetes and we have is among the expressions that are compared.
#[test]
fn every_overload_is_compared_with_kubernetes() {
    let mut compared = BTreeSet::new();
    for question in all_questions() {
        let compiled = env(&question.variables).compile(&question.expression);
        let program = compiled.program.iter();
        compared.extend(
            program.flat_map(|program| program.overloads().iter().map(|overload| overload.signature)),
        );
    }
    let ours = [Library::JobSet, Library::Resources, Library::Hash, Library::Keys, Library::Shell];
    let only_here =
        ["string.reverse() -> string", "quantity(quantity) -> quantity", "quantity(double) -> quantity"];
    let theirs = functions().filter(|function| !ours.contains(&function.library));
    let missing: Vec<_> = theirs
        .flat_map(|function| function.overloads)
        .map(|overload| overload.signature)
        .filter(|signature| !compared.contains(signature) && !only_here.contains(signature))
        .collect();
    assert!(missing.is_empty(), "not compared: {missing:#?}");
}
