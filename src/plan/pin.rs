//! The runtime a TrainJob is pinned to: a ConfigMap beside the JobSet, as upstream v2.3 writes and reads it.
//!
//! It holds the runtime as it was when the TrainJob was first planned, so that editing or deleting the runtime changes
//! nothing for a TrainJob that has begun.

use super::{
    children::is_ours,
    snapshot::{RuntimeRef, with_spec},
};
use crate::{
    api,
    diagnostic::{Diagnostic, Place, Source, codes},
    object::{Gvk, ObjectRef, metadata},
    schema::{self, Reason},
    yaml,
};
use serde_json::{Map, Value, json};

/// The key of the ConfigMap that holds the runtime.
const KEY: &str = "runtime";

/// Why a pinned runtime cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PinError {
    /// The ConfigMap belongs to something else.
    #[error("{0} is not controlled by the TrainJob")]
    Foreign(ObjectRef),
    /// The ConfigMap does not have the key.
    #[error("{0} has no `{KEY}`")]
    NoRuntime(ObjectRef),
    /// Its value is not one object in YAML.
    #[error("`{KEY}` of {0} is not readable: {1}")]
    Unreadable(ObjectRef, String),
    /// The runtime in it is not the one that the TrainJob refers to.
    #[error("{0} holds another runtime than the TrainJob refers to")]
    Other(ObjectRef),
}

impl PinError {
    /// The same as a message about `train_job`.
    pub fn diagnostic(&self, train_job: &ObjectRef) -> Diagnostic {
        let code = match self {
            PinError::Foreign(_) => codes::FOREIGN_OBJECT,
            PinError::NoRuntime(_) | PinError::Unreadable(..) | PinError::Other(_) => codes::BAD_SNAPSHOT,
        };
        let place = Place::Field { object: train_job.to_string(), path: "spec.runtimeRef".to_owned() };
        Diagnostic::error(code, place, self.to_string())
    }
}

/// The ConfigMap that pins the runtime of `train_job`.
pub fn pin_ref(train_job: &Value) -> ObjectRef {
    let metadata = metadata(train_job);
    ObjectRef {
        gvk: Gvk::new("v1", "ConfigMap"),
        namespace: metadata.namespace().map(str::to_owned),
        name: format!("{}-runtime-snapshot", metadata.name().unwrap_or_default()),
    }
}

/// The ConfigMap that pins `runtime`, without what the plan adds to every object. What only concerns the stored
/// runtime (its UID, version, managers) is left out.
pub(crate) fn pin(train_job: &Value, runtime: &Value) -> Value {
    let name = pin_ref(train_job).name;
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "name": name },
        "data": { KEY: pinned_form(runtime) },
    })
}

fn pinned_form(runtime: &Value) -> String {
    let metadata = Value::Object(pinned_metadata(runtime));
    let field = |name| (name, runtime.get(name).unwrap_or(&Value::Null));
    yaml::emit_map([field("apiVersion"), field("kind"), ("metadata", &metadata), field("spec")])
}

fn pinned_metadata(runtime: &Value) -> Map<String, Value> {
    const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
    let mut kept = Map::new();
    for field in ["name", "namespace", "labels", "annotations"] {
        if let Some(value) = runtime.pointer("/metadata").and_then(|metadata| metadata.get(field)) {
            kept.insert(field.to_owned(), value.clone());
        }
    }
    if let Some(Value::Object(annotations)) = kept.get_mut("annotations") {
        annotations.remove(LAST_APPLIED);
        if annotations.is_empty() {
            kept.remove("annotations");
        }
    }
    kept
}

