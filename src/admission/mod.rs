//! What may be stored: the rules that the API server asks about before it stores a `TrainJob` or a runtime.
//!
//! [`times`] says which times a TrainJob's patches get, [`train_job`] and [`runtime`] whether an object is admitted, each
//! as a [`Verdict`]. What the CRDs say by themselves (types, limits, fields that may not change) has been checked by then.
//! What frameworks and schedulers ask stands in the policies: a TrainJob is planned as the controller will plan it, and
//! what keeps it from being planned refuses it, all at once. What may pass by itself, such as a CRD that is still to come,
//! is a warning. An update is not held to what was wrong before it, so that nothing keeps anyone from putting an object
//! right, or from deleting it.
//!
//! Requests and answers, and reading what a [`Snapshot`](crate::plan::Snapshot) holds, are left to the edges.

mod changes;
mod overrides;
mod runtime;
#[cfg(test)]
mod tests;
mod times;
mod train_job;

pub use runtime::runtime;
pub use times::times;
pub use train_job::{is_moot, train_job};

use crate::diagnostic::{Diagnostic, Place, Reason};

/// Whether an object is admitted, and what its author should know.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    /// The object, as messages name it: `TrainJob ml/bert`.
    pub subject: String,
    /// Why it is not admitted; it is, if there is nothing.
    pub errors: Vec<Diagnostic>,
    /// What its author should know in any case.
    pub warnings: Vec<Diagnostic>,
}

/// One reason why an object is not admitted, as the API server lists them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// The field; empty if it is none of the object's.
    pub field: String,
    /// `FieldValueInvalid`, `FieldValueForbidden` …
    pub reason: &'static str,
    /// What is wrong: `Invalid value: 2: must be 1`.
    pub message: String,
}

impl Verdict {
    fn of(subject: String) -> Verdict {
        Verdict { subject, ..Verdict::default() }
    }

    /// Whether the object is admitted.
    pub fn is_admitted(&self) -> bool {
        self.errors.is_empty()
    }

    /// Each error once.
    pub fn causes(&self) -> Vec<Cause> {
        let mut causes: Vec<Cause> = Vec::with_capacity(self.errors.len());
        for error in &self.errors {
            let cause = self.cause(error);
            if !causes.contains(&cause) {
                causes.push(cause);
            }
        }
        causes
    }

    fn cause(&self, error: &Diagnostic) -> Cause {
        let (field, message) = self.field_and_text(error);
        let message = match error.reason {
            None if !field.is_empty() => format!("{}: {message}", Reason::Invalid),
            _ => message,
        };
        let reason = error.reason.unwrap_or(Reason::Invalid).name();
        Cause { field: field.to_owned(), reason, message }
    }

    /// The field of the object that a diagnostic is about, and all else that it says.
    fn field_and_text<'d>(&self, diagnostic: &'d Diagnostic) -> (&'d str, String) {
        match &diagnostic.place {
            Place::Field { object, path } if *object == self.subject => (path, diagnostic.told()),
            Place::Field { object, .. } => ("", format!("{object}: {}", diagnostic.sentence())),
            Place::Source(_) | Place::SourceField { .. } | Place::Nowhere => ("", diagnostic.sentence()),
        }
    }

    /// Why the object is not admitted, in the form that Kubernetes gives several errors: `[a, b]`.
    pub fn message(&self) -> String {
        let line = |cause: &Cause| match cause.field.as_str() {
            "" => cause.message.clone(),
            field => format!("{field}: {}", cause.message),
        };
        let lines: Vec<String> = self.causes().iter().map(line).collect();
        match lines.as_slice() {
            [one] => one.clone(),
            all => format!("[{}]", all.join(", ")),
        }
    }

    /// The warnings, a line each.
    pub fn warning_lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = Vec::with_capacity(self.warnings.len());
        for warning in &self.warnings {
            let line = match self.field_and_text(warning) {
                ("", text) => text,
                (field, text) => format!("{field}: {text}"),
            };
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        lines
    }
}
