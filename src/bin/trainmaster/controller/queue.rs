//! Which TrainJob is looked at when: each at most once at a time, many at once, the rest in order.

use super::store::Key;
use futures::{
    StreamExt as _,
    channel::mpsc::{UnboundedReceiver, UnboundedSender},
};
use kube::runtime::scheduler::{ScheduleRequest, scheduler};
use std::{collections::BTreeMap, pin::pin, time::Duration};
use tokio::{task::JoinSet, time::Instant};
use tokio_util::sync::CancellationToken;

/// How long what is running may take to end when the process is asked to.
const END_LIMIT: Duration = Duration::from_secs(8);
/// When a TrainJob is looked at again whose reconciliation panicked.
const AFTER_PANIC: Duration = Duration::from_secs(30);

pub(super) type Requests = UnboundedReceiver<ScheduleRequest<Key>>;

/// Where TrainJobs wait to be looked at. One that waits already does not wait twice.
#[derive(Clone)]
pub(super) struct Queue(UnboundedSender<ScheduleRequest<Key>>);

impl Queue {
    pub(super) fn new() -> (Queue, Requests) {
        let (sender, requests) = futures::channel::mpsc::unbounded();
        (Queue(sender), requests)
    }

    pub(super) fn add(&self, key: Key) {
        self.add_after(key, Duration::ZERO);
    }

    pub(super) fn add_after(&self, key: Key, delay: Duration) {
        let now = Instant::now();
        let run_at = now.checked_add(delay).unwrap_or(now);
        // It fails only when the process ends.
        _ = self.0.unbounded_send(ScheduleRequest { message: key, run_at });
    }
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
                if ended_badly {
                    tracing::error!(namespace = %key.namespace, trainjob = %key.name, "a reconciliation panicked");
                }
                if let Some(delay) = again {
                    queue.add_after(key, delay);
                }
            }
            Some(key) = next, if running.len() < concurrency => {
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
