//! What of a `TrainJob` may change when: its changes to the runtime only while it is suspended and none of its pods run.

use super::train_job::place;
use crate::{
    api,
    diagnostic::{Diagnostic, Reason, codes},
    object::FieldPath,
    plan::{self, Snapshot, is_suspended},
    policy::PolicySet,
    schema,
};
use serde_json::{Value, json};

/// The fields with which a TrainJob changes its runtime: that of v2.2, and those of v2.0 and v2.1.
const FIELDS: [&str; 3] = ["runtimePatches", "podSpecOverrides", "podTemplateOverrides"];

/// What is wrong with the update from the old TrainJob of `snapshot` to the new one.
pub(super) fn changes(snapshot: &Snapshot, policies: &PolicySet, subject: &str) -> Vec<Diagnostic> {
    let Some(old) = &snapshot.old_train_job else { return Vec::new() };
    let new = &snapshot.train_job;
    let changed: Vec<&str> =
        FIELDS.into_iter().filter(|field| spelled(old, field) != spelled(new, field)).collect();
    if changed.is_empty() {
        return Vec::new();
    }
    let why = if is_suspended(old) || is_suspended(new) {
        let active = active_jobs(snapshot, policies);
        active.iter().map(|job| format!("must not change while pods of the job `{job}` are active")).collect()
    } else {
        vec!["may only change while the TrainJob is suspended, before or after the update".to_owned()]
    };
    let forbidden = |field: &str, why: &String| {
        let place = place(subject, &FieldPath::root().field("spec").field(field));
        let message = format!("{}: {why}", Reason::Forbidden);
        Diagnostic::error(codes::REFUSED_FIELD, place, message).reason(Reason::Forbidden)
    };
    changed.iter().flat_map(|field| why.iter().map(|why| forbidden(field, why))).collect()
}

/// A field of the spec as Go types write it: what is spelled otherwise is no change.
fn spelled(train_job: &Value, field: &str) -> Value {
    let schemas = api::schemas();
    let value = train_job.get("spec").and_then(|spec| spec.get(field)).cloned();
    let mut object = json!({ "spec": { field: value.unwrap_or_else(|| json!([])) } });
    if let Some(ty) = schemas.kind(&format!("{}/{}", api::GROUP, api::VERSION), "TrainJob") {
        schema::canonical(schemas, ty, &mut object);
    }
    object.pointer_mut("/spec").and_then(|spec| spec.get_mut(field)).map(Value::take).unwrap_or_default()
}

/// The jobs of which pods run, as the policies tell it of the TrainJob's children. Where a policy fails to tell nothing is
/// known to run; the controller says so in the TrainJob's status.
fn active_jobs(snapshot: &Snapshot, policies: &PolicySet) -> Vec<String> {
    let reports = plan::reports(snapshot, policies).unwrap_or_default();
    let jobs = reports.into_iter().filter_map(|report| report.jobs).flatten();
    let active =
        jobs.filter(|job| job.get("active").and_then(Value::as_i64).is_some_and(|active| active > 0));
    active.filter_map(|job| job.get("name")?.as_str().map(str::to_owned)).collect()
}
