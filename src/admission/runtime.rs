//! Whether a `TrainingRuntime` or `ClusterTrainingRuntime` is admitted.

use super::{
    Verdict,
    train_job::{place, unreadable},
};
use crate::{
    api,
    diagnostic::{Diagnostic, Place, Reason, Severity, codes},
    object::{FieldPath, ObjectRef, find, metadata},
    plan::{self, Config, Refusal, Runtime, Served, Snapshot},
    policy::PolicySet,
    schema::{self, FieldError},
};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The label that says how long a runtime will be there, and what it says of one that will not be for long.
const SUPPORT: (&str, &str) = ("trainer.kubeflow.org/support", "deprecated");
/// What that means.
const SUPPORT_PAGE: &str =
    "https://trainer.kubeflow.org/en/latest/operator-guides/runtime.html#runtime-deprecation-policy";

/// Whether a runtime is admitted, as an update if there is an `old` one. What keeps every TrainJob with it from being
/// planned in a cluster that has these `policies` and kinds is a warning: that may change while the runtime stays.
pub fn runtime(
    runtime: &Value,
    old: Option<&Value>,
    policies: &PolicySet,
    served: &Served,
    config: &Config,
) -> Verdict {
    let subject = ObjectRef::of(runtime).map(|it| it.to_string()).unwrap_or_default();
    let mut verdict = Verdict::of(subject);
    if metadata(runtime).deletion_timestamp().is_some() {
        return verdict;
    }
    verdict.errors = errors(runtime, &verdict.subject);
    if let Some(old) = old {
        let before = errors(old, &verdict.subject);
        verdict.errors.retain(|error| !before.contains(error));
    } else {
        verdict.warnings.extend(deprecation(runtime, &verdict.subject, "metadata.labels"));
    }
    let is_new = old.is_none_or(|old| old.get("spec") != runtime.get("spec"));
    if is_new && verdict.is_admitted() {
        verdict.warnings.extend(prospects(runtime, policies, served, config));
    }
    verdict
}

fn errors(runtime: &Value, subject: &str) -> Vec<Diagnostic> {
    let mut errors = unreadable(runtime, subject);
    let jobs = find(runtime, &["spec", "template", "spec", "replicatedJobs"]).and_then(Value::as_array);
    for (index, job) in jobs.into_iter().flatten().enumerate() {
        let path = ["template", "spec", "replicatedJobs"];
        let path = path.into_iter().fold(FieldPath::root().field("spec"), FieldPath::field).index(index);
        errors.extend(job_errors(job, &path).iter().map(|it| schema::diagnostics::refused(subject, it)));
    }
    errors
}

/// What is wrong with a replicated job that has a role: there is one of it, with the container that plays the role.
fn job_errors(job: &Value, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let label = find(job, &["template", "metadata", "labels", api::ANCESTOR_LABEL]).and_then(Value::as_str);
    let (role, wanted) = match label {
        Some("trainer") => ("trainer", "node"),
        Some(role @ ("dataset-initializer" | "model-initializer")) => (role, role),
        _ => return errors,
    };
    let mut wrong = |path: FieldPath, value: &Value, detail: String| {
        errors.push(FieldError { path, reason: Reason::Invalid, value: Some(value.to_string()), detail });
    };
    if let Some(replicas) = job.get("replicas").filter(|replicas| replicas.as_i64() != Some(1)) {
        let detail = format!("must be 1 in a job with the role {role}");
        wrong(path.clone().field("replicas"), replicas, detail);
    }
    let below = ["template", "spec", "template", "spec", "containers"];
    let containers = find(job, &below).and_then(Value::as_array);
    let names: Vec<&str> =
        containers.into_iter().flatten().filter_map(|container| container.get("name")?.as_str()).collect();
    if !names.contains(&wanted) {
        let path = below.into_iter().fold(path.clone(), FieldPath::field);
        let detail = format!("must have the container `{wanted}` in a job with the role {role}");
        wrong(path, &json!(names), detail);
    }
    errors
}

/// That a runtime will not be there for long. `field` of `subject` is to blame.
pub(super) fn deprecation(runtime: &Value, subject: &str, field: &str) -> Option<Diagnostic> {
    let (label, deprecated) = SUPPORT;
    let said = find(runtime, &["metadata", "labels", label])?;
    (said == deprecated).then(|| {
        let name = ObjectRef::of(runtime).map(|it| it.to_string()).unwrap_or_default();
        let place = Place::Field { object: subject.to_owned(), path: field.to_owned() };
        let message = format!("{name} is deprecated and will be removed in a future release");
        Diagnostic::warning(codes::VALIDATION_WARNING, place, message).help(SUPPORT_PAGE)
    })
}

/// What keeps every TrainJob with the runtime from being planned.
fn prospects(runtime: &Value, policies: &PolicySet, served: &Served, config: &Config) -> Vec<Diagnostic> {
    let snapshot = Snapshot {
        train_job: any_train_job(runtime),
        old_train_job: None,
        runtime: Runtime::live(runtime.clone()),
        live: BTreeMap::new(),
        others: BTreeMap::new(),
        served: served.clone(),
        config: config.clone(),
        random: None,
    };
    let subject = ObjectRef::of(runtime).map(|it| it.to_string()).unwrap_or_default();
    let found = match plan::prospects(&snapshot, policies) {
        Err(Refusal::Refused(diagnostics)) => diagnostics,
        Err(Refusal::Waiting(diagnostic)) => vec![*diagnostic],
        Ok(()) | Err(Refusal::Unsupported(_)) => Vec::new(),
    };
    let warning = |mut it: Diagnostic| {
        it.severity = Severity::Warning;
        it.message = format!("no TrainJob with this runtime can be run: {}", it.message);
        // What is said of the TrainJob's choice of this runtime is said of the runtime.
        if !matches!(&it.place, Place::Field { object, .. } if *object == subject) {
            it.place = place(&subject, &FieldPath::root().field("spec"));
        }
        it
    };
    found.into_iter().map(warning).collect()
}

/// A TrainJob with the runtime, that asks for nothing.
fn any_train_job(runtime: &Value) -> Value {
    let reference = json!({
        "apiGroup": api::GROUP, "kind": runtime["kind"], "name": metadata(runtime).name().unwrap_or_default(),
    });
    json!({
        "apiVersion": format!("{}/{}", api::GROUP, api::VERSION), "kind": "TrainJob",
        "metadata": { "name": "any", "namespace": metadata(runtime).namespace().unwrap_or("any") },
        "spec": { "runtimeRef": reference },
    })
}
