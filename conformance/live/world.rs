//! What the cluster holds, followed by watches: so it is known when it is quiet.

use crate::cluster::{KINDS, KindRow, WATCHED};
use futures::{StreamExt as _, stream::BoxStream};
use kube::{
    Api, Client,
    api::DynamicObject,
    core::{ApiResource, GroupVersionKind},
    runtime::{WatchStreamExt as _, watcher},
};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};
use tokio::task::JoinSet;

/// Version, kind and name.
pub(crate) type Key = (String, String, String);

#[derive(Default)]
struct Place {
    objects: BTreeMap<Key, Value>,
    /// When something was last written there.
    last: Option<Instant>,
}

/// The objects of the watched kinds, by namespace.
#[derive(Default)]
pub(crate) struct World {
    places: Mutex<BTreeMap<String, Place>>,
    watches: Mutex<JoinSet<()>>,
}

impl World {
    /// Follows every kind that matters; returns when all are listed.
    pub(crate) async fn watch(client: &Client) -> Arc<World> {
        let world = Arc::new(World::default());
        for row in &KINDS[..WATCHED] {
            let (group, version) = row.1.split_once('/').unwrap_or(("", row.1));
            let resource =
                ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, row.0), row.2);
            let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
            let mut events = watcher(api, watcher::Config::default()).default_backoff().boxed();
            world.until_listed(row, &mut events).await;
            let following = Arc::clone(&world);
            let mut watches = world.watches.lock().unwrap_or_else(PoisonError::into_inner);
            watches.spawn(async move { while following.next(row, &mut events).await.is_some() {} });
        }
        world
    }

    async fn until_listed(&self, row: &KindRow, events: &mut BoxStream<'static, Seen>) {
        while self.next(row, events).await.is_some_and(|listed| !listed) {}
    }

    /// Takes the next news; says whether a listing has ended with it.
    async fn next(&self, row: &KindRow, events: &mut BoxStream<'static, Seen>) -> Option<bool> {
        // A watch that fails is started again.
        let Ok(event) = events.next().await? else { return Some(false) };
        match event {
            watcher::Event::Apply(object) | watcher::Event::InitApply(object) => self.put(row, object, true),
            watcher::Event::Delete(object) => self.put(row, object, false),
            watcher::Event::Init => {}
            watcher::Event::InitDone => return Some(true),
        }
        Some(false)
    }

    fn put(&self, (kind, version, ..): &KindRow, object: DynamicObject, exists: bool) {
        let namespace = object.metadata.namespace.clone().unwrap_or_default();
        let key =
            ((*version).to_owned(), (*kind).to_owned(), object.metadata.name.clone().unwrap_or_default());
        let mut value = serde_json::to_value(object).expect("an object is JSON");
        value["apiVersion"] = (*version).into();
        value["kind"] = (*kind).into();
        let mut places = self.places();
        let place = places.entry(namespace).or_default();
        place.last = Some(Instant::now());
        if exists {
            place.objects.insert(key, value);
        } else {
            place.objects.remove(&key);
        }
    }

    fn places(&self) -> MutexGuard<'_, BTreeMap<String, Place>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All objects of a namespace.
    pub(crate) fn objects(&self, namespace: &str) -> Vec<Value> {
        self.places()
            .get(namespace)
            .map(|place| place.objects.values().cloned().collect())
            .unwrap_or_default()
    }

    /// Whether news have come of what a request has `stored`.
    pub(crate) fn has_seen(&self, namespace: &str, stored: &Value) -> bool {
        let text = |field: &Value| field.as_str().unwrap_or_default().to_owned();
        let key = (text(&stored["apiVersion"]), text(&stored["kind"]), text(&stored["metadata"]["name"]));
        let version =
            |object: &Value| text(&object["metadata"]["resourceVersion"]).parse::<u64>().unwrap_or(0);
        let places = self.places();
        let known = places.get(namespace).and_then(|place| place.objects.get(&key));
        known.is_some_and(|known| version(known) >= version(stored))
    }

    /// How long nothing has been written in a namespace, counted from `since` at the longest.
    pub(crate) fn quiet(&self, namespace: &str, since: Instant) -> Duration {
        let last = self.places().get(namespace).and_then(|place| place.last);
        last.map_or(since, |last| last.max(since)).elapsed()
    }
}

type Seen = Result<watcher::Event<DynamicObject>, watcher::Error>;
