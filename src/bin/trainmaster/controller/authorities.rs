//! Who vouches for the certificate of the servers, as policies know it.

use super::shared::Shared;
use crate::serving::Trust;
use std::{sync::Arc, time::Duration};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// How long nothing is planned because a certificate is still being made. Without it, too, TrainJobs are run.
const PATIENCE: Duration = Duration::from_secs(5);

/// Waits until it is known, and lets policies know. It is not known at all of a certificate whose bringer does not say so.
pub(super) async fn wait(shared: &Shared, trust: &mut watch::Receiver<Trust>, stop: &CancellationToken) {
    let known = async {
        // What is returned locks the channel, so it goes at once.
        _ = trust.wait_for(|it| it.is_ready || !it.authorities.is_empty()).await;
    };
    tokio::select! {
        _ = tokio::time::timeout(PATIENCE, known) => {}
        () = stop.cancelled() => {}
    }
    let known = trust.borrow().authorities.clone();
    learn(shared, known);
}

/// Lets policies know whenever it changes, for ever; what they make of it is put right.
pub(super) async fn follow(shared: Arc<Shared>, mut trust: watch::Receiver<Trust>) {
    while trust.changed().await.is_ok() {
        let known = trust.borrow_and_update().authorities.clone();
        if learn(&shared, known) {
            let all = shared.cache().all_jobs();
            shared.wake(all);
        }
    }
    std::future::pending::<()>().await;
}

/// False if it was known.
fn learn(shared: &Shared, authorities: String) -> bool {
    let mut cache = shared.cache();
    let is_new = cache.config.certificate_authorities != authorities;
    cache.config.certificate_authorities = authorities;
    is_new
}
