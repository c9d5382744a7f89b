//! What is known of the cluster, and which TrainJobs a change concerns.
//!
//! Objects come in by [`Cache::put`] and [`Cache::remove`], from watches and from the answers to our own writes alike;
//! both return the TrainJobs to look at. What a watch repeats of our own writes concerns nobody.

use super::store::{Entry, Key, Put, Role, Store, hash, train_job_of};
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
    plan::{self, Config, RuntimeRef, Served, Standing, standing},
    policy::{Kinds, PolicySet},
};

/// What is known of a TrainJob besides the object.
#[derive(Default)]
pub(super) struct Job {
    /// Everything in it but its status.
    asked: Option<Digest>,
    /// The runtime it is pinned to, and the resourceVersion of the ConfigMap that says so.
    pub(super) pin: Option<(u64, Arc<Value>)>,
    /// Something changed that a plan depends on, and it has not been planned since.
    pub(super) dirty: bool,
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

    /// Takes an object as it is now; returns the TrainJobs to look at.
    pub(super) fn put(&mut self, gvk: &Gvk, object: &Value, from: From) -> Vec<Key> {
        let Some(index) = self.stores.iter().position(|store| store.gvk == *gvk) else { return Vec::new() };
        let (Some(key), Some(store)) = (Key::of(object), self.stores.get_mut(index)) else {
            return Vec::new();
        };
        let before = store.objects.get(&key).map(|entry| entry.tree(gvk));
        let put = store.put(&key, object);
        if *gvk == *TRAIN_JOBS {
            return self.put_job(key, object, from, &put);
        }
        if put == Put::Same {
            return Vec::new();
        }
        let mut concerned = self.concerned(gvk, &key, object);
        if let Some(before) = &before {
            self.disown(index, &key, before);
        }
        if let (Some((name, uid)), true) = (train_job_of(object), self.knows(index, &key)) {
            self.owned.insert((hash(&uid), index, key.clone()));
            let job = Key::new(key.namespace(), name);
            let is_workload = self.kinds.workloads.contains(gvk);
            let marked = matches!(put, Put::New | Put::Changed { mark: true });
            let matters = from == From::Watch && (marked || !is_workload);
            if let Some(known) = self.jobs.get_mut(&job).filter(|_| matters) {
                known.dirty = true;
            }
            concerned.push(job);
        }
        if let Put::Foreign { was_ours: true } = put {
            concerned.extend(before.as_ref().and_then(|before| self.lost(&key, before)));
        }
        concerned
    }

    /// The object is gone; returns the TrainJobs to look at.
    pub(super) fn remove(&mut self, gvk: &Gvk, object: &Value) -> Vec<Key> {
        let Some(key) = Key::of(object) else { return Vec::new() };
        let removed = self.store_mut(gvk).and_then(|store| store.take_last(&key, object));
        self.removed(gvk, &key, removed)
    }

    /// A listing is complete; returns the TrainJobs to look at because of what was not in it any more.
    pub(super) fn finish(&mut self, gvk: &Gvk) -> Vec<Key> {
        let gone = self.store_mut(gvk).map(Store::finish).unwrap_or_default();
        let concerned = gone.into_iter().flat_map(|(key, entry)| self.removed(gvk, &key, Some(entry)));
        let concerned: Vec<Key> = concerned.collect();
        // A kind that is known from now on may be what a TrainJob waits for.
        concerned.into_iter().chain(self.troubled(None)).collect()
    }

    /// The kind is not served any more; returns the TrainJobs to look at.
    pub(super) fn unserve(&mut self, gvk: &Gvk) -> Vec<Key> {
        self.store_mut(gvk).map(Store::begin);
        let concerned = self.finish(gvk);
        if let Some(store) = self.store_mut(gvk) {
            store.synced = false;
        }
        concerned
    }

    fn removed(&mut self, gvk: &Gvk, key: &Key, removed: Option<Entry>) -> Vec<Key> {
        if *gvk == *TRAIN_JOBS {
            self.jobs.remove(key);
            return Vec::new();
        }
        // A name has become free that a TrainJob may wait for.
        let mut concerned = self.troubled(key.namespace());
        let Some(object) = removed.map(|entry| entry.tree(gvk)) else { return concerned };
        concerned.extend(self.concerned(gvk, key, &object));
        if let Some(index) = self.stores.iter().position(|store| store.gvk == *gvk) {
            self.disown(index, key, &object);
        }
        let job = self.lost(key, &object);
        if let Some(known) = job.as_ref().filter(|_| self.kinds.observed.contains(gvk))
            && let Some(known) = self.jobs.get_mut(known)
        {
            known.gone.extend(ObjectRef::of(&object).map(|it| (it, object)));
        }
        concerned.extend(job);
        concerned
    }

