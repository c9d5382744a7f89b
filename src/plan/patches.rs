//! `spec.runtimePatches`: changes to the runtime's template, by whoever has something to say, in the list's order.
//!
//! Each is a strategic merge patch of typed objects, as upstream v2.3 applies them; only labels and annotations of the
//! template's own metadata count, and the order of the replicated jobs stays the runtime's.

use super::{
    Refusal,
    draft::Target,
    trace::{Trace, Written},
};
use crate::{
    diagnostic::{Diagnostic, Place, codes},
    object::{FieldPath, ObjectRef, merge},
    policy::scope::types,
    schema,
};
use serde_json::{Map, Value, json};

/// `template` with the patches of `train_job` applied.
pub(crate) fn patched(
    mut template: Value,
    train_job: &Value,
    job: &ObjectRef,
    trace: &mut Trace,
) -> Result<Value, Refusal> {
    let patches = train_job.pointer("/spec/runtimePatches").and_then(Value::as_array);
    for (index, patch) in patches.into_iter().flatten().enumerate() {
        let Some(change) = patch.pointer("/trainingRuntimeSpec/template") else { continue };
        let order = names(&template);
        let manager = patch["manager"].as_str().unwrap_or_default();
        let rule = format!("runtimePatches[{manager}]");
        let shape = types().schemas.typed(types().template);
        let merged = merge::strategic(&mut template, &wire_form(change), shape, &mut |write| {
            trace.record(Written {
                policy: String::new(),
                rule: rule.clone(),
                span: None,
                target: Target::Template,
                path: write.at.path(),
                before: write.before,
                after: write.after.cloned(),
            });
        });
        merged.map_err(|error| {
            let path = FieldPath::root().field("spec").field("runtimePatches").index(index);
            let place = Place::Field { object: job.to_string(), path: path.to_string() };
            Refusal::Refused(vec![Diagnostic::error(codes::NOT_APPLICABLE, place, error.to_string())])
        })?;
        restore_order(&mut template, &order);
        // Upstream merges typed objects: what a patch adds comes out as Go writes it.
        schema::canonical(&types().schemas, types().template, &mut template);
    }
    Ok(template)
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
    let jobs = template.pointer("/spec/replicatedJobs").and_then(Value::as_array);
    jobs.into_iter().flatten().map(|job| job["name"].clone()).collect()
}

/// Jobs of the runtime in its order. One that only a patch has comes first, as upstream's sort puts it.
fn restore_order(template: &mut Value, order: &[Value]) {
    let jobs = template.pointer_mut("/spec/replicatedJobs").and_then(Value::as_array_mut);
    if let Some(jobs) = jobs {
        jobs.sort_by_key(|job| {
            order.iter().position(|name| *name == job["name"]).map_or(0, |index| index + 1)
        });
    }
}
