//! A policy that has passed every check: expressions are programs, templates know their schema, names are resolved.
//!
//! Only [`check`](super::check) makes one, so a [`Policy`] is always valid.

use super::document::{ContainerType, OnConflict, OnMissing, OnNoMatch, Phase, Slot, Text};
use crate::{
    cel::{self, Program},
    diagnostic::{Reason, Span},
    object::{FieldPath, Gvk},
    schema::TypeId,
    yaml::Node,
};
use serde_json::Value;
use std::{ops::Range, sync::Arc};

/// A valid policy.
#[derive(Debug)]
pub struct Policy {
    pub(crate) name: Arc<str>,
    pub(crate) version: semver::Version,
    /// The document it was made from.
    pub(crate) span: Span,
    pub(crate) order: i64,
    pub(crate) slot: Option<Slot>,
    pub(crate) activation: Option<Expr>,
    pub(crate) requires: Vec<Gvk>,
    pub(crate) params: Option<Params>,
    pub(crate) variables: Vec<Variable>,
    pub(crate) validations: Vec<Validation>,
    /// In the order in which they run: by phase, then as written.
    pub(crate) mutations: Vec<Mutation>,
    pub(crate) resources: Vec<Resource>,
    pub(crate) status: Option<Status>,
    pub(crate) watches: Vec<Watch>,
    pub(crate) references: Vec<(String, Gvk)>,
}

impl Policy {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its own version.
    pub fn version(&self) -> &semver::Version {
        &self.version
    }

    /// Where it is written.
    pub fn span(&self) -> &Span {
        &self.span
    }

    /// The kinds of the objects it applies, each once, in order.
    pub fn resource_kinds(&self) -> Vec<&Gvk> {
        let mut kinds: Vec<&Gvk> = self.resources.iter().map(|resource| &resource.kind).collect();
        kinds.sort();
        kinds.dedup();
        kinds
    }

    /// The kinds whose changes plan TrainJobs again.
    pub fn watched_kinds(&self) -> impl Iterator<Item = &Gvk> {
        self.watches.iter().map(|watch| &watch.kind)
    }
}

/// A program and the text it comes from.
#[derive(Debug)]
pub(crate) struct Expr {
    pub(crate) program: Program,
    text: Arc<Text>,
    /// Where in the text the expression begins: 0, or inside a hole.
    offset: usize,
}

impl Expr {
    pub(super) fn new(program: Program, text: Arc<Text>, offset: usize) -> Self {
        Expr { program, text, offset }
    }

    /// Where bytes of the expression stand in the file.
    pub(crate) fn inside(&self, range: Range<usize>) -> Span {
        self.text.inside(self.offset + range.start..self.offset + range.end)
    }

    /// Where the expression stands.
    pub(crate) fn span(&self) -> Span {
        self.inside(0..self.program.source().len())
    }

    /// Where an evaluation of it failed, if the failure is its own and not a variable's.
    pub(crate) fn blame(&self, error: &cel::Error) -> Span {
        self.inside(error.span())
    }
}

/// A tree with holes.
#[derive(Debug)]
pub(crate) enum Template {
    /// No holes: as it is.
    Literal(Value),
    /// One hole: the value of the expression.
    Hole(Hole),
    /// Text with holes.
    Text(Vec<Piece>),
    /// A map, absent where `when` is false.
    Map { when: Option<Box<Expr>>, entries: Vec<(String, Template)> },
    /// A list; items that are absent are left out.
    List(Vec<Template>),
}

/// A hole that is a whole value.
#[derive(Debug)]
pub(crate) struct Hole {
    pub(crate) expr: Expr,
    /// Whether the field wants text, so that a number or truth value becomes its text.
    pub(crate) as_text: bool,
}

/// A stretch of a text with holes.
#[derive(Debug)]
pub(crate) enum Piece {
    /// As it is.
    Text(String),
    /// The text of a value.
    Hole(Expr),
}

/// Who may set parameters, and to what.
#[derive(Debug)]
pub(crate) struct Params {
    /// The type of all parameters together.
    pub(crate) ty: TypeId,
    pub(crate) schemas: Arc<crate::schema::Schemas>,
    /// The policy's own values.
    pub(crate) values: Value,
    /// All parameters where nobody else sets any; nothing if the policy's own values and the defaults are not enough.
    pub(crate) alone: Option<Value>,
    pub(crate) config_map: Option<ConfigMapRef>,
    /// The runtime's field with values.
    pub(crate) runtime: Option<FieldPath>,
}

/// A ConfigMap with parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigMapRef {
    /// Its namespace; the controller's own if absent.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
    /// Whether it may be missing.
    pub optional: bool,
}

