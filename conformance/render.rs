//! TrainJobs with their runtimes, and what would be applied for them.
//!
//! A case has any number of `*.yaml` with the objects, of which a reviewer can `kubectl apply` those that are no children
//! of a TrainJob, and of these files those that it needs:
//!
//! | file | what |
//! |---|---|
//! | `policy.yaml` | policies besides the built-in ones |
//! | `served.yaml` | the only kinds that the cluster serves, a list of `apiVersion` and `kind` |
//! | `config.yaml` | settings of the controller, as expressions call them |
//! | `old.yaml` | the TrainJob before an update |
//! | `expected.yaml` | the objects to apply, in order |
//! | `expected.txt` | what is said: warnings, or why there is nothing to apply |
//!
//! The ConfigMap that pins the runtime is in every plan and so left out, unless it is all there is or the case expects
//! it. Every code that plans have must come up in a case; `coverage.rs` holds the same of rules.

use crate::support::{Report, cases};
use std::collections::BTreeSet;
use trainmaster::{
    diagnostic::{Source, codes::ALL},
    offline::case::{Case, EXPECTED_OBJECTS, Kind},
    policy::PolicySet,
};

#[test]
fn train_jobs_are_planned_as_written_and_every_code_is_reached() {
    let mut report = Report::new("render");
    let mut codes = BTreeSet::new();
    report.run(Kind::Render, &PolicySet::builtin(), |_, outcome| {
        codes.extend(outcome.said.iter().map(|it| it.code));
    });
    for code in ALL.iter().filter(|it| is_of_plans(it.id) && !codes.contains(it)) {
        report.problem(&format!("no case of conformance/render produces {code}"));
    }
    report.finish();
}

fn is_of_plans(id: &str) -> bool {
    ("TM0500".."TM0700").contains(&id) || matches!(id, "TM0220" | "TM0221")
}

#[test]
fn a_field_that_differs_is_traced_to_its_rule() {
    let case = cases("render").into_iter().find(|case| case.name == "torch/two-nodes").unwrap();
    let writers = |from: &str, to: &str| {
        let expected = case.file(EXPECTED_OBJECTS).unwrap().text().replace(from, to);
        let mut files = case.files.clone();
        files.retain(|file| file.name() != EXPECTED_OBJECTS);
        files.push(Source::new(EXPECTED_OBJECTS, expected));
        let case = Case { name: case.name.clone(), files };
        let differences = case.run(&PolicySet::builtin()).unwrap().differences(&case);
        let [difference] = differences.as_slice() else { panic!("{differences:?}") };
        difference.writers.join("\n")
    };
    let port = writers("value: \"29500\"", "value: \"1\"");
    assert!(port.contains("env[name=PET_MASTER_PORT].value is set by `master` of policy `torch`"), "{port}");
    let count = writers("parallelism: 2", "parallelism: 3");
    assert!(count.contains("parallelism is set by `nodes` of policy `torch`"), "{count}");
    let restart = writers("restartPolicy: Never", "restartPolicy: Always");
    assert!(restart.contains("restartPolicy is the runtime's"), "{restart}");
}
