//! The names that expressions may use, by place, and their slots.
//!
//! Every environment has the same slots, so that a plan can hand one set of values to any expression: the names of
//! [`NAMES`], then the policy's variables, then the resources as `live.ID`, then the loops around the expression.

use crate::{
    api,
    cel::{Bounds, Env, Type},
    schema::{self, Schemas, Shape, TypeId, cel_type},
};
use serde_json::json;
use std::sync::{Arc, LazyLock};

/// The names that are not the policy's own, in the order of their slots.
pub(crate) const NAMES: [&str; 11] = [
    "trainJob",
    "oldTrainJob",
    "runtime",
    "template",
    "podSets",
    "podSet",
    "container",
    "params",
    "config",
    "event",
    "random",
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
    pub(crate) const RANDOM: usize = 10;
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
    /// The template of a resource that is made once.
    ResourceOnce,
    /// The name of a resource.
    ResourceName,
    /// The status.
    Status,
    /// A watch.
    Watch,
}

impl Place {
    /// Whether `name` means something there.
    pub(super) fn has(self, name: &str) -> bool {
        use Place::{
            Activation, Container, Mutation, PodSet, Resource, ResourceName, ResourceOnce, Status,
            Validation, Variable, Watch,
        };
        match name {
            "trainJob" | "config" => true,
            "runtime" | "params" => self != Watch,
            "oldTrainJob" => self == Validation,
            "template" | "podSets" => match self {
                Variable | Validation | Mutation | PodSet | Container | Resource | ResourceOnce => true,
                Activation | ResourceName | Status | Watch => false,
            },
            "podSet" => matches!(self, PodSet | Container),
            "container" => self == Container,
            "event" => self == Watch,
            "random" => self == ResourceOnce,
            _ => false,
        }
    }

    /// Whether the policy's variables may be used.
    pub(super) fn has_variables(self) -> bool {
        !matches!(self, Place::Activation | Place::Watch)
    }

    /// Whether the policy's resources may be looked at as they are on the cluster.
    pub(super) fn has_live(self) -> bool {
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
            "runtime" | "params" => "places other than watches",
            "random" => "the template of a resource with `apply: {update: Never}`",
            _ => return None,
        })
    }
}

/// The types of what policies work on.
pub(crate) struct Types {
    pub(crate) schemas: Arc<Schemas>,
    /// `spec.template` of a runtime.
    pub(crate) template: TypeId,
    /// `spec.runtimePatches[].trainingRuntimeSpec.template` of a TrainJob.
    pub(crate) template_patch: TypeId,
    pub(crate) pod_set: TypeId,
    pub(crate) container: TypeId,
    /// `status.jobsStatus` of a TrainJob.
    pub(crate) jobs_status: TypeId,
    train_job: TypeId,
    runtime: TypeId,
    config: TypeId,
}

/// The types of Kubernetes, ours, and those of policies.
pub(crate) fn types() -> &'static Types {
    static TYPES: LazyLock<Types> = LazyLock::new(load_types);
    &TYPES
}

/// A name that is missing gives a type without fields, so that every policy fails its check; a test holds that none is.
fn load_types() -> Types {
    let mut schemas = Schemas::extend(api::schemas());
    let none = schemas.add(None, schema::Type::new(Shape::Object(schema::Object::default())));
    let version = format!("{}/{}", api::GROUP, api::VERSION);
    let train_job = schemas.kind(&version, "TrainJob").unwrap_or(none);
    let runtime = schemas.kind(&version, "TrainingRuntime").unwrap_or(none);
    let below = |ty, fields: &[&str]| {
        fields
            .iter()
            .try_fold(ty, |ty, field| schemas.child(schemas.item(ty).unwrap_or(ty), field))
            .unwrap_or(none)
    };
    let template = below(runtime, &["spec", "template"]);
    let template_patch = below(train_job, &["spec", "runtimePatches", "trainingRuntimeSpec", "template"]);
    let jobs_status = below(train_job, &["status", "jobsStatus"]);
    let jobs = below(template, &["spec", "replicatedJobs"]);
    let job = schemas.item(jobs).unwrap_or(none);
    let pod = below(job, &["template", "spec", "template"]);
    let (metadata, pod_spec) = (below(pod, &["metadata"]), below(pod, &["spec"]));
    let container = schemas.item(below(pod_spec, &["containers"])).unwrap_or(none);
    let text = schemas.add_facts(None, &json!("string")).unwrap_or(none);
    let number = schemas.add_facts(None, &json!("int64")).unwrap_or(none);
    let pod_template =
        object(&mut schemas, "PodSet.template", &[("metadata", metadata, false), ("spec", pod_spec, true)]);
    let pod_set = object(
        &mut schemas,
        "PodSet",
        &[
            ("ancestor", text, false),
            ("count", number, true),
            ("job", job, true),
            ("name", text, true),
            ("replicas", number, false),
            ("template", pod_template, true),
        ],
    );
    let texts = schemas.add_facts(None, &json!("[]string")).unwrap_or(none);
    let config = object(
        &mut schemas,
        "Config",
        &[
            ("certificateAuthorities", text, true),
            ("clusterDomain", text, true),
            ("featureGates", texts, true),
            ("namespace", text, true),
            ("service", text, true),
            ("statusPort", number, true),
        ],
    );
    Types {
        schemas: Arc::new(schemas),
        template,
        template_patch,
        pod_set,
        container,
        jobs_status,
        train_job,
        runtime,
        config,
    }
}

