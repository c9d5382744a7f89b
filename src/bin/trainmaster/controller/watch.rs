//! Objects of one kind, from the API server into the cache.

use super::{
    cache::{From, RUNTIMES},
    error::Chain,
    runtimes,
    shared::Shared,
    store::{Key, Role, Store},
    tree::Tree,
};
use futures::{Stream, StreamExt as _};
use kube::{
    Api,
    core::ApiResource,
    runtime::{
        WatchStreamExt as _,
        watcher::{self, Event, watcher},
    },
};
use serde_json::Value;
use std::{pin::pin, sync::Arc};
use trainmaster::object::Gvk;

/// Whole objects asked for at a time, and metadata alone: what a listing costs in memory.
const PAGE: u32 = 50;
const METADATA_PAGE: u32 = 500;

/// Follows all objects of the kind, for ever.
pub(super) async fn follow(shared: Arc<Shared>, gvk: Gvk, resource: ApiResource, role: Role) {
    let client = shared.cluster.client.clone();
    let pages = |size| watcher::Config::default().page_size(size);
    match role {
        Role::Served => {}
        Role::Owned => {
            let api: Api<Tree<true>> = Api::all_with(client, &resource);
            take(&shared, &gvk, watcher(api, pages(METADATA_PAGE))).await;
        }
        Role::Observed | Role::Whole => {
            let api: Api<Tree<false>> = Api::all_with(client, &resource);
            take(&shared, &gvk, watcher(api, pages(PAGE))).await;
        }
    }
}

async fn take<const METADATA: bool>(
    shared: &Arc<Shared>,
    gvk: &Gvk,
    events: impl Stream<Item = Result<Event<Tree<METADATA>>, watcher::Error>>,
) {
    let mut events = pin!(events.default_backoff());
    while let Some(event) = events.next().await {
        match event {
            Ok(event) => one(shared, gvk, event),
            Err(error) => failed(shared, gvk, &error),
        }
    }
}

fn one<const METADATA: bool>(shared: &Arc<Shared>, gvk: &Gvk, event: Event<Tree<METADATA>>) {
    let concerned = match event {
        Event::Init => {
            shared.cache().store_mut(gvk).map(Store::begin);
            Vec::new()
        }
        Event::InitApply(object) => {
            let synced = shared.cache().store(gvk).is_some_and(|store| store.synced);
            put(shared, gvk, &object.value, if synced { From::Watch } else { From::FirstListing })
        }
        Event::InitDone => shared.cache().finish(gvk),
        Event::Apply(object) => put(shared, gvk, &object.value, From::Watch),
        Event::Delete(object) => shared.cache().remove(gvk, &object.value),
    };
    shared.wake(concerned);
    shared.check_ready();
}

fn put(shared: &Arc<Shared>, gvk: &Gvk, object: &Value, from: From) -> Vec<Key> {
    if RUNTIMES.contains(gvk) {
        runtimes::release(shared, gvk, object);
    }
    shared.cache().put(gvk, object, from)
}

/// A watch that fails is started again. A kind that is not served any more is as good as never served.
fn failed(shared: &Shared, gvk: &Gvk, error: &watcher::Error) {
    let kube = match error {
        watcher::Error::InitialListFailed(error)
        | watcher::Error::WatchStartFailed(error)
        | watcher::Error::WatchFailed(error) => Some(error),
        watcher::Error::WatchError(_) | watcher::Error::NoResourceVersion => None,
    };
    let gone = matches!(kube, Some(kube::Error::Api(status)) if status.is_not_found());
    if gone {
        let concerned = shared.cache().unserve(gvk);
        shared.wake(concerned);
        tracing::debug!(kind = %gvk, "the kind is not served");
    } else {
        tracing::warn!(kind = %gvk, error = %Chain(error), "a watch failed; it is started again");
    }
}