    fn put_job(&mut self, key: Key, object: &Value, from: From, put: &Put) -> Vec<Key> {
        if *put == Put::New {
            self.jobs.insert(key.clone(), Job::default());
        }
        let job = self.jobs.entry(key.clone()).or_default();
        if *put == Put::Same && job.asked.is_some() {
            return Vec::new();
        }
        let asked = Some(asked(object));
        job.dirty |= from == From::Watch && job.asked != asked;
        job.asked = asked;
        vec![key]
    }

    fn knows(&self, store: usize, key: &Key) -> bool {
        self.stores.get(store).is_some_and(|store| store.objects.contains_key(key))
    }

    fn disown(&mut self, store: usize, key: &Key, object: &Value) {
        if let Some((_, uid)) = train_job_of(object) {
            self.owned.remove(&(hash(&uid), store, key.clone()));
        }
    }

    /// The TrainJob that has lost `object`; it is to be planned again.
    fn lost(&mut self, key: &Key, object: &Value) -> Option<Key> {
        let job = Key::new(key.namespace(), train_job_of(object)?.0);
        self.jobs.get_mut(&job)?.dirty = true;
        Some(job)
    }

    /// The TrainJobs that an object which is no child concerns: a runtime those that are not pinned yet, what a policy
    /// watches those that the policy says, what expressions look up those that are in trouble.
    fn concerned(&mut self, gvk: &Gvk, key: &Key, object: &Value) -> Vec<Key> {
        let is_looked_up = self.kinds.referenced.contains(gvk);
        let mut concerned = if is_looked_up { self.troubled(key.namespace()) } else { Vec::new() };
        if RUNTIMES.contains(gvk) {
            concerned.extend(self.waiting_for(gvk, key));
        } else if self.has_parameters(gvk, key) {
            concerned.extend(self.dirty_where(|_| true));
        } else if self.kinds.watched.contains(gvk) {
            let event = with_kind(object, gvk);
            let (policies, config) = (self.policies.clone(), self.config.clone());
            concerned.extend(self.dirty_where(|job| plan::concerns(&event, job, &policies, &config)));
        }
        concerned
    }

    fn has_parameters(&self, gvk: &Gvk, key: &Key) -> bool {
        *gvk == *CONFIG_MAPS
            && self
                .policies
                .config_maps()
                .map(|it| plan::config_map(it, &self.config))
                .any(|it| key_of(&it) == *key)
    }

    /// The active TrainJobs for which `wanted` holds, each to be planned again.
    fn dirty_where(&mut self, wanted: impl Fn(&Value) -> bool) -> Vec<Key> {
        let mut keys = self.all_jobs();
        keys.retain(|key| {
            let job = self.train_job(key);
            job.is_some_and(|(job, _)| standing(&job) == Standing::Active && wanted(&job))
        });
        for key in &keys {
            if let Some(job) = self.jobs.get_mut(key) {
                job.dirty = true;
            }
        }
        keys
    }

    fn waiting_for(&self, gvk: &Gvk, key: &Key) -> Vec<Key> {
        let mut keys = self.jobs_where(|job| job.pin.is_none());
        keys.retain(|job| {
            let Some((train_job, _)) = self.train_job(job) else { return false };
            let runtime = RuntimeRef::of(&train_job).object(job.namespace());
            runtime.is_some_and(|it| it.gvk == *gvk && key_of(&it) == *key)
        });
        keys
    }
}

fn with_kind(object: &Value, gvk: &Gvk) -> Value {
    let mut object = object.clone();
    if let Value::Object(fields) = &mut object {
        fields.insert("apiVersion".to_owned(), gvk.api_version.clone().into());
        fields.insert("kind".to_owned(), gvk.kind.clone().into());
    }
    object
}

fn key_of(reference: &ObjectRef) -> Key {
    Key::new(reference.namespace.as_deref(), &reference.name)
}

/// What a TrainJob asks for: everything but its status and what changes with every write.
fn asked(train_job: &Value) -> Digest {
    let mut asked = train_job.clone();
    if let Value::Object(fields) = &mut asked {
        fields.remove("status");
        if let Some(Value::Object(metadata)) = fields.get_mut("metadata") {
            metadata.remove("managedFields");
            metadata.remove("resourceVersion");
        }
    }
    owned::digest(&asked)
}

/// The UID of a TrainJob; the API server gives one to each.
pub(super) fn uid(train_job: &Value) -> &str {
    metadata(train_job).uid().unwrap_or_default()
}
