//! Which of the kinds that matter the cluster serves: at start, and whenever that may have changed.

use super::{error::Chain, shared::Shared, store::Role, watch::follow};
use futures::StreamExt as _;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api,
    api::PartialObjectMeta,
    core::ApiResource,
    runtime::{
        WatchStreamExt as _,
        watcher::{self, Event, watcher},
    },
};
use std::{
    collections::{BTreeMap, BTreeSet},
    pin::pin,
    sync::Arc,
    time::Duration,
};
use tokio::task::{AbortHandle, JoinSet};
use trainmaster::object::Gvk;

/// A CRD is served a moment after it is established, so it is looked soon at first, then less and less often.
const FIRST_DELAY: Duration = Duration::from_millis(250);
const LAST_DELAY: Duration = Duration::from_secs(30);

/// Looks which kinds are served, and follows the objects of each, for ever; ends only if following one panics.
pub(super) async fn discover(shared: Arc<Shared>) {
    let mut watches = JoinSet::new();
    watches.spawn(notice_crds(Arc::clone(&shared)));
    let mut followed: BTreeMap<Gvk, (Role, AbortHandle)> = BTreeMap::new();
    let mut told = BTreeSet::new();
    let mut delay = FIRST_DELAY;
    loop {
        let mut missing = shared.cache().wanted_kinds();
        missing.retain(|gvk, role| followed.get(gvk).is_none_or(|(known, _)| known < role));
        let found = look(&shared, &missing).await;
        for (gvk, resource) in found {
            let Some(role) = missing.remove(&gvk) else { continue };
            shared.cache().serve(&gvk, resource.clone(), role);
            let handle = watches.spawn(follow(Arc::clone(&shared), gvk.clone(), resource, role));
            if let Some((_, old)) = followed.insert(gvk, (role, handle)) {
                old.abort();
            }
        }
        for gvk in missing.keys().filter(|gvk| told.insert((*gvk).clone())) {
            tracing::info!(kind = %gvk, "the cluster does not serve the kind yet");
        }
        let concerned = shared.cache().troubled(None);
        shared.wake(concerned);
        shared.discovered();
        tokio::select! {
            () = shared.discover.notified() => delay = FIRST_DELAY,
            () = tokio::time::sleep(delay), if !missing.is_empty() => delay = (delay * 2).min(LAST_DELAY),
            Some(Err(error)) = watches.join_next() => {
                if error.is_panic() {
                    return;
                }
            }
        }
    }
}

/// Those of `kinds` that are served, with how the API server calls them.
async fn look(shared: &Shared, kinds: &BTreeMap<Gvk, Role>) -> Vec<(Gvk, ApiResource)> {
    let versions: BTreeSet<&str> = kinds.keys().map(|gvk| gvk.api_version.as_str()).collect();
    let asked = versions.into_iter().map(async |version| (version, served(shared, version).await));
    let answers = futures::future::join_all(asked).await;
    let mut found = Vec::new();
    for (version, answer) in answers {
        match answer {
            Ok(resources) => {
                let named = resources.into_iter().map(|it| (Gvk::new(version, it.kind.clone()), it));
                found.extend(named.filter(|(gvk, _)| kinds.contains_key(gvk)));
            }
            Err(error) => {
                tracing::warn!(version, error = %Chain(&error), "cannot ask which kinds are served");
            }
        }
    }
    found
}

/// The kinds of a group and version; none if it is not served.
async fn served(shared: &Shared, api_version: &str) -> Result<Vec<ApiResource>, kube::Error> {
    let client = &shared.cluster.client;
    let answer = match api_version.split_once('/') {
        Some(_) => client.list_api_group_resources(api_version).await,
        None => client.list_core_api_resources(api_version).await,
    };
    let resources = match answer {
        Err(kube::Error::Api(status)) if status.is_not_found() => return Ok(Vec::new()),
        answer => answer?.resources,
    };
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let kinds = resources.into_iter().filter(|resource| !resource.name.contains('/'));
    let kinds = kinds.map(|resource| ApiResource {
        group: group.to_owned(),
        version: version.to_owned(),
        api_version: api_version.to_owned(),
        kind: resource.kind,
        plural: resource.name,
    });
    Ok(kinds.collect())
}

/// Has it looked again whenever a CRD changes. Who may not watch CRDs still finds out, only later.
async fn notice_crds(shared: Arc<Shared>) {
    let api: Api<PartialObjectMeta<CustomResourceDefinition>> = Api::all(shared.cluster.client.clone());
    let mut events = pin!(watcher(api, watcher::Config::default()).default_backoff());
    while let Some(event) = events.next().await {
        match event {
            Ok(Event::Apply(_) | Event::InitDone) => shared.discover.notify_one(),
            Ok(_) => {}
            Err(error) => tracing::debug!(error = %Chain(&error), "cannot watch CRDs"),
        }
    }
}
