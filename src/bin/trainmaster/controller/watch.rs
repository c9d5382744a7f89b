//! Objects of one kind, from the API server into the cache.

use super::{
    cache::{From, RUNTIMES},
    context::Context,
    runtimes,
    store::{Key, Role, Store},
};
use futures::{Stream, StreamExt as _};
use kube::{
    Api,
    api::{DynamicObject, PartialObjectMeta},
    core::ApiResource,
    runtime::{
        WatchStreamExt as _,
        watcher::{self, Event, watcher},
    },
};
use serde::Serialize;
use serde_json::Value;
use std::{pin::pin, sync::Arc};
use trainmaster::object::Gvk;

/// Objects asked for at a time: what a listing costs in memory.
const PAGE: u32 = 100;

/// Follows all objects of the kind, for ever.
pub(super) async fn follow(context: Arc<Context>, gvk: Gvk, resource: ApiResource, role: Role) {
    let client = context.cluster.client.clone();
    let config = watcher::Config::default().page_size(PAGE);
    match role {
        Role::Served => {}
        Role::Owned => {
            let api: Api<PartialObjectMeta<DynamicObject>> = Api::all_with(client, &resource);
            take(&context, &gvk, watcher(api, config)).await;
        }
        Role::Observed | Role::Whole => {
            let api: Api<DynamicObject> = Api::all_with(client, &resource);
            take(&context, &gvk, watcher(api, config)).await;
        }
    }
}

async fn take<K: Serialize>(
    context: &Arc<Context>,
    gvk: &Gvk,
    events: impl Stream<Item = Result<Event<K>, watcher::Error>>,
) {
    let mut events = pin!(events.default_backoff());
    while let Some(event) = events.next().await {
        match event {
            Ok(event) => one(context, gvk, event),
            Err(error) => failed(context, gvk, &error),
        }
    }
}

fn one<K: Serialize>(context: &Arc<Context>, gvk: &Gvk, event: Event<K>) {
    let concerned = match event {
        Event::Init => {
            context.cache().store_mut(gvk).map(Store::begin);
            Vec::new()
        }
        Event::InitApply(object) => {
            let synced = context.cache().store(gvk).is_some_and(|store| store.synced);
            put(context, gvk, &tree(&object), if synced { From::Watch } else { From::FirstListing })
        }
        Event::InitDone => context.cache().finish(gvk),
        Event::Apply(object) => put(context, gvk, &tree(&object), From::Watch),
        Event::Delete(object) => context.cache().remove(gvk, &tree(&object)),
    };
    context.wake(concerned);
    context.check_ready();
}

fn put(context: &Arc<Context>, gvk: &Gvk, object: &Value, from: From) -> Vec<Key> {
    if RUNTIMES.contains(gvk) {
        runtimes::release(context, gvk, object);
    }
    context.cache().put(gvk, object, from)
}

fn tree(object: &impl Serialize) -> Value {
    serde_json::to_value(object).unwrap_or_default()
}

/// A watch that fails is started again. A kind that is not served any more is as good as never served.
fn failed(context: &Context, gvk: &Gvk, error: &watcher::Error) {
    let kube = match error {
        watcher::Error::InitialListFailed(error)
        | watcher::Error::WatchStartFailed(error)
        | watcher::Error::WatchFailed(error) => Some(error),
        watcher::Error::WatchError(_) | watcher::Error::NoResourceVersion => None,
    };
    let gone = matches!(kube, Some(kube::Error::Api(status)) if status.is_not_found());
    if gone {
        let concerned = context.cache().unserve(gvk);
        context.wake(concerned);
        tracing::debug!(kind = %gvk, "the kind is not served");
    } else {
        tracing::warn!(kind = %gvk, error = %Chain(error), "a watch failed; it is started again");
    }
}

/// An error with all its causes, in one line.
pub(super) struct Chain<'a>(pub(super) &'a dyn std::error::Error);

impl std::fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)?;
        let mut source = self.0.source();
        while let Some(error) = source {
            write!(f, ": {error}")?;
            source = error.source();
        }
        Ok(())
    }
}
