//! Objects as users send them, and what admission answers.
//!
//! A case has `object.yaml`, a TrainJob or a runtime; `old.yaml`, what it was before an update; in other `*.yaml` what else
//! exists, policies among it. `expected.txt` is the answer: why it is refused, field by field, each warning, and the JSON
//! Patch that sets times, with the time 1970. Objects are as an API server hands them on: with defaults, without what no
//! schema knows.

use crate::support::{NAMESPACE, RANDOM, cases, root, shown};
use jiff::Timestamp;
use serde_json::Value;
use std::fmt::Write as _;
use trainmaster::{
    admission::{self, Verdict},
    diagnostic::Source,
    object::ObjectRef,
    offline::{self, Manifest, Manifests, case::Case},
    plan::{Config, Served},
    policy::PolicySet,
};

#[test]
fn objects_are_admitted_as_written() {
    let update = std::env::var_os("UPDATE_GOLDENS").is_some();
    let mut report = String::new();
    for case in cases("admission") {
        let found = answer(&case);
        let expected = case.file("expected.txt").map(Source::text).unwrap_or_default();
        if update {
            std::fs::write(root("admission").join(&case.name).join("expected.txt"), &found).unwrap();
        } else if found != expected {
            writeln!(report, "{}: expected\n{expected}found\n{found}", case.name).unwrap();
        }
    }
    assert!(
        report.is_empty(),
        "{report}where what is found is right: UPDATE_GOLDENS=1 cargo test --test conformance"
    );
}

fn answer(case: &Case) -> String {
    let file = |name: &str| case.file(name).cloned();
    let others: Vec<Source> = case
        .files
        .iter()
        .filter(|it| !matches!(it.name(), "object.yaml" | "old.yaml" | "expected.txt"))
        .cloned()
        .collect();
    let object = file("object.yaml").unwrap_or_else(|| panic!("{} has no object.yaml", case.name));
    let sources: Vec<Source> = std::iter::once(object).chain(others).collect();
    let (manifests, said) = offline::read(&sources, NAMESPACE);
    let subject = manifests.iter().find(|it| it.span().source().name() == "object.yaml");
    let Some(subject) = subject else { return format!("refused by its schema\n{}", shown(&said)) };
    let old = file("old.yaml").map(|it| {
        let (manifests, said) = offline::read(&[it], NAMESPACE);
        manifests.iter().next().unwrap_or_else(|| panic!("{}: {}", case.name, shown(&said))).object.clone()
    });
    let verdict = judge(&manifests, subject, old.clone());
    let times = match subject.reference.gvk.kind.as_str() {
        "TrainJob" => admission::times(&subject.object, old.as_ref(), Timestamp::UNIX_EPOCH),
        _ => Vec::new(),
    };
    text(&verdict, &times)
}

fn judge(manifests: &Manifests, subject: &Manifest, old: Option<Value>) -> Verdict {
    let (policies, _) = manifests.policies(&PolicySet::builtin(), &[]);
    let config = Config::default();
    if subject.reference.gvk.kind != "TrainJob" {
        let served = Served::Everything;
        return admission::runtime(&subject.object, old.as_ref(), &policies, &served, &config);
    }
    let mut snapshot = manifests.snapshot(subject, &policies, &config, Some(RANDOM)).unwrap();
    snapshot.old_train_job = old;
    let runtimes: Vec<ObjectRef> = manifests.iter().map(|it| it.reference.clone()).collect();
    admission::train_job(snapshot, &policies, &runtimes)
}

fn text(verdict: &Verdict, times: &[Value]) -> String {
    let mut text = if verdict.is_admitted() { "admitted\n" } else { "refused\n" }.to_owned();
    for cause in verdict.causes() {
        let field = if cause.field.is_empty() { "(no field)" } else { &cause.field };
        writeln!(text, "{field}: {}", cause.message).unwrap();
    }
    for warning in verdict.warning_lines() {
        writeln!(text, "warning: {warning}").unwrap();
    }
    for operation in times {
        writeln!(text, "patch: {operation}").unwrap();
    }
    text
}
