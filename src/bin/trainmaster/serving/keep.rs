//! Sees to it that a certificate is served which clients take: [`keep`].
//!
//! What is known comes from watches of the Secret and of the webhook configurations; each piece of news, and time, lead
//! to one [step](Keeper::step) which looks at all of it afresh. Replicas do not talk to each other: each comes to the
//! same by the same Secret.

use super::{
    authorities::Authorities,
    folder,
    identity::Identity,
    secret,
    tls::Serving,
    webhooks::{self, Configuration, Kind},
};
use crate::telemetry::Chain;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use kube::{
    Api, Client,
    runtime::{
        WatchStreamExt as _,
        watcher::{self, watch_object},
    },
};
use std::{
    path::PathBuf,
    pin::pin,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::sync::watch;

/// How often it is looked whether the certificate is to be made anew, and whether it has changed in its folder.
const INTERVAL: Duration = Duration::from_mins(1);
const FOLDER_INTERVAL: Duration = Duration::from_secs(10);
/// How long after a failure it is tried again, at first and at most.
const FIRST_DELAY: Duration = Duration::from_secs(1);
const LAST_DELAY: Duration = Duration::from_mins(1);

/// Where the certificate comes from.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// It is made here and kept in the Secret of this name.
    Secret(String),
    /// Somebody else keeps it in this folder, and tells the webhook configurations whom to trust.
    Folder(PathBuf),
}

/// What clients may rely on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Trust {
    /// Whether what is served is what clients take.
    pub(crate) is_ready: bool,
    /// Who vouches for what is served now and next, PEM; empty if that is not known.
    pub(crate) authorities: String,
}

