//! What the process answers: webhooks and progress over TLS, and its health. Every replica does.

use super::{
    CONCURRENCY, Error, Flags, admission, authorities,
    health::{self, Readiness},
    metrics,
    progress::Progress,
    shared::Shared,
};
use crate::{
    config::{self, Settings},
    gates,
    serving::{self, Keeper, Serving, Source, Trust},
};
use kube::Client;
use std::{future::ready, sync::Arc, time::Duration};
use tokio::{net::TcpListener, sync::watch, task::JoinSet};
use tokio_rustls::TlsAcceptor;
use tokio_util::{
    sync::CancellationToken,
    task::{TaskTracker, task_tracker::TaskTrackerToken},
};

/// Where is answered what, unless somebody says otherwise: upstream's ports.
const HEALTH: &str = ":8081";
const WEBHOOKS: &str = ":9443";
const PROGRESS: &str = ":10443";

/// Listeners, before anything is answered.
pub(super) struct Servers {
    health: Option<TcpListener>,
    webhooks: Option<TcpListener>,
    progress: Option<TcpListener>,
    metrics: Option<TcpListener>,
    plain_metrics: bool,
    /// How many TrainJobs are looked at at a time.
    concurrency: usize,
    tls: TlsAcceptor,
    keeper: Keeper,
    client: Client,
}

impl Servers {
    /// Listens. `namespace` is the controller's.
    pub(super) async fn bind(
        flags: &Flags,
        settings: &Settings,
        namespace: &str,
        client: &Client,
    ) -> Result<Servers, Error> {
        let keeper = keeper(flags, settings, namespace, client);
        let address = |chosen: &Option<String>, usual: &str| chosen.as_deref().unwrap_or(usual).to_owned();
        let is_wanted = settings.gates.contains(gates::TRAIN_JOB_STATUS);
        let progress = if is_wanted { address(&settings.progress, PROGRESS) } else { String::new() };
        Ok(Servers {
            health: listen(&address(&settings.health, HEALTH), "/healthz and /readyz").await?,
            webhooks: listen(&address(&settings.webhook, WEBHOOKS), "webhooks").await?,
            progress: listen(&progress, "progress").await?,
            metrics: listen(settings.metrics.as_deref().unwrap_or_default(), "/metrics").await?,
            plain_metrics: settings.plain_metrics,
            concurrency: settings.concurrency.unwrap_or(CONCURRENCY),
            tls: serving::acceptor(&settings.tls, Arc::clone(&keeper.serving))?,
            keeper,
            client: client.clone(),
        })
    }

    /// What clients may rely on, if anything is served over TLS.
    pub(super) fn trust(&self) -> Option<watch::Receiver<Trust>> {
        let is_needed = self.webhooks.is_some() || self.progress.is_some();
        is_needed.then(|| self.keeper.trust.subscribe())
    }

    /// Answers from now on. After `stop` what is returned tells when all has been answered.
    pub(super) fn answer(
        self,
        shared: &Arc<Shared>,
        stop: &CancellationToken,
        background: &mut JoinSet<()>,
    ) -> TaskTracker {
        let (trust, answering) = (self.trust(), TaskTracker::new());
        let is_secure = trust.is_some() || (self.metrics.is_some() && !self.plain_metrics);
        let Servers { health, webhooks, progress, metrics, plain_metrics, concurrency, tls, keeper, client } =
            self;
        if let Some(listener) = webhooks {
            let known = Arc::clone(shared);
            let answer = move |request| admission::answer(Arc::clone(&known), request);
            let server = serving::serve(listener, tls.clone(), stop.clone(), answer);
            background.spawn(for_ever(server, answering.token()));
        }
        if let Some(listener) = progress {
            let progress = Progress::new(client);
            let server = serving::serve(listener, tls.clone(), stop.clone(), move |request| {
                progress.clone().answer(request)
            });
            background.spawn(for_ever(server, answering.token()));
        }
        if let Some(listener) = metrics {
            let told = Arc::clone(shared);
            let render = move || told.metrics.render(&metrics::gauges(&told, concurrency));
            if plain_metrics {
                background.spawn(metrics::serve(listener, render));
            } else {
                let server = serving::serve(listener, tls, stop.clone(), move |request| {
                    ready(metrics::answer(request.method(), request.uri().path(), &render))
                });
                background.spawn(for_ever(server, answering.token()));
            }
        }
        if is_secure {
            background.spawn(serving::keep(keeper));
        }
        if let Some(trust) = trust.clone() {
            background.spawn(authorities::follow(Arc::clone(shared), trust));
        }
        if let Some(listener) = health {
            let readiness = Readiness { seen: shared.ready(), trust, stop: stop.clone() };
            background.spawn(health::serve(listener, readiness));
        }
        answering
    }
}

/// A server as a part that must not end: its end is told by `token` instead.
async fn for_ever(server: impl Future<Output = ()>, token: TaskTrackerToken) {
    server.await;
    drop(token);
    std::future::pending::<()>().await;
}

/// What sees to the certificate of all servers.
fn keeper(flags: &Flags, settings: &Settings, namespace: &str, client: &Client) -> Keeper {
    let config::Certificates { enable, service, secret } = &settings.certificates;
    let folder = || std::env::temp_dir().join(serving::DEFAULT_FOLDER);
    let source = if *enable {
        Source::Secret(secret.clone())
    } else {
        Source::Folder(flags.cert_dir.clone().unwrap_or_else(folder))
    };
    Keeper {
        client: client.clone(),
        namespace: namespace.to_owned(),
        name: format!("{service}.{namespace}.svc"),
        source,
        overlap: Duration::from_secs(flags.certificate_overlap),
        serving: Arc::new(Serving::default()),
        trust: watch::Sender::new(Trust::default()),
    }
}

/// A listener on `address`, where the host may be missing: every one then. None for `0` and for nothing.
async fn listen(address: &str, what: &str) -> Result<Option<TcpListener>, Error> {
    if matches!(address, "" | "0") {
        return Ok(None);
    }
    let failed = |error| Error::Listen(address.to_owned(), error);
    let listener = if address.starts_with(':') {
        // Of both kinds of addresses, where the machine has both.
        match TcpListener::bind(format!("[::]{address}")).await {
            Ok(listener) => listener,
            Err(_) => TcpListener::bind(format!("0.0.0.0{address}")).await.map_err(failed)?,
        }
    } else {
        TcpListener::bind(address).await.map_err(failed)?
    };
    let address = listener.local_addr().map_err(failed)?;
    tracing::info!(%address, "answering {what}");
    Ok(Some(listener))
}
