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
        "additionalPrinterColumns": columns(if has_status { TRAIN_JOB } else { RUNTIME }),
    });
    if has_status && let Value::Object(version) = &mut version {
        version.insert("subresources".to_owned(), json!({"status": {}}));
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

/// A column of `kubectl get`: its name, type and path, when it is shown, and its description.
type Column = (&'static str, &'static str, &'static str, Width, &'static str);

#[derive(Clone, Copy)]
enum Width {
    Always,
    /// With `-o wide`.
    Wide,
}

/// The state is a condition that is true: a column can show only the first match of its path, and the last condition is not
/// the state, since one that became false keeps its place. A TrainJob that runs has none, and the column is empty.
const TRAIN_JOB: &[Column] = {
    use Width::{Always, Wide};
    &[
        (
            "State",
            "string",
            r#".status.conditions[?(@.status=="True")].type"#,
            Always,
            "The first condition that is true; none while it runs.",
        ),
        ("Nodes", "integer", ".spec.trainer.numNodes", Always, "As many as the runtime says if empty."),
        ("Runtime", "string", ".spec.runtimeRef.name", Always, "What it runs on."),
        ("Age", "date", ".metadata.creationTimestamp", Always, "Time since it was created."),
        ("Suspend", "boolean", ".spec.suspend", Wide, "Whether it shall wait."),
        (
            "Active",
            "integer",
            ".status.jobsStatus[?(@.active>0)].active",
            Wide,
            "Jobs that run, of the first kind that does.",
        ),
        (
            "Progress",
            "integer",
            ".status.trainerStatus.progressPercentage",
            Wide,
            "Percent done, as the trainer tells.",
        ),
        (
            "Since",
            "date",
            r#".status.conditions[?(@.status=="True")].lastTransitionTime"#,
            Wide,
            "Time since it is in that state.",
        ),
        (
            "Reason",
            "string",
            r#".status.conditions[?(@.status=="True")].reason"#,
            Wide,
            "Why it is in that state.",
        ),
    ]
};
const RUNTIME: &[Column] = {
    use Width::Always;
    &[
        (
            "Framework",
            "string",
            r".metadata.labels.trainer\.kubeflow\.org/framework",
            Always,
            "What it is for, by its label.",
        ),
        (
            "Nodes",
            "integer",
            ".spec.mlPolicy.numNodes",
            Always,
            "How many a TrainJob gets that does not say.",
        ),
        ("Age", "date", ".metadata.creationTimestamp", Always, "Time since it was created."),
    ]
};

fn columns(columns: &[Column]) -> Value {
    let column = |(name, kind, path, width, description): &Column| {
        let mut column = json!({ "name": name, "type": kind, "jsonPath": path, "description": description });
        // What is 0 anyway is left out, as the API server does: who compares the two finds no difference.
        if let (Width::Wide, Value::Object(column)) = (width, &mut column) {
            column.insert("priority".to_owned(), json!(1));
        }
        column
    };
    columns.iter().map(column).collect()
}
