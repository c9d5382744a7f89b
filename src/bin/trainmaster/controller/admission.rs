//! What admission has to know of the cluster: from the cache, and by requests where the cache may not know yet.

use super::{
    cache::{RUNTIMES, uid},
    cluster::At,
    error::Error,
    shared::Shared,
    store::Key,
};
use crate::{
    serving::{self, Answer, plain},
    webhook::{self, Review, Webhook},
};
use http_body_util::Full;
use hyper::{
    Request, Response, StatusCode,
    body::{Bytes, Incoming},
    header::{CONTENT_TYPE, HeaderValue},
};
use serde_json::Value;
use std::{sync::Arc, time::Duration};
use tokio::time::{sleep, timeout};
use trainmaster::{
    admission::{self, Verdict},
    object::{ObjectRef, metadata},
    plan::{Runtime, RuntimeRef, Snapshot, config_map, pin_ref, pinned_runtime},
    policy::PolicySet,
};

/// Bytes of a review: two objects of the size that an API server takes, and what it says about them.
const REVIEW_LIMIT: usize = 8 << 20;
/// How long a judgement may take; the API server waits for ten seconds.
const LIMIT: Duration = Duration::from_secs(8);
/// What an object needs at most to get from the API server to the cache. Whoever is refused waits for so long.
const LAG: Duration = Duration::from_millis(250);
/// Keys that are planned here are never used.
const RANDOM: [u8; 32] = [0; 32];

/// The answer to what the API server asks a webhook.
pub(super) async fn answer(shared: Arc<Shared>, request: Request<Incoming>) -> Answer {
    let webhook = Webhook::at(request.uri().path());
    let path = request.uri().path().to_owned();
    // What is asked is read in any case, so that the connection can go on.
    let body = match serving::body(request.into_body(), REVIEW_LIMIT).await {
        Ok(body) => body,
        Err(error) => return plain(error.status(), error.to_string()),
    };
    let Some(webhook) = webhook else {
        return plain(StatusCode::NOT_FOUND, format!("there is no webhook {path}"));
    };
    let judge = async |review| match webhook {
        Webhook::Times | Webhook::TrainJob => train_job(&shared, &review).await,
        Webhook::TrainingRuntime | Webhook::ClusterTrainingRuntime => Ok(runtime(&shared, &review)),
    };
    match webhook::answer(webhook, &body, judge).await {
        Ok(review) => {
            let mut answer = Response::new(Full::new(Bytes::from(review)));
            answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            answer
        }
        Err(error) => plain(StatusCode::BAD_REQUEST, error.to_string()),
    }
}

/// What is to be said of a TrainJob, or why that cannot be told now.
async fn train_job(shared: &Shared, review: &Review) -> Result<Verdict, String> {
    let Review { object, old, .. } = review;
    if old.as_ref().is_some_and(|old| admission::is_moot(object, old)) {
        return Ok(Verdict::default());
    }
    let same_spec = old.as_ref().is_some_and(|old| old.get("spec") == object.get("spec"));
    match timeout(LIMIT, judge(shared, review)).await {
        Ok(Ok(verdict)) => Ok(verdict),
        // What cannot be judged must not keep labels from being changed.
        _ if same_spec => Ok(Verdict::default()),
        Ok(Err(error)) => Err(format!("cannot read what the TrainJob depends on: {error}")),
        Err(_) => Err("cannot read what the TrainJob depends on in time".to_owned()),
    }
}

/// What is to be said of a runtime.
fn runtime(shared: &Shared, review: &Review) -> Verdict {
    let (policies, served, config) = {
        let cache = shared.cache();
        (cache.policies.clone(), cache.served(), cache.config.clone())
    };
    admission::runtime(&review.object, review.old.as_ref(), &policies, &served, &config)
}

