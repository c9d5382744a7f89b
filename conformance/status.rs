//! TrainJobs with what exists of their children, and the status that they shall have.
//!
//! A case has `trainjob.yaml`, other objects in `*.yaml`, and `now.yaml` with the moment and, if there is one, the
//! `problem` that kept the TrainJob from being planned or applied. Policies besides the built-in ones stand in
//! `policy.yaml`. `expected.yaml` is the status, whether the deadline has passed, and in how many seconds to look again.
//! Every condition that a built-in policy sets must be set in a case.

use crate::support::{Report, tree};
use serde_json::Value;
use std::collections::BTreeSet;
use trainmaster::{
    offline::case::Kind,
    policy::{PolicySet, builtin, parse},
};

#[test]
fn statuses_follow_from_what_is_observed_as_written() {
    let mut report = Report::new("status");
    let mut set = BTreeSet::new();
    report.run(Kind::Status, &PolicySet::builtin(), |case, outcome| {
        let before = kinds(&tree(case.file("trainjob.yaml").unwrap().text()));
        let found = kinds(&tree(outcome.files[0].1.as_ref().unwrap()));
        set.extend(found.difference(&before).cloned());
    });
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

/// The conditions that the built-in policies set.
fn conditions() -> BTreeSet<String> {
    let documents = builtin::sources().flat_map(|source| parse(&source).0);
    let statuses = documents.filter_map(|document| document.status);
    statuses.flat_map(|status| status.conditions).map(|it| it.r#type.as_str().to_owned()).collect()
}
