//! `trainmaster controller`: runs the TrainJobs of a cluster, until it is told to stop.
//!
//! Watches ([`watch`]) bring objects into a small [`cache`], which says which TrainJobs a change concerns; these wait in
//! a [`queue`], and [`reconcile`] looks at each: read, plan, apply, status. What is decided is decided by the library;
//! here is what talks to the API server.
//!
//! Of TrainJobs and runtimes everything is kept but who manages which field; of a JobSet its owner, whether it is
//! suspended, its status and a digest of what we have applied; of other children only whose they are; of what belongs to
//! nobody here one number, so that a name that is taken is known to be. A child whose digest is that of the plan is not
//! written. A TrainJob that runs, and of whose objects none has changed since, is not planned. After a restart it is enough
//! that all of its objects are there, and so nothing is read for it unless one is missing.

pub(crate) mod access;
mod admission;
mod apply;
mod authorities;
mod cache;
mod cluster;
mod discovery;
mod election;
mod error;
mod events;
mod failure;
mod health;
mod metrics;
mod policies;
mod progress;
mod queue;
mod reconcile;
mod runtimes;
mod servers;
mod shared;
mod snapshot;
mod store;
mod tree;
mod watch;

use crate::{
    cli::{Output, read},
    config::{self, Settings},
    exit::Exit,
    gates,
    telemetry::{self, LogFormat},
};
use cache::Cache;
use clap::Args;
use cluster::Cluster;
use election::Election;
use error::Chain;
use kube::{
    Client, Config as ClientConfig,
    client::ClientBuilder,
    config::{KubeConfigOptions, Kubeconfig},
};
use metrics::{CountRequests, Metrics};
use policies::Folder;
use queue::{Queue, Requests};
use servers::Servers;
use shared::Shared;
use std::{io, path::PathBuf, sync::Arc, time::Instant};
use store::Key;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;
use trainmaster::{diagnostic::Diagnostic, plan::Config, policy::PolicySet};

/// How many TrainJobs are looked at at a time. An API server answers no faster to more.
const CONCURRENCY: usize = 16;

/// Run the TrainJobs of a cluster
///
/// Works until SIGTERM or SIGINT, then ends what it is about to do and exits 0. Kinds whose CRDs are missing are waited for.
#[derive(Args, Debug)]
pub(crate) struct Flags {
    /// Configuration file: a Configuration of config.trainer.kubeflow.org/v1alpha1; flags win over it
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Kubeconfig of the cluster; without it $KUBECONFIG, ~/.kube/config, or what a pod has
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Folder with policies (.yaml, .yml, .json), beside the built-in ones or in their place; read again when it changes
    #[arg(long, value_name = "DIR")]
    policy_dir: Option<PathBuf>,
    /// Feature gates: NAME=true,NAME=false
    #[arg(long, value_name = "GATES", value_delimiter = ',')]
    feature_gates: Vec<String>,
    /// Address of /healthz and /readyz; 0 for none [default: :8081]
    #[arg(long, value_name = "ADDRESS")]
    health_bind_address: Option<String>,
    /// Address of /metrics, which are served over TLS unless the configuration says `metrics: {secureServing: false}`; 0
    /// for none [default: with a configuration file :8443, else none]
    #[arg(long, value_name = "ADDRESS")]
    metrics_bind_address: Option<String>,
    /// Address of the webhooks, which are served over TLS; 0 for none [default: :9443]
    #[arg(long, value_name = "ADDRESS")]
    webhook_bind_address: Option<String>,
    /// Address of the progress server, which there is behind its feature gate [default: :10443]
    #[arg(long, value_name = "ADDRESS")]
    status_bind_address: Option<String>,
    /// Whether only the replica that holds a Lease writes; all of them answer
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    leader_elect: Option<bool>,
    /// Folder with tls.crt and tls.key, if the configuration says `certManagement: {enable: false}`; read again when they
    /// change [default: k8s-webhook-server/serving-certs in the folder for temporary files]
    #[arg(long, value_name = "DIR")]
    cert_dir: Option<PathBuf>,
    /// For how many seconds clients trust a new certificate before it is served in the place of one that is still good
    #[arg(long, value_name = "SECONDS", default_value_t = OVERLAP, hide = true)]
    certificate_overlap: u64,
    /// What is logged: error, warn, info, debug or trace, also per part: info,kube=debug
    #[arg(long, value_name = "LEVEL", env = "TRAINMASTER_LOG", default_value = "info")]
    log_level: String,
    /// How log lines are written
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = LogFormat::Json)]
    log_format: LogFormat,
}

