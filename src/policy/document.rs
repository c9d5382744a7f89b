//! A policy as it is written: every field with its place, nothing resolved, no expression read.
//!
//! What may stand where is the job of [`parse`](super::parse); what it means is the job of [`check`](super::check).
//! The language itself is described in `policies/README.md`.

use crate::{
    diagnostic::{Reason, Span},
    yaml::{Kind, Node},
};
use std::ops::Range;

/// A string, or the text of a scalar where an expression is wanted, with its place.
#[derive(Clone, Debug)]
pub struct Text {
    node: Node,
    text: String,
}

impl Text {
    /// The string of `node`, if it is one.
    pub fn string(node: &Node) -> Option<Self> {
        let text = node.as_str()?.to_owned();
        Some(Text { node: node.clone(), text })
    }

    /// `node` as an expression: a string, or a number or truth value, which are expressions too.
    pub fn expression(node: &Node) -> Option<Self> {
        match node.kind {
            Kind::Bool(_) | Kind::Number(_) => {
                Some(Text { node: node.clone(), text: node.span.text().to_owned() })
            }
            _ => Text::string(node),
        }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Where it stands.
    pub fn span(&self) -> &Span {
        &self.node.span
    }

    /// Where a part of it stands, in bytes of the text.
    pub fn inside(&self, range: Range<usize>) -> Span {
        self.node.inside(range)
    }
}

/// One `TrainingPolicy` document.
#[derive(Clone, Debug)]
pub struct Document {
    /// `metadata.name`.
    pub name: Text,
    /// The whole document.
    pub span: Span,
    /// Whether errors of its form have been reported: it can be checked further, but is no policy.
    pub flawed: bool,
    /// `spec.version`; absent only where that is reported.
    pub version: Option<Text>,
    /// `spec.language`; absent only where that is reported.
    pub language: Option<Text>,
    /// `spec.description`.
    pub description: Option<Text>,
    /// `spec.links`.
    pub links: Vec<Text>,
    /// `spec.order`: position among policies within a phase.
    pub order: i64,
    /// `spec.activation`.
    pub activation: Activation,
    /// `spec.params`.
    pub params: Option<Params>,
    /// `spec.references`.
    pub references: Vec<Reference>,
    /// `spec.variables`.
    pub variables: Vec<Variable>,
    /// `spec.validations`.
    pub validations: Vec<Validation>,
    /// `spec.mutations`.
    pub mutations: Vec<Mutation>,
    /// `spec.resources`.
    pub resources: Vec<Resource>,
    /// `spec.status`.
    pub status: Option<Status>,
    /// `spec.watches`.
    pub watches: Vec<Watch>,
}

/// When a policy is active.
#[derive(Clone, Debug, Default)]
pub struct Activation {
    /// At most one policy is active in a slot.
    pub slot: Option<(Slot, Span)>,
    /// The condition; none means always.
    pub expression: Option<Text>,
    /// Kinds the cluster must serve.
    pub requires: Vec<KindRef>,
}

/// A place that one policy may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Slot {
    /// The framework.
    MlPolicy,
    /// The gang scheduler.
    PodGroupPolicy,
    /// What is put into the pods of any framework.
    PodSpec,
    /// The object that runs the pods.
    Workload,
}

/// A kind, as manifests name it.
#[derive(Clone, Debug)]
pub struct KindRef {
    /// Group and version.
    pub api_version: Text,
    /// The kind.
    pub kind: Text,
}

/// What the author of a runtime, or the operator, may set.
#[derive(Clone, Debug)]
pub struct Params {
    /// Name to type, in the short form `integer | default=29500 minimum=1`, nested by maps.
    pub schema: Node,
    /// The policy's own values.
    pub values: Option<Node>,
    /// A `ConfigMap` whose data are values.
    pub config_map: Option<ConfigMapRef>,
    /// The field of the runtime that holds values.
    pub runtime: Option<Text>,
}

/// A `ConfigMap` to read.
#[derive(Clone, Debug)]
pub struct ConfigMapRef {
    /// Its name.
    pub name: Text,
    /// Its namespace; the controller's own if absent.
    pub namespace: Option<Text>,
    /// Whether it may be missing.
    pub optional: bool,
}

/// A kind that `lookup()` may read.
#[derive(Clone, Debug)]
pub struct Reference {
    /// The name `lookup()` is given.
    pub name: Text,
    /// The kind.
    pub kind: KindRef,
}

/// A named expression.
#[derive(Clone, Debug)]
pub struct Variable {
    /// The name, used as `variables.NAME`.
    pub name: Text,
    /// The expression.
    pub expression: Text,
}

/// One loop of a `forEach`.
#[derive(Clone, Debug)]
pub struct ForEach {
    /// The name of the item.
    pub var: Text,
    /// The name of its position.
    pub index: Option<Text>,
    /// The list.
    pub items: Text,
}

