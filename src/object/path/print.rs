//! Path to text that [`FieldPath::parse`] reads back.

use std::fmt;

use serde_json::Value;

use super::{FieldPath, Scalar, Step};

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, step) in self.steps().iter().enumerate() {
            match step {
                Step::Field(name) => field(f, name, position == 0)?,
                _ => step.fmt(f)?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for Step {
    /// The step as it stands after others.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Field(name) => field(f, name, false),
            Step::Key(name) => key(f, name),
            Step::Index(index) => write!(f, "[{index}]"),
            Step::Item(values) => item(f, values.iter().map(|(key, value)| (&**key, Shown::of(value)))),
        }
    }
}

/// The step to a field, after others or as the first.
pub(super) fn field(f: &mut fmt::Formatter<'_>, name: &str, first: bool) -> fmt::Result {
    if !is_plain_field(name) {
        return key(f, name);
    }
    if !first {
        f.write_str(".")?;
    }
    f.write_str(name)
}

fn key(f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
    if is_plain_key(name) { write!(f, "[{name}]") } else { write!(f, "[{}]", quoted(name)) }
}

/// The step to the item with these values.
pub(super) fn item<'v>(
    f: &mut fmt::Formatter<'_>,
    values: impl Iterator<Item = (&'v str, Shown<'v>)>,
) -> fmt::Result {
    f.write_str("[")?;
    for (position, (key, value)) in values.enumerate() {
        if position > 0 {
            f.write_str(",")?;
        }
        if is_plain_value(key) { f.write_str(key) } else { f.write_str(&quoted(key)) }?;
        f.write_str("=")?;
        fmt::Display::fmt(&value, f)?;
    }
    f.write_str("]")
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Shown::of(self).fmt(f)
    }
}

/// A scalar, borrowed.
pub(super) enum Shown<'v> {
    Bool(bool),
    Int(i64),
    Text(&'v str),
}

impl<'v> Shown<'v> {
    fn of(scalar: &'v Scalar) -> Self {
        match scalar {
            Scalar::Bool(value) => Shown::Bool(*value),
            Scalar::Int(value) => Shown::Int(*value),
            Scalar::Text(text) => Shown::Text(text),
        }
    }

    /// As [`Scalar::from_json`].
    pub(super) fn from_json(value: &'v Value) -> Option<Self> {
        match value {
            Value::Bool(value) => Some(Shown::Bool(*value)),
            Value::Number(number) => number.as_i64().map(Shown::Int),
            Value::String(text) => Some(Shown::Text(text)),
            Value::Null | Value::Array(_) | Value::Object(_) => None,
        }
    }
}

impl fmt::Display for Shown<'_> {
    /// The value as it stands after a key: text that would be read as a number, as true or false, or not at all, is
    /// quoted.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Shown::Bool(value) => value.fmt(f),
            Shown::Int(value) => value.fmt(f),
            Shown::Text(text) if is_plain_value(text) && is_read_as_text(text) => f.write_str(text),
            Shown::Text(text) => f.write_str(&quoted(text)),
        }
    }
}

/// What text without quotes stands for.
pub(super) fn read_plain(text: &str) -> Scalar {
    match text {
        "true" => Scalar::Bool(true),
        "false" => Scalar::Bool(false),
        _ => text.parse().map_or_else(|_| Scalar::Text(text.into()), Scalar::Int),
    }
}

/// Whether [`read_plain`] takes text for what it is.
fn is_read_as_text(text: &str) -> bool {
    if text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-')) {
        return text.parse::<i64>().is_err();
    }
    !matches!(text, "true" | "false")
}

/// Whether a name can follow a dot.
fn is_plain_field(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '$') || c.is_alphanumeric();
    !name.is_empty() && name.chars().all(is_plain)
}

/// Whether a key can stand in brackets without quotes, and not be read as a position.
fn is_plain_key(key: &str) -> bool {
    is_plain_value(key) && !key.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether text holds nothing that has a meaning in brackets.
pub(super) fn is_plain_value(text: &str) -> bool {
    let is_plain = |c: char| match c {
        '[' | ']' | '=' | ',' | '"' | '\'' => false,
        c => c.is_ascii_graphic() || !(c.is_whitespace() || c.is_control()),
    };
    !text.is_empty() && text.chars().all(is_plain)
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}