/// Judges by what is known; where that means a refusal, once more by what there is.
async fn judge(shared: &Shared, review: &Review) -> Result<Verdict, Error> {
    let mut ready = shared.ready();
    // Nobody is sent here before; who comes all the same waits.
    _ = ready.wait_for(|ready| *ready).await;
    let runtime = match pinned(shared, review).await? {
        Some(runtime) => return verdict(shared, review, Runtime::Pinned(runtime)).await,
        None => known_runtime(shared, review),
    };
    if let Some(runtime) = runtime {
        let verdict = verdict(shared, review, Runtime::live(runtime)).await?;
        if verdict.is_admitted() {
            return Ok(verdict);
        }
    }
    let ((), runtime) = tokio::join!(sleep(LAG), live_runtime(shared, review));
    verdict(shared, review, runtime?.map_or(Runtime::Missing, Runtime::live)).await
}

async fn verdict(shared: &Shared, review: &Review, runtime: Runtime) -> Result<Verdict, Error> {
    let (mut snapshot, policies, runtimes) = known(shared, review, runtime);
    for reference in policies.config_maps().map(|it| config_map(it, &snapshot.config)).collect::<Vec<_>>() {
        if shared.seems_taken(&reference)
            && let Some(object) = get(shared, &reference).await?
        {
            snapshot.others.insert(reference, object);
        }
    }
    Ok(admission::train_job(snapshot, &policies, &runtimes))
}

/// What is known: a snapshot, the policies, and which runtimes there are if the one that is asked for is not.
fn known(shared: &Shared, review: &Review, runtime: Runtime) -> (Snapshot, PolicySet, Vec<ObjectRef>) {
    let cache = shared.cache();
    let namespace = metadata(&review.object).namespace();
    let runtimes = RUNTIMES.iter().filter(|_| runtime == Runtime::Missing).filter_map(|gvk| cache.store(gvk));
    let runtimes = runtimes.flat_map(|store| store.objects.keys().map(|key| store.reference(key))).collect();
    let old = review.old.as_ref();
    let snapshot = Snapshot {
        train_job: review.object.clone(),
        old_train_job: old.cloned(),
        runtime,
        live: old.map(|old| cache.children(uid(old))).unwrap_or_default(),
        others: cache.others(namespace),
        served: cache.served(),
        config: cache.config.clone(),
        random: Some(RANDOM),
    };
    (snapshot, cache.policies.clone(), runtimes)
}

/// The runtime that the TrainJob is pinned to, if it is.
async fn pinned(shared: &Shared, review: &Review) -> Result<Option<Value>, Error> {
    let Some(old) = &review.old else { return Ok(None) };
    let reference = pin_ref(old);
    let known = {
        let cache = shared.cache();
        let key = Key::of(old);
        let pin = key.and_then(|key| cache.job(&key)?.pin.clone());
        pin.zip(cache.entry(&reference))
            .and_then(|((version, runtime), entry)| (entry.version == version).then_some(runtime))
    };
    if let Some(runtime) = known {
        return Ok(Some((*runtime).clone()));
    }
    if !shared.seems_taken(&reference) {
        return Ok(None);
    }
    // One that is of no use is told of in the TrainJob's status.
    Ok(get(shared, &reference).await?.and_then(|it| pinned_runtime(&it, old).ok()))
}

fn runtime_ref(review: &Review) -> Option<ObjectRef> {
    RuntimeRef::of(&review.object).object(metadata(&review.object).namespace())
}

fn known_runtime(shared: &Shared, review: &Review) -> Option<Value> {
    shared.cache().object(&runtime_ref(review)?)
}

async fn live_runtime(shared: &Shared, review: &Review) -> Result<Option<Value>, Error> {
    match runtime_ref(review) {
        Some(reference) => get(shared, &reference).await,
        None => Ok(None),
    }
}

async fn get(shared: &Shared, reference: &ObjectRef) -> Result<Option<Value>, Error> {
    let Some(resource) = shared.cache().resource(&reference.gvk) else { return Ok(None) };
    let at = At { resource: &resource, namespace: reference.namespace.as_deref(), name: &reference.name };
    shared.cluster.get(at).await
}
