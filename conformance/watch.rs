//! Objects that change, and the TrainJobs that are planned again for it.
//!
//! A case has `policy.yaml`, `trainjobs.yaml`, `events.yaml` with the objects that change, and `expected.txt`: for each of
//! them the TrainJobs that it concerns.

use crate::support::Report;
use trainmaster::{offline::case::Kind, policy::PolicySet};

#[test]
fn what_changes_concerns_the_train_jobs_as_written() {
    let mut report = Report::new("watch");
    report.run(Kind::Watch, &PolicySet::builtin(), |_, _| ());
    report.finish();
}
