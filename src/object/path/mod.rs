//! Field paths as Kubernetes prints them: `spec.trainer.env[2].name`, `metadata.annotations[example.com/x]`,
//! `containers[name=node].ports[containerPort=80,protocol=TCP]`.
//!
//! A [`FieldPath`] is built step by step or read with [`FieldPath::parse`], printed by its `Display`, and leads to a
//! value in a tree with [`get`](FieldPath::get), [`set`](FieldPath::set) and [`remove`](FieldPath::remove). An [`At`] is
//! where a walk through a tree is, and costs nothing until it is asked for its path.

mod access;
mod at;
mod parse;
mod print;

pub use access::AccessError;
pub use at::At;
pub use parse::{PathError, Problem};

use std::cmp::Ordering;

use serde_json::Value;

/// The most steps of a path: more than any field of a Kubernetes kind has.
pub const MAX_DEPTH: usize = 128;

/// A path from a value to a value inside it; empty for the value itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct FieldPath(Vec<Step>);

/// One step of a path.
#[derive(Clone, Debug)]
pub enum Step {
    /// To a field: `.name`.
    Field(Box<str>),
    /// To the value at a key of a map: `[name]`. The same step as to a field of that name, printed differently.
    Key(Box<str>),
    /// To an item of a list by position, from 0: `[2]`.
    Index(usize),
    /// To the item of a list that has these values: `[name=node]`.
    Item(Box<[ItemValue]>),
}

/// A field of an item with its value: `name=node`.
pub type ItemValue = (Box<str>, Scalar);

/// A value that identifies an item of a list.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scalar {
    /// True or false.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// Text.
    Text(Box<str>),
}

impl FieldPath {
    /// The path to the value itself.
    pub const fn root() -> FieldPath {
        FieldPath(Vec::new())
    }

    /// Reads a path. Keys may be quoted, `labels["a.b"]` or `labels['a.b']`, and must be where they would be read as
    /// something else. A dot before the first field is allowed.
    pub fn parse(text: &str) -> Result<FieldPath, PathError> {
        parse::parse(text)
    }

    /// The path to the field `name` of what this one leads to.
    #[must_use]
    pub fn field(self, name: impl Into<Box<str>>) -> FieldPath {
        self.then(Step::Field(name.into()))
    }

    /// The path to the value at `key` of what this one leads to.
    #[must_use]
    pub fn key(self, key: impl Into<Box<str>>) -> FieldPath {
        self.then(Step::Key(key.into()))
    }

    /// The path to the item at `index`, from 0, of what this one leads to.
    #[must_use]
    pub fn index(self, index: usize) -> FieldPath {
        self.then(Step::Index(index))
    }

    /// The path one step further.
    #[must_use]
    pub fn then(mut self, step: Step) -> FieldPath {
        self.0.push(step);
        self
    }

    /// The path that leads on along `other`.
    #[must_use]
    pub fn join(mut self, other: &FieldPath) -> FieldPath {
        self.0.extend_from_slice(&other.0);
        self
    }

    /// The steps, outermost first.
    pub fn steps(&self) -> &[Step] {
        &self.0
    }

    /// Whether this leads to the value itself.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether what this path leads to contains what `other` leads to, or is it. Items are not looked up: `a[0]` and
    /// `a[name=x]` are taken for different places.
    pub fn contains(&self, other: &FieldPath) -> bool {
        other.0.starts_with(&self.0)
    }
}

impl FromIterator<Step> for FieldPath {
    fn from_iter<I: IntoIterator<Item = Step>>(steps: I) -> Self {
        FieldPath(steps.into_iter().collect())
    }
}

impl Step {
    /// What decides where a step leads: position, name, or values.
    fn target(&self) -> (Option<usize>, Option<&str>, &[ItemValue]) {
        match self {
            Step::Field(name) | Step::Key(name) => (None, Some(name), &[]),
            Step::Index(index) => (Some(*index), None, &[]),
            Step::Item(values) => (None, None, values),
        }
    }
}

impl PartialEq for Step {
    fn eq(&self, other: &Self) -> bool {
        self.target() == other.target()
    }
}

impl Eq for Step {}

impl PartialOrd for Step {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Step {
    fn cmp(&self, other: &Self) -> Ordering {
        self.target().cmp(&other.target())
    }
}

impl Scalar {
    /// The scalar that `value` is; `None` for null, fractions, lists and maps.
    pub fn from_json(value: &Value) -> Option<Scalar> {
        match value {
            Value::Bool(value) => Some(Scalar::Bool(*value)),
            Value::Number(number) => number.as_i64().map(Scalar::Int),
            Value::String(text) => Some(Scalar::Text(text.as_str().into())),
            Value::Null | Value::Array(_) | Value::Object(_) => None,
        }
    }

    /// Whether `value` is this scalar.
    pub fn is(&self, value: &Value) -> bool {
        match self {
            Scalar::Bool(own) => value.as_bool() == Some(*own),
            Scalar::Int(own) => value.as_i64() == Some(*own),
            Scalar::Text(own) => value.as_str() == Some(own),
        }
    }
}

impl From<&Scalar> for Value {
    fn from(scalar: &Scalar) -> Self {
        match scalar {
            Scalar::Bool(value) => Value::from(*value),
            Scalar::Int(value) => Value::from(*value),
            Scalar::Text(text) => Value::from(text.as_ref()),
        }
    }
}

#[cfg(test)]
mod tests;
