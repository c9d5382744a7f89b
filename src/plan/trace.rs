//! Who set what, and why: written down while the plan is made, read by `explain` and by tests that fail.

use super::draft::Target;
use crate::{diagnostic::Span, object::FieldPath};
use serde_json::Value;
use std::sync::Arc;

/// The changes of a plan, in the order in which they were made.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    writes: Vec<Written>,
}

/// One change of one field.
#[derive(Clone, Debug)]
pub struct Written {
    /// The policy; empty for what the TrainJob itself says.
    pub policy: Arc<str>,
    /// Its rule.
    pub rule: Arc<str>,
    /// Where the rule says so.
    pub span: Option<Span>,
    /// What was changed: the template, a PodSet, a container.
    pub target: Target,
    /// The field of it.
    pub path: FieldPath,
    /// What was there.
    pub before: Option<Value>,
}

impl Trace {
    pub(super) fn record(&mut self, written: Written) {
        self.writes.push(written);
    }

    /// The changes, in order.
    pub fn writes(&self) -> &[Written] {
        &self.writes
    }

    /// The last change of another policy to the same field.
    pub(super) fn by_another(&self, policy: &str, target: Target, path: &FieldPath) -> Option<&Written> {
        self.writes.iter().rev().find(|it| it.target == target && it.path == *path && *it.policy != *policy)
    }
}
