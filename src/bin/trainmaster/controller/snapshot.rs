//! What is known of a TrainJob when it is looked at, made complete by requests where a plan needs more.

use super::{
    cache::uid,
    cluster::At,
    failure::Failure,
    reconcile::{once_more, shown},
    shared::Shared,
    store::{Key, train_job_of},
};
use crate::random;
use jiff::Timestamp;
use serde_json::Value;
use std::{
    hash::{BuildHasher as _, RandomState},
    time::Duration,
};
use trainmaster::{
    api,
    object::{Gvk, ObjectRef},
    plan::{
        Refusal, Runtime, RuntimeRef, Snapshot, config_map, is_suspended, pin_ref, pinned_runtime,
        status_needs_runtime, wanted,
    },
    policy::PolicySet,
    schema::{diagnostics::refused, unreadable_quantities},
    status::Problem,
};

/// One look at a TrainJob.
pub(super) struct Attempt<'c> {
    pub(super) shared: &'c Shared,
    pub(super) key: &'c Key,
    pub(super) snapshot: Snapshot,
    /// The TrainJob's resourceVersion.
    pub(super) version: u64,
    pub(super) policies: PolicySet,
    /// Whether something has changed that a plan depends on.
    dirty: bool,
}

impl<'c> Attempt<'c> {
    /// What is known; `None` if there is no such TrainJob any more.
    pub(super) fn begin(shared: &'c Shared, key: &'c Key) -> Option<Self> {
        let mut cache = shared.cache();
        let (train_job, version) = cache.train_job(key)?;
        let dirty = std::mem::take(&mut cache.job_mut(key)?.dirty);
        let snapshot = Snapshot {
            runtime: Runtime::Missing,
            old_train_job: None,
            live: cache.children(uid(&train_job)),
            others: cache.others(key.namespace()),
            served: cache.served(),
            config: cache.config.clone(),
            random: None,
            train_job,
        };
        let policies = cache.policies.clone();
        drop(cache);
        Some(Attempt { shared, key, snapshot, version, policies, dirty })
    }

    /// Children of this TrainJob that have gone, as they last were.
    pub(super) fn gone(&self) -> Vec<(ObjectRef, Value)> {
        let cache = self.shared.cache();
        let gone = cache.job(self.key).map(|job| job.gone.clone()).unwrap_or_default();
        gone.into_iter().filter(|(_, object)| self.is_ours(object)).collect()
    }

    /// What those children have said is of no matter.
    pub(super) fn forget_gone(&self) {
        if let Some(job) = self.shared.cache().job_mut(self.key) {
            job.gone.clear();
        }
    }

    /// Whether an object is controlled by this TrainJob.
    pub(super) fn is_ours(&self, object: &Value) -> bool {
        train_job_of(object).is_some_and(|(_, owner)| owner == uid(&self.snapshot.train_job))
    }

    /// Whether there is nothing to plan: the TrainJob runs, all of its objects are there, and nothing has changed since.
    /// A workload that runs is left alone, and so is all that is only written once.
    pub(super) fn is_settled(&mut self) -> bool {
        self.has_nothing_to_change() && (self.is_complete() || self.has_all())
    }

    fn has_nothing_to_change(&self) -> bool {
        let cache = self.shared.cache();
        let pin = pin_ref(&self.snapshot.train_job);
        let runs = |(reference, object): (&ObjectRef, &Value)| {
            cache.kinds.workloads.contains(&reference.gvk)
                && self.is_ours(object)
                && object.pointer("/spec/suspend") != Some(&Value::Bool(true))
        };
        let may_change =
            |reference: &ObjectRef| *reference != pin && cache.kinds.updated.contains(&reference.gvk);
        !self.dirty
            && !is_suspended(&self.snapshot.train_job)
            && !status_needs_runtime(&self.policies)
            && self.snapshot.live.contains_key(&pin)
            && self.snapshot.live.iter().any(runs)
            && !self.snapshot.live.keys().any(may_change)
    }