/// Why a step was not taken.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("cannot make a certificate")]
    Make(#[from] rcgen::Error),
    #[error("the API server refuses")]
    Cluster(#[from] kube::Error),
    #[error(transparent)]
    Folder(#[from] folder::Error),
}

/// What it takes to keep a certificate.
pub(crate) struct Keeper {
    pub(crate) client: Client,
    /// Where the Secret is.
    pub(crate) namespace: String,
    /// The name by which clients know the server: `<service>.<namespace>.svc`.
    pub(crate) name: String,
    pub(crate) source: Source,
    /// How long clients trust a new certificate before it takes the place of one that is still good: the time that the
    /// news needs to reach them.
    pub(crate) overlap: Duration,
    pub(crate) serving: Arc<Serving>,
    pub(crate) trust: watch::Sender<Trust>,
}

/// An object, as far as it is known.
#[derive(Default)]
enum Seen<T> {
    /// It was not looked for yet.
    #[default]
    Not,
    Missing,
    There(T),
}

impl<T> From<Option<T>> for Seen<T> {
    fn from(found: Option<T>) -> Self {
        found.map_or(Seen::Missing, Seen::There)
    }
}

/// What is known.
#[derive(Default)]
struct Known {
    secret: Seen<Box<Secret>>,
    validating: Seen<Configuration>,
    mutating: Seen<Configuration>,
    /// What is not served yet, and since when clients take it.
    waiting: Option<(Identity, Instant)>,
}

/// A piece of news.
enum News {
    Secret(Option<Box<Secret>>),
    Configuration(Kind, Option<Configuration>),
}

impl Known {
    fn learn(&mut self, news: News) {
        match news {
            News::Secret(secret) => self.secret = secret.into(),
            News::Configuration(Kind::Validating, it) => self.validating = it.into(),
            News::Configuration(Kind::Mutating, it) => self.mutating = it.into(),
        }
    }

    /// The configurations that there are, once both have been looked for.
    fn configurations(&self) -> Option<Vec<Configuration>> {
        let mut there = Vec::new();
        for seen in [&self.validating, &self.mutating] {
            match seen {
                Seen::Not => return None,
                Seen::Missing => {}
                Seen::There(configuration) => there.push(configuration.clone()),
            }
        }
        Some(there)
    }

    /// Serves `offer` once clients have been taking it for as long as `overlap`; returns how long that is still to come.
    fn change_over(
        &mut self,
        serving: &Serving,
        offer: &Identity,
        is_taken: bool,
        (overlap, now): (Duration, Instant),
    ) -> Option<Duration> {
        if !is_taken || serving.current().as_ref() == Some(offer) {
            self.waiting = None;
            return None;
        }
        let since = match &self.waiting {
            Some((waiting, since)) if waiting == offer => *since,
            _ => now,
        };
        let rest = overlap.saturating_sub(now.saturating_duration_since(since));
        if rest.is_zero() {
            self.waiting = None;
            serving.change(offer.clone());
            let ends = offer.ends().map(tracing::field::display);
            tracing::info!(ends, "serving a certificate");
            return None;
        }
        self.waiting = Some((offer.clone(), since));
        Some(rest)
    }
}

/// Keeps a certificate, for ever.
pub(crate) async fn keep(keeper: Keeper) {
    let secrets: Api<Secret> = Api::namespaced(keeper.client.clone(), &keeper.namespace);
    let secret = match &keeper.source {
        Source::Secret(name) => {
            watch_object(secrets.clone(), name).map_ok(|it| News::Secret(it.map(Box::new))).boxed()
        }
        Source::Folder(_) => stream::pending().boxed(),
    };
    let configuration = |kind| {
        let configurations = webhooks::follow(&keeper.client, kind);
        configurations.map_ok(move |it| News::Configuration(kind, it)).boxed()
    };
    let all = [secret, configuration(Kind::Validating), configuration(Kind::Mutating)];
    let mut news = pin!(stream::select_all(all.map(|it| it.default_backoff().boxed())));
    let (mut known, mut failures) = (Known::default(), 0);
    let mut wake = Instant::now();
    loop {
        tokio::select! {
            Some(news) = news.next() => match news {
                Ok(news) => known.learn(news),
                Err(error) => tell(&error),
            },
            () = tokio::time::sleep_until(wake.into()) => {}
        }
        let pause = match keeper.step(&secrets, &mut known).await {
            Ok(pause) => {
                failures = 0;
                pause
            }
            Err(error) => {
                tracing::warn!(error = %Chain(&error), "cannot see to the certificate");
                failures += 1;
                FIRST_DELAY.saturating_mul(1 << failures.min(6)).min(LAST_DELAY)
            }
        };
        wake = Instant::now() + pause;
    }
}

fn tell(error: &watcher::Error) {
    tracing::warn!(error = %Chain(error), "cannot follow what the certificate depends on");
}

impl Keeper {
    /// Does what is to be done now; returns when to look again though there is no news.
    async fn step(&self, secrets: &Api<Secret>, known: &mut Known) -> Result<Duration, Error> {
        let now = Timestamp::now();
        let (offer, interval) = match &self.source {
            Source::Folder(folder) => (Some(folder::read(folder)?), FOLDER_INTERVAL),
            Source::Secret(name) => (self.of_secret(secrets, name, known, now).await?, INTERVAL),
        };
        let (Some(offer), Some(configurations)) = (offer, known.configurations()) else {
            return Ok(interval);
        };
        let current = self.serving.current().filter(|it| it.is_good(now));
        let wanted = current.iter().fold(offer.authorities.clone(), |all, it| all.and(&it.authorities));
        let is_ours = matches!(self.source, Source::Secret(_));
        if is_ours {
            for configuration in &configurations {
                configuration.trust(&self.client, &wanted).await?;
            }
        }
        let is_taken =
            |it: &Identity| configurations.iter().all(|known| known.takes(it, &self.name, now, !is_ours));
        let overlap = if current.as_ref().is_some_and(is_taken) { self.overlap } else { Duration::ZERO };
        let rest = known.change_over(&self.serving, &offer, is_taken(&offer), (overlap, Instant::now()));
        let is_ready = self.serving.current().is_some_and(|it| it.is_good(now) && is_taken(&it));
        self.publish(Trust { is_ready, authorities: wanted.to_string() });
        Ok(rest.map_or(interval, |rest| rest.min(interval)))
    }

    /// The certificate of the Secret, made anew if it must be; none if there is none that clients would take.
    async fn of_secret(
        &self,
        secrets: &Api<Secret>,
        name: &str,
        known: &mut Known,
        now: Timestamp,
    ) -> Result<Option<Identity>, Error> {
        let before = match &known.secret {
            Seen::Not => return Ok(None),
            Seen::Missing => None,
            Seen::There(secret) => Some(&**secret),
        };
        let read = before.and_then(|it| {
            let read = secret::read(it);
            read.inspect_err(|error| tracing::info!(error = %Chain(error), "the Secret has no certificate"))
                .ok()
        });
        if read.as_ref().is_some_and(|it| !secret::is_due(it, &self.name, now)) {
            return Ok(read);
        }
        let served = self.serving.current();
        let former =
            served.iter().chain(&read).fold(Authorities::default(), |all, it| all.and(&it.authorities));
        let good = read.filter(|it| it.check(&it.authorities, &self.name, now).is_ok());
        match secret::renew(secrets, before, (name, &self.name), &former, now).await {
            Ok(None) => Ok(good),
            Ok(Some(stored)) => {
                let read = secret::read(&stored).ok();
                known.secret = Seen::There(Box::new(stored));
                Ok(read)
            }
            // What is there still serves for a while.
            Err(error) if good.is_some() => {
                tracing::error!(error = %Chain(&error), "cannot make a new certificate, though the present one ends soon");
                Ok(good)
            }
            Err(error) => Err(error),
        }
    }

    fn publish(&self, trust: Trust) {
        self.trust.send_if_modified(|known| {
            if known.is_ready != trust.is_ready {
                tracing::info!(ready = trust.is_ready, "clients take the certificate that is served");
            }
            let is_new = *known != trust;
            *known = trust;
            is_new
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::make::{LIFETIME, make};
    use super::*;

    fn identity() -> Identity {
        let made = make("a.b.svc", Timestamp::UNIX_EPOCH, LIFETIME).unwrap();
        Identity::read(made.certificate.as_bytes(), made.key.as_bytes(), made.authority.as_bytes()).unwrap()
    }

    #[test]
    fn a_new_certificate_is_served_once_it_was_taken_for_the_overlap() {
        let (serving, mut known) = (Serving::default(), Known::default());
        let (one, two, three, zero) = (identity(), identity(), identity(), Duration::ZERO);
        let (mut now, minute) = (Instant::now(), Duration::from_mins(1));
        let mut step = |offer: &Identity, is_taken, overlap, later| {
            now += later;
            let rest = known.change_over(&serving, offer, is_taken, (overlap, now));
            (rest.map(|it| it.as_secs()), serving.current())
        };
        assert_eq!(step(&one, false, zero, zero), (None, None), "nobody would take it");
        assert_eq!(step(&one, true, zero, zero), (None, Some(one.clone())), "there is nothing to wait for");
        assert_eq!(step(&two, true, minute, zero), (Some(60), Some(one.clone())));
        assert_eq!(step(&two, true, minute, minute / 2), (Some(30), Some(one.clone())));
        assert_eq!(step(&three, true, minute, zero), (Some(60), Some(one.clone())), "it is another one");
        assert_eq!(
            step(&three, false, minute, minute / 2),
            (None, Some(one.clone())),
            "not trusted any more"
        );
        assert_eq!(step(&three, true, minute, zero), (Some(60), Some(one)));
        assert_eq!(step(&three, true, minute, minute), (None, Some(three)));
    }
}