/// A named expression.
#[derive(Debug)]
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) expr: Expr,
    /// Whether it reads `podSets` or `template`, so that its value may change while the plan is made.
    pub(crate) reads_draft: bool,
}

/// A loop. Its names take the next free slots: the item and, if `index`, its position.
#[derive(Debug)]
pub(crate) struct Loop {
    pub(crate) items: Expr,
    pub(crate) index: bool,
}

/// A rule that refuses or warns.
#[derive(Debug)]
pub(crate) struct Validation {
    pub(crate) name: String,
    pub(crate) span: Span,
    pub(crate) phase: Phase,
    pub(crate) when: Option<Expr>,
    pub(crate) loops: Vec<Loop>,
    pub(crate) path: Vec<Piece>,
    pub(crate) value: Option<Expr>,
    pub(crate) expr: Expr,
    pub(crate) message: Message,
    pub(crate) reason: Reason,
    pub(crate) warning: bool,
}

/// What a validation says.
#[derive(Debug)]
pub(crate) enum Message {
    Fixed(String),
    Expr(Expr),
}

/// A rule that changes.
#[derive(Debug)]
pub(crate) struct Mutation {
    pub(crate) name: Arc<str>,
    pub(crate) span: Span,
    pub(crate) phase: Phase,
    pub(crate) when: Option<Expr>,
    pub(crate) loops: Vec<Loop>,
    pub(crate) pod_sets: Option<Selector>,
    pub(crate) containers: Option<ContainerSelector>,
    /// What is selected, as text: equal for rules that always select the same.
    pub(crate) selects: String,
    pub(crate) on_no_match: OnNoMatch,
    pub(crate) on_conflict: OnConflict,
    pub(crate) remove: Vec<FieldPath>,
    pub(crate) fragments: Vec<Fragment>,
    pub(crate) json_patch: Option<Template>,
}

/// Which PodSets.
#[derive(Debug)]
pub(crate) struct Selector {
    pub(crate) name: Option<Vec<Piece>>,
    pub(crate) ancestor: Option<Vec<Piece>>,
    pub(crate) condition: Option<Expr>,
    pub(crate) first: bool,
}

/// Which containers.
#[derive(Debug)]
pub(crate) struct ContainerSelector {
    pub(crate) name: Option<Vec<Piece>>,
    pub(crate) condition: Option<Expr>,
    pub(crate) of: ContainerType,
    pub(crate) first: bool,
}

/// A part of an object, and how it goes into what is there.
#[derive(Debug)]
pub(crate) struct Fragment {
    pub(crate) verb: Verb,
    pub(crate) template: Template,
    /// The fragment as written, for the places of its fields.
    pub(crate) node: Arc<Node>,
}

/// How a fragment goes into what is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    /// Values replace.
    Set,
    /// Items are added to the ends of lists.
    Append,
    /// Lists are merged by their keys.
    Upsert,
}

/// An object to apply.
#[derive(Debug)]
pub(crate) struct Resource {
    pub(crate) id: String,
    pub(crate) span: Span,
    pub(crate) kind: Gvk,
    /// The type of the object, if it is known.
    pub(crate) ty: Option<TypeId>,
    pub(crate) include_when: Option<Expr>,
    pub(crate) loops: Vec<Loop>,
    pub(crate) update: Update,
    pub(crate) sensitive: bool,
    /// `metadata.name`, which never depends on the draft.
    pub(crate) name: Vec<Piece>,
    /// What is in the object but for what it takes over.
    pub(crate) template: Template,
    pub(crate) taken_over: Vec<TakenOver>,
}

/// A field that is a part of the runtime's template as it stands: `spec: ${template.?spec}`. The last object that is made
/// of a template need not copy it.
#[derive(Debug)]
pub(crate) struct TakenOver {
    /// The field of the object.
    pub(crate) to: FieldPath,
    /// The part of the template.
    pub(crate) from: FieldPath,
    /// What says so.
    pub(crate) hole: Hole,
}

/// When an object that exists is applied again.
#[derive(Debug)]
pub(crate) enum Update {
    Always,
    WhenSuspended,
    Never,
    When(Expr),
}

/// How the TrainJob's status follows from a child's.
#[derive(Debug)]
pub(crate) struct Status {
    /// The position of the resource among the policy's.
    pub(crate) resource: usize,
    pub(crate) conditions: Vec<(String, Expr)>,
    pub(crate) jobs: Option<Template>,
    pub(crate) on_missing: OnMissing,
}

/// A kind whose changes matter.
#[derive(Debug)]
pub(crate) struct Watch {
    pub(crate) kind: Gvk,
    pub(crate) filter: Option<Expr>,
}
