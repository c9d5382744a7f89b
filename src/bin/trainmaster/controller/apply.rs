//! Writing one child: [`apply`].

use super::{
    cache::From,
    cluster::{At, FIELD_MANAGER},
    error::Error,
    metrics::APPLIES,
    shared::Shared,
    snapshot::Attempt,
    store,
};
use serde_json::{Value, json};
use trainmaster::{
    api,
    object::owned,
    plan::{Child, pin_ref, pinned_runtime},
};

/// Writes a child unless it is there as it should be.
pub(super) async fn apply(attempt: &mut Attempt<'_>, child: &Child) -> Result<(), Error> {
    let (shared, reference) = (attempt.shared, &child.reference);
    let resource = shared.cache().resource(&reference.gvk);
    let resource = resource.ok_or_else(|| Error::NotServed(reference.gvk.clone()))?;
    let at = At { resource: &resource, namespace: reference.namespace.as_deref(), name: &reference.name };
    let wanted = owned::digest(&owned::applied(&child.object));
    if child.exists && applied(shared, child, at).await? == Some(wanted) {
        return Ok(());
    }
    let counted = |result: &str| shared.metrics.count(&APPLIES, &[&reference.gvk.kind, result]);
    let stored = match write(shared, child, at).await {
        Ok(stored) => stored,
        Err(error) => {
            counted("failed");
            return Err(error);
        }
    };
    counted(if child.exists { "changed" } else { "created" });
    let policy = attempt.policies.get(&child.policy).map(|it| format!("{}@{}", it.name(), it.version()));
    tracing::info!(child = %reference, created = !child.exists, policy, "applied");
    let mut cache = shared.cache();
    cache.put(&reference.gvk, &stored, From::Answer);
    if let Some(entry) = cache.entry_mut(reference) {
        entry.applied = Some(wanted);
    }
    if let Some(object) = cache.object(reference) {
        attempt.snapshot.live.insert(reference.clone(), object);
    }
    drop(cache);
    if *reference == pin_ref(&attempt.snapshot.train_job)
        && let Ok(runtime) = pinned_runtime(&stored, &attempt.snapshot.train_job)
    {
        attempt.pin(runtime, &stored);
    }
    Ok(())
}

/// Applies the child; returns it as it is stored.
async fn write(shared: &Shared, child: &Child, at: At<'_>) -> Result<Value, Error> {
    let refused = match shared.cluster.apply(at, &child.object).await {
        Err(error) if child.exists && error.is_invalid() => error,
        answer => return answer,
    };
    let Some(live) = shared.cluster.get(at).await? else { return Err(refused) };
    let filled = filled_in(&child.object, &live);
    if filled != child.object {
        return shared.cluster.apply(at, &filled).await;
    }
    take_out_first(shared, child, at, &live).await?.ok_or(refused)
}

/// The object with what a webhook has filled in where it was made: in lists that are applied as a whole it would be lost,
/// and what may not change would change.
fn filled_in(object: &Value, live: &Value) -> Value {
    let mut object = object.clone();
    let (Some(Value::Object(spec)), Some(live)) = (object.get_mut("spec"), live.get("spec")) else {
        return object;
    };
    for (name, value) in spec.iter_mut().filter(|(_, value)| value.is_array()) {
        if let Some(stored) = live.get(name).filter(|stored| extends(stored, value, 0)) {
            *value = stored.clone();
        }
    }
    object
}

/// Whether `more` is `less` with further fields. Lists of named items are merged, and left as they are.
fn extends(more: &Value, less: &Value, depth: usize) -> bool {
    match (more, less) {
        _ if depth > MAX_DEPTH => false,
        (Value::Object(more), Value::Object(less)) => less.iter().all(|(name, less)| {
            more.get(name).map_or_else(|| is_empty(less), |more| extends(more, less, depth + 1))
        }),
        (Value::Array(more), Value::Array(less)) => {
            more.len() == less.len()
                && !less.iter().any(|it| it["name"].is_string())
                && more.iter().zip(less).all(|(more, less)| extends(more, less, depth + 1))
        }
        (more, less) => more == less,
    }
}

/// Deepest level that is looked at; the API server takes nothing deeper.
const MAX_DEPTH: usize = 128;

/// What we have applied of the child: known, or read.
async fn applied(shared: &Shared, child: &Child, at: At<'_>) -> Result<Option<owned::Digest>, Error> {
    let known =
        shared.cache().entry(&child.reference).map(|entry| (entry.applied, entry.version, entry.mark));
    let Some((None, version, Some(_))) = known else { return Ok(known.and_then(|(applied, ..)| applied)) };
    let Some(object) = shared.cluster.get(at).await? else { return Ok(None) };
    let applied = store::applied(&child.reference.gvk, &object);
    if let Some(entry) = shared.cache().entry_mut(&child.reference).filter(|it| it.version == version) {
        entry.applied = applied;
    }
    Ok(applied)
}

