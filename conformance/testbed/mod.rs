//! A real control plane on this machine, for tests and the demo: etcd, kube-apiserver, kube-controller-manager,
//! kube-scheduler, the JobSet controller, and KWOK for the kubelets. No containers, no root.
//!
//! ```no_run
//! let control_plane = ControlPlane::start(Options::default())?;
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

pub(crate) mod audit;
pub(crate) mod builds;
mod certificates;
mod go;
pub(crate) mod manifests;
mod process_group;
mod programs;
pub(crate) mod users;

use std::fmt;
use std::io;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::{Namespace, Node, ServiceAccount};
use kube::api::{Api, DynamicObject, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Client, Config};
use serde_json::json;

use audit::AuditLog;
use builds::Assets;
use certificates::{Authority, Pair};
pub(crate) use process_group::Process;
use process_group::ProcessGroup;
use programs::ApiServer;
pub(crate) use users::{ADMIN, User};

/// How long a program may take until it is ready. Generous, since the machine may be busy; a start takes 4 to 6 s.
const LIMIT: Duration = Duration::from_secs(120);
/// How often a program is started when it ends at once, as it does if another process took its port meanwhile.
const ATTEMPTS: u32 = 4;
/// The user that the controller under test should be, so that the audit log can tell it from everyone else.
pub(crate) const CONTROLLER: &str = "trainmaster";

/// What a control plane consists of. The default is everything.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// Users besides [`ADMIN`]; each has a token and a kubeconfig.
    pub(crate) users: Vec<User>,
    /// Names of the users whose requests are logged, for [`ControlPlane::audit`].
    pub(crate) audited: Vec<String>,
    pub(crate) crds: Vec<Crd>,
    /// YAML files, or folders of them, that are applied before any controller starts: CRDs of our own, for example.
    pub(crate) manifests: Vec<PathBuf>,
    /// kube-controller-manager: Jobs make pods, owners' deletion is followed, namespaces get service accounts.
    pub(crate) controller_manager: bool,
    /// kube-scheduler.
    pub(crate) scheduler: bool,
    /// The JobSet controller and its webhooks; wants [`Crd::JobSet`].
    pub(crate) jobset: bool,
    /// Fake nodes, whose pods run and end as their annotations say (`kwok.yaml`); none, and no KWOK, if 0.
    pub(crate) nodes: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            crds: Crd::ALL.to_vec(),
            controller_manager: true,
            scheduler: true,
            jobset: true,
            nodes: 2,
            ..Self::api_server_only()
        }
    }
}

impl Options {
    /// etcd and the API server, no CRDs: objects are stored and nothing happens to them.
    pub(crate) fn api_server_only() -> Self {
        Self {
            users: vec![User::master(CONTROLLER)],
            audited: vec![CONTROLLER.to_owned()],
            crds: Vec::new(),
            manifests: Vec::new(),
            controller_manager: false,
            scheduler: false,
            jobset: false,
            nodes: 0,
        }
    }

    /// The programs and manifests that must be there.
    fn assets(&self) -> Vec<&'static str> {
        let mut names = vec!["etcd", "kube-apiserver"];
        let optional = [
            (self.controller_manager, "kube-controller-manager"),
            (self.scheduler, "kube-scheduler"),
            (self.jobset, "jobset"),
            (self.jobset, "jobset-webhooks.yaml"),
            (self.nodes > 0, "kwok"),
        ];
        names.extend(optional.into_iter().filter_map(|(wanted, name)| wanted.then_some(name)));
        names.extend(self.crds.iter().map(|crd| crd.manifest()));
        names
    }
}

/// The CRDs of other projects that TrainJobs' children are instances of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Crd {
    JobSet,
    SchedulerPluginsPodGroup,
    VolcanoPodGroup,
}

impl Crd {
    pub(crate) const ALL: [Self; 3] = [Self::JobSet, Self::SchedulerPluginsPodGroup, Self::VolcanoPodGroup];