    fn is_complete(&self) -> bool {
        self.shared.cache().job(self.key).is_some_and(|job| job.complete)
    }

    /// Whether all objects of the TrainJob are there, as far as that can be told without reading anything: by the runtime
    /// that there is, if it is still what the TrainJob was pinned to.
    fn has_all(&mut self) -> bool {
        let Some(runtime) = self.runtime_as_pinned() else { return false };
        self.snapshot.runtime = Runtime::Live(runtime);
        let wanted = wanted(&self.snapshot, &self.policies);
        self.snapshot.runtime = Runtime::Missing;
        let has_all = wanted.is_ok_and(|all| all.iter().all(|it| self.snapshot.live.contains_key(it)));
        if has_all {
            self.is_carried_out();
        }
        has_all
    }

    /// The runtime, if it has never changed and the TrainJob was pinned after it was made.
    fn runtime_as_pinned(&self) -> Option<Value> {
        // What parameters a ConfigMap gives is not known without reading it.
        if self.policies.config_maps().next().is_some() {
            return None;
        }
        let pin = self.snapshot.live.get(&pin_ref(&self.snapshot.train_job))?;
        let reference = RuntimeRef::of(&self.snapshot.train_job).object(self.key.namespace())?;
        let runtime = self.shared.cache().object(&reference)?;
        let time = |object: &Value| -> Option<Timestamp> {
            object.pointer("/metadata/creationTimestamp")?.as_str()?.parse().ok()
        };
        // Later changes bear no time that can be relied on: one that only removes fields is noted by none of their managers.
        let is_as_made = runtime.pointer("/metadata/generation") == Some(&Value::from(1));
        (is_as_made && time(&runtime)? <= time(pin)?).then_some(runtime)
    }

    /// All that was planned is there.
    pub(super) fn is_carried_out(&self) {
        if let Some(job) = self.shared.cache().job_mut(self.key) {
            job.complete = true;
        }
    }

    /// Reads what a plan needs.
    pub(super) async fn read(&mut self) -> Result<(), Failure> {
        readable(&self.snapshot.train_job)?;
        self.snapshot.random = random::fresh();
        self.read_parameters().await?;
        self.snapshot.runtime = self.runtime().await?;
        let wanted = wanted(&self.snapshot, &self.policies).map_err(|refusal| Failure::refused(&refusal))?;
        for reference in wanted {
            if !self.snapshot.live.contains_key(&reference)
                && let Some(object) = self.another(&reference).await?
            {
                self.snapshot.live.insert(reference, object);
            }
        }
        Ok(())
    }

    /// Reads the ConfigMaps with parameters, of which only the metadata are kept.
    async fn read_parameters(&mut self) -> Result<(), Failure> {
        let config = &self.snapshot.config;
        let maps: Vec<ObjectRef> = self.policies.config_maps().map(|it| config_map(it, config)).collect();
        for reference in maps {
            if self.seems_taken(&reference)
                && let Some(object) = self.get(&reference).await?
            {
                self.snapshot.others.insert(reference, object);
            }
        }
        Ok(())
    }

    /// The runtime that the TrainJob is pinned to, else the one that there is.
    async fn runtime(&self) -> Result<Runtime, Failure> {
        let train_job = &self.snapshot.train_job;
        let reference = pin_ref(train_job);
        if let Some(runtime) = self.pinned(&reference) {
            return Ok(Runtime::Pinned(runtime));
        }
        let config_map = if self.seems_taken(&reference) { self.get(&reference).await? } else { None };
        if let Some(config_map) = config_map {
            let runtime = pinned_runtime(&config_map, train_job)
                .map_err(|error| Failure::pin(&error, &config_map, train_job))?;
            readable(&runtime)?;
            self.pin(runtime.clone(), &config_map);
            return Ok(Runtime::Pinned(runtime));
        }
        let live = RuntimeRef::of(train_job).object(self.key.namespace());
        let Some(runtime) = live.and_then(|it| self.shared.cache().object(&it)) else {
            return Ok(Runtime::Missing);
        };
        readable(&runtime)?;
        Ok(Runtime::live(runtime))
    }

