//! What every part of the controller shares.

use super::{cache::Cache, cluster::Cluster, metrics::Metrics, queue::Queue, store::Key};
use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, Ordering},
};
use tokio::sync::{Notify, watch};
use trainmaster::object::ObjectRef;

pub(super) struct Shared {
    pub(super) cluster: Cluster,
    pub(super) queue: Queue,
    /// Whether this process is the one that writes what TrainJobs become.
    pub(super) writes: AtomicBool,
    pub(super) metrics: Arc<Metrics>,
    /// Asks to look again which kinds are served.
    pub(super) discover: Notify,
    cache: Mutex<Cache>,
    /// Whether it was looked once which kinds are served.
    discovered: AtomicBool,
    ready: watch::Sender<bool>,
}

impl Shared {
    pub(super) fn new(cluster: Cluster, queue: Queue, metrics: Arc<Metrics>, cache: Cache) -> Shared {
        Shared {
            cluster,
            queue,
            writes: AtomicBool::new(false),
            metrics,
            discover: Notify::new(),
            cache: Mutex::new(cache),
            discovered: AtomicBool::new(false),
            ready: watch::Sender::new(false),
        }
    }

    /// What is known. Never held across a request.
    pub(super) fn cache(&self) -> MutexGuard<'_, Cache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether there seems to be an object of that name.
    pub(super) fn seems_taken(&self, reference: &ObjectRef) -> bool {
        let cache = self.cache();
        let key = Key::new(reference.namespace.as_deref(), &reference.name);
        cache.store(&reference.gvk).is_some_and(|it| it.objects.contains_key(&key) || it.is_foreign(&key))
    }

    /// Asks to look at TrainJobs now.
    pub(super) fn wake(&self, keys: impl IntoIterator<Item = Key>) {
        keys.into_iter().for_each(|key| self.queue.add(key));
    }

    /// It is known which kinds are served.
    pub(super) fn discovered(&self) {
        self.discovered.store(true, Ordering::Release);
        self.check_ready();
    }

    /// Work begins when everything that is there has been seen; what comes later does not stop it.
    pub(super) fn check_ready(&self) {
        if self.discovered.load(Ordering::Acquire) && self.cache().is_synced() {
            self.ready.send_if_modified(|ready| !std::mem::replace(ready, true));
        }
    }

    /// Whether everything that is there has been seen.
    pub(super) fn ready(&self) -> watch::Receiver<bool> {
        self.ready.subscribe()
    }
}
