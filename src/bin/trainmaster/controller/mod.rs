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
mod cache;
mod cluster;
mod discovery;
mod error;
mod events;
mod failure;
mod health;
mod policies;
mod queue;
mod reconcile;
mod runtimes;
mod shared;
mod snapshot;
mod store;
mod tree;
mod watch;

use crate::{
    cli::{Output, read},
    config::{self, Settings},
    exit::Exit,
    serving::{self, Answer, Keeper, Serving, Source, Trust},
    telemetry::{self, LogFormat},
};
use cache::Cache;
use clap::Args;
use cluster::Cluster;
use error::Chain;
use health::Readiness;
use hyper::{Request, body::Incoming};
use kube::{
    Client, Config as ClientConfig,
    config::{KubeConfigOptions, Kubeconfig},
};
use policies::Folder;
use queue::{Queue, Requests};
use shared::Shared;
use std::{
    io,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};
use store::Key;
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
    sync::watch as channel,
};
use tokio_rustls::TlsAcceptor;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::Instrument as _;
use trainmaster::{diagnostic::Diagnostic, plan::Config, policy::PolicySet};

/// How many TrainJobs are looked at at a time. An API server answers no faster to more.
const CONCURRENCY: usize = 16;
/// Where /healthz and /readyz are answered unless somebody says otherwise, and where webhooks are.
const HEALTH: &str = ":8081";
const WEBHOOKS: &str = ":9443";

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
    /// Address of the webhooks, which are served over TLS; 0 for none [default: :9443]
    #[arg(long, value_name = "ADDRESS")]
    webhook_bind_address: Option<String>,
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
    #[error("a part that must run for ever has ended; another process can do better")]
    Ended,
}

impl Error {
    fn exit(&self) -> Exit {
        match self {
            Error::Client(_) | Error::Ended => Exit::Cluster,
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
    let gates = config::gates(&flags.feature_gates.join(",")).map_err(|diagnostic| vec![*diagnostic])?;
    if !gates.is_empty() && !settings.unserved.contains(&"featureGates") {
        settings.unserved.push("featureGates");
    }
    settings.health = flags.health_bind_address.clone().or(settings.health);
    settings.webhook = flags.webhook_bind_address.clone().or(settings.webhook);
    Ok(settings)
}

async fn control(flags: &Flags, settings: &Settings) -> Result<(), Error> {
    let started = Instant::now();
    if !settings.unserved.is_empty() {
        tracing::warn!(parts = settings.unserved.join(" "), "parts of the configuration have no effect yet");
    }
    let stop = stop_on_signal()?;
    let client = client(flags).await?;
    let (queue, requests) = Queue::new();
    let mut folder = flags.policy_dir.as_deref().map(Folder::new);
    let policies = policies(folder.as_mut())?;
    let config = config();
    let keeper = keeper(flags, settings, &config.namespace, &client);
    let cache = Cache::new(policies, config);
    let shared = Arc::new(Shared::new(Cluster { client }, queue, cache));
    let mut background = tokio::task::JoinSet::new();
    if let Some(folder) = folder {
        background.spawn(policies::follow(Arc::clone(&shared), folder));
    }
    let servers = Servers { stop: stop.clone(), drained: TaskTracker::new() };
    let mut trust = None;
    if let Some(listener) = listen(settings.webhook.as_deref().unwrap_or(WEBHOOKS), "webhooks").await? {
        trust = Some(keeper.trust.subscribe());
        let tls = serving::acceptor(&settings.tls, Arc::clone(&keeper.serving))?;
        let known = Arc::clone(&shared);
        let answer = move |request| admission::answer(Arc::clone(&known), request);
        background.spawn(servers.run(listener, tls, answer));
        background.spawn(serving::keep(keeper));
    }
    if let Some(listener) =
        listen(settings.health.as_deref().unwrap_or(HEALTH), "/healthz and /readyz").await?
    {
        let readiness = Readiness { seen: shared.ready(), trust, stop: stop.clone() };
        background.spawn(health::serve(listener, readiness));
    }
    background.spawn(discovery::discover(Arc::clone(&shared)));
    let mut ready = shared.ready();
    let foreground = async {
        // What is waited for here must not be held while work goes on: it locks the channel.
        let is_ready = tokio::select! {
            seen = ready.wait_for(|ready| *ready) => seen.is_ok(),
            () = stop.cancelled() => false,
        };
        if is_ready {
            tracing::info!(seconds = started.elapsed().as_secs_f32(), "ready");
            work(&shared, requests, settings.concurrency.unwrap_or(CONCURRENCY), &stop).await;
        }
        servers.drained.close();
        servers.drained.wait().await;
        tracing::info!("stopped");
    };
    // Without what runs in the background the process would go on, deaf: it ends instead, and is started again.
    tokio::select! {
        () = foreground => Ok(()),
        Some(_) = background.join_next() => Err(Error::Ended),
    }
}

/// Settings that policies read: in a pod, its namespace is the controller's.
fn config() -> Config {
    let namespace = std::fs::read_to_string("/var/run/secrets/kubernetes.io/serviceaccount/namespace");
    let namespace = namespace.ok().map(|it| it.trim().to_owned()).filter(|it| !it.is_empty());
    Config { namespace: namespace.unwrap_or_else(|| Config::default().namespace), ..Config::default() }
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
        trust: channel::Sender::new(Trust::default()),
    }
}

/// The servers over TLS.
struct Servers {
    stop: CancellationToken,
    /// Those that answer still.
    drained: TaskTracker,
}

impl Servers {
    /// Answers on `listener` until all is told to stop and what was begun has been answered; never ends otherwise.
    fn run<F, A>(
        &self,
        listener: TcpListener,
        tls: TlsAcceptor,
        answer: A,
    ) -> impl Future<Output = ()> + use<F, A>
    where
        F: Future<Output = Answer> + Send + 'static,
        A: Fn(Request<Incoming>) -> F + Clone + Send + Sync + 'static,
    {
        let (server, token) =
            (serving::serve(listener, tls, self.stop.clone(), answer), self.drained.token());
        async move {
            server.await;
            drop(token);
            std::future::pending::<()>().await;
        }
    }
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

async fn client(flags: &Flags) -> Result<Client, Error> {
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
    Client::try_from(config).map_err(Error::Client)
}

/// A listener on `address`, where the host may be missing: every one then. None for `0` and for nothing.
async fn listen(address: &str, what: &str) -> Result<Option<TcpListener>, Error> {
    if matches!(address, "" | "0") {
        return Ok(None);
    }
    let full = if address.starts_with(':') { format!("0.0.0.0{address}") } else { address.to_owned() };
    let failed = |error| Error::Listen(address.to_owned(), error);
    let listener = TcpListener::bind(&full).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    tracing::info!(%address, "answering {what}");
    Ok(Some(listener))
}
