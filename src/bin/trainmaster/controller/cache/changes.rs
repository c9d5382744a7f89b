//! What changes, and which TrainJobs that concerns.
//!
//! Objects come in by [`Cache::put`] and [`Cache::remove`], from watches and from the answers to our own writes alike;
//! both return the TrainJobs to look at. What a watch repeats of our own writes concerns nobody.

use super::{CONFIG_MAPS, Cache, From, Job, RUNTIMES, TRAIN_JOBS, key_of, state};
use crate::controller::store::{Entry, Key, Put, Store, hash, train_job_of};
use serde_json::Value;
use trainmaster::{
    object::{
        Gvk, ObjectRef,
        owned::{self, Digest},
    },
    plan::{self, RuntimeRef, Standing, standing},
};

impl Cache {
    /// Takes an object as it is now; returns the TrainJobs to look at.
    pub(in crate::controller) fn put(&mut self, gvk: &Gvk, object: &Value, from: From) -> Vec<Key> {
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
    pub(in crate::controller) fn remove(&mut self, gvk: &Gvk, object: &Value) -> Vec<Key> {
        let Some(key) = Key::of(object) else { return Vec::new() };
        let removed = self.store_mut(gvk).and_then(|store| store.take_last(&key, object));
        self.removed(gvk, &key, removed)
    }

    /// A listing is complete; returns the TrainJobs to look at because of what was not in it any more.
    pub(in crate::controller) fn finish(&mut self, gvk: &Gvk) -> Vec<Key> {
        let parameters = self.parameters(gvk);
        let gone = self.store_mut(gvk).map(Store::finish).unwrap_or_default();
        let concerned = gone.into_iter().flat_map(|(key, entry)| self.removed(gvk, &key, Some(entry)));
        let mut concerned: Vec<Key> = concerned.collect();
        if self.parameters(gvk) != parameters {
            concerned.extend(self.dirty_where(|_| true));
        }
        // A kind that is known from now on may be what a TrainJob waits for.
        concerned.into_iter().chain(self.troubled(None)).collect()
    }

    /// The kind is not served any more; returns the TrainJobs to look at.
    pub(in crate::controller) fn unserve(&mut self, gvk: &Gvk) -> Vec<Key> {
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
        let Some(object) = removed.map(|entry| entry.tree(gvk)) else {
            if self.has_parameters(gvk, key) {
                concerned.extend(self.dirty_where(|_| true));
            }
            return concerned;
        };
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
        job.state = state(object);
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
        *gvk == *CONFIG_MAPS && self.parameter_maps().any(|it| it == *key)
    }

    /// The ConfigMaps that policies take parameters from.
    fn parameter_maps(&self) -> impl Iterator<Item = Key> {
        self.policies.config_maps().map(|it| key_of(&plan::config_map(it, &self.config)))
    }

    /// Which of those are there.
    fn parameters(&self, gvk: &Gvk) -> Vec<Key> {
        let Some(store) = self.store(gvk).filter(|_| *gvk == *CONFIG_MAPS) else { return Vec::new() };
        self.parameter_maps().filter(|it| store.objects.contains_key(it) || store.is_foreign(it)).collect()
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
        // One that was pinned may have lost what pinned it.
        let mut keys = self.jobs_where(|job| job.pin.is_none() || job.trouble.is_some());
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