/// The runtime that `config_map` pins for `train_job`.
pub fn pinned_runtime(config_map: &Value, train_job: &Value) -> Result<Value, PinError> {
    let reference = pin_ref(train_job);
    if !is_ours(config_map, train_job) {
        return Err(PinError::Foreign(reference));
    }
    let Some(text) = config_map.pointer("/data").and_then(|data| data.get(KEY)).and_then(Value::as_str)
    else {
        return Err(PinError::NoRuntime(reference));
    };
    let (documents, diagnostics) = yaml::parse(&Source::new(reference.to_string(), text));
    let runtime = match (documents.as_slice(), diagnostics.first()) {
        ([one], None) => one.to_json(),
        (_, Some(problem)) => return Err(PinError::Unreadable(reference, problem.message.clone())),
        _ => return Err(PinError::Unreadable(reference, "it is not one document".to_owned())),
    };
    let wanted = RuntimeRef::of(train_job);
    let api_version = format!("{}/{}", api::GROUP, api::VERSION);
    let same = runtime["apiVersion"] == api_version.as_str()
        && runtime["kind"] == wanted.kind.as_str()
        && metadata(&runtime).name() == Some(&wanted.name);
    if !same {
        return Err(PinError::Other(reference));
    }
    typed(runtime).map(with_spec).map_err(|problem| PinError::Unreadable(reference, problem))
}

/// The runtime in the form in which it is pinned. Who may write ConfigMaps may have put anything into it, so its types
/// are not what a CRD says; without them nothing can be said of it.
fn typed(mut runtime: Value) -> Result<Value, String> {
    let schemas = api::schemas();
    let kind = Gvk::of(&runtime).and_then(|kind| schemas.kind(&kind.api_version, &kind.kind));
    let Some(ty) = kind else { return Ok(runtime) };
    let errors = schema::validate(schemas, ty, &runtime, None);
    if let Some(error) = errors.iter().find(|error| error.reason == Reason::TypeInvalid) {
        return Err(format!("{}: {}", error.path, error.message()));
    }
    schema::canonical(schemas, ty, &mut runtime);
    Ok(runtime)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn train_job() -> Value {
        json!({
            "metadata": {"name": "tj", "namespace": "ns", "uid": "u"},
            "spec": {"runtimeRef": {"name": "rt", "kind": "TrainingRuntime", "apiGroup": "trainer.kubeflow.org"}},
        })
    }

    fn runtime() -> Value {
        json!({
            "apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainingRuntime",
            "metadata": {
                "name": "rt", "namespace": "ns", "uid": "x", "resourceVersion": "7", "labels": {"a": "b"},
                "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"},
            },
            "spec": {"mlPolicy": {"numNodes": 1}},
        })
    }

    fn owned(mut config_map: Value) -> Value {
        config_map["metadata"]["ownerReferences"] =
            json!([{"uid": "u", "controller": true, "kind": "TrainJob", "name": "tj"}]);
        config_map
    }

    #[test]
    fn what_is_pinned_is_read_back_without_what_concerns_the_stored_object() {
        let back = pinned_runtime(&owned(pin(&train_job(), &runtime())), &train_job()).unwrap();
        let want = json!({
            "apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainingRuntime",
            "metadata": {"name": "rt", "namespace": "ns", "labels": {"a": "b"}},
            "spec": {"mlPolicy": {"numNodes": 1}},
        });
        assert_eq!(back, want);
    }

    #[test]
    fn a_config_map_that_is_foreign_tampered_with_or_of_another_runtime_is_refused() {
        let check = |change: &dyn Fn(&mut Value), want: &str| {
            let mut config_map = owned(pin(&train_job(), &runtime()));
            change(&mut config_map);
            assert_eq!(pinned_runtime(&config_map, &train_job()).unwrap_err().to_string(), want);
        };
        let name = "ConfigMap ns/tj-runtime-snapshot";
        check(
            &|it| it["metadata"]["ownerReferences"][0]["uid"] = json!("v"),
            &format!("{name} is not controlled by the TrainJob"),
        );
        check(
            &|it| it["metadata"]["ownerReferences"] = json!([]),
            &format!("{name} is not controlled by the TrainJob"),
        );
        check(&|it| it["data"] = json!({}), &format!("{name} has no `runtime`"));
        check(
            &|it| it["data"]["runtime"] = json!("a: [}"),
            &format!(
                "`runtime` of {name} is not readable: while parsing a node, did not find expected node content"
            ),
        );
        check(
            &|it| it["data"]["runtime"] = json!("kind: TrainingRuntime"),
            &format!("{name} holds another runtime than the TrainJob refers to"),
        );
    }
}
