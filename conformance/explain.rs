//! Which rule set a field that differs: read from the traces of plans.

use serde_json::Value;
use std::fmt::Write;
use trainmaster::{
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

/// A line for each field in which the objects of two texts differ: who has set it.
pub fn writers(expected: &str, found: &str, plans: &[Plan]) -> String {
    let mut lines = String::new();
    let expected = objects(expected);
    for object in objects(found) {
        let reference = ObjectRef::of(&object);
        let Some(before) = expected.iter().find(|it| ObjectRef::of(it) == reference) else { continue };
        let planned = plans.iter().find_map(|plan| {
            Some((plan, plan.children.iter().find(|child| Some(&child.reference) == reference.as_ref())?))
        });
        let Some((plan, child)) = planned else { continue };
        for path in different(before, &object) {
            writeln!(lines, "  {path} is {}", writer(plan, child, &path)).unwrap();
        }
    }
    lines
}

fn objects(text: &str) -> Vec<Value> {
    yaml::parse(&Source::new("text", text)).0.iter().map(yaml::Node::to_json).collect()
}

/// The fields that differ, list items by their keys.
fn different(before: &Value, after: &Value) -> Vec<FieldPath> {
    let kind = Gvk::of(after).unwrap();
    let Some(ty) = api::schemas().kind(&kind.api_version, &kind.kind) else { return Vec::new() };
    let changes = diff::diff(before, after, api::schemas().typed(ty), Quantities::AsWritten);
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
    let steps = path.steps();
    if !starts(steps, &["spec", "replicatedJobs"]) {
        return places;
    }
    let jobs = &job_set["spec"]["replicatedJobs"];
    let Some((pod_set, rest)) = item(jobs, &steps[2..]) else { return places };
    let below = |root: &[&str], steps: &[Step]| {
        let root = root.iter().fold(FieldPath::root(), |path, field| path.field(*field));
        steps.iter().fold(root, |path, step| path.then(step.clone()))
    };
    let target = Target::PodSet(pod_set);
    places.push(match rest {
        [Step::Field(name), ..] if &**name == "replicas" => (target, below(&[], rest)),
        _ if starts(rest, &["template", "spec", "parallelism"])
            || starts(rest, &["template", "spec", "completions"]) =>
        {
            (target, below(&["count"], &[]))
        }
        _ if starts(rest, &["template", "spec", "template"]) => (target, below(&[], &rest[2..])),
        _ => (target, below(&["job"], rest)),
    });
    for (field, init) in [("containers", false), ("initContainers", true)] {
        if starts(rest, &["template", "spec", "template", "spec", field]) {
            let list = &jobs[pod_set]["template"]["spec"]["template"]["spec"][field];
            let found = item(list, &rest[5..]);
            places.extend(
                found.map(|(index, rest)| (Target::Container { pod_set, init, index }, below(&[], rest))),
            );
        }
    }
    places
}

fn starts(steps: &[Step], fields: &[&str]) -> bool {
    fields.len() <= steps.len()
        && fields
            .iter()
            .zip(steps)
            .all(|(field, step)| matches!(step, Step::Field(name) if &**name == *field))
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
