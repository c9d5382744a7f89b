//! Changes to the runtime's template: `spec.runtimePatches`, in the list's order, and what went before them, `labels`,
//! `annotations`, `podSpecOverrides` and `podTemplateOverrides`.
//!
//! Each is a strategic merge patch of typed objects, as upstream v2.3 applies them; only labels and annotations of the
//! template's own metadata count, and the order of the replicated jobs stays the runtime's.

use super::{
    Refusal,
    draft::Target,
    trace::{By, Place, Trace},
};
use crate::{
    diagnostic::{self, Diagnostic, codes},
    object::{FieldPath, ObjectRef, find, find_mut, json_patch::measure, merge},
    policy::scope::types,
    schema,
};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// Most bytes that all changes may go over together: each goes over its own and those of the template as it then is.
const MAX_BYTES: usize = 64 << 20;

/// `template` with everything applied to it by which `train_job` changes its runtime.
pub(crate) fn patched(
    mut template: Value,
    train_job: &Value,
    job: &ObjectRef,
    trace: &mut Trace,
) -> Result<Value, Refusal> {
    let policy: Arc<str> = "".into();
    let mut bytes = 0;
    for Change { rule, path, template: change } in changes(train_job) {
        let refused = |why: String| {
            let place = diagnostic::Place::Field { object: job.to_string(), path: path.to_string() };
            Refusal::Refused(vec![Diagnostic::error(codes::NOT_APPLICABLE, place, why)])
        };
        bytes += [&change, &template].into_iter().filter_map(|it| measure(it, 0)).sum::<usize>();
        if bytes > MAX_BYTES {
            return Err(refused("the changes to the runtime are too many or too large".to_owned()));
        }
        let order = names(&template);
        let shape = types().schemas.typed(types().template);
        let merged = merge::strategic(&mut template, &wire_form(&change), shape, &mut |write| {
            let by = By { policy: Arc::clone(&policy), rule: Arc::clone(&rule), place: Place::Nowhere };
            trace.record(by, Target::Template, write.at, write.before);
        });
        merged.map_err(|error| refused(error.to_string()))?;
        restore_order(&mut template, &order);
        // Upstream merges typed objects: what a patch adds comes out as Go writes it.
        schema::canonical(&types().schemas, types().template, &mut template);
    }
    Ok(template)
}

/// A change to the template.
struct Change {
    /// What it is called in the trace.
    rule: Arc<str>,
    /// The field of the TrainJob that asks for it.
    path: FieldPath,
    /// As much of a template as it says something about.
    template: Value,
}

/// The changes that a TrainJob asks for, in the order in which they are made: those of the fields of v2.0 and v2.1 first.
/// One exists at a time: an override is copied for each of its jobs, of which there may be many.
fn changes(train_job: &Value) -> impl Iterator<Item = Change> {
    let spec = train_job.get("spec").unwrap_or(&Value::Null);
    let overrides = ["podSpecOverrides", "podTemplateOverrides"];
    metadata(spec).chain(overrides.into_iter().flat_map(|field| pods(spec, field))).chain(patches(spec))
}

fn metadata(spec: &Value) -> impl Iterator<Item = Change> {
    ["labels", "annotations"].into_iter().filter_map(|field| {
        let template = json!({ "metadata": { field: spec.get(field)? } });
        Some(Change { rule: field.into(), path: root().field(field), template })
    })
}

fn pods<'v>(spec: &'v Value, field: &'static str) -> impl Iterator<Item = Change> + use<'v> {
    items(spec, field).flat_map(move |(index, item)| {
        let pod = if field == "podSpecOverrides" { json!({ "spec": item }) } else { item.clone() };
        let path = root().field(field).index(index);
        items(item, "targetJobs").map(move |(_, job)| Change {
            rule: format!("{field}[{index}]").into(),
            path: path.clone(),
            template: json!({ "spec": { "replicatedJobs": [
                { "name": job["name"], "template": { "spec": { "template": pod_template(&pod) } } }
            ] } }),
        })
    })
}

fn patches(spec: &Value) -> impl Iterator<Item = Change> {
    items(spec, "runtimePatches").filter_map(|(index, patch)| {
        Some(Change {
            rule: format!("runtimePatches[{}]", patch["manager"].as_str().unwrap_or_default()).into(),
            path: root().field("runtimePatches").index(index),
            template: find(patch, &["trainingRuntimeSpec", "template"])?.clone(),
        })
    })
}

fn root() -> FieldPath {
    FieldPath::root().field("spec")
}

/// The labels, the annotations and the pod spec of an override.
fn pod_template(pod: &Value) -> Value {
    let metadata = ["labels", "annotations"]
        .into_iter()
        .filter_map(|field| Some((field.to_owned(), pod.get("metadata")?.get(field)?.clone())));
    let mut template = json!({ "metadata": metadata.collect::<Map<_, _>>() });
    if let Some(Value::Object(spec)) = pod.get("spec") {
        let mut spec = spec.clone();
        spec.remove("targetJobs");
        template["spec"] = Value::Object(spec);
    }
    template
}

fn items<'v>(value: &'v Value, field: &str) -> impl Iterator<Item = (usize, &'v Value)> {
    value.get(field).and_then(Value::as_array).into_iter().flatten().enumerate()
}

/// What a typed client would send: without empties, and of the template's metadata labels and annotations alone.
fn wire_form(change: &Value) -> Value {
    let mut change = change.clone();
    schema::canonical(&types().schemas, types().template_patch, &mut change);
    let metadata: Map<String, Value> = ["labels", "annotations"]
        .into_iter()
        .filter_map(|field| Some((field.to_owned(), change.get("metadata")?.get(field)?.clone())))
        .collect();
    if let Value::Object(change) = &mut change {
        change.remove("metadata");
        if !metadata.is_empty() {
            change.insert("metadata".to_owned(), json!(metadata));
        }
    }
    change
}

fn names(template: &Value) -> Vec<Value> {
    let jobs = find(template, &["spec", "replicatedJobs"]).and_then(Value::as_array);
    jobs.into_iter().flatten().map(|job| job["name"].clone()).collect()
}

/// Jobs of the runtime in its order. One that only a patch has comes first, as upstream's sort puts it.
fn restore_order(template: &mut Value, order: &[Value]) {
    let jobs = find_mut(template, &["spec", "replicatedJobs"]).and_then(Value::as_array_mut);
    if let Some(jobs) = jobs {
        jobs.sort_by_key(|job| {
            order.iter().position(|name| *name == job["name"]).map_or(0, |index| index + 1)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_override_for_very_many_jobs_is_refused_before_it_is_copied_for_each() {
        let jobs: Vec<Value> = (0..20_000).map(|number| json!({ "name": number.to_string() })).collect();
        let pod = json!({ "targetJobs": jobs, "nodeSelector": { "a": "x".repeat(500_000) } });
        let train_job = json!({ "metadata": { "name": "j" }, "spec": { "podSpecOverrides": [pod] } });
        let job =
            ObjectRef::of(&json!({ "apiVersion": "v1", "kind": "TrainJob", "metadata": { "name": "j" } }));
        let refusal =
            patched(json!({ "spec": {} }), &train_job, &job.unwrap(), &mut Trace::default()).unwrap_err();
        let [diagnostic] = refusal.diagnostics() else { panic!("{refusal:?}") };
        assert_eq!(diagnostic.message, "the changes to the runtime are too many or too large");
    }
}
