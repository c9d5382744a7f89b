//! The `CustomResourceDefinition`s of our kinds.

use serde_json::{Value, json};

use super::{GROUP, VERSION, schemas};
use crate::schema::structural_schema;
use crate::yaml;

/// The definition of each of our kinds.
pub fn crds() -> Vec<Value> {
    ["TrainJob", "TrainingRuntime", "ClusterTrainingRuntime"].into_iter().filter_map(crd).collect()
}

/// The same as `(file name, YAML text)`, ready for `kubectl apply`.
pub fn crd_files() -> Vec<(String, String)> {
    let plural = |crd: &Value| {
        crd.pointer("/spec/names/plural").and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let file = |crd: &Value| (format!("{GROUP}_{}.yaml", plural(crd)), format!("{NOTE}{}", yaml::emit(crd)));
    crds().iter().map(file).collect()
}

fn crd(kind: &str) -> Option<Value> {
    let schemas = schemas();
    let ty = schemas.kind(&format!("{GROUP}/{VERSION}"), kind)?;
    let served = schemas.object(ty)?.kind.as_ref()?;
    let has_status = schemas.child(ty, "status").is_some();
    let mut version = json!({
        "name": VERSION,
        "served": true,
        "storage": true,
        "schema": {"openAPIV3Schema": structural_schema(schemas, ty)},
    });
    if has_status && let Value::Object(version) = &mut version {
        version.insert("subresources".to_owned(), json!({"status": {}}));
        version.insert("additionalPrinterColumns".to_owned(), columns());
    }
    Some(json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{}.{GROUP}", served.plural)},
        "spec": {
            "group": GROUP,
            "names": {
                "kind": kind,
                "listKind": format!("{kind}List"),
                "plural": served.plural,
                "singular": kind.to_lowercase(),
            },
            "scope": if served.namespaced { "Namespaced" } else { "Cluster" },
            "versions": [version],
        },
    }))
}

const NOTE: &str = "# Made from src/api/types.json; do not edit. `make crds` makes it again.\n";

/// What `kubectl get trainjobs` shows. The state is the first condition that is true: a column can show only the
/// first match of its path, and the last condition is not the state, since one that became false keeps its place.
fn columns() -> Value {
    json!([
        {"name": "State", "type": "string", "jsonPath": r#".status.conditions[?(@.status=="True")].type"#},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ])
}