    /// The runtime that was read from the ConfigMap as it is now.
    fn pinned(&self, reference: &ObjectRef) -> Option<Value> {
        let cache = self.shared.cache();
        let (version, runtime) = cache.job(self.key)?.pin.as_ref()?;
        let entry = cache.entry(reference)?;
        (entry.version == *version).then(|| (**runtime).clone())
    }

    /// Takes note of the runtime that `config_map` pins.
    pub(super) fn pin(&self, runtime: Value, config_map: &Value) {
        let mut cache = self.shared.cache();
        let Some(version) = ObjectRef::of(config_map).and_then(|it| Some(cache.entry(&it)?.version)) else {
            return;
        };
        let runtime = cache.intern(runtime);
        if let Some(job) = cache.job_mut(self.key) {
            job.pin = Some((version, runtime));
        }
    }

    fn seems_taken(&self, reference: &ObjectRef) -> bool {
        self.shared.seems_taken(reference)
    }

    /// The object of that name, which is none of this TrainJob's.
    async fn another(&self, reference: &ObjectRef) -> Result<Option<Value>, Failure> {
        let known = self.shared.cache().object(reference);
        match known {
            None if self.seems_taken(reference) => self.get(reference).await,
            known => Ok(known),
        }
    }

    async fn get(&self, reference: &ObjectRef) -> Result<Option<Value>, Failure> {
        let Some(resource) = self.shared.cache().resource(&reference.gvk) else { return Ok(None) };
        let at = At { resource: &resource, namespace: reference.namespace.as_deref(), name: &reference.name };
        let object = self.shared.cluster.get(at).await.map_err(|error| Failure::read(reference, &error))?;
        if object.is_none()
            && let Some(store) = self.shared.cache().store_mut(&reference.gvk)
        {
            store.is_free(&Key::new(reference.namespace.as_deref(), &reference.name));
        }
        Ok(object)
    }

    /// What is to be shown of an outcome, and when to try again.
    pub(super) fn judge(&self, outcome: &Result<(), Failure>) -> (Option<Problem>, Option<Duration>) {
        let mut cache = self.shared.cache();
        let Some(job) = cache.job_mut(self.key) else { return (None, None) };
        let Err(failure) = outcome else {
            job.trouble = None;
            return (None, None);
        };
        let trouble = once_more(job.trouble);
        (job.trouble, job.dirty) = (Some(trouble), true);
        let age = trouble.since.elapsed();
        tracing::debug!(tries = trouble.tries, "{}", failure.problem.message);
        let problem = if failure.is_shown(age) {
            Some(failure.problem.clone())
        } else {
            shown(&self.snapshot.train_job)
        };
        (problem, failure.again(trouble.tries, age, chance(self.key)))
    }
}

/// Refuses an object with a quantity that no program can read; an API server stores them.
fn readable(object: &Value) -> Result<(), Failure> {
    let schemas = api::schemas();
    let kind = Gvk::of(object).and_then(|gvk| schemas.kind(&gvk.api_version, &gvk.kind));
    let errors = kind.map(|ty| unreadable_quantities(schemas, ty, object)).unwrap_or_default();
    if errors.is_empty() {
        return Ok(());
    }
    let name = ObjectRef::of(object).map(|it| it.to_string()).unwrap_or_default();
    let diagnostics = errors.iter().map(|error| refused(&name, error)).collect();
    Err(Failure::refused(&Refusal::Refused(diagnostics)))
}

/// A number between 0 and 1, so that what failed together is not tried again together.
fn chance(key: &Key) -> f64 {
    let hash = RandomState::new().hash_one(key);
    f64::from((hash >> 32) as u32) / f64::from(u32::MAX)
}
