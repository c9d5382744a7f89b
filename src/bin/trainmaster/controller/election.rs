//! Which of the replicas writes: the one that holds a Lease, as client-go's leader election has it.
//!
//! The times that a holder writes into the Lease are never compared with the clock here: what counts is for how long
//! nothing about it has changed, by a clock that does not jump. A holder that cannot renew in time must end before
//! another one may take over: [`Election::hold`] returns then.

use crate::{config::LeaderElection, random, telemetry::Chain};
use jiff::Timestamp;
use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::MicroTime,
};
use kube::{
    Api, Client,
    api::{ObjectMeta, PostParams},
};
use std::{
    fs,
    time::{Duration, Instant},
};
use tokio::time::{sleep, timeout};

/// How long giving the Lease back may take.
const RESIGN_LIMIT: Duration = Duration::from_secs(3);

/// One candidate.
pub(super) struct Election {
    leases: Api<Lease>,
    settings: LeaderElection,
    identity: String,
    /// The Lease of somebody else, and since when it is as it is.
    seen: Option<(LeaseSpec, Instant)>,
}

/// Whose the Lease is after an attempt to get or to renew it.
#[derive(Debug, PartialEq, Eq)]
enum Holder {
    Us,
    Other(String),
}

impl Election {
    /// A candidate; the Lease is in `namespace` unless the settings say otherwise.
    pub(super) fn new(client: Client, settings: &LeaderElection, namespace: &str) -> Election {
        let namespace = Some(settings.namespace.as_str()).filter(|it| !it.is_empty()).unwrap_or(namespace);
        Election {
            leases: Api::namespaced(client, namespace),
            settings: settings.clone(),
            identity: identity(),
            seen: None,
        }
    }

    /// Returns once the Lease is ours.
    pub(super) async fn win(&mut self) {
        let mut known = None;
        loop {
            match timeout(self.settings.renew_deadline, self.attempt()).await {
                Ok(Ok(Holder::Us)) => {
                    tracing::info!(identity = self.identity, "leading");
                    return;
                }
                Ok(Ok(Holder::Other(leader))) if known.as_ref() != Some(&leader) => {
                    tracing::info!(identity = self.identity, leader, "following");
                    known = Some(leader);
                }
                Ok(Ok(Holder::Other(_))) => {}
                Ok(Err(error)) => tracing::warn!(error = %Chain(&error), "cannot get the Lease"),
                Err(_) => tracing::warn!("the Lease: no answer in time"),
            }
            sleep(self.pause()).await;
        }
    }

    /// Renews the Lease, and returns when it is lost: somebody else has it, or may soon.
    pub(super) async fn hold(&mut self) {
        let mut renewed = Instant::now();
        loop {
            sleep(self.settings.retry_period).await;
            let begun = Instant::now();
            let rest = self.settings.renew_deadline.saturating_sub(renewed.elapsed());
            match timeout(rest, self.attempt()).await {
                Ok(Ok(Holder::Us)) => renewed = begun,
                Ok(Ok(Holder::Other(leader))) => {
                    tracing::error!(leader, "another one holds the Lease");
                    return;
                }
                Ok(Err(error)) => tracing::warn!(error = %Chain(&error), "cannot renew the Lease"),
                Err(_) => tracing::warn!("the Lease: no answer in time"),
            }
            if renewed.elapsed() >= self.settings.renew_deadline {
                tracing::error!("the Lease could not be renewed in time");
                return;
            }
        }
    }

    /// Gives the Lease back, so that nobody has to wait until it has run out.
    pub(super) async fn resign(&mut self) {
        // A renewal that was under way when this process was told to stop may still arrive in between.
        let resigned = async {
            loop {
                match self.give_back().await {
                    Err(kube::Error::Api(status)) if status.is_conflict() => {}
                    ended => return ended,
                }
            }
        };
        match timeout(RESIGN_LIMIT, resigned).await {
            Ok(Ok(())) => tracing::info!("gave the Lease back"),
            Ok(Err(error)) => tracing::warn!(error = %Chain(&error), "cannot give the Lease back"),
            Err(_) => tracing::warn!("the Lease: no answer in time"),
        }
    }

    async fn give_back(&self) -> Result<(), kube::Error> {
        let found = self.leases.get_opt(&self.settings.name).await?;
        let Some(mut lease) = found.filter(|it| holder(it) == Some(&self.identity)) else { return Ok(()) };
        let spec = lease.spec.get_or_insert_default();
        spec.holder_identity = Some(String::new());
        spec.lease_duration_seconds = Some(1);
        spec.renew_time = Some(MicroTime(Timestamp::now()));
        self.leases.replace(&self.settings.name, &PostParams::default(), &lease).await.map(drop)
    }