/// A rule that refuses a `TrainJob` or warns of it.
#[derive(Clone, Debug)]
pub struct Validation {
    /// Its name.
    pub name: Text,
    /// The phase of mutations that it follows: `Template` or `Override`.
    pub phase: Phase,
    /// Whether it applies.
    pub when: Option<Text>,
    /// The loops around it.
    pub for_each: Vec<ForEach>,
    /// The field of the `TrainJob` to blame, with holes.
    pub path: Text,
    /// The value to show.
    pub value: Option<Text>,
    /// True where all is well.
    pub expression: Text,
    /// What to say otherwise.
    pub message: Message,
    /// The kind of error.
    pub reason: Reason,
    /// Whether it only warns.
    pub warning: bool,
}

/// A message, written or computed.
#[derive(Clone, Debug)]
pub enum Message {
    /// As written.
    Fixed(Text),
    /// By an expression.
    Expression(Text),
    /// The expression that failed says it all.
    None,
}

/// A rule that changes the pods or the template.
#[derive(Clone, Debug)]
pub struct Mutation {
    /// Its name.
    pub name: Text,
    /// When in the plan it runs.
    pub phase: Phase,
    /// Whether it applies.
    pub when: Option<Text>,
    /// The loops around it.
    pub for_each: Vec<ForEach>,
    /// Which PodSets; the template itself without.
    pub pod_sets: Option<Selector>,
    /// Which of their containers; the PodSet itself without.
    pub containers: Option<ContainerSelector>,
    /// What if nothing is selected.
    pub on_no_match: OnNoMatch,
    /// What if another policy wrote another value.
    pub on_conflict: OnConflict,
    /// Values that replace.
    pub set: Option<Node>,
    /// Items added to lists.
    pub append: Option<Node>,
    /// Values merged by key.
    pub upsert: Option<Node>,
    /// Paths that go.
    pub remove: Vec<Text>,
    /// JSON Patch operations.
    pub json_patch: Option<Node>,
    /// The whole rule.
    pub span: Span,
}

/// The steps of a plan in which mutations run, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// The runtime's template takes its numbers; validations see the result.
    Template,
    /// Frameworks.
    Ml,
    /// Gang schedulers.
    PodGroup,
    /// What is put into the pods of any framework.
    PodSpec,
    /// The `TrainJob`'s own fields, which win.
    Override,
}

/// Which PodSets.
#[derive(Clone, Debug)]
pub struct Selector {
    /// By name, with holes.
    pub name: Option<Text>,
    /// By ancestor, with holes.
    pub ancestor: Option<Text>,
    /// By expression over `podSet`.
    pub condition: Option<Text>,
    /// Only the first that matches.
    pub first: bool,
    /// Where it stands.
    pub span: Span,
}

/// Which containers.
#[derive(Clone, Debug)]
pub struct ContainerSelector {
    /// By name, with holes.
    pub name: Option<Text>,
    /// By expression over `container`.
    pub condition: Option<Text>,
    /// Main containers, init containers, or main ones and then init ones.
    pub of: ContainerType,
    /// Only the first that matches.
    pub first: bool,
}

/// Kinds of containers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContainerType {
    /// `containers`.
    Main,
    /// `initContainers`.
    Init,
    /// `containers`, then `initContainers`.
    Any,
}

/// What if a selector finds nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnNoMatch {
    /// Nothing happens.
    Ignore,
    /// The `TrainJob` is refused.
    Fail,
}

/// What if a rule writes what another policy wrote differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnConflict {
    /// The `TrainJob` is refused.
    Fail,
    /// This rule wins.
    Override,
    /// The other rule wins.
    Keep,
}

/// An object to apply.
#[derive(Clone, Debug)]
pub struct Resource {
    /// Its name in the policy, `live.ID` in expressions.
    pub id: Text,
    /// Whether it is wanted.
    pub include_when: Option<Text>,
    /// One object for each item.
    pub for_each: Vec<ForEach>,
    /// When it is written again.
    pub update: Update,
    /// Whether its data must not be shown.
    pub sensitive: bool,
    /// The object, with holes.
    pub template: Node,
}

/// When an object that exists is applied again.
#[derive(Clone, Debug)]
pub enum Update {
    /// Whenever it differs.
    Always,
    /// While the `TrainJob` is suspended.
    WhenSuspended,
    /// Never; its template is not even evaluated.
    Never,
    /// While this is true.
    When(Text),
}

/// How the `TrainJob`'s status follows from a child's.
#[derive(Clone, Debug)]
pub struct Status {
    /// The resource observed.
    pub resource: Text,
    /// Conditions copied.
    pub conditions: Vec<StatusCondition>,
    /// Counters per job.
    pub jobs_status: Option<Node>,
    /// What if the resource is gone.
    pub on_missing: OnMissing,
}

/// A condition of the `TrainJob`.
#[derive(Clone, Debug)]
pub struct StatusCondition {
    /// Its type.
    pub r#type: Text,
    /// The conditions to copy, as a list; the last one counts.
    pub from: Text,
}

/// What if the observed resource is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnMissing {
    /// The status stays.
    Keep,
    /// The counters go.
    Clear,
}

/// A kind whose changes matter.
#[derive(Clone, Debug)]
pub struct Watch {
    /// Its name in messages.
    pub name: Text,
    /// The kind.
    pub kind: KindRef,
    /// Which `TrainJob`s are planned again, by expression over `trainJob` and `event`.
    pub filter: Option<Text>,
}