/// Adds an object type with these fields, in alphabetical order: name, type, whether it is always there.
fn object(schemas: &mut Schemas, name: &str, fields: &[(&str, TypeId, bool)]) -> TypeId {
    let fields = fields.iter().map(|(name, ty, required)| schema::Field {
        name: (*name).into(),
        ty: *ty,
        required: *required,
        default: None,
        wire: schema::Wire::Kept,
        doc: None,
    });
    let object = schema::Object { fields: fields.collect(), ..schema::Object::default() };
    schemas
        .add(Some(name), schema::Type { name: Some(name.into()), ..schema::Type::new(Shape::Object(object)) })
}

/// The environment at `place` as far as it is the same for every policy, but for the type of its parameters.
pub(super) fn base(place: Place, schemas: &Arc<Schemas>, params: TypeId) -> Env {
    let types = types();
    let mut env = Env::new();
    for name in NAMES {
        let (ty, bounds) = match name {
            "trainJob" => (cel_type(schemas, types.train_job), Bounds::default()),
            "oldTrainJob" => (Type::optional(cel_type(schemas, types.train_job)), Bounds::default()),
            "runtime" => (cel_type(schemas, types.runtime), Bounds::default()),
            "template" => (cel_type(schemas, types.template), Bounds::default()),
            "podSets" => (Type::list(cel_type(schemas, types.pod_set)), Bounds::size(MAX_REPLICATED_JOBS)),
            "podSet" => (cel_type(schemas, types.pod_set), Bounds::default()),
            "container" => (cel_type(schemas, types.container), Bounds::default()),
            "params" => (cel_type(schemas, params), Bounds::default()),
            "config" => (cel_type(schemas, types.config), Bounds::default()),
            "random" => (Type::Bytes, Bounds::size(RANDOM_BYTES)),
            _ => (Type::Dyn, Bounds::default()),
        };
        env.declare(if place.has(name) { name } else { UNAVAILABLE }, &ty, bounds);
    }
    env
}

/// Bytes in `random`.
const RANDOM_BYTES: u64 = 32;
/// The name of a slot that an expression cannot reach.
const UNAVAILABLE: &str = "";
/// What a runtime's CRD allows.
const MAX_REPLICATED_JOBS: u64 = 100;

/// Whether the slot is one that rules change.
pub(crate) fn is_draft(slot: usize) -> bool {
    matches!(slot, slot::TEMPLATE | slot::POD_SETS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_is_known() {
        let Types {
            schemas,
            template,
            template_patch,
            pod_set,
            container,
            jobs_status,
            train_job,
            runtime,
            config,
        } = types();
        for ty in [template, template_patch, pod_set, container, train_job, runtime, config] {
            assert!(schemas.object(*ty).is_some_and(|object| !object.fields.is_empty()), "{ty:?}");
        }
        assert!(schemas.item(*jobs_status).is_some());
    }

    #[test]
    fn names_have_their_slots() {
        assert_eq!(NAMES[slot::TEMPLATE], "template");
        assert_eq!(NAMES[slot::POD_SETS], "podSets");
        assert_eq!(NAMES[slot::CONTAINER], "container");
        assert_eq!(NAMES[slot::EVENT], "event");
        assert_eq!(NAMES[slot::RANDOM], "random");
    }
}
