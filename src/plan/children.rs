//! The objects of a plan: which ones a policy wants, which of them are to be written, and what stands in them.

use super::{
    Child, Refusal,
    draft::Draft,
    evaluate::{self, Result, holds, runs, text, tree},
    pin::pin_ref,
    scope::{Fixed, Live, Random, Scope},
    snapshot::{Snapshot, is_suspended},
};
use crate::{
    cel::{self, Budget, Val},
    diagnostic::{Diagnostic, Place, codes},
    object::{FieldPath, Gvk, ObjectRef, metadata, path::Step},
    policy::{
        compiled::{Policy, Resource, TakenOver, Update},
        document::Slot,
        scope::types,
    },
    schema,
};
use serde_json::Value;
use std::{collections::BTreeMap, sync::Arc};

/// One object that a resource names.
#[derive(Debug)]
pub(crate) struct Named {
    /// The resource, by position.
    pub(crate) resource: usize,
    /// The values of the loops around it.
    pub(crate) run: Vec<Value>,
    pub(crate) reference: ObjectRef,
}

/// The objects that the resources of a policy name.
pub(crate) fn named(fixed: &Fixed<'_>, budget: &mut Budget) -> Result<Vec<Named>> {
    let namespace = metadata(fixed.inputs.train_job).namespace().map(str::to_owned);
    let mut all = Vec::new();
    for (index, resource) in fixed.policy.resources.iter().enumerate() {
        for run in &*runs(&resource.loops, fixed, None, budget)? {
            let name = text(&resource.name, &Scope::of(fixed).with_loops(run), budget)?.into_owned();
            let reference = ObjectRef { gvk: resource.kind.clone(), namespace: namespace.clone(), name };
            all.push(Named { resource: index, run: run.clone(), reference });
        }
    }
    Ok(all)
}

/// Refuses two objects of one name: one would be written over the other, again and again.
pub(crate) fn distinct(active: &[Fixed<'_>], named: &[Vec<Named>], train_job: &Value) -> Result<()> {
    let pin = pin_ref(train_job);
    let mut seen: BTreeMap<&ObjectRef, &Resource> = BTreeMap::new();
    for (fixed, named) in active.iter().zip(named) {
        for Named { resource, reference, .. } in named {
            let Some(resource) = fixed.policy.resources.get(*resource) else { continue };
            let first = seen.insert(reference, resource);
            if first.is_none() && *reference != pin {
                continue;
            }
            let what = if first.is_some() { "is made twice" } else { "is what pins the runtime" };
            let message =
                format!("{reference} of `{}` of policy `{}` {what}", resource.id, fixed.policy.name);
            let diagnostic = Diagnostic::error(codes::CONFLICT, resource.span.clone(), message)
                .help("the template must give it another name");
            return Err(Box::new(match first {
                Some(first) if !std::ptr::eq(first, resource) => {
                    diagnostic.label(first.span.clone(), "made here first")
                }
                _ => diagnostic,
            }));
        }
    }
    Ok(())
}

impl<'p> Live<'p> {
    /// What is on the cluster for a policy that names these objects.
    pub(crate) fn of(policy: &Policy, named: &[Named], snapshot: &'p Snapshot) -> Self {
        let resources = policy.resources.iter().enumerate();
        let namespace = metadata(&snapshot.train_job).namespace();
        Live {
            resources: resources
                .map(|(index, resource)| resource_value(index, resource, named, snapshot))
                .collect(),
            references: policy
                .references
                .iter()
                .map(|(_, kind)| reference_value(kind, namespace, snapshot))
                .collect(),
        }
    }
}

/// The value of `live.ID`: the object if it exists and is ours, or a map of those that are by name.
fn resource_value<'p>(index: usize, resource: &Resource, named: &[Named], snapshot: &'p Snapshot) -> Val<'p> {
    let mut found = named
        .iter()
        .filter(|named| named.resource == index)
        .filter_map(|named| snapshot.live.get_key_value(&named.reference))
        .filter(|(_, object)| is_ours(object, &snapshot.train_job));
    if resource.loops.is_empty() {
        let object = found.next().map(|(_, object)| Arc::new(Val::from_json(object)));
        return Val::Optional(object);
    }
    by_name(found)
}

/// The value of `objects.NAME`: the objects of a kind, those of the TrainJob's namespace or of none, by name.
fn reference_value<'p>(kind: &Gvk, namespace: Option<&str>, snapshot: &'p Snapshot) -> Val<'p> {
    let others = snapshot.others.iter();
    by_name(others.filter(|(it, _)| {
        it.gvk == *kind && (it.namespace.is_none() || it.namespace.as_deref() == namespace)
    }))
}

fn by_name<'p>(objects: impl Iterator<Item = (&'p ObjectRef, &'p Value)>) -> Val<'p> {
    let by_name = objects.map(|(reference, object)| (reference.name.as_str(), Val::from_json(object)));
    cel::Map::object(by_name).map_or(Val::Null, Val::Map)
}

/// Whether an object is to be written now.
pub(crate) fn is_due(
    named: &Named,
    fixed: &Fixed<'_>,
    snapshot: &Snapshot,
    budget: &mut Budget,
) -> std::result::Result<bool, Refusal> {
    let Some(live) = snapshot.live.get(&named.reference) else { return Ok(true) };
    if !is_ours(live, &snapshot.train_job) {
        let message = format!("{} exists and does not belong to this TrainJob", named.reference);
        let place = Place::Field {
            object: super::reference(&snapshot.train_job).to_string(),
            path: "metadata.name".to_owned(),
        };
        let diagnostic = Diagnostic::error(codes::FOREIGN_OBJECT, place, message);
        let help = "rename the TrainJob, or delete the object";
        return Err(Refusal::Refused(vec![diagnostic.help(help)]));
    }
    let Some(resource) = fixed.policy.resources.get(named.resource) else { return Ok(false) };
    let due = match &resource.update {
        Update::Always => true,
        Update::Never => false,
        Update::WhenSuspended => is_suspended(&snapshot.train_job),
        Update::When(expr) => holds(Some(expr), &Scope::of(fixed).with_loops(&named.run), budget)?,
    };
    Ok(due)
}