/// In seconds: kubelets bring changed ConfigMaps to pods within about a minute and a half.
const OVERLAP: u64 = 120;

/// Why the controller does not run.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error(transparent)]
    Telemetry(#[from] telemetry::Error),
    #[error("cannot read the kubeconfig {}", .0.display())]
    Kubeconfig(PathBuf, #[source] kube::config::KubeconfigError),
    #[error("no cluster: neither a kubeconfig nor a pod's service account")]
    NoCluster(#[source] kube::config::InferConfigError),
    #[error("cannot talk to the cluster")]
    Client(#[source] kube::Error),
    #[error("cannot read the folder of policies")]
    Policies(#[source] io::Error),
    #[error("cannot listen on {0}")]
    Listen(String, #[source] io::Error),
    #[error("cannot serve TLS as the configuration has it")]
    Tls(#[from] rustls::Error),
    #[error("cannot start threads or listen for signals")]
    System(#[source] io::Error),
    #[error("another replica leads, or may soon: this process must not write any more")]
    Deposed,
    #[error("a part that must run for ever has ended; another process can do better")]
    Ended,
}

impl Error {
    fn exit(&self) -> Exit {
        match self {
            Error::Client(_) | Error::Ended | Error::Deposed => Exit::Cluster,
            _ => Exit::Usage,
        }
    }
}

/// Runs until SIGTERM or SIGINT; returns how it ended.
pub(crate) fn run(flags: &Flags, output: &mut Output) -> Exit {
    let settings = match settings(flags) {
        Ok(settings) => settings,
        Err(diagnostics) => {
            output.show(&diagnostics);
            return Exit::Usage;
        }
    };
    let outcome = telemetry::begin(&flags.log_level, flags.log_format).map_err(Error::from).and_then(|()| {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        runtime.map_err(Error::System)?.block_on(control(flags, &settings))
    });
    outcome.map_or_else(
        |error| {
            output.say(&format!("error: {}", Chain(&error)));
            error.exit()
        },
        |()| Exit::Fine,
    )
}

/// What the configuration file says, and the flags instead.
fn settings(flags: &Flags) -> Result<Settings, Vec<Diagnostic>> {
    let mut settings = Settings::default();
    if let Some(path) = &flags.config {
        let (sources, diagnostics) = read(std::slice::from_ref(path), false);
        let [source] = sources.as_slice() else { return Err(diagnostics) };
        settings = config::parse(source)?;
    }
    let switched = gates::switch(&mut settings.gates, &flags.feature_gates.join(","));
    switched.map_err(|diagnostic| vec![*diagnostic])?;
    settings.health = flags.health_bind_address.clone().or(settings.health);
    settings.metrics = flags.metrics_bind_address.clone().or(settings.metrics);
    settings.webhook = flags.webhook_bind_address.clone().or(settings.webhook);
    settings.progress = flags.status_bind_address.clone().or(settings.progress);
    match flags.leader_elect {
        Some(true) => settings.election = Some(settings.election.unwrap_or_default()),
        Some(false) => settings.election = None,
        None => {}
    }
    Ok(settings)
}

async fn control(flags: &Flags, settings: &Settings) -> Result<(), Error> {
    let started = Instant::now();
    if !settings.unserved.is_empty() {
        tracing::warn!(parts = settings.unserved.join(" "), "parts of the configuration have no effect yet");
    }
    let stop = stop_on_signal()?;
    let metrics = Arc::new(Metrics::new());
    let client = client(flags, &metrics).await?;
    let (queue, requests) = Queue::new(Arc::clone(&metrics));
    let mut folder = flags.policy_dir.as_deref().map(Folder::new);
    let policies = policies(folder.as_mut())?;
    let config = config(settings);
    let servers = Servers::bind(flags, settings, &config.namespace, &client).await?;
    let election = settings.election.as_ref().map(|it| Election::new(client.clone(), it, &config.namespace));
    let cache = Cache::new(policies, config);
    let shared = Arc::new(Shared::new(Cluster { client }, queue, metrics, cache));
    let mut background = tokio::task::JoinSet::new();
    if let Some(folder) = folder {
        background.spawn(policies::follow(Arc::clone(&shared), folder));
    }
    let mut trust = servers.trust();
    let answering = servers.answer(&shared, &stop, &mut background);
    background.spawn(discovery::discover(Arc::clone(&shared)));
    let mut ready = shared.ready();
    let foreground = async {
        // What is waited for here must not be held while work goes on: it locks the channel.
        let is_ready = tokio::select! {
            seen = ready.wait_for(|ready| *ready) => seen.is_ok(),
            () = stop.cancelled() => false,
        };
        let mut ended = Ok(());
        if is_ready {
            tracing::info!(seconds = started.elapsed().as_secs_f32(), "ready");
            if let Some(trust) = &mut trust {
                authorities::wait(&shared, trust, &stop).await;
            }
            let concurrency = settings.concurrency.unwrap_or(CONCURRENCY);
            ended = lead(&shared, requests, concurrency, &stop, election).await;
        }
        if ended.is_ok() {
            answering.close();
            answering.wait().await;
            tracing::info!("stopped");
        }
        ended
    };
    // Without what runs in the background the process would go on, deaf: it ends instead, and is started again.
    tokio::select! {
        ended = foreground => ended,
        Some(_) = background.join_next() => Err(Error::Ended),
    }
}

/// Settings that policies read: in a pod, its namespace is the controller's.
fn config(settings: &Settings) -> Config {
    let namespace = std::fs::read_to_string("/var/run/secrets/kubernetes.io/serviceaccount/namespace");
    let namespace = namespace.ok().map(|it| it.trim().to_owned()).filter(|it| !it.is_empty());
    let default = Config::default();
    Config {
        namespace: namespace.unwrap_or(default.namespace),
        service: settings.certificates.service.clone(),
        status_port: settings.status_port.unwrap_or(default.status_port),
        feature_gates: settings.gates.clone(),
        ..default
    }
}

/// The policies to begin with. A folder that cannot be read at all is a mistake to be told at once.
fn policies(folder: Option<&mut Folder>) -> Result<PolicySet, Error> {
    let Some(folder) = folder else { return Ok(PolicySet::builtin()) };
    let loaded = folder.load().map_err(Error::Policies)?;
    Ok(loaded.map_or_else(PolicySet::builtin, |(policies, diagnostics)| {
        policies::tell(&policies, &diagnostics);
        policies
    }))
}

/// Works while this replica leads: from the moment it does, to the end of the process.
async fn lead(
    shared: &Arc<Shared>,
    mut requests: Requests,
    concurrency: usize,
    stop: &CancellationToken,
    election: Option<Election>,
) -> Result<(), Error> {
    let Some(mut election) = election else {
        runtimes::begin(shared);
        work(shared, requests, concurrency, stop).await;
        return Ok(());
    };
    tokio::select! {
        () = election.win() => {}
        () = queue::forget(&mut requests) => {}
        () = stop.cancelled() => return Ok(()),
    }
    // What was asked for before is forgotten: everything is looked at.
    let all = shared.cache().all_jobs();
    shared.wake(all);
    runtimes::begin(shared);
    tokio::select! {
        () = work(shared, requests, concurrency, stop) => {}
        () = election.hold() => return Err(Error::Deposed),
    }
    election.resign().await;
    Ok(())
}

async fn work(shared: &Arc<Shared>, requests: Requests, concurrency: usize, stop: &CancellationToken) {
    let reconcile = |key: Key| {
        let shared = Arc::clone(shared);
        let span = tracing::info_span!("reconcile", namespace = %key.namespace, trainjob = %key.name);
        async move { reconcile::reconcile(&shared, &key).await }.instrument(span)
    };
    queue::work(requests, &shared.queue, concurrency, stop, reconcile).await;
}

/// Cancelled when the process is asked to end.
fn stop_on_signal() -> Result<CancellationToken, Error> {
    let mut terminate = signal(SignalKind::terminate()).map_err(Error::System)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(Error::System)?;
    let stop = CancellationToken::new();
    let asked = stop.clone();
    tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tracing::info!("asked to stop");
        asked.cancel();
    });
    Ok(stop)
}

async fn client(flags: &Flags, metrics: &Arc<Metrics>) -> Result<Client, Error> {
    let mut config = match &flags.kubeconfig {
        Some(path) => {
            let failed = |error| Error::Kubeconfig(path.clone(), error);
            let kubeconfig = Kubeconfig::read_from(path).map_err(failed)?;
            let options = KubeConfigOptions::default();
            ClientConfig::from_custom_kubeconfig(kubeconfig, &options).await.map_err(failed)?
        }
        None => ClientConfig::infer().await.map_err(Error::NoCluster)?,
    };
    // What fails is tried again here, with regard to what failed.
    config.default_retry = false;
    let host = config.cluster_url.authority().map(ToString::to_string).unwrap_or_default().into();
    let counted = CountRequests { metrics: Arc::clone(metrics), host };
    Ok(ClientBuilder::try_from(config).map_err(Error::Client)?.with_layer(&counted).build())
}
