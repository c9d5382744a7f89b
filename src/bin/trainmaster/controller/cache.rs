//! What is known of the cluster. Objects come in by [`Cache::put`] and go by [`Cache::remove`]: [`changes`].

mod changes;

use super::store::{Entry, Key, Role, Store, hash};
use kube::core::ApiResource;
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, LazyLock, Weak},
    time::Instant,
};
use trainmaster::{
    api,
    object::{
        Gvk, ObjectRef, metadata,
        owned::{self, Digest},
    },
    plan::{self, Config, Served},
    policy::{Kinds, PolicySet},
    status::{BLOCKED, COMPLETE, FAILED},
};

/// What is known of a TrainJob besides the object.
#[derive(Default)]
pub(super) struct Job {
    /// Everything in it but its status.
    asked: Option<Digest>,
    /// The runtime it is pinned to, and the resourceVersion of the ConfigMap that says so.
    pub(super) pin: Option<(u64, Arc<Value>)>,
    /// How it stands, in a word.
    pub(super) state: &'static str,
    /// Something changed that a plan depends on, and it has not been planned since.
    pub(super) dirty: bool,
    /// It is known that all of its objects are there, or were once: that one goes is news.
    pub(super) complete: bool,
    /// What keeps it from being as it should be.
    pub(super) trouble: Option<Trouble>,
    /// Children that have gone, as they last were: one may have said that the TrainJob has ended, which nobody has
    /// written down yet.
    pub(super) gone: Vec<(ObjectRef, Value)>,
}

/// Where news of an object come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum From {
    /// It was there before we were.
    FirstListing,
    /// Somebody has changed it.
    Watch,
    /// We have.
    Answer,
}

/// A TrainJob that cannot be planned or applied.
#[derive(Clone, Copy)]
pub(super) struct Trouble {
    pub(super) since: Instant,
    /// How often it was tried.
    pub(super) tries: u32,
}

pub(super) struct Cache {
    stores: Vec<Store>,
    /// Which objects a TrainJob owns: a hash of its UID, the position of the store, the object.
    owned: BTreeSet<(u64, usize, Key)>,
    jobs: BTreeMap<Key, Job>,
    /// Runtimes that TrainJobs are pinned to. Most share one.
    pins: BTreeMap<Digest, Weak<Value>>,
    pub(super) policies: PolicySet,
    pub(super) kinds: Arc<Kinds>,
    pub(super) config: Config,
}

pub(super) static TRAIN_JOBS: LazyLock<Gvk> = LazyLock::new(|| ours("TrainJob"));
/// The kinds of runtimes.
pub(super) static RUNTIMES: LazyLock<[Gvk; 2]> =
    LazyLock::new(|| [ours("TrainingRuntime"), ours("ClusterTrainingRuntime")]);
/// The kind that holds pinned runtimes.
static CONFIG_MAPS: LazyLock<Gvk> = LazyLock::new(|| Gvk::new("v1", "ConfigMap"));

/// What a TrainJob may be. One of another controller is elsewhere.
const STATES: [&str; 6] = ["Active", "Blocked", "Complete", "Elsewhere", "Failed", "Suspended"];

/// How a TrainJob stands, in a word of [`STATES`].
fn state(train_job: &Value) -> &'static str {
    let conditions = train_job.pointer("/status/conditions").and_then(Value::as_array);
    let is =
        |kind: &str| conditions.into_iter().flatten().any(|it| it["type"] == kind && it["status"] == "True");
    match plan::standing(train_job) {
        plan::Standing::Foreign => "Elsewhere",
        _ if is(COMPLETE) => "Complete",
        _ if is(FAILED) => "Failed",
        _ if is(BLOCKED) => "Blocked",
        _ if plan::is_suspended(train_job) => "Suspended",
        _ => "Active",
    }
}

fn ours(kind: &str) -> Gvk {
    Gvk::new(format!("{}/{}", api::GROUP, api::VERSION), kind)
}

impl Cache {
    pub(super) fn new(policies: PolicySet, config: Config) -> Cache {
        Cache {
            stores: Vec::new(),
            owned: BTreeSet::new(),
            jobs: BTreeMap::new(),
            pins: BTreeMap::new(),
            kinds: Arc::new(policies.kinds()),
            policies,
            config,
        }
    }

    /// The kinds that matter, each with how much of its objects does.
    pub(super) fn wanted_kinds(&self) -> BTreeMap<Gvk, Role> {
        let Kinds { required, made, observed, watched, referenced, workloads: _, updated: _ } = &*self.kinds;
        let ours = RUNTIMES.iter().chain([&*TRAIN_JOBS]).map(|kind| (kind.clone(), Role::Whole));
        let whole = watched.iter().chain(referenced).map(|kind| (kind.clone(), Role::Whole));
        let observed = observed.iter().map(|kind| (kind.clone(), Role::Observed));
        let owned = made.iter().chain([&*CONFIG_MAPS]).map(|kind| (kind.clone(), Role::Owned));
        let mut wanted = BTreeMap::new();
        let required = required.iter().map(|kind| (kind.clone(), Role::Served));
        for (kind, role) in required.chain(owned).chain(observed).chain(whole).chain(ours) {
            let known = wanted.entry(kind).or_insert(role);
            *known = role.max(*known);
        }
        wanted
    }

    pub(super) fn store(&self, gvk: &Gvk) -> Option<&Store> {
        self.stores.iter().find(|store| store.gvk == *gvk)
    }

    pub(super) fn store_mut(&mut self, gvk: &Gvk) -> Option<&mut Store> {
        self.stores.iter_mut().find(|store| store.gvk == *gvk)
    }

