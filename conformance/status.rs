//! TrainJobs with what exists of their children, and the status that they shall have.
//!
//! A case has `trainjob.yaml`, other objects in `*.yaml`, and `now.yaml` with the moment and, if there is one, the
//! `problem` that kept the TrainJob from being planned or applied. Policies besides the built-in ones stand in
//! `policy.yaml`. `expected.yaml` is the status, whether the deadline has passed, and in how many seconds to look again.
//! Every condition that a built-in policy sets must be set in a case.

use crate::support::{Case, RANDOM, Report, cases, namespace, policies, shown};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use trainmaster::{
    offline,
    plan::Config,
    policy::{builtin, parse},
    status::{Problem, status},
    yaml,
};

/// Files that are no manifests.
const OTHERS: [&str; 3] = ["now.yaml", "policy.yaml", "expected.yaml"];

#[test]
fn statuses_follow_from_what_is_observed_as_written() {
    let mut report = Report::new();
    let mut set = BTreeSet::new();
    for case in cases("status") {
        let found = decided(&case);
        let before = kinds(&case.tree("trainjob.yaml").unwrap());
        set.extend(kinds(&found).difference(&before).cloned());
        report.compare(&case, &[("expected.yaml", Some(yaml::emit(&found)))], |_, _| String::new());
    }
    for kind in conditions() {
        if !set.contains(&kind) {
            report.problem(&format!("no case of conformance/status sets the condition {kind}"));
        }
    }
    report.finish();
}

/// The types of the conditions in the status of an object.
fn kinds(object: &Value) -> BTreeSet<String> {
    let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    conditions.filter_map(|it| it["type"].as_str()).map(str::to_owned).collect()
}

/// What is decided about the one TrainJob of a case.
fn decided(case: &Case) -> Value {
    let files = case.files().into_iter().filter(|file| !OTHERS.contains(&file.as_str()));
    let sources: Vec<_> = files.filter_map(|file| case.source(&file)).collect();
    let (manifests, said) = offline::read(&sources, namespace());
    assert!(said.is_empty(), "{}: {}", case.name, shown(&said));
    let Some(now) = case.tree("now.yaml") else { panic!("{}: there is no now.yaml", case.name) };
    let moment = now["now"].as_str().unwrap().parse().unwrap();
    let policies = policies(case).unwrap();
    let train_job = manifests.train_jobs().next().unwrap();
    let snapshot = manifests.snapshot(train_job, &policies, &Config::default(), Some(RANDOM));
    let mut snapshot = snapshot.unwrap_or_else(|why| panic!("{}: {}", case.name, shown(&why)));
    // Children are observed also where the runtime is gone, without which it cannot be told what is wanted.
    snapshot.live.extend(manifests.iter().map(|it| (it.reference.clone(), it.object.clone())));
    let problem = now.get("problem").map(|it| Problem {
        reason: it["reason"].as_str().unwrap().to_owned(),
        message: it["message"].as_str().unwrap().to_owned(),
        is_final: it["final"] == true,
    });
    match status(&snapshot, &policies, problem.as_ref(), moment) {
        Ok(decision) => json!({
            "status": decision.status,
            "expired": decision.expired,
            "lookAgainSeconds": decision.look_again.map(|it| it.as_secs()),
        }),
        Err(refusal) => json!({ "refused": shown(refusal.diagnostics()) }),
    }
}

/// The conditions that the built-in policies set.
fn conditions() -> BTreeSet<String> {
    let documents = builtin::sources().flat_map(|source| parse(&source).0);
    let statuses = documents.filter_map(|document| document.status);
    statuses.flat_map(|status| status.conditions).map(|it| it.r#type.as_str().to_owned()).collect()
}
