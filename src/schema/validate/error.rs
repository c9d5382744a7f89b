//! Field errors, as the API server words them.

use std::fmt;

use serde_json::Value;

pub use crate::diagnostic::Reason;
use crate::object::FieldPath;
use crate::object::path::At;

/// What is wrong with one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    /// The field; the root for the object as a whole.
    pub path: FieldPath,
    /// What sort of error it is.
    pub reason: Reason,
    /// The offending value as JSON, cut short if it is long. Only where it says something.
    pub value: Option<String>,
    /// What is wrong or would be right; empty where the reason says it all.
    pub detail: String,
}

/// Whether rules about a value are left unchecked where something in it is wrong in this way: they rely on types and
/// required fields, and their cost on sizes.
fn blocks_rules(reason: Reason) -> bool {
    match reason {
        Reason::TypeInvalid | Reason::Required | Reason::NotSupported | Reason::TooLong | Reason::TooMany => {
            true
        }
        Reason::Invalid | Reason::Duplicate | Reason::Forbidden => false,
    }
}

impl FieldError {
    /// The error without its path: `Invalid value: 0: … should be greater than or equal to 1`.
    pub fn message(&self) -> String {
        let mut message = self.reason.to_string();
        for part in self.value.iter().chain(Some(&self.detail).filter(|detail| !detail.is_empty())) {
            message.push_str(": ");
            message.push_str(part);
        }
        message
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_root() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message())
    }
}

/// Errors as they are found. No object is worth more than so many.
#[derive(Default)]
pub(super) struct Errors {
    found: Vec<FieldError>,
    unlisted: usize,
    blocking: usize,
}

impl Errors {
    const MOST: usize = 100;

    /// How many there are so far that rules may not cope with.
    pub(super) fn blocking(&self) -> usize {
        self.blocking
    }

    pub(super) fn push(
        &mut self,
        at: &At<'_>,
        reason: Reason,
        value: Option<&Value>,
        detail: impl FnOnce() -> String,
    ) {
        self.push_path(|| at.path(), reason, value, detail);
    }

    /// The same, where the path is no place of the walk.
    pub(super) fn push_path(
        &mut self,
        path: impl FnOnce() -> FieldPath,
        reason: Reason,
        value: Option<&Value>,
        detail: impl FnOnce() -> String,
    ) {
        self.blocking += usize::from(blocks_rules(reason));
        if self.found.len() == Self::MOST {
            self.unlisted += 1;
            return;
        }
        self.found.push(FieldError { path: path(), reason, value: value.map(abridged), detail: detail() });
    }

    pub(super) fn invalid(&mut self, at: &At<'_>, value: Option<&Value>, detail: String) {
        self.push(at, Reason::Invalid, value, || detail);
    }

    /// A limit of the schema, in the words of its validator: `spec.x in body should …`.
    pub(super) fn limit(&mut self, at: &At<'_>, value: &Value, should: fmt::Arguments<'_>) {
        self.push(at, Reason::Invalid, Some(value), || format!("{at} in body should {should}"));
    }

    pub(super) fn required(&mut self, at: &At<'_>) {
        self.push(at, Reason::Required, None, String::new);
    }

    pub(super) fn wrong_type(&mut self, at: &At<'_>, expected: &str, found: &str) {
        let found = Value::from(found);
        let detail = || format!("{at} in body must be of type {expected}: {}", abridged(&found));
        self.push(at, Reason::TypeInvalid, Some(&found), detail);
    }

    pub(super) fn finish(mut self) -> Vec<FieldError> {
        if self.unlisted > 0 {
            let detail = format!("{} more errors are not listed", self.unlisted);
            self.found.push(FieldError {
                path: FieldPath::root(),
                reason: Reason::TooMany,
                value: None,
                detail,
            });
        }
        self.found
    }
}

/// The JSON of a value, or its beginning.
fn abridged(value: &Value) -> String {
    const LONGEST: usize = 200; // bytes; enough to recognise it by
    let mut text = match value {
        Value::String(text) if text.len() > LONGEST => {
            // Cut before it is quoted, so that a long text is not copied for nothing.
            Value::from(text.get(..text.floor_char_boundary(LONGEST)).unwrap_or_default()).to_string()
        }
        value => value.to_string(),
    };
    if text.len() > LONGEST {
        text.truncate(text.floor_char_boundary(LONGEST));
        text.push('…');
    }
    text
}

/// The type of a value in the API server's words.
pub(super) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_i64() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