    /// How the API server calls the kind, if it serves it.
    pub(super) fn resource(&self, gvk: &Gvk) -> Option<ApiResource> {
        self.store(gvk).map(|store| store.resource.clone())
    }

    /// The kind is served: its objects will come in, as much of them as `role` says.
    pub(super) fn serve(&mut self, gvk: &Gvk, resource: ApiResource, role: Role) {
        match self.store_mut(gvk) {
            Some(store) => store.role = role,
            None => self.stores.push(Store::new(gvk.clone(), resource, role)),
        }
    }

    /// The kinds whose objects are known.
    pub(super) fn served(&self) -> Served {
        Served::Only(self.stores.iter().filter(|it| it.synced).map(|it| it.gvk.clone()).collect())
    }

    /// Whether everything that is served has been listed, TrainJobs and runtimes among it.
    pub(super) fn is_synced(&self) -> bool {
        let has = |gvk: &Gvk| self.store(gvk).is_some();
        has(&TRAIN_JOBS) && RUNTIMES.iter().all(has) && self.stores.iter().all(|store| store.synced)
    }

    pub(super) fn job(&self, key: &Key) -> Option<&Job> {
        self.jobs.get(key)
    }

    pub(super) fn job_mut(&mut self, key: &Key) -> Option<&mut Job> {
        self.jobs.get_mut(key)
    }

    /// The TrainJob, and its resourceVersion.
    pub(super) fn train_job(&self, key: &Key) -> Option<(Value, u64)> {
        let entry = self.store(&TRAIN_JOBS)?.objects.get(key)?;
        Some((entry.tree(&TRAIN_JOBS), entry.version))
    }

    /// Every TrainJob for which `wanted` holds.
    fn jobs_where(&self, wanted: impl Fn(&Job) -> bool) -> Vec<Key> {
        self.jobs.iter().filter(|(_, job)| wanted(job)).map(|(key, _)| key.clone()).collect()
    }

    /// The TrainJobs with trouble, in a namespace or in all.
    pub(super) fn troubled(&self, namespace: Option<&str>) -> Vec<Key> {
        let mut keys = self.jobs_where(|job| job.trouble.is_some());
        keys.retain(|key| namespace.is_none_or(|it| *key.namespace == *it));
        keys
    }

    /// Every TrainJob, to be planned again unless it runs.
    pub(super) fn all_jobs(&self) -> Vec<Key> {
        self.jobs_where(|_| true)
    }

    /// What is known of the object.
    pub(super) fn entry(&self, reference: &ObjectRef) -> Option<&Entry> {
        self.store(&reference.gvk)?.objects.get(&key_of(reference))
    }

    pub(super) fn entry_mut(&mut self, reference: &ObjectRef) -> Option<&mut Entry> {
        self.store_mut(&reference.gvk)?.objects.get_mut(&key_of(reference))
    }

    /// The object, as much as is kept of it.
    pub(super) fn object(&self, reference: &ObjectRef) -> Option<Value> {
        self.entry(reference).map(|entry| entry.tree(&reference.gvk))
    }

    /// How many TrainJobs there are in each state.
    pub(super) fn states(&self) -> BTreeMap<&'static str, usize> {
        let mut states: BTreeMap<&'static str, usize> = STATES.iter().map(|state| (*state, 0)).collect();
        for job in self.jobs.values() {
            *states.entry(job.state).or_default() += 1;
        }
        states
    }

    /// The objects that the TrainJob with that UID controls.
    pub(super) fn children(&self, uid: &str) -> BTreeMap<ObjectRef, Value> {
        let uid = hash(&uid);
        let owned = self.owned.range((uid, 0, Key::new(None, ""))..).take_while(|(owner, ..)| *owner == uid);
        let objects = owned.filter_map(|(_, store, key)| {
            let store = self.stores.get(*store)?;
            Some((store.reference(key), store.objects.get(key)?.tree(&store.gvk)))
        });
        objects.collect()
    }

    /// All objects of the kinds that expressions look up, those of a namespace and of none.
    pub(super) fn others(&self, namespace: Option<&str>) -> BTreeMap<ObjectRef, Value> {
        let stores = self.stores.iter().filter(|store| self.kinds.referenced.contains(&store.gvk));
        let near = stores.flat_map(|store| {
            let near = store
                .objects
                .iter()
                .filter(move |(key, _)| key.namespace().is_none() || key.namespace() == namespace);
            near.map(|(key, entry)| (store.reference(key), entry.tree(&store.gvk)))
        });
        near.collect()
    }

    /// Other policies serve from now on.
    pub(super) fn replace_policies(&mut self, policies: PolicySet) {
        self.kinds = Arc::new(policies.kinds());
        self.policies = policies;
    }

    /// One of equal runtimes, so that a thousand TrainJobs pinned to the same share it.
    pub(super) fn intern(&mut self, runtime: Value) -> Arc<Value> {
        let digest = owned::digest(&runtime);
        if let Some(known) = self.pins.get(&digest).and_then(Weak::upgrade) {
            return known;
        }
        self.pins.retain(|_, runtime| runtime.strong_count() > 0);
        let runtime = Arc::new(runtime);
        self.pins.insert(digest, Arc::downgrade(&runtime));
        runtime
    }
}

fn key_of(reference: &ObjectRef) -> Key {
    Key::new(reference.namespace.as_deref(), &reference.name)
}

/// The UID of a TrainJob; the API server gives one to each.
pub(super) fn uid(train_job: &Value) -> &str {
    metadata(train_job).uid().unwrap_or_default()
}
