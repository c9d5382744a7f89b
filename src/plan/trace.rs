//! Who set what, and why: written down while the plan is made, read by tests that fail.
//!
//! Plans are many and readers few, so a change is noted as it comes: its path as text in one buffer, its place in the
//! policy as the fragment that it is in. What they mean is worked out by [`Written`].

use super::draft::Target;
use crate::{
    diagnostic::Span,
    object::{
        FieldPath,
        path::{self, Scalar},
    },
    yaml::{Node, Step},
};
use serde_json::Value;
use std::{
    fmt::{self, Write},
    ops::Range,
    sync::Arc,
};

/// The changes of a plan, in the order in which they were made.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    notes: Vec<Note>,
    /// The paths, one after the other.
    paths: String,
}

/// A change as it is noted.
#[derive(Clone, Debug)]
struct Note {
    by: By,
    target: Target,
    path: Range<usize>,
    before: Option<Value>,
}

/// Who makes a change.
#[derive(Clone, Debug)]
pub(super) struct By {
    /// The policy; empty for what the TrainJob itself says.
    pub(super) policy: Arc<str>,
    /// Its rule.
    pub(super) rule: Arc<str>,
    pub(super) place: Place,
}

/// Where a policy says what it changes.
#[derive(Clone, Debug)]
pub(super) enum Place {
    /// In no policy.
    Nowhere,
    /// There.
    Span(Span),
    /// In the fragment, where the path leads.
    Fragment(Arc<Node>),
}

impl Trace {
    /// Notes a change.
    pub(super) fn record(&mut self, by: By, target: Target, path: impl fmt::Display, before: Option<Value>) {
        let start = self.paths.len();
        // A `String` takes any text.
        let _ = write!(self.paths, "{path}");
        self.notes.push(Note { by, target, path: start..self.paths.len(), before });
    }

    /// Takes the last change out again; what was there before it.
    pub(super) fn take_back(&mut self) -> Option<Value> {
        let Note { path, before, .. } = self.notes.pop()?;
        self.paths.truncate(path.start);
        before
    }

    /// The changes, in order.
    pub fn writes(&self) -> impl DoubleEndedIterator<Item = Written<'_>> + ExactSizeIterator {
        self.notes.iter().map(|note| Written { trace: self, note })
    }

    /// The last change, and the last one before it of another policy to the same field, if there is one.
    pub(super) fn conflict(&self) -> Option<(Written<'_>, Written<'_>)> {
        let mut writes = self.writes().rev();
        let last = writes.next()?;
        let is_other = |it: &Written<'_>| {
            it.target() == last.target() && it.policy() != last.policy() && it.text() == last.text()
        };
        Some((last, writes.find(is_other)?))
    }
}

/// One change of one field.
#[derive(Clone, Copy, Debug)]
pub struct Written<'t> {
    trace: &'t Trace,
    note: &'t Note,
}

impl<'t> Written<'t> {
    /// The policy; empty for what the TrainJob itself says.
    pub fn policy(self) -> &'t str {
        &self.note.by.policy
    }

    /// Its rule.
    pub fn rule(self) -> &'t str {
        &self.note.by.rule
    }

    /// Where the rule says so; nothing for what the TrainJob itself says.
    pub fn span(self) -> Option<Span> {
        self.note.by.place.span(&self.path())
    }

    /// What was changed: the template, a PodSet, a container.
    pub fn target(self) -> Target {
        self.note.target
    }

    /// The field of it.
    pub fn path(self) -> FieldPath {
        FieldPath::parse(self.text()).unwrap_or_default()
    }

    /// What was there.
    pub fn before(self) -> Option<&'t Value> {
        self.note.before.as_ref()
    }

    fn text(self) -> &'t str {
        self.trace.paths.get(self.note.path.clone()).unwrap_or_default()
    }
}

impl Place {
    /// Where it is said what stands at `path`.
    fn span(&self, path: &FieldPath) -> Option<Span> {
        match self {
            Place::Nowhere => None,
            Place::Span(span) => Some(span.clone()),
            Place::Fragment(node) => Some(inside(node, path)),
        }
    }
}

/// Where a fragment says what stands at `path`; list items are found as far as their order tells.
fn inside(fragment: &Node, path: &FieldPath) -> Span {
    let steps = path.steps().iter().map_while(|step| match step {
        path::Step::Field(name) | path::Step::Key(name) => Some(Step::Key(name)),
        _ => None,
    });
    let (node, _) = fragment.nearest(steps);
    let item = path.steps().iter().find_map(|step| match step {
        path::Step::Item(values) => values.first(),
        _ => None,
    });
    let named = item.and_then(|(key, value)| {
        node.as_list()?.iter().find(|node| node.get(key).is_some_and(|node| is(node, value)))
    });
    named.unwrap_or(node).span.clone()
}

fn is(node: &Node, value: &Scalar) -> bool {
    match (value, node.as_str()) {
        (Scalar::Text(text), Some(written)) => **text == *written,
        _ => value.is(&node.to_json()),
    }
}
