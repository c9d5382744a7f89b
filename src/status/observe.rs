//! What the policies make of the children that exist, as conditions and counters of the TrainJob.

use super::conditions::Condition;
use crate::{
    plan::{Refusal, Snapshot, reports},
    policy::PolicySet,
};
use serde_json::Value;

/// What children say.
#[derive(Debug, Default)]
pub(super) struct Observed {
    /// Conditions to be set, in order.
    pub(super) conditions: Vec<Condition>,
    /// Counters per job; absent where they stay as they are.
    pub(super) jobs: Option<Vec<Value>>,
}

/// What the children of `snapshot` say of its TrainJob. Of several conditions for one type the last counts.
pub(super) fn observe(snapshot: &Snapshot, policies: &PolicySet) -> Result<Observed, Refusal> {
    let mut all = Observed::default();
    for report in reports(snapshot, policies)? {
        for (kind, found) in &report.conditions {
            all.conditions.extend(found.last().map(|condition| Condition::copied(kind, condition)));
        }
        if report.clears {
            all.jobs.get_or_insert_default();
        }
        if let Some(jobs) = report.jobs {
            all.jobs.get_or_insert_default().extend(jobs);
        }
    }
    Ok(all)
}
