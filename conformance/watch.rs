//! Objects that change, and the TrainJobs that are planned again for it.
//!
//! A case has `policy.yaml`, `trainjobs.yaml`, `events.yaml` with the objects that change, and `expected.txt`: for each of
//! them the TrainJobs that it concerns.

use crate::support::{Report, cases, namespace, policies};
use std::fmt::Write;
use trainmaster::{
    object::ObjectRef,
    offline,
    plan::{Config, concerns},
    yaml,
};

#[test]
fn what_changes_concerns_the_train_jobs_as_written() {
    let mut report = Report::new();
    for case in cases("watch") {
        let policies = policies(&case).unwrap();
        let (manifests, _) = offline::read(&[case.source("trainjobs.yaml").unwrap()], namespace());
        let mut found = String::new();
        for event in &yaml::parse(&case.source("events.yaml").unwrap()).0 {
            let event = event.to_json();
            let is_concerned =
                |job: &&offline::Manifest| concerns(&event, &job.object, &policies, &Config::default());
            let jobs = manifests.train_jobs().filter(is_concerned);
            let jobs: Vec<String> = jobs.map(|job| job.reference.to_string()).collect();
            let jobs = if jobs.is_empty() { "none".to_owned() } else { jobs.join(", ") };
            writeln!(found, "{}: {jobs}", ObjectRef::of(&event).unwrap()).unwrap();
        }
        report.compare(&case, &[("expected.txt", Some(found))], |_, _| String::new());
    }
    report.finish();
}
