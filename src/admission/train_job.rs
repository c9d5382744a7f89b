//! Whether a `TrainJob` is admitted.

use super::{Verdict, changes, overrides, runtime::deprecation};
use crate::{
    api,
    diagnostic::{Diagnostic, Place, Severity},
    object::{FieldPath, Gvk, ObjectRef, metadata},
    plan::{self, Child, Refusal, Runtime, RuntimeRef, Snapshot},
    policy::PolicySet,
    schema,
};
use serde_json::{Map, Value, json};

/// What a name is made of that the API server makes from `generateName` is not known yet; this stands for it.
const GENERATED: &str = "xxxxx";

/// Whether the TrainJob of `snapshot` is admitted, as an update if there is an `old_train_job`. Its runtime is the pinned
/// one if it has one. Of what is `live` it matters only which JobSets there are and which pods run. `runtimes` are those that there are:
/// one of them may be meant where the one that is asked for does not exist.
pub fn train_job(mut snapshot: Snapshot, policies: &PolicySet, runtimes: &[ObjectRef]) -> Verdict {
    give_name(&mut snapshot.train_job);
    let subject = ObjectRef::of(&snapshot.train_job).map(|it| it.to_string()).unwrap_or_default();
    if metadata(&snapshot.train_job).deletion_timestamp().is_some() {
        return Verdict::of(subject);
    }
    let mut refused = changes::changes(&snapshot, policies, &subject);
    let job_sets = changes::job_sets(&snapshot);
    // What exists already must not keep anything from being judged.
    snapshot.live.clear();
    let (mut verdict, children) = judge(&snapshot, policies, runtimes, &subject);
    let Some(old) = snapshot.old_train_job.take() else { return verdict };
    let changed = changes::changed(&old, &snapshot.train_job);
    let is_fixed = !job_sets.is_empty() && !changed.is_empty();
    if is_fixed || !verdict.is_admitted() {
        snapshot.train_job = old;
        let (before, old_children) = judge(&snapshot, policies, runtimes, &subject);
        verdict.errors.retain(|error| !before.errors.contains(error));
        refused.extend(changes::fixed(&job_sets, (&old_children, &children), &changed, &subject));
    }
    verdict.errors.splice(0..0, refused);
    verdict
}

/// Whether an update changes nothing that is judged: then it is admitted, whatever is wrong with the object.
pub fn is_moot(train_job: &Value, old: &Value) -> bool {
    metadata(train_job).deletion_timestamp().is_some() || judged(train_job) == judged(old)
}

/// What a plan may depend on: the spec, and of the metadata what users write.
fn judged(train_job: &Value) -> (Option<&Value>, Map<String, Value>) {
    const KEPT: [&str; 4] = ["name", "namespace", "labels", "annotations"];
    let metadata = train_job.get("metadata").and_then(Value::as_object);
    let kept = KEPT.iter().filter_map(|name| Some(((*name).to_owned(), metadata?.get(*name)?.clone())));
    (train_job.get("spec"), kept.collect())
}

/// Gives the object a name such as the API server will make from its `generateName`.
fn give_name(train_job: &mut Value) {
    let has_name = metadata(train_job).name().is_some();
    let Some(Value::Object(metadata)) = train_job.get_mut("metadata") else { return };
    if let (false, Some(prefix)) = (has_name, metadata.get("generateName").and_then(Value::as_str)) {
        let name = format!("{prefix}{GENERATED}");
        metadata.insert("name".to_owned(), json!(name));
    }
}

/// Everything that is wrong with the TrainJob as it stands, and what would be made for it.
fn judge(
    snapshot: &Snapshot,
    policies: &PolicySet,
    runtimes: &[ObjectRef],
    subject: &str,
) -> (Verdict, Vec<Child>) {
    let mut children = Vec::new();
    let mut verdict = Verdict::of(subject.to_owned());
    verdict.errors = unreadable(&snapshot.train_job, subject);
    if let Runtime::Live(runtime) = &snapshot.runtime {
        let name = ObjectRef::of(runtime).map(|it| it.to_string()).unwrap_or_default();
        verdict.errors.extend(unreadable(runtime, &name));
    }
    let is_readable = verdict.is_admitted();
    if let Runtime::Live(runtime) | Runtime::Pinned(runtime) = &snapshot.runtime {
        verdict.warnings.extend(deprecation(runtime, subject, "spec.runtimeRef"));
        verdict.add(overrides::overrides(&snapshot.train_job, runtime, subject));
    }
    // Quantities that cannot be read would be said to be wrong again, in worse words.
    if !is_readable {
        return (verdict, children);
    }
    match plan::dry(snapshot, policies) {
        Ok(plan) => {
            verdict.warnings.extend(plan.warnings);
            verdict.errors.extend(plan.children.iter().flat_map(refused_child));
            children = plan.children;
        }
        Err(refusal) => verdict.refuse(refusal, snapshot, runtimes),
    }
    (verdict, children)
}

impl Verdict {
    /// There is no plan. What only has to be waited for is no reason not to admit the TrainJob, but for its runtime: one
    /// that does not exist is a slip far more often than one to come.
    fn refuse(&mut self, refusal: Refusal, snapshot: &Snapshot, runtimes: &[ObjectRef]) {
        match refusal {
            Refusal::Waiting(diagnostic) if snapshot.runtime == Runtime::Missing => {
                let namespace = metadata(&snapshot.train_job).namespace();
                let meant = RuntimeRef::of(&snapshot.train_job).meant(namespace, runtimes.iter());
                self.errors.push(diagnostic.maybe_help(meant));
            }
            Refusal::Waiting(diagnostic) => {
                self.warnings.push(Diagnostic { severity: Severity::Warning, ..*diagnostic });
            }
            Refusal::Unsupported(diagnostic) => self.errors.push(*diagnostic),
            Refusal::Refused(diagnostics) => self.add(diagnostics),
        }
    }

    fn add(&mut self, diagnostics: Vec<Diagnostic>) {
        let (errors, warnings): (Vec<_>, Vec<_>) = diagnostics.into_iter().partition(Diagnostic::is_error);
        self.errors.extend(errors);
        self.warnings.extend(warnings);
    }
}

/// The quantities that the CRDs let through and that no program can read.
pub(super) fn unreadable(object: &Value, name: &str) -> Vec<Diagnostic> {
    let schemas = api::schemas();
    let kind = Gvk::of(object).and_then(|gvk| schemas.kind(&gvk.api_version, &gvk.kind));
    let errors = kind.map(|ty| schema::unreadable_quantities(schemas, ty, object)).unwrap_or_default();
    errors.iter().map(|error| schema::diagnostics::refused(name, error)).collect()
}

/// Why the API server would not take an object of the plan: the TrainJob could never run.
fn refused_child(child: &Child) -> Vec<Diagnostic> {
    let name = child.reference.to_string();
    let about = |error: &schema::FieldError| {
        let diagnostic = schema::diagnostics::refused(&name, error);
        match child.policy.as_str() {
            "" => diagnostic,
            _ => diagnostic.label(child.span.clone(), "made here"),
        }
    };
    plan::refused(child).iter().map(about).collect()
}

/// A place in the object under review.
pub(super) fn place(subject: &str, path: &FieldPath) -> Place {
    Place::Field { object: subject.to_owned(), path: path.to_string() }
}