    async fn attempt(&mut self) -> Result<Holder, kube::Error> {
        let (leases, name) = (self.leases.clone(), self.settings.name.clone());
        let Some(found) = leases.get_opt(&name).await? else {
            let metadata = ObjectMeta { name: Some(name), ..ObjectMeta::default() };
            let lease = Lease { metadata, spec: Some(self.ours(&LeaseSpec::default())) };
            return leases.create(&PostParams::default(), &lease).await.map(|_| Holder::Us);
        };
        let spec = found.spec.clone().unwrap_or_default();
        if let Some(other) = self.bars(&spec, Instant::now()) {
            return Ok(Holder::Other(other));
        }
        let lease = Lease { spec: Some(self.ours(&spec)), ..found };
        leases.replace(&name, &PostParams::default(), &lease).await.map(|_| Holder::Us)
    }

    /// Who holds the Lease, if that is not us and its time is not up at `now`.
    fn bars(&mut self, spec: &LeaseSpec, now: Instant) -> Option<String> {
        let other = spec.holder_identity.as_ref().filter(|it| !it.is_empty() && **it != self.identity)?;
        let since = match &self.seen {
            Some((seen, since)) if seen == spec => *since,
            _ => {
                self.seen = Some((spec.clone(), now));
                now
            }
        };
        let seconds = spec.lease_duration_seconds.and_then(|it| u64::try_from(it).ok());
        let lasts = seconds.map_or(self.settings.lease_duration, Duration::from_secs);
        (now.saturating_duration_since(since) < lasts).then(|| other.clone())
    }

    /// The Lease as we hold it.
    fn ours(&self, before: &LeaseSpec) -> LeaseSpec {
        let now = MicroTime(Timestamp::now());
        let is_new = before.holder_identity.as_ref() != Some(&self.identity);
        let transitions = before.lease_transitions.unwrap_or_default();
        let is_first = before.holder_identity.is_none();
        LeaseSpec {
            holder_identity: Some(self.identity.clone()),
            lease_duration_seconds: i32::try_from(self.settings.lease_duration.as_secs()).ok(),
            acquire_time: if is_new { Some(now.clone()) } else { before.acquire_time.clone() },
            renew_time: Some(now),
            lease_transitions: Some(transitions.saturating_add(i32::from(is_new && !is_first))),
            ..before.clone()
        }
    }

    /// Candidates try at moments of their own.
    fn pause(&self) -> Duration {
        let part = random::fresh().map_or(0, |bytes| u32::from(bytes[0]));
        self.settings.retry_period + self.settings.retry_period * part / 1280
    }
}

fn holder(lease: &Lease) -> Option<&String> {
    lease.spec.as_ref()?.holder_identity.as_ref()
}

/// A name that no other process has, and that tells which pod it is.
fn identity() -> String {
    let host = fs::read_to_string("/etc/hostname").unwrap_or_default();
    let unique = random::fresh().map_or(u64::from(std::process::id()), |bytes| {
        bytes.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
    });
    format!("{}_{unique:016x}", host.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate() -> Election {
        let config = kube::Config::new("https://127.0.0.1:1".parse().unwrap());
        let client = Client::try_from(config).unwrap();
        Election::new(client, &LeaderElection::default(), "ns")
    }

    fn held(by: &str, seconds: i32, renewed: i64) -> LeaseSpec {
        LeaseSpec {
            holder_identity: Some(by.to_owned()),
            lease_duration_seconds: Some(seconds),
            renew_time: Some(MicroTime(Timestamp::from_second(renewed).unwrap())),
            lease_transitions: Some(7),
            ..LeaseSpec::default()
        }
    }

    #[tokio::test]
    async fn a_lease_is_taken_once_nothing_has_changed_for_as_long_as_it_lasts() {
        let (mut us, begin) = (candidate(), Instant::now());
        let mut free =
            |spec: &LeaseSpec, seconds| us.bars(spec, begin + Duration::from_secs(seconds)).is_none();
        assert!(free(&LeaseSpec::default(), 0), "nobody's");
        assert!(free(&held("", 1, 0), 0), "given back");
        assert!(!free(&held("other", 10, 0), 0), "an old time says nothing: clocks differ");
        assert!(!free(&held("other", 10, 0), 9));
        assert!(!free(&held("other", 10, 1), 10), "renewed");
        assert!(!free(&held("other", 10, 1), 19));
        assert!(free(&held("other", 10, 1), 20));
    }

    #[tokio::test]
    async fn who_takes_the_lease_is_counted_and_who_keeps_it_is_not() {
        let us = candidate();
        let taken = us.ours(&held("other", 10, 0));
        assert_eq!((taken.lease_transitions, taken.lease_duration_seconds), (Some(8), Some(15)));
        let kept = us.ours(&taken);
        assert_eq!((kept.lease_transitions, &kept.acquire_time), (Some(8), &taken.acquire_time));
        assert_eq!(us.ours(&LeaseSpec::default()).lease_transitions, Some(0));
    }
}
