//! A real control plane on this machine, for tests and the demo: etcd, kube-apiserver, kube-controller-manager,
//! kube-scheduler, the `JobSet` controller, and KWOK for the kubelets. No containers, no root.
//!
//! ```no_run
//! let control_plane = ControlPlane::start(&Options::default())?;
//! let client = control_plane.client(ADMIN).await?;
//! ```
//!
//! Any number can run at once. One ends when its value is dropped and also, by `watchdog.sh`, when this process ends
//! in whatever way. `README.md` beside this file says which versions run, how a program joins, how to look inside.

#![allow(dead_code, reason = "each target that includes this module uses another part of it")]
#![allow(
    clippy::disallowed_methods,
    reason = "files, the environment and the clock are what this module is about"
)]

mod options;
mod start;

pub(crate) mod assets;
pub(crate) mod audit;
pub(crate) mod builds;
mod certificates;
pub(crate) mod go;
pub(crate) mod manifests;
mod peer;
mod process_group;
mod programs;
pub(crate) mod users;
mod webhooks;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, ObjectMeta, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

use assets::Assets;
use audit::AuditLog;
use certificates::Authority;
pub(crate) use options::{CONTROLLER, Crd, Options};
#[allow(unused_imports, reason = "only targets that start upstream's controller need its name")]
pub(crate) use peer::PEER;
pub(crate) use process_group::Process;
use process_group::ProcessGroup;
pub(crate) use users::{ADMIN, User};

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Assets(#[from] assets::Error),
    #[error(transparent)]
    Manifest(#[from] manifests::Error),
    #[error(transparent)]
    Process(#[from] process_group::Error),
    #[error("cannot make a certificate")]
    Certificate(#[from] certificates::Error),
    #[error("cannot write the configuration of the control plane")]
    Write(#[source] io::Error),
    #[error("no free port")]
    Port(#[source] io::Error),
    #[error("cannot start an async runtime")]
    Runtime(#[source] io::Error),
    #[error("no user {0}: it is not among Options.users")]
    NoUser(String),
    #[error("cannot read the kubeconfig of {user}")]
    Kubeconfig { user: String, source: Box<kube::config::KubeconfigError> },
    #[error("cannot make a client for {user}")]
    Client { user: String, source: Box<kube::Error> },
    #[error("cannot create {what}")]
    Create { what: String, source: Box<kube::Error> },
    #[error("{program} ended ({status}); its log ends:\n{log}")]
    Ended { program: String, status: ExitStatus, log: String },
    #[error("{what} after {seconds} s; the log of {program} ends:\n{log}")]
    NotReady { what: &'static str, seconds: u64, program: String, log: String },
}

/// A running control plane.
pub(crate) struct ControlPlane {
    // Dropped in this order: the programs end before their folder goes.
    processes: Vec<Process>,
    group: ProcessGroup,
    assets: Assets,
    authority: Authority,
    users: Vec<User>,
    tokens: Vec<String>,
    server: String,
}

impl fmt::Debug for ControlPlane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ControlPlane({} in {})", self.server, self.group.folder().display())
    }
}

impl ControlPlane {
    /// Starts a control plane and returns when it serves: CRDs established, webhooks answering, nodes Ready. What is
    /// not in the cache is built first, which takes minutes and says so. Can be called inside an async runtime too.
    pub(crate) fn start(options: &Options) -> Result<Self, Error> {
        Assets::from_environment()?.ensure(&options.assets())?;
        let start = || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.map_err(Error::Runtime)?.block_on(Self::start_programs(options))
        };
        // A runtime cannot be entered within another, and a test may be in one: hence a thread.
        let started = std::thread::scope(|scope| scope.spawn(start).join());
        started.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// Where everything of this control plane is; gone when it ends.
    pub(crate) fn folder(&self) -> &Path {
        self.group.folder()
    }

    /// Where the programs' logs are; kept if `TRAINMASTER_LOGS` names a folder for them.
    pub(crate) fn logs(&self) -> &Path {
        self.group.logs()
    }

    /// The API server's URL.
    pub(crate) fn server(&self) -> &str {
        &self.server
    }

    /// The process ids of the programs, in the order of their start.
    pub(crate) fn process_ids(&self) -> Vec<u32> {
        self.processes.iter().map(Process::id).collect()
    }

    /// The kubeconfig file of `user`: [`ADMIN`], or one of [`Options::users`].
    pub(crate) fn kubeconfig(&self, user: &str) -> PathBuf {
        self.folder().join(format!("{user}.kubeconfig"))
    }

    /// A client for `user`. It lives on the async runtime of the caller.
    pub(crate) async fn client(&self, user: &str) -> Result<Client, Error> {
        if !self.users.iter().any(|known| known.name == user) {
            return Err(Error::NoUser(user.to_owned()));
        }
        let failed = |source| Error::Kubeconfig { user: user.to_owned(), source: Box::new(source) };
        let kubeconfig = Kubeconfig::read_from(self.kubeconfig(user)).map_err(failed)?;
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
        Client::try_from(config.map_err(failed)?)
            .map_err(|source| Error::Client { user: user.to_owned(), source: Box::new(source) })
    }

    /// The requests of [`Options::audited`] users.
    pub(crate) fn audit(&self) -> AuditLog {
        AuditLog::new(self.folder().join(programs::AUDIT_LOG))
    }

    /// Applies a CRD and waits until it is served.
    pub(crate) async fn apply_crd(&self, client: &Client, crd: Crd) -> Result<(), Error> {
        self.assets.ensure(&[crd.manifest()])?;
        let objects = manifests::read(&self.assets.path(crd.manifest())?)?;
        Ok(manifests::apply(client, &objects).await?)
    }

    /// Creates a namespace and waits until pods can be created in it.
    pub(crate) async fn namespace(&self, client: &Client, name: &str) -> Result<(), Error> {
        let namespace = Namespace {
            metadata: ObjectMeta { name: Some(name.to_owned()), ..Default::default() },
            ..Namespace::default()
        };
        let namespaces: Api<Namespace> = Api::all(client.clone());
        let created = namespaces.create(&PostParams::default(), &namespace).await;
        created.map_err(|source| Error::Create {
            what: format!("namespace {name}"),
            source: Box::new(source),
        })?;
        self.service_account(client, name).await
    }

    /// Fails if a program of the control plane has ended, with the end of its log.
    pub(crate) fn check(&mut self) -> Result<(), Error> {
        for process in &mut self.processes {
            if let Some(status) = process.ended() {
                let program = process.name().to_owned();
                return Err(Error::Ended { program, status, log: process.log_tail() });
            }
        }
        Ok(())
    }

    /// Kills the API server where it stands and starts it again, where it was and with everything it knew. `options` are
    /// those of the control plane.
    pub(crate) async fn restart_api_server(&mut self, options: &Options) -> Result<(), Error> {
        let port = self.server.rsplit(':').next().and_then(|port| port.parse().ok());
        self.processes.retain(|process| process.name() != "kube-apiserver");
        self.run_api_server(options, port.unwrap_or_default()).await
    }

    /// Writes a certificate for a server on this machine, `tls.crt` and `tls.key`, into `folder`, which is made if it is
    /// missing. [`ControlPlane::authority`] is who vouches for it.
    pub(crate) fn write_serving_certificate(&self, folder: &Path) -> Result<(), Error> {
        self.authority.server()?.write(folder).map_err(Error::Write)
    }

    /// The certificate authority, PEM: what a webhook configuration's `caBundle` holds, in base64.
    pub(crate) fn authority(&self) -> String {
        self.authority.certificate()
    }

    /// Starts a program that ends with this control plane, a controller under test for example; its output goes to
    /// `<logs>/<name>.log`. It is killed when the process returned is dropped.
    pub(crate) fn run(&self, name: &str, command: Command) -> Result<Process, Error> {
        Ok(self.group.spawn(name, command)?)
    }

    /// Lets it outlive this process, with everything that was started by [`ControlPlane::run`] and is given back here.
    /// SIGTERM to the process whose id is returned ends it all.
    pub(crate) fn detach(self, run: Vec<Process>) -> Result<u32, Error> {
        self.processes.into_iter().chain(run).for_each(Process::leave);
        Ok(self.group.detach()?)
    }
}
