//! Path to text that [`FieldPath::parse`] reads back.

use std::fmt;

use super::{FieldPath, Scalar, Step};

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, step) in self.steps().iter().enumerate() {
            match step {
                Step::Field(name) if is_plain_field(name) => {
                    f.write_str(if position == 0 { "" } else { "." })?;
                    f.write_str(name)?;
                }
                _ => write!(f, "{step}")?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for Step {
    /// The step as it stands after others.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Field(name) if is_plain_field(name) => write!(f, ".{name}"),
            Step::Field(name) | Step::Key(name) if is_plain_key(name) => write!(f, "[{name}]"),
            Step::Field(name) | Step::Key(name) => write!(f, "[{}]", quoted(name)),
            Step::Index(index) => write!(f, "[{index}]"),
            Step::Item(values) => {
                for (position, (key, value)) in values.iter().enumerate() {
                    f.write_str(if position == 0 { "[" } else { "," })?;
                    if is_plain_value(key) {
                        write!(f, "{key}={value}")?;
                    } else {
                        write!(f, "{}={value}", quoted(key))?;
                    }
                }
                f.write_str(if values.is_empty() { "[]" } else { "]" })
            }
        }
    }
}

impl fmt::Display for Scalar {
    /// The value as it stands after a key: text that would be read as a number, as true or false, or not at all, is
    /// quoted.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Bool(value) => value.fmt(f),
            Scalar::Int(value) => value.fmt(f),
            Scalar::Text(text) if is_plain_value(text) && read_plain(text) == *self => f.write_str(text),
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

/// Whether a name can follow a dot.
fn is_plain_field(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "_-$".contains(c))
}

/// Whether a key can stand in brackets without quotes, and not be read as a position.
fn is_plain_key(key: &str) -> bool {
    is_plain_value(key) && !key.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether text holds nothing that has a meaning in brackets.
pub(super) fn is_plain_value(text: &str) -> bool {
    !text.is_empty() && !text.contains(|c: char| "[]=,\"'".contains(c) || c.is_whitespace() || c.is_control())
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