/// Whether `object` is controlled by the TrainJob. Offline, where a TrainJob has no UID, its name is enough.
pub(crate) fn is_ours(object: &Value, train_job: &Value) -> bool {
    let (job, owner) = (metadata(train_job), metadata(object).controller());
    match (owner, job.uid()) {
        (None, _) => false,
        (Some(owner), Some(uid)) => owner.uid() == Some(uid),
        (Some(owner), None) => owner.name() == job.name(),
    }
}

/// The object of a resource, ready to be applied; none if it is not wanted.
pub(crate) fn child<'s, 'p: 's>(
    named: &'s Named,
    resource: &'s Resource,
    scope: Scope<'s, 'p>,
    snapshot: &'s Snapshot,
    budget: &mut Budget,
) -> Result<Option<Child>> {
    let policy = scope.fixed.policy;
    let scope = made_once(scope, named, snapshot);
    let Some(mut object) = begun(resource, &scope, budget)? else { return Ok(None) };
    for TakenOver { to, hole, .. } in &resource.taken_over {
        if let Some(value) = evaluate::hole(hole, &scope, budget)? {
            _ = to.set(&mut object, value);
        }
    }
    Ok(Some(finished(object, named, resource, policy, snapshot)))
}

/// The same for the last object of a plan. The draft becomes part of it without being copied.
pub(crate) fn last_child(
    named: &Named,
    resource: &Resource,
    fixed: &Fixed<'_>,
    draft: Draft,
    snapshot: &Snapshot,
    budget: &mut Budget,
) -> Result<Option<Child>> {
    let scope = Scope::of(fixed).with_draft(&draft).with_whole().with_loops(&named.run);
    if !resource.taken_over.iter().all(|it| can_be_moved(&it.from, &draft.template)) {
        return child(named, resource, scope, snapshot, budget);
    }
    let begun = begun(resource, &made_once(scope, named, snapshot), budget)?;
    let Some(mut object) = begun else { return Ok(None) };
    let mut whole = draft.into_whole();
    for TakenOver { to, from, .. } in &resource.taken_over {
        if let Some(value) = from.remove(&mut whole) {
            _ = to.set(&mut object, value);
        }
    }
    Ok(Some(finished(object, named, resource, fixed.policy, snapshot)))
}

/// Whether maps alone lead to a part of the template, and null is not there. An expression fails otherwise.
fn can_be_moved(part: &FieldPath, template: &Value) -> bool {
    let mut place = Some(template);
    for step in part.steps() {
        let (Step::Field(name), Some(value)) = (step, place) else { break };
        let Value::Object(map) = value else { return false };
        place = map.get(&**name);
    }
    place.is_none_or(|value| !value.is_null())
}

fn made_once<'s, 'p: 's>(scope: Scope<'s, 'p>, named: &'s Named, snapshot: &'s Snapshot) -> Scope<'s, 'p> {
    let random = snapshot.random.as_ref().map(|seed| Random { seed, object: &named.reference });
    scope.with_random(random)
}

/// The object without what it takes over from the template; none if it is not wanted.
fn begun<'s, 'p: 's>(
    resource: &'s Resource,
    scope: &Scope<'s, 'p>,
    budget: &mut Budget,
) -> Result<Option<Value>> {
    if !holds(resource.include_when.as_ref(), scope, budget)? {
        return Ok(None);
    }
    tree(&resource.template, scope, budget)
}

fn finished(
    mut object: Value,
    named: &Named,
    resource: &Resource,
    policy: &Policy,
    snapshot: &Snapshot,
) -> Child {
    finish(&mut object, resource, snapshot);
    Child {
        reference: named.reference.clone(),
        policy: policy.name.as_ref().to_owned(),
        resource: resource.id.clone(),
        span: resource.span.clone(),
        exists: snapshot.live.contains_key(&named.reference),
        sensitive: resource.sensitive,
        workload: policy.slot == Some(Slot::Workload),
        object,
    }
}

/// The form in which the object is written. Its status is its controller's, though Go's types would write an empty one.
fn finish(object: &mut Value, resource: &Resource, snapshot: &Snapshot) {
    if let Some(ty) = resource.ty {
        schema::applied(&types().schemas, ty, object);
    }
    if let Value::Object(object) = object {
        object.remove("status");
    }
    own(object, &snapshot.train_job);
}

/// Puts the TrainJob's namespace and the reference to it as controlling owner into `object`.
pub(crate) fn own(object: &mut Value, train_job: &Value) {
    let job = metadata(train_job);
    let text = |field: &str| Value::from(train_job[field].as_str().unwrap_or_default());
    let fields = [
        ("apiVersion", text("apiVersion")),
        ("blockOwnerDeletion", Value::Bool(true)),
        ("controller", Value::Bool(true)),
        ("kind", text("kind")),
        ("name", Value::from(job.name().unwrap_or_default())),
    ];
    let uid = job.uid().map(|uid| ("uid", Value::from(uid)));
    let owner = fields.into_iter().chain(uid).map(|(name, value)| (name.to_owned(), value)).collect();
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        metadata.insert("ownerReferences".to_owned(), Value::Array(vec![Value::Object(owner)]));
        if let Some(namespace) = job.namespace() {
            metadata.insert("namespace".to_owned(), Value::from(namespace));
        }
    }
}
