//! From what is observed to the TrainJob's status: [`status()`].
//!
//! Which condition of which child means what is told by the policies; what stands here is the API's own: what
//! suspension looks like, that Complete and Failed are final, when a deadline has passed, how a problem is shown. As in
//! upstream's `main` after v2.3, but that a failure to plan or to apply has a condition of its own.
//!
//! Nothing is written here, and time is an argument.

mod conditions;
mod deadline;
mod jobs;
mod observe;
#[cfg(test)]
mod tests;

pub use conditions::{BLOCKED, COMPLETE, FAILED, SUSPENDED};

use crate::{
    diagnostic::Diagnostic,
    plan::{Refusal, Snapshot, is_finished, is_suspended},
    policy::PolicySet,
};
use conditions::{Condition, Conditions};
use deadline::Deadline;
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use std::time::Duration;

/// What a TrainJob's status shall be, and what follows from it.
#[derive(Debug, PartialEq)]
pub struct Decision {
    /// The whole status; absent while there is nothing to say.
    pub status: Option<Value>,
    /// The TrainJob has run longer than it may: its workload is to be deleted before this status is written.
    pub expired: bool,
    /// When to look again though nothing has changed: a deadline.
    pub look_again: Option<Duration>,
}

/// Why a TrainJob is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The kind of problem in one word of letters, for the condition: `ApplyFailed`.
    pub reason: String,
    /// What happened, for people.
    pub message: String,
    /// Whether it can never be cured.
    pub is_final: bool,
}

impl Problem {
    /// The problem that is the reason why there is no plan.
    pub fn of(refusal: &Refusal) -> Problem {
        let diagnostics = refusal.diagnostics();
        let messages: Vec<String> =
            diagnostics.iter().filter(|it| it.is_error()).map(Diagnostic::sentence).collect();
        let is_final = matches!(refusal, Refusal::Unsupported(_));
        let reason = match diagnostics.iter().find(|it| it.is_error()) {
            Some(_) if is_final => "TrainingRuntimeNotSupported".to_owned(),
            Some(first) => pascal_case(first.code.name),
            None => "Refused".to_owned(),
        };
        Problem { reason, message: messages.join("; "), is_final }
    }
}

fn pascal_case(name: &str) -> String {
    let word = |word: &str| {
        let mut letters = word.chars();
        letters
            .next()
            .map_or(String::new(), |first| first.to_ascii_uppercase().to_string() + letters.as_str())
    };
    name.split('-').map(word).collect()
}

/// The status of the TrainJob of `snapshot`, whose `live` children are those observed, at the moment `now`. `problem` is
/// what kept it from being planned or applied.
///
/// Fails if an expression of a policy does; the present status then stays.
pub fn status(
    snapshot: &Snapshot,
    policies: &PolicySet,
    problem: Option<&Problem>,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    let train_job = &snapshot.train_job;
    let before = train_job.get("status").and_then(Value::as_object).cloned().unwrap_or_default();
    let mut conditions = Conditions::of(&before, now);
    let finished = is_finished(train_job);
    let observed = observe::observe(snapshot, policies)?;

    blocked(&mut conditions, problem.filter(|_| !finished));
    suspension(&mut conditions, is_suspended(train_job));
    if !finished {
        for condition in &observed.conditions {
            conditions.set(condition.clone());
        }
    }
    let deadline = if finished || conditions.is_final() {
        Deadline::None
    } else {
        deadline::deadline(train_job, &conditions, now)
    };
    if deadline == Deadline::Passed {
        let message = "TrainJob exceeded its active deadline";
        conditions.set(Condition::new(FAILED, true, "DeadlineExceeded", message));
    }
    let mut status = before.clone();
    conditions.store(&mut status);
    if let Some(jobs) = observed.jobs {
        jobs::store(&mut status, &jobs);
    }
    Ok(Decision {
        status: written(&before, status),
        expired: deadline == Deadline::Passed,
        look_again: match deadline {
            Deadline::In(duration) => Some(duration),
            Deadline::None | Deadline::Passed => None,
        },
    })
}

/// An empty status is refused by the schema: none is left as none, and what becomes empty keeps an empty list.
fn written(before: &Map<String, Value>, status: Map<String, Value>) -> Option<Value> {
    match (status.is_empty(), before.is_empty()) {
        (false, _) => Some(Value::Object(status)),
        (true, false) => Some(json!({ "conditions": [] })),
        (true, true) => None,
    }
}

/// A problem shows as a condition, and the condition goes when the problem does: a healthy TrainJob has only the
/// conditions that upstream gives it.
fn blocked(conditions: &mut Conditions, problem: Option<&Problem>) {
    match problem {
        Some(Problem { reason, message, is_final: true }) => {
            conditions.remove(BLOCKED);
            conditions.set(Condition::new(FAILED, true, reason, message));
        }
        Some(Problem { reason, message, is_final: false }) => {
            conditions.set(Condition::new(BLOCKED, true, reason, message));
        }
        None => conditions.remove(BLOCKED),
    }
}

fn suspension(conditions: &mut Conditions, suspended: bool) {
    if suspended {
        conditions.set(Condition::new(SUSPENDED, true, "Suspended", "TrainJob is suspended"));
    } else if conditions.is_true(SUSPENDED) {
        conditions.set(Condition::new(SUSPENDED, false, "Resumed", "TrainJob is resumed"));
    }
}