/// Takes out what is to go, then applies the child. An API server that takes the last entry out of a map by an apply
/// leaves a null in its place, and refuses what it has made itself, for ever. `None` if nothing is to go.
async fn take_out_first(
    shared: &Shared,
    child: &Child,
    at: At<'_>,
    object: &Value,
) -> Result<Option<Value>, Error> {
    let gvk = &child.reference.gvk;
    let schemas = api::schemas();
    let ty = schemas.kind(&gvk.api_version, &gvk.kind).map(|ty| schemas.typed(ty));
    let Some(before) = owned::owned(object, FIELD_MANAGER, ty) else { return Ok(None) };
    let mut paths = Vec::new();
    gone(&before, &child.object, object, "", &mut paths);
    if paths.is_empty() {
        return Ok(None);
    }
    let version = &object["metadata"]["resourceVersion"];
    let same = json!({ "op": "test", "path": "/metadata/resourceVersion", "value": version });
    let removals = paths.iter().map(|path| json!({ "op": "remove", "path": path }));
    let patch: Value = std::iter::once(same).chain(removals).collect();
    shared.cluster.json_patch(at, &patch).await?;
    shared.cluster.apply(at, &child.object).await.map(Some)
}

/// Paths no longer than this, in bytes, are looked at.
const MAX_PATH: usize = 1024;

/// Collects the paths of maps and lists that were all ours, are as they were, and of which `after` has nothing. Items of
/// lists are matched by name.
fn gone(before: &Value, after: &Value, live: &Value, path: &str, paths: &mut Vec<String>) {
    if path.len() > MAX_PATH {
        return;
    }
    match (before, after, live) {
        (Value::Object(before), Value::Object(after), Value::Object(live)) => {
            for (name, was) in before {
                let path = format!("{path}/{}", name.replace('~', "~0").replace('/', "~1"));
                let Some(live) = live.get(name) else { continue };
                match after.get(name) {
                    Some(after) if !is_empty(after) => gone(was, after, live, &path, paths),
                    _ if live == was && (was.is_object() || was.is_array()) && !is_empty(was) => {
                        paths.push(path);
                    }
                    _ => {}
                }
            }
        }
        (Value::Array(before), Value::Array(after), Value::Array(live)) => {
            let named = |items: &[Value], name: &Value| items.iter().position(|item| item["name"] == *name);
            for was in before.iter().filter(|was| was["name"].is_string()) {
                let places = (named(after, &was["name"]), named(live, &was["name"]));
                let (Some(at), Some(index)) = places else { continue };
                if let (Some(after), Some(live)) = (after.get(at), live.get(index)) {
                    gone(was, after, live, &format!("{path}/{index}"), paths);
                }
            }
        }
        _ => {}
    }
}

fn is_empty(value: &Value) -> bool {
    value.as_object().is_some_and(serde_json::Map::is_empty) || value.as_array().is_some_and(Vec::is_empty)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_webhook_filled_in_is_kept_and_named_items_are_merged() {
        let object = json!({"spec": {"claims": [{"templates": [{"a": {}, "b": 1}]}], "jobs": [{"name": "one"}], "c": [1]}});
        let live = json!({"spec": {
            "claims": [{"templates": [{"b": 1}], "retention": {"whenDeleted": "Delete"}}],
            "jobs": [{"name": "one", "more": 1}], "c": [2],
        }});
        let mut expected = object.clone();
        expected["spec"]["claims"] = live["spec"]["claims"].clone();
        assert_eq!(filled_in(&object, &live), expected);
    }

    #[test]
    fn what_goes_is_what_was_ours_alone() {
        let before = json!({
            "kept": {"a": "1", "b": "2"}, "map": {"a/b": {"c": "1"}}, "emptied": {"a": "1"}, "shared": {"a": "1"}, "text": "t",
            "jobs": [{"name": "one", "labels": {"a": "1"}}, {"name": "two", "list": [1]}],
        });
        let mut live = before.clone();
        live["shared"]["theirs"] = json!("2");
        live["jobs"] = json!([{"name": "theirs"}, before["jobs"][0], before["jobs"][1]]);
        let after = json!({"kept": {"a": "1"}, "map": {"d": 1}, "emptied": {}, "jobs": [{"name": "two"}, {"name": "one"}]});
        let mut paths = Vec::new();
        gone(&before, &after, &live, "", &mut paths);
        assert_eq!(paths, ["/emptied", "/jobs/1/labels", "/jobs/2/list", "/map/a~1b"]);
    }
}
