//! What of a `TrainJob` may change when: its changes to the runtime only while it is suspended and none of its pods run,
//! and only as far as the JobSet that there is lets it.

use super::train_job::place;
use crate::{
    api,
    diagnostic::{Diagnostic, Reason, codes},
    object::{
        FieldPath, ObjectRef, Untyped,
        diff::{Quantities, diff},
        find_mut,
    },
    plan::{self, Child, Snapshot, is_suspended},
    policy::PolicySet,
    schema,
};
use serde_json::{Value, json};

/// The fields with which a TrainJob changes its runtime: that of v2.2, and those of v2.0 and v2.1.
const FIELDS: [&str; 3] = ["runtimePatches", "podSpecOverrides", "podTemplateOverrides"];

/// What a JobSet lets change in the pods of its jobs, while it is suspended: what queues set.
const MUTABLE: [(&str, &str); 5] = [
    ("metadata", "annotations"),
    ("metadata", "labels"),
    ("spec", "nodeSelector"),
    ("spec", "schedulingGates"),
    ("spec", "tolerations"),
];

/// What is wrong with the update from the old TrainJob of `snapshot` to the new one.
pub(super) fn changes(snapshot: &Snapshot, policies: &PolicySet, subject: &str) -> Vec<Diagnostic> {
    let Some(old) = &snapshot.old_train_job else { return Vec::new() };
    let new = &snapshot.train_job;
    let changed = changed(old, new);
    if changed.is_empty() {
        return Vec::new();
    }
    let why = if is_suspended(old) || is_suspended(new) {
        let active = active_jobs(snapshot, policies);
        active.iter().map(|job| format!("must not change while pods of the job `{job}` are active")).collect()
    } else {
        vec!["may only change while the TrainJob is suspended, before or after the update".to_owned()]
    };
    changed.iter().flat_map(|field| why.iter().map(|why| forbidden(subject, field, why))).collect()
}

fn forbidden(subject: &str, field: &str, why: &str) -> Diagnostic {
    let place = place(subject, &FieldPath::root().field("spec").field(field));
    let message = format!("{}: {why}", Reason::Forbidden);
    Diagnostic::error(codes::REFUSED_FIELD, place, message).reason(Reason::Forbidden)
}

/// The fields that change the runtime otherwise than before.
pub(super) fn changed(old: &Value, new: &Value) -> Vec<&'static str> {
    FIELDS.into_iter().filter(|field| spelled(old, field) != spelled(new, field)).collect()
}

/// The JobSets of a TrainJob that are there.
pub(super) fn job_sets(snapshot: &Snapshot) -> Vec<ObjectRef> {
    let is_job_set = |it: &&ObjectRef| it.gvk.kind == "JobSet" && it.gvk.group() == "jobset.x-k8s.io";
    snapshot.live.keys().filter(is_job_set).cloned().collect()
}

/// What the `job_sets` that are there would not let change, of what is planned for them `before` and `after` an update of
/// the fields that `changed`. They would be left as they are, for ever.
pub(super) fn fixed(
    job_sets: &[ObjectRef],
    (before, after): (&[Child], &[Child]),
    changed: &[&str],
    subject: &str,
) -> Vec<Diagnostic> {
    let mut errors = Vec::new();
    for job_set in job_sets {
        let jobs = |children: &[Child]| {
            let child = children.iter().find(|child| child.reference == *job_set)?;
            Some(without_mutable(child.object.pointer("/spec/replicatedJobs")?.clone()))
        };
        let (Some(before), Some(after)) = (jobs(before), jobs(after)) else { continue };
        for change in diff(&before, &after, Untyped, Quantities::ByValue).iter().take(MOST) {
            let path = FieldPath::root().field("spec").field("replicatedJobs").join(&change.path);
            let why = format!("would change {path}, which {job_set} lets no one change once it is there");
            errors.extend(changed.iter().map(|field| forbidden(subject, field, &why)));
        }
    }
    errors
}

/// How many of the fields are listed that may not change.
const MOST: usize = 10;

fn without_mutable(mut jobs: Value) -> Value {
    for job in jobs.as_array_mut().into_iter().flatten() {
        for (part, field) in MUTABLE {
            let part = find_mut(job, &["template", "spec", "template", part]);
            _ = part.and_then(Value::as_object_mut).and_then(|part| part.remove(field));
        }
    }
    jobs
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
