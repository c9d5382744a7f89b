//! Takes over runtimes from upstream before v2.3, which kept them from being deleted while TrainJobs referred to them.
//! TrainJobs are pinned now, so that nothing needs that any more.

use super::{cache::RUNTIMES, cluster::At, error::Chain, shared::Shared, store::Key};
use serde_json::{Value, json};
use std::sync::{Arc, atomic::Ordering};
use trainmaster::object::{Gvk, metadata};

/// The finalizer that earlier versions put on runtimes.
const FINALIZER: &str = "trainer.kubeflow.org/resource-in-use";

/// This process may write from now on: all runtimes that have the finalizer lose it.
pub(super) fn begin(shared: &Arc<Shared>) {
    shared.writes.store(true, Ordering::Release);
    for gvk in &*RUNTIMES {
        let cache = shared.cache();
        let entries = cache.store(gvk).into_iter().flat_map(|store| store.objects.values());
        let all: Vec<Value> = entries.map(|entry| entry.tree(gvk)).filter(has_finalizer).collect();
        drop(cache);
        for runtime in &all {
            release(shared, gvk, runtime);
        }
    }
}

fn has_finalizer(runtime: &Value) -> bool {
    let finalizers = runtime.pointer("/metadata/finalizers").and_then(Value::as_array);
    finalizers.into_iter().flatten().any(|it| it == FINALIZER)
}

/// Removes the finalizer from a runtime that has it, in the background, if this process may write. If that fails, the next change or listing of the
/// runtime has it tried again.
pub(super) fn release(shared: &Arc<Shared>, gvk: &Gvk, runtime: &Value) {
    let finalizers = runtime.pointer("/metadata/finalizers").and_then(Value::as_array);
    let (Some(finalizers), Some(key)) = (finalizers, Key::of(runtime)) else { return };
    if !has_finalizer(runtime) || !shared.writes.load(Ordering::Acquire) {
        return;
    }
    let Some(resource) = shared.cache().resource(gvk) else { return };
    let rest: Vec<&Value> = finalizers.iter().filter(|it| *it != FINALIZER).collect();
    let version = &runtime["metadata"]["resourceVersion"];
    let patch = json!({
        "metadata": { "finalizers": rest, "resourceVersion": version, "uid": metadata(runtime).uid() },
    });
    let shared = Arc::clone(shared);
    tokio::spawn(async move {
        let at = At { resource: &resource, namespace: key.namespace(), name: &key.name };
        match shared.cluster.merge(at, &patch).await {
            Ok(_) => tracing::info!(runtime = %key, "removed the finalizer of an earlier version"),
            // It has changed or gone meanwhile.
            Err(error) if error.is_conflict() || error.is_not_found() => {}
            Err(error) => tracing::warn!(runtime = %key, error = %Chain(&error), "cannot remove a finalizer"),
        }
    });
}
