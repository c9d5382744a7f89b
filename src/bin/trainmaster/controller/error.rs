//! What goes wrong between the controller and the API server, and what is to be done about it.

pub(super) use crate::telemetry::Chain;
use kube::core::Status;
use std::time::Duration;
use trainmaster::object::Gvk;

/// How long a request may take. Webhooks have 30 seconds by the API server's own limit.
pub(super) const REQUEST_LIMIT: Duration = Duration::from_secs(40);

/// Why a request was not answered as hoped.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    /// The API server refuses.
    #[error("{}", .0.message)]
    Refused(Box<Status>),
    /// It does not serve the kind.
    #[error("the cluster does not serve {0}")]
    NotServed(Gvk),
    /// It does not answer.
    #[error("no answer within {} s", REQUEST_LIMIT.as_secs())]
    Late,
    /// It cannot be reached, or what it answers cannot be read.
    #[error("the API server cannot be reached")]
    Unreachable(#[source] Box<kube::Error>),
}

/// What is to be done about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// It will be the same until somebody changes something: said at once, tried again now and then.
    Certain,
    /// It may well pass: tried again soon, said only if it lasts.
    Transient,
    /// The namespace is being deleted, or the object is: nothing to say.
    Ending,
}

impl Error {
    pub(super) fn class(&self) -> Class {
        match self {
            Error::Refused(status) if is_ending(status) => Class::Ending,
            Error::Refused(status) => match status.code {
                400 | 401 | 403 | 405 | 406 | 413 | 415 | 422 => Class::Certain,
                _ => Class::Transient,
            },
            Error::NotServed(_) => Class::Certain,
            Error::Late | Error::Unreachable(_) => Class::Transient,
        }
    }

    pub(super) fn is_not_found(&self) -> bool {
        matches!(self, Error::Refused(status) if status.is_not_found())
    }

    pub(super) fn is_conflict(&self) -> bool {
        matches!(self, Error::Refused(status) if status.is_conflict())
    }

    /// Whether the API server refuses what the object would be.
    pub(super) fn is_invalid(&self) -> bool {
        matches!(self, Error::Refused(status) if status.code == 422)
    }

    pub(super) fn is_already_there(&self) -> bool {
        matches!(self, Error::Refused(status) if status.is_already_exists())
    }

    /// How long the API server asks to be left alone.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        let Error::Refused(status) = self else { return None };
        let seconds = status.details.as_ref()?.retry_after_seconds;
        (seconds > 0).then(|| Duration::from_secs(seconds.into()))
    }

    /// What went wrong with an object whose content must not be shown: the API server's words may quote it.
    pub(super) fn without_content(&self) -> String {
        let Error::Refused(status) = self else { return self.to_string() };
        let causes = status.details.iter().flat_map(|details| &details.causes);
        let fields: Vec<&str> = causes.map(|cause| cause.field.as_str()).collect();
        let fields = if fields.is_empty() { String::new() } else { format!(": {}", fields.join(", ")) };
        format!("refused as {} ({}){fields}", status.reason, status.code)
    }
}

/// Whether the namespace goes away: the API server says so with a cause of its own.
fn is_ending(status: &Status) -> bool {
    let mut causes = status.details.iter().flat_map(|details| &details.causes);
    causes.any(|cause| cause.reason == "NamespaceTerminating")
        || (status.code == 404 && status.details.as_ref().is_some_and(|details| details.kind == "namespaces"))
}

impl From<kube::Error> for Error {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => Error::Refused(status),
            other => Error::Unreachable(Box::new(other)),
        }
    }
}
