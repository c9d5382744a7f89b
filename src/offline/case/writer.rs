//! Which rule set a field that differs: read from the traces of plans.

use crate::{
    api,
    diagnostic::Source,
    object::{
        FieldPath, Gvk, ObjectRef,
        diff::{self, Quantities},
        path::Step,
    },
    plan::{Child, Plan, Target, Written},
    yaml,
};
use serde_json::Value;

/// A sentence for each field in which the objects of two texts differ: who has set it. `found` is what `plans` made.
pub(super) fn writers(expected: &str, found: &str, plans: &[Plan]) -> Vec<String> {
    let mut sentences = Vec::new();
    let expected = objects(expected);
    for object in objects(found) {
        let reference = ObjectRef::of(&object);
        let Some(before) = expected.iter().find(|it| ObjectRef::of(it) == reference) else { continue };
        let planned = plans.iter().find_map(|plan| {
            Some((plan, plan.children.iter().find(|child| Some(&child.reference) == reference.as_ref())?))
        });
        let Some((plan, child)) = planned else { continue };
        for path in different(before, &object) {
            sentences.push(format!("{path} is {}", writer(plan, child, &path)));
        }
    }
    sentences
}

fn objects(text: &str) -> Vec<Value> {
    yaml::parse(&Source::new("", text)).0.iter().map(yaml::Node::to_json).collect()
}

/// The fields that differ, list items by their keys.
fn different(before: &Value, after: &Value) -> Vec<FieldPath> {
    let schemas = api::schemas();
    let ty = Gvk::of(after).and_then(|kind| schemas.kind(&kind.api_version, &kind.kind));
    let Some(ty) = ty else { return Vec::new() };
    let changes = diff::diff(before, after, schemas.typed(ty), Quantities::AsWritten);
    changes.into_iter().map(|change| change.path).collect()
}

fn writer(plan: &Plan, child: &Child, path: &FieldPath) -> String {
    let places = if child.workload { places(&child.object, path) } else { Vec::new() };
    let is_it = |it: &Written| {
        places.iter().any(|(target, path)| {
            *target == it.target() && (it.path().contains(path) || path.contains(&it.path()))
        })
    };
    match plan.trace.writes().rev().find(is_it) {
        Some(it) if it.policy().is_empty() => format!("set by `{}` of the TrainJob", it.rule()),
        Some(it) => {
            let span = it.span().map(|span| format!(", {span}")).unwrap_or_default();
            format!("set by `{}` of policy `{}`{span}", it.rule(), it.policy())
        }
        None if child.workload => "the runtime's".to_owned(),
        None => format!("made by `{}` of policy `{}`, {}", child.resource, child.policy, child.span),
    }
}

/// What a field of a JobSet is to rules: a field of the template, of a PodSet, of a container.
fn places(job_set: &Value, path: &FieldPath) -> Vec<(Target, FieldPath)> {
    let mut places = vec![(Target::Template, path.clone())];
    let below_jobs = after(path.steps(), &["spec", "replicatedJobs"]);
    let Some((pod_set, rest)) = below_jobs.and_then(|steps| item(job_set.pointer(JOBS)?, steps)) else {
        return places;
    };
    places.push((Target::PodSet(pod_set), of_pod_set(rest)));
    for (field, init) in [("containers", false), ("initContainers", true)] {
        let list = job_set.pointer(&format!("{JOBS}/{pod_set}/template/spec/template/spec/{field}"));
        let steps = after(rest, &["template", "spec", "template", "spec", field]);
        if let (Some(list), Some(steps)) = (list, steps)
            && let Some((index, rest)) = item(list, steps)
        {
            places.push((Target::Container { pod_set, init, index }, path_of(&[], rest)));
        }
    }
    places
}

const JOBS: &str = "/spec/replicatedJobs";

/// A field of a replicated job as one of a PodSet.
fn of_pod_set(job: &[Step]) -> FieldPath {
    let is_count = ["parallelism", "completions"];
    if after(job, &["replicas"]).is_some() {
        return path_of(&[], job);
    }
    if is_count.iter().any(|field| after(job, &["template", "spec", field]).is_some()) {
        return path_of(&["count"], &[]);
    }
    match after(job, &["template", "spec", "template"]) {
        Some(rest) => path_of(&["template"], rest),
        None => path_of(&["job"], job),
    }
}

fn path_of(fields: &[&str], steps: &[Step]) -> FieldPath {
    let root = fields.iter().fold(FieldPath::root(), |path, field| path.field(*field));
    steps.iter().fold(root, |path, step| path.then(step.clone()))
}

/// What is left of `steps` behind `fields`, if they begin so.
fn after<'s>(steps: &'s [Step], fields: &[&str]) -> Option<&'s [Step]> {
    fields.iter().try_fold(steps, |steps, field| match steps.split_first()? {
        (Step::Field(name), rest) if **name == **field => Some(rest),
        _ => None,
    })
}

/// The position of the item that the first step leads to, and the further steps.
fn item<'s>(list: &Value, steps: &'s [Step]) -> Option<(usize, &'s [Step])> {
    let (first, rest) = steps.split_first()?;
    let index = match first {
        Step::Index(index) => *index,
        Step::Item(values) => list.as_array()?.iter().position(|item| {
            values.iter().all(|(key, value)| item.get(&**key).is_some_and(|found| value.is(found)))
        })?,
        Step::Field(_) | Step::Key(_) => return None,
    };
    Some((index, rest))
}