    fn manifest(self) -> &'static str {
        match self {
            Self::JobSet => "jobset-crd.yaml",
            Self::SchedulerPluginsPodGroup => "scheduler-plugins-podgroup-crd.yaml",
            Self::VolcanoPodGroup => "volcano-podgroup-crd.yaml",
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Builds(#[from] builds::Error),
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
    #[error("{what} after {} s; the log of {program} ends:\n{log}", LIMIT.as_secs())]
    NotReady { what: &'static str, program: String, log: String },
    #[error("{what} after {} s", LIMIT.as_secs())]
    Never { what: String },
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

    async fn start_programs(options: &Options) -> Result<Self, Error> {
        let mut control_plane = Self::prepare(options)?;
        control_plane.start_api_server(options).await?;
        let client = control_plane.client(ADMIN).await?;
        for crd in &options.crds {
            control_plane.apply_crd(&client, *crd).await?;
        }
        manifests::apply(&client, &manifests::read_all(&options.manifests)?).await?;
        // After the CRDs: the garbage collector looks for new kinds of owners only every 30 seconds.
        control_plane.start_controllers(options)?;
        if options.jobset {
            control_plane.start_jobset(&client).await?;
        }
        control_plane.add_nodes(&client, options.nodes).await?;
        if options.controller_manager {
            control_plane.service_account(&client, "default").await?;
        }
        Ok(control_plane)
    }

    /// Makes the folder and everything in it that does not depend on a port.
    fn prepare(options: &Options) -> Result<Self, Error> {
        let group = ProcessGroup::new()?;
        let authority = Authority::new()?;
        let own = [ADMIN, "kube-controller-manager", "kube-scheduler", "jobset", "kwok"].map(User::master);
        let users: Vec<User> = own.into_iter().chain(options.users.iter().cloned()).collect();
        let folder = group.folder();
        let write =
            |name: &str, text: &str| users::write_private(&folder.join(name), text).map_err(Error::Write);
        write(programs::AUTHORITY, &authority.certificate())?;
        let keys = certificates::keys()?;
        write(programs::SERVICE_ACCOUNT_KEY, &keys.private)?;
        write(programs::SERVICE_ACCOUNT_PUBLIC_KEY, &keys.public)?;
        write(programs::AUDIT_POLICY, &audit::policy(&options.audited).to_string())?;
        programs::write_server_certificate(folder, &authority.server()?).map_err(Error::Write)?;
        let tokens = users::write_tokens(&users, &folder.join(programs::TOKENS)).map_err(Error::Write)?;
        let assets = Assets::from_environment()?;
        Ok(Self { processes: Vec::new(), group, assets, authority, users, tokens, server: String::new() })
    }

    async fn start_api_server(&mut self, options: &Options) -> Result<(), Error> {
        let folder = self.group.folder().to_owned();
        self.spawn("etcd", programs::etcd(&self.assets.path("etcd")?, &folder))?;
        let audit_log = self.audit_path();
        let program = self.assets.path("kube-apiserver")?;
        for attempt in 1.. {
            let port = free_port()?;
            self.server = format!("https://127.0.0.1:{port}");
            self.write_kubeconfigs()?;
            let server = ApiServer {
                folder: &folder,
                port,
                service_accounts: options.controller_manager,
                audit_log: (!options.audited.is_empty()).then_some(&audit_log),
            };
            self.spawn("kube-apiserver", programs::api_server(&program, &server))?;
            let client = self.client(ADMIN).await?;
            let readyz = async || {
                let request = http::Request::get("/readyz").body(Vec::new());
                match request {
                    Ok(request) => client.request_text(request).await.is_ok(),
                    Err(_) => false,
                }
            };
            match self.wait("the API server was not ready", readyz).await {
                Err(Error::Ended { .. }) if attempt < ATTEMPTS && self.last_ended() => {
                    drop(self.processes.pop())
                }
                outcome => return outcome,
            }
        }
        Ok(())
    }

    fn start_controllers(&mut self, options: &Options) -> Result<(), Error> {
        let folder = self.group.folder().to_owned();
        if options.controller_manager {
            let program = self.assets.path("kube-controller-manager")?;
            let kubeconfig = self.kubeconfig("kube-controller-manager");
            let command = programs::controller_manager(&program, &folder, &kubeconfig);
            self.spawn("kube-controller-manager", command)?;
        }
        if options.scheduler {
            let program = self.assets.path("kube-scheduler")?;
            let command = programs::scheduler(&program, &folder, &self.kubeconfig("kube-scheduler"));
            self.spawn("kube-scheduler", command.map_err(Error::Write)?)?;
        }
        if options.nodes > 0 {
            let command = programs::kwok(&self.assets.path("kwok")?, &folder, &self.kubeconfig("kwok"));
            self.spawn("kwok", command.map_err(Error::Write)?)?;
        }
        Ok(())
    }

    async fn start_jobset(&mut self, client: &Client) -> Result<(), Error> {
        let program = self.assets.path("jobset")?;
        let webhooks = manifests::read(&self.assets.path("jobset-webhooks.yaml")?)?;
        let pair: Pair = self.authority.server()?;
        for attempt in 1.. {
            let port = free_port()?;
            let folder = self.group.folder();
            let temporary = self.group.temporary("jobset");
            let kubeconfig = self.kubeconfig("jobset");
            let command = programs::jobset(&program, folder, &kubeconfig, port, &pair, &temporary);
            self.spawn("jobset", command.map_err(Error::Write)?)?;
            let authority = self.authority.certificate();
            manifests::apply(client, &programs::jobset_webhooks(webhooks.clone(), port, &authority)).await?;
            match self.wait("JobSet's webhooks did not answer", async || admits_jobsets(client).await).await {
                Err(Error::Ended { .. }) if attempt < ATTEMPTS && self.last_ended() => {
                    drop(self.processes.pop())
                }
                outcome => return outcome,
            }
        }
        Ok(())
    }

    async fn add_nodes(&mut self, client: &Client, count: u32) -> Result<(), Error> {
        let nodes: Api<Node> = Api::all(client.clone());
        for number in 0..count {
            let name = format!("node-{number}");
            let create = |source| Error::Create { what: format!("node {name}"), source: Box::new(source) };
            let node = serde_json::from_value(programs::node(&name)).map_err(kube::Error::SerdeError);
            nodes.create(&PostParams::default(), &node.map_err(create)?).await.map_err(create)?;
        }
        let ready = |node: &Node| {
            let conditions = node.status.iter().flat_map(|status| &status.conditions).flatten();
            conditions.into_iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
        };
        let all_ready = async || {
            let listed = nodes.list(&kube::api::ListParams::default()).await;
            listed.is_ok_and(|list| list.items.iter().all(ready))
        };
        self.wait("the nodes were not Ready", all_ready).await
    }

    /// Polls until `ready`, as long as every program runs and [`LIMIT`] has not passed. The program started last is
    /// taken for the one that is waited for.
    async fn wait(&mut self, what: &'static str, ready: impl AsyncFn() -> bool) -> Result<(), Error> {
        let started = Instant::now();
        loop {
            if ready().await {
                return Ok(());
            }
            self.check()?;
            if started.elapsed() > LIMIT {
                let (program, log) = self
                    .processes
                    .last()
                    .map(|last| (last.name().to_owned(), last.log_tail()))
                    .unwrap_or_default();
                return Err(Error::NotReady { what, program, log });
            }
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
    }

    /// Fails if a program of the control plane has ended, with the end of its log.
    pub(crate) fn check(&mut self) -> Result<(), Error> {
        for process in &mut self.processes {
            if let Some(status) = process.ended() {
                return Err(Error::Ended {
                    program: process.name().to_owned(),
                    status,
                    log: process.log_tail(),
                });
            }
        }
        Ok(())
    }

    fn last_ended(&mut self) -> bool {
        self.processes.last_mut().is_some_and(|process| process.ended().is_some())
    }

    fn spawn(&mut self, name: &str, command: Command) -> Result<(), Error> {
        self.processes.push(self.group.spawn(name, command)?);
        Ok(())
    }

    fn write_kubeconfigs(&self) -> Result<(), Error> {
        let authority = self.authority.certificate();
        for (user, token) in self.users.iter().zip(&self.tokens) {
            let path = self.kubeconfig(&user.name);
            users::write_kubeconfig(&path, &self.server, &authority, &user.name, token)
                .map_err(Error::Write)?;
        }
        Ok(())
    }

    fn audit_path(&self) -> PathBuf {
        self.group.folder().join("audit.log")
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
        self.group.folder().join(format!("{user}.kubeconfig"))
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
        AuditLog::new(self.audit_path())
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
            metadata: kube::core::ObjectMeta { name: Some(name.to_owned()), ..Default::default() },
            ..Namespace::default()
        };
        let namespaces: Api<Namespace> = Api::all(client.clone());
        let created = namespaces.create(&PostParams::default(), &namespace).await;
        created.map_err(|source| Error::Create {
            what: format!("namespace {name}"),
            source: Box::new(source),
        })?;
        if self.processes.iter().any(|process| process.name() == "kube-controller-manager") {
            self.service_account(client, name).await?;
        }
        Ok(())
    }

    /// Waits for the service account without which no pod is admitted.
    async fn service_account(&self, client: &Client, namespace: &str) -> Result<(), Error> {
        let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), namespace);
        let started = Instant::now();
        while accounts.get_opt("default").await.ok().flatten().is_none() {
            if started.elapsed() > LIMIT {
                return Err(Error::Never { what: format!("namespace {namespace} had no service account") });
            }
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
        Ok(())
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

/// Whether JobSet's webhooks answer, both of them: the one fills in a default, the other refuses a success policy about
/// a job that is not there. The API server takes a moment to see each.
async fn admits_jobsets(client: &Client) -> bool {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("jobset.x-k8s.io", "v1alpha2", "JobSet"));
    let jobsets: Api<DynamicObject> = Api::namespaced_with(client.clone(), "default", &resource);
    let create = async |success_of: &str| {
        let pod = json!({ "spec": { "containers": [{ "name": "main", "image": "none" }] } });
        let object = serde_json::from_value(json!({
            "apiVersion": "jobset.x-k8s.io/v1alpha2",
            "kind": "JobSet",
            "metadata": { "name": "ready" },
            "spec": {
                "successPolicy": { "operator": "All", "targetReplicatedJobs": [success_of] },
                "replicatedJobs": [{ "name": "job", "template": { "spec": { "template": pod } } }],
            },
        }));
        let dry_run = PostParams { dry_run: true, ..PostParams::default() };
        jobsets.create(&dry_run, &object.map_err(kube::Error::SerdeError)?).await
    };
    let defaulted = create("job").await.is_ok_and(|jobset| {
        jobset.data["spec"]["replicatedJobs"][0]["template"]["spec"]["completionMode"] == "Indexed"
    });
    defaulted && matches!(create("missing").await, Err(kube::Error::Api(_)))
}

/// A port of 127.0.0.1 that is free now. Somebody may take it before it is used: start again then.
fn free_port() -> Result<u16, Error> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).map_err(Error::Port)?;
    Ok(listener.local_addr().map_err(Error::Port)?.port())
}
