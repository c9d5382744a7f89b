//! Which recorded runs of older versions say what a field means.

use serde_json::Value;

/// Whether the case is about a field that the version it ran on was the newest to have.
pub fn is_of_its_version(id: &str, case: &Value) -> bool {
    let objects = || {
        let steps = case["steps"].as_array().into_iter().flatten();
        let steps = steps.flat_map(|step| step.as_object().into_iter().flat_map(|step| step.values()));
        case["setup"].as_array().into_iter().flatten().chain(steps)
    };
    let has = |pointer: &str| objects().any(|object| object.pointer(pointer).is_some());
    let text_processes =
        objects().any(|object| object.pointer("/spec/trainer/numProcPerNode").is_some_and(Value::is_string));
    match id.split('/').next() {
        Some("legacy20") => has("/spec/podSpecOverrides"),
        Some("legacy21") => {
            text_processes
                || has("/spec/podTemplateOverrides")
                || has("/spec/labels")
                || has("/spec/annotations")
                || has("/spec/mlPolicy/torch/numProcPerNode")
                || has("/spec/mlPolicy/torch/elasticPolicy")
        }
        _ => false,
    }
}
