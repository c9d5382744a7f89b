//! The names that expressions may use, by place, and their slots.
//!
//! Every environment has the same slots, so that a plan can hand one set of values to any expression: the names of
//! [`NAMES`], then the policy's variables, then the resources as `live.ID`, then the loops around the expression.

use crate::{
    api,
    cel::{Bounds, Env, Type},
    object::Gvk,
    schema::{Schemas, TypeId, expression_type},
};
use serde_json::json;
use std::sync::LazyLock;

/// The names that are not the policy's own, in the order of their slots.
pub(crate) const NAMES: [&str; 10] = [
    "trainJob", "oldTrainJob", "runtime", "template", "podSets", "podSet", "container", "params", "config", "event",
];

/// Slots of [`NAMES`].
pub(crate) mod slot {
    pub(crate) const TRAIN_JOB: usize = 0;
    pub(crate) const OLD_TRAIN_JOB: usize = 1;
    pub(crate) const RUNTIME: usize = 2;
    pub(crate) const TEMPLATE: usize = 3;
    pub(crate) const POD_SETS: usize = 4;
    pub(crate) const POD_SET: usize = 5;
    pub(crate) const CONTAINER: usize = 6;
    pub(crate) const PARAMS: usize = 7;
    pub(crate) const CONFIG: usize = 8;
    pub(crate) const EVENT: usize = 9;
}

/// Where an expression stands; it decides which names there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The condition under which a policy is active.
    Activation,
    /// A variable.
    Variable,
    /// A validation.
    Validation,
    /// A mutation, what it selects aside.
    Mutation,
    /// A mutation of selected PodSets.
    PodSet,
    /// A mutation of selected containers.
    Container,
    /// A resource.
    Resource,
    /// The name of a resource.
    ResourceName,
    /// The status.
    Status,
    /// A watch.
    Watch,
}

impl Place {
    /// Whether `name` means something there.
    fn has(self, name: &str) -> bool {
        use Place::{Activation, Container, Mutation, PodSet, Resource, ResourceName, Status, Validation, Variable, Watch};
        match name {
            "trainJob" | "runtime" | "params" | "config" => true,
            "oldTrainJob" => self == Validation,
            "template" | "podSets" => match self {
                Variable | Validation | Mutation | PodSet | Container | Resource => true,
                Activation | ResourceName | Status | Watch => false,
            },
            "podSet" => matches!(self, PodSet | Container),
            "container" => self == Container,
            "event" => self == Watch,
            _ => false,
        }
    }

    /// Whether the policy's variables may be used.
    fn has_variables(self) -> bool {
        !matches!(self, Place::Activation | Place::Watch)
    }

    /// Where `name` would mean something, for messages.
    pub(super) fn of(name: &str) -> Option<&'static str> {
        Some(match name {
            "oldTrainJob" => "validations",
            "template" | "podSets" => "variables, validations, mutations and resources",
            "podSet" => "mutations that select PodSets",
            "container" => "mutations that select containers",
            "event" => "watches",
            _ => return None,
        })
    }
}

/// The types that only policies know.
pub(super) struct Types {
    pub(super) schemas: Schemas,
    pub(super) pod_set: TypeId,
    pub(super) config: TypeId,
}

/// The types of Kubernetes, ours, and those of policies.
pub(super) fn types() -> &'static Types {
    static TYPES: LazyLock<Types> = LazyLock::new(|| {
        let mut schemas = Schemas::extend(api::schemas());
        let mut add = |name, facts| schemas.add_facts(Some(name), &facts).unwrap_or_else(|_| schemas.any());
        let pod_set = add("PodSet", json!({"type": "object", "fields": {
            "name": "string!", "ancestor": "string", "count": "int64!", "replicas": "int64!",
            "template": "v1.PodTemplateSpec!", "job": "jobset.x-k8s.io/v1alpha2.ReplicatedJob!",
        }}));
        let config = add("Config", json!({"type": "object", "fields": {
            "namespace": "string!", "clusterDomain": "string!",
        }}));
        Types { schemas, pod_set, config }
    });
    &TYPES
}
