//! Which TrainJob is looked at when: each at most once at a time, many at once, the rest in order.

use super::{
    metrics::{ADDS, CONTROLLER, Gauge, Metrics, PANICS, QUEUE_TIME, RETRIES, WORK_TIME},
    store::Key,
};
use futures::{
    StreamExt as _,
    channel::mpsc::{UnboundedReceiver, UnboundedSender},
};
use kube::runtime::scheduler::{ScheduleRequest, scheduler};
use std::{
    collections::BTreeMap,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{task::JoinSet, time::Instant};
use tokio_util::sync::CancellationToken;

/// How long what is running may take to end when the process is asked to.
const END_LIMIT: Duration = Duration::from_secs(8);
/// When a TrainJob is looked at again whose reconciliation panicked.
const AFTER_PANIC: Duration = Duration::from_secs(30);

pub(super) type Requests = UnboundedReceiver<ScheduleRequest<Key>>;

/// Where TrainJobs wait to be looked at. One that waits already does not wait twice.
#[derive(Clone)]
pub(super) struct Queue {
    requests: UnboundedSender<ScheduleRequest<Key>>,
    load: Arc<Mutex<Load>>,
    metrics: Arc<Metrics>,
}

/// What waits and what runs, for the metrics.
#[derive(Default)]
struct Load {
    /// When each TrainJob that waits is due.
    waiting: BTreeMap<Key, Instant>,
    /// When each that is looked at began to be.
    running: BTreeMap<Key, Instant>,
}

/// The name of the queue and that of the controller.
const NAMES: [&str; 2] = [CONTROLLER, CONTROLLER];

impl Queue {
    pub(super) fn new(metrics: Arc<Metrics>) -> (Queue, Requests) {
        let (requests, receiver) = futures::channel::mpsc::unbounded();
        (Queue { requests, load: Arc::default(), metrics }, receiver)
    }

    pub(super) fn add(&self, key: Key) {
        self.add_after(key, Duration::ZERO);
    }

    pub(super) fn add_after(&self, key: Key, delay: Duration) {
        let now = Instant::now();
        let run_at = now.checked_add(delay).unwrap_or(now);
        self.metrics.count(&ADDS, &NAMES);
        if !delay.is_zero() {
            self.metrics.count(&RETRIES, &NAMES);
        }
        let mut load = self.load();
        let due = load.waiting.entry(key.clone()).or_insert(run_at);
        *due = run_at.min(*due);
        drop(load);
        // It fails only when the process ends.
        _ = self.requests.unbounded_send(ScheduleRequest { message: key, run_at });
    }

    fn began(&self, key: &Key) {
        let now = Instant::now();
        let mut load = self.load();
        let due = load.waiting.remove(key).unwrap_or(now);
        load.running.insert(key.clone(), now);
        drop(load);
        self.metrics.observe(&QUEUE_TIME, &NAMES, now.saturating_duration_since(due));
    }

    fn ended(&self, key: &Key) {
        let began = self.load().running.remove(key);
        if let Some(began) = began {
            self.metrics.observe(&WORK_TIME, &NAMES, began.elapsed());
        }
    }

    /// How much waits and runs now, as controller-runtime calls it.
    pub(super) fn gauges(&self) -> Vec<Gauge> {
        let (now, load) = (Instant::now(), self.load());
        let ages = load.running.values().map(|began| now.saturating_duration_since(*began).as_secs_f64());
        let ages: Vec<f64> = ages.collect();
        let waiting = load.waiting.values().filter(|due| **due <= now).count();
        let gauge = |name, help, labels, of: &[&str], value| Gauge {
            name,
            help,
            labels,
            values: vec![(of.iter().map(|it| (*it).to_owned()).collect(), value)],
        };
        let queue: &[&str] = &["name", "controller"];
        vec![
            gauge(
                "workqueue_depth",
                "TrainJobs that are due and not looked at yet.",
                &["name", "controller", "priority"],
                &[CONTROLLER, CONTROLLER, "0"],
                count(waiting),
            ),
            gauge(
                "workqueue_unfinished_work_seconds",
                "How long all that is looked at now has been, added up.",
                queue,
                &NAMES,
                ages.iter().sum(),
            ),
            gauge(
                "workqueue_longest_running_processor_seconds",
                "How long the longest look has taken so far.",
                queue,
                &NAMES,
                ages.iter().copied().fold(0.0, f64::max),
            ),
            gauge(
                "controller_runtime_active_workers",
                "TrainJobs that are looked at now.",
                &["controller"],
                &[CONTROLLER],
                count(ages.len()),
            ),
        ]
    }

    fn load(&self) -> MutexGuard<'_, Load> {
        self.load.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A count as a number of the metrics.
pub(super) fn count(number: usize) -> f64 {
    u32::try_from(number).map_or(f64::INFINITY, f64::from)
}

/// Takes what comes from the queue and does nothing about it, for ever.
pub(super) async fn forget(requests: &mut Requests) {
    while requests.next().await.is_some() {}
    std::future::pending::<()>().await;
}

/// Runs `reconcile` for what comes from the queue, `concurrency` at a time, until `stop`; then waits for what is running.
/// What it returns is when to look again.
pub(super) async fn work<F>(
    requests: Requests,
    queue: &Queue,
    concurrency: usize,
    stop: &CancellationToken,
    reconcile: impl Fn(Key) -> F,
) where
    F: Future<Output = Option<Duration>> + Send + 'static,
{
    let mut waiting = pin!(scheduler(requests));
    let mut tasks: JoinSet<Option<Duration>> = JoinSet::new();
    let mut running = BTreeMap::new();
    loop {
        let busy: std::collections::BTreeSet<&Key> = running.values().collect();
        let next = async { waiting.as_mut().hold_unless(|key| !busy.contains(key)).next().await };
        tokio::select! {
            () = stop.cancelled() => break,
            Some(ended) = tasks.join_next_with_id() => {
                let ended_badly = ended.is_err();
                let (id, again) = match ended {
                    Ok((id, again)) => (id, again),
                    Err(error) => (error.id(), Some(AFTER_PANIC)),
                };
                let Some(key) = running.remove(&id) else { continue };
                queue.ended(&key);
                if ended_badly {
                    queue.metrics.count(&PANICS, &[CONTROLLER]);
                    tracing::error!(namespace = %key.namespace, trainjob = %key.name, "a reconciliation panicked");
                }
                if let Some(delay) = again {
                    queue.add_after(key, delay);
                }
            }
            Some(key) = next, if running.len() < concurrency => {
                queue.began(&key);
                let id = tasks.spawn(reconcile(key.clone())).id();
                running.insert(id, key);
            }
        }
    }
    let rest = async { while tasks.join_next().await.is_some() {} };
    if tokio::time::timeout(END_LIMIT, rest).await.is_err() {
        tracing::warn!("{} reconciliations did not end in time", tasks.len());
    }
}
