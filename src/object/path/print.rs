//! Path to text that [`FieldPath::parse`] reads back.

use std::{borrow::Borrow, fmt};

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
            Step::Item(values) => item(f, values.iter().map(|(key, value)| (&**key, value))),
        }
    }
}

/// The step to a field, after others or as the first.
pub(super) fn field(f: &mut fmt::Formatter<'_>, name: &str, first: bool) -> fmt::Result {
    if !is_plain_field(name) {
        return key(f, name);
    }
    f.write_str(if first { "" } else { "." })?;
    f.write_str(name)
}

fn key(f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
    if is_plain_key(name) { write!(f, "[{name}]") } else { write!(f, "[{}]", quoted(name)) }
}

/// The step to the item with these values.
pub(super) fn item<'v>(
    f: &mut fmt::Formatter<'_>,
    values: impl Iterator<Item = (&'v str, impl Borrow<Scalar>)>,
) -> fmt::Result {
    f.write_str("[")?;
    for (position, (key, value)) in values.enumerate() {
        f.write_str(if position == 0 { "" } else { "," })?;
        if is_plain_value(key) { f.write_str(key) } else { f.write_str(&quoted(key)) }?;
        f.write_str("=")?;
        fmt::Display::fmt(value.borrow(), f)?;
    }
    f.write_str("]")
}

impl fmt::Display for Scalar {
    /// The value as it stands after a key: text that would be read as a number, as true or false, or not at all, is
    /// quoted.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Bool(value) => value.fmt(f),
            Scalar::Int(value) => value.fmt(f),
            Scalar::Text(text) if is_plain_value(text) && is_read_as_text(text) => f.write_str(text),
            Scalar::Text(text) => f.write_str(&quoted(text)),
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
    !matches!(text, "true" | "false") && text.parse::<i64>().is_err()
}

/// Whether a name can follow a dot.
fn is_plain_field(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '$'))
}

/// Whether a key can stand in brackets without quotes, and not be read as a position.
fn is_plain_key(key: &str) -> bool {
    is_plain_value(key) && !key.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether text holds nothing that has a meaning in brackets.
pub(super) fn is_plain_value(text: &str) -> bool {
    let has_meaning =
        |c: char| matches!(c, '[' | ']' | '=' | ',' | '"' | '\'') || c.is_whitespace() || c.is_control();
    !text.is_empty() && !text.contains(has_meaning)
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
