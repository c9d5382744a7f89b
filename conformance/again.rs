//! What holds of every plan of the cases in `render/`, whatever is in it.

use crate::support::cases;
use std::fmt::Write;
use trainmaster::{
    object::{
        Untyped,
        diff::{self, Change, Quantities},
    },
    offline::case::{Case, Inputs},
    plan::{Plan, Runtime, Snapshot, pin_ref, pinned_runtime, plan},
    policy::PolicySet,
};

/// Cases in which what exists is meant to change what is wanted.
const LIVE: &[&str] = &["custom/secret-is-made"];

#[test]
fn the_same_inputs_make_the_same_plan() {
    each_plan(|case, inputs, snapshot, first| {
        let second = plan(snapshot, &inputs.policies).unwrap();
        assert_eq!(first.children, second.children, "{}", case.name);
        assert_eq!(first.trace.writes().len(), second.trace.writes().len(), "{}", case.name);
    });
}

#[test]
fn a_plan_that_is_applied_has_nothing_left_to_change() {
    let (mut problems, mut job_sets) = (String::new(), 0);
    each_plan(|case, inputs, snapshot, first| {
        if LIVE.contains(&case.name.as_str()) {
            return;
        }
        apply(snapshot, first);
        let again = plan(snapshot, &inputs.policies).unwrap();
        for child in &again.children {
            job_sets += usize::from(child.workload);
            let before = &snapshot.live[&child.reference];
            let changes = diff::diff(before, &child.object, Untyped, Quantities::AsWritten);
            let is_resumed = |change: &Change<'_>| change.path.to_string() == "spec.suspend";
            let changes: Vec<_> = changes.into_iter().filter(|it| !is_resumed(it)).collect();
            if !changes.is_empty() {
                writeln!(problems, "{}: {}\n{}", case.name, child.reference, diff::text(&changes)).unwrap();
            }
        }
    });
    assert!(problems.is_empty(), "{problems}");
    assert!(job_sets > 100, "{job_sets} JobSets");
}

/// Calls `check` with each plan that there is.
fn each_plan(mut check: impl FnMut(&Case, &Inputs, &mut Snapshot, &Plan)) {
    let mut plans = 0;
    for case in cases("render") {
        let (inputs, _) = case.inputs(&PolicySet::builtin()).unwrap();
        for train_job in inputs.manifests.train_jobs() {
            let Ok(mut snapshot) = inputs.snapshot(train_job) else { continue };
            if let Ok(first) = plan(&snapshot, &inputs.policies) {
                check(&case, &inputs, &mut snapshot, &first);
                plans += 1;
            }
        }
    }
    assert!(plans > 100, "{plans} plans");
}

/// Puts the objects of `plan` in place.
fn apply(snapshot: &mut Snapshot, plan: &Plan) {
    snapshot.train_job["metadata"]["uid"] = "7d1e1b0c-0000-4000-8000-000000000001".into();
    let pin = pin_ref(&snapshot.train_job);
    for child in &plan.children {
        let mut object = child.object.clone();
        object["metadata"]["ownerReferences"][0]["uid"] = snapshot.train_job["metadata"]["uid"].clone();
        // A JobSet that runs is not looked at again; one that is still suspended is.
        if child.workload {
            object["spec"]["suspend"] = true.into();
        }
        if child.reference == pin {
            snapshot.runtime = Runtime::Pinned(pinned_runtime(&object, &snapshot.train_job).unwrap());
        }
        snapshot.live.insert(child.reference.clone(), object);
    }
}
