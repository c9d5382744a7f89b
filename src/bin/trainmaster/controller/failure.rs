//! Why a TrainJob is not as it should be: what is shown of it, when, and when it is tried again.

use super::{
    error::{Class, Error},
    store::train_job_of,
};
use serde_json::Value;
use std::{collections::BTreeMap, time::Duration};
use trainmaster::{
    object::{ObjectRef, metadata},
    plan::{Child, PinError, Refusal},
    status::Problem,
};

/// How long what a TrainJob waits for may be missing before that is said: objects applied together arrive one by one.
const WAITING: Duration = Duration::from_secs(1);
/// How long the API server may fail before that is said.
const TRANSIENT: Duration = Duration::from_secs(4);
/// First and last pause between two tries.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LAST_PAUSE: Duration = Duration::from_mins(2);

/// Why a TrainJob could not be planned or applied.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) problem: Problem,
    /// How long it may last before it is shown; never, if there is nothing to say.
    grace: Option<Duration>,
    /// Whether time may cure it; otherwise it is tried again when something has changed.
    retry: bool,
    /// How long the API server asks to be left alone.
    after: Option<Duration>,
}

impl Failure {
    /// There is no plan.
    pub(super) fn refused(refusal: &Refusal) -> Failure {
        let grace = match refusal {
            Refusal::Waiting(_) => WAITING,
            Refusal::Refused(_) | Refusal::Unsupported(_) => Duration::ZERO,
        };
        Failure { problem: Problem::of(refusal), grace: Some(grace), retry: false, after: None }
    }

    /// The pinned runtime cannot be used.
    pub(super) fn pin(error: &PinError, config_map: &Value, train_job: &Value) -> Failure {
        let diagnostic = ObjectRef::of(train_job).map(|it| error.diagnostic(&it));
        let problem = Problem::of(&Refusal::Refused(diagnostic.into_iter().collect()));
        let left_over = is_left_over(config_map, train_job);
        let grace = if left_over { TRANSIENT } else { Duration::ZERO };
        Failure { problem, grace: Some(grace), retry: true, after: None }
    }

    /// A child could not be applied.
    pub(super) fn child(child: &Child, error: &Error) -> Failure {
        let why = if child.sensitive { error.without_content() } else { error.to_string() };
        Failure::request(format!("{}: {why}", child.reference), error)
    }

    /// A request failed on the way to a plan.
    pub(super) fn read(reference: &ObjectRef, error: &Error) -> Failure {
        Failure::request(format!("cannot read {reference}: {error}"), error)
    }

    /// The workload of a TrainJob that has run too long could not be deleted.
    pub(super) fn delete(reference: &ObjectRef, error: &Error) -> Failure {
        Failure::request(format!("cannot delete {reference}: {error}"), error)
    }

    fn request(message: String, error: &Error) -> Failure {
        let grace = match error.class() {
            Class::Certain => Some(Duration::ZERO),
            Class::Transient => Some(TRANSIENT),
            Class::Ending => None,
        };
        let problem = problem("ApplyFailed", message);
        Failure { problem, grace, retry: true, after: error.retry_after() }
    }

    /// The same, but shown later if the TrainJob stumbles over what an earlier one of its name has left behind: that goes.
    pub(super) fn unless_left_over(self, live: &BTreeMap<ObjectRef, Value>, train_job: &Value) -> Failure {
        let left_over = live.values().any(|object| is_left_over(object, train_job));
        let grace = self.grace.map(|grace| if left_over { grace.max(TRANSIENT) } else { grace });
        Failure { grace, ..self }
    }

    /// Whether it is to be shown when it has lasted so long.
    pub(super) fn is_shown(&self, age: Duration) -> bool {
        self.grace.is_some_and(|grace| age >= grace)
    }

    /// When to try again, if time may help or it is yet to be shown. `chance` is between 0 and 1.
    pub(super) fn again(&self, tries: u32, age: Duration, chance: f64) -> Option<Duration> {
        let pause = FIRST_PAUSE.saturating_mul(1 << tries.min(10)).min(LAST_PAUSE);
        let pause = self.retry.then(|| self.after.unwrap_or_default() + pause.mul_f64(0.5 + chance / 2.0));
        let until_shown = self.grace.filter(|grace| *grace > age).map(|grace| grace.saturating_sub(age));
        match (pause, until_shown) {
            (Some(pause), Some(until_shown)) => Some(pause.min(until_shown)),
            (pause, until_shown) => pause.or(until_shown),
        }
    }
}

fn problem(reason: &str, message: String) -> Problem {
    Problem { reason: reason.to_owned(), message, is_final: false }
}

/// Whether an object belongs to an earlier TrainJob of the same name. The garbage collector takes it away.
fn is_left_over(object: &Value, train_job: &Value) -> bool {
    let job = metadata(train_job);
    train_job_of(object).is_some_and(|(name, uid)| Some(name) == job.name() && Some(uid) != job.uid())
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube::core::Status;

    fn refused(code: u16) -> Error {
        Error::Refused(Status::failure("no", "Invalid").with_code(code).boxed())
    }

    fn failure(error: &Error) -> Failure {
        let gvk = trainmaster::object::Gvk::new("v1", "ConfigMap");
        Failure::read(&ObjectRef { gvk, namespace: None, name: "n".to_owned() }, error)
    }

    #[test]
    fn what_somebody_must_change_is_said_at_once_and_what_may_pass_later() {
        assert!(failure(&refused(422)).is_shown(Duration::ZERO));
        assert!(!failure(&refused(503)).is_shown(Duration::ZERO));
        assert!(failure(&refused(503)).is_shown(TRANSIENT));
    }

    #[test]
    fn pauses_grow_to_a_limit_and_honour_what_the_server_asks() {
        let failure = failure(&refused(422));
        let pause = |tries| failure.again(tries, Duration::ZERO, 1.0).unwrap();
        assert_eq!((pause(0), pause(2), pause(60)), (FIRST_PAUSE, FIRST_PAUSE * 4, LAST_PAUSE));
        let asked = Failure { after: Some(Duration::from_secs(7)), ..failure };
        assert_eq!(asked.again(0, Duration::ZERO, 1.0), Some(Duration::from_secs(7) + FIRST_PAUSE));
    }

    #[test]
    fn what_is_not_shown_yet_is_looked_at_again_when_it_is_to_be() {
        let failure = Failure { retry: false, grace: Some(WAITING), ..failure(&refused(422)) };
        assert_eq!(failure.again(0, WAITING / 4, 1.0), Some(WAITING / 4 * 3));
        assert_eq!(failure.again(0, WAITING, 1.0), None);
    }
}
