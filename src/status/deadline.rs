//! `spec.activeDeadlineSeconds`: how long a TrainJob may run, counted from its creation or from when it was last resumed.

use super::conditions::{Conditions, SUSPENDED};
use crate::{object::find, plan::is_suspended};
use jiff::Timestamp;
use serde_json::Value;
use std::time::Duration;

/// How a deadline stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deadline {
    /// There is none, or it does not run.
    None,
    /// It passes in so long.
    In(Duration),
    /// It has passed.
    Passed,
}

/// How the deadline of a TrainJob that has not finished stands. A deadline too far away for a clock never passes.
pub(super) fn deadline(train_job: &Value, conditions: &Conditions, now: Timestamp) -> Deadline {
    let seconds = find(train_job, &["spec", "activeDeadlineSeconds"]).and_then(Value::as_i64);
    let (Some(seconds), false) = (seconds, is_suspended(train_job)) else { return Deadline::None };
    let time =
        |value: Option<&Value>| value.and_then(Value::as_str).and_then(|text| text.parse::<Timestamp>().ok());
    let resumed = conditions.get(SUSPENDED).filter(|it| it["status"] == "False");
    let start = time(resumed.and_then(|it| it.get("lastTransitionTime")))
        .or_else(|| time(find(train_job, &["metadata", "creationTimestamp"])));
    let Some(start) = start else { return Deadline::None };
    let Some(left) = seconds.checked_sub(now.as_second().saturating_sub(start.as_second())) else {
        return Deadline::None;
    };
    match u64::try_from(left) {
        Ok(left) if left > 0 => Deadline::In(Duration::from_secs(left)),
        _ => Deadline::Passed,
    }
}
