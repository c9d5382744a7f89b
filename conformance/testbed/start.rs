//! How a control plane comes up, step by step: what [`ControlPlane::start`] does once everything is built.

use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::{Node, ServiceAccount};
use kube::Client;
use kube::api::{Api, DynamicObject, ListParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::json;
use tokio::net::TcpStream;

use super::assets::Assets;
use super::certificates::{self, Authority};
use super::process_group::{Process, ProcessGroup};
use super::programs::{self, ApiServer};
use super::users::{self, ADMIN, User};
use super::{ControlPlane, Error, Options, audit, manifests};

/// How long a program may take until it is ready. Generous, since the machine may be busy; a start takes 4 to 6 s.
const LIMIT: Duration = Duration::from_mins(2);
/// How long one question whether it is ready may take.
const REQUEST_LIMIT: Duration = Duration::from_secs(10);
const INTERVAL: Duration = Duration::from_millis(30);
/// How many ports are tried.
const ATTEMPTS: u32 = 4;
impl ControlPlane {
    /// Starts every program and waits until it is of use.
    pub(super) async fn start_programs(options: &Options) -> Result<Self, Error> {
        let mut control_plane = Self::prepare(options)?;
        control_plane.start_api_server(options).await?;
        let client = control_plane.client(ADMIN).await?;
        for crd in &options.crds {
            control_plane.apply_crd(&client, *crd).await?;
        }
        manifests::apply(&client, &manifests::read_all(&options.manifests)?).await?;
        // After the CRDs: the garbage collector looks for new kinds of owners only every 30 seconds.
        control_plane.start_controllers(options)?;
        if options.nodes > 0 {
            control_plane.start_kwok(options.logs.as_deref()).await?;
        }
        if options.jobset {
            control_plane.start_jobset(&client).await?;
        }
        control_plane.add_nodes(&client, options.nodes).await?;
        control_plane.service_account(&client, "default").await?;
        Ok(control_plane)
    }

    /// Makes the folder and everything in it that does not depend on a port.
    fn prepare(options: &Options) -> Result<Self, Error> {
        let group = ProcessGroup::new()?;
        let authority = Authority::new()?;
        let own = [ADMIN, "kube-controller-manager", "kube-scheduler", "jobset", "kwok"].map(User::master);
        let users: Vec<User> = own.into_iter().chain(options.users.iter().cloned()).collect();
        let file = |name: &str| group.folder().join(name);
        let write = |name: &str, text: &str| users::write_private(&file(name), text).map_err(Error::Write);
        let keys = certificates::keys()?;
        write(programs::AUTHORITY, &authority.certificate())?;
        write(programs::SERVICE_ACCOUNT_KEY, &keys.private)?;
        write(programs::SERVICE_ACCOUNT_PUBLIC_KEY, &keys.public)?;
        write(programs::AUDIT_POLICY, &audit::policy(&options.audited).to_string())?;
        authority.server()?.write(&file(programs::SERVING)).map_err(Error::Write)?;
        let tokens = users::write_tokens(&users, &file(programs::TOKENS)).map_err(Error::Write)?;
        let assets = Assets::from_environment()?;
        Ok(Self { processes: Vec::new(), group, assets, authority, users, tokens, server: String::new() })
    }

    async fn start_api_server(&mut self, options: &Options) -> Result<(), Error> {
        let folder = self.folder().to_owned();
        self.spawn("etcd", programs::etcd(&self.assets.path("etcd")?, &folder))?;
        self.with_port(async |control_plane, port| {
            control_plane.server = format!("https://127.0.0.1:{port}");
            control_plane.write_kubeconfigs()?;
            control_plane.run_api_server(options, port).await
        })
        .await
    }

    /// Starts the API server on the port and waits until it serves.
    pub(super) async fn run_api_server(&mut self, options: &Options, port: u16) -> Result<(), Error> {
        let folder = self.folder().to_owned();
        let audit_log = folder.join(programs::AUDIT_LOG);
        let server = ApiServer {
            folder: &folder,
            port,
            service_accounts: options.controller_manager,
            audit_log: (!options.audited.is_empty()).then_some(&audit_log),
            admission_plugins: &options.admission_plugins,
        };
        let program = self.assets.path("kube-apiserver")?;
        self.spawn("kube-apiserver", programs::api_server(&program, &server))?;
        let client = self.client(ADMIN).await?;
        self.wait("the API server was not ready", async || is_ready(&client).await).await
    }

    fn start_controllers(&mut self, options: &Options) -> Result<(), Error> {
        let folder = self.folder().to_owned();
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
        Ok(())
    }

    async fn start_kwok(&mut self, logs: Option<&Path>) -> Result<(), Error> {
        let folder = self.folder().to_owned();
        let (program, kubeconfig) = (self.assets.path("kwok")?, self.kubeconfig("kwok"));
        let command = || programs::kwok(&program, &folder, &kubeconfig).map_err(Error::Write);
        let Some(logs) = logs else { return self.spawn("kwok", command()?) };
        self.with_port(async |control_plane, port| {
            let mut command = command()?;
            programs::kwok_logs(&mut command, &folder, logs, port).map_err(Error::Write)?;
            control_plane.spawn("kwok", command)?;
            let listens = async || TcpStream::connect(("127.0.0.1", port)).await.is_ok();
            control_plane.wait("KWOK did not listen", listens).await
        })
        .await
    }

    async fn start_jobset(&mut self, client: &Client) -> Result<(), Error> {
        let program = self.assets.path("jobset")?;
        let kubeconfig = self.kubeconfig("jobset");
        let mut webhooks = manifests::read(&self.assets.path("jobset-webhooks.yaml")?)?;
        programs::only_pods_of_jobsets(&mut webhooks);
        self.write_serving_certificate(&self.group.temporary("jobset").join(programs::JOBSET_CERTIFICATES))?;
        self.with_port(async |control_plane, port| {
            let command = programs::jobset(&program, control_plane.folder(), &kubeconfig, port);
            control_plane.spawn("jobset", command.map_err(Error::Write)?)?;
            let mut webhooks = webhooks.clone();
            manifests::point_webhooks(&mut webhooks, port, &control_plane.authority());
            manifests::apply(client, &webhooks).await?;
            let admits = async || admits_jobsets(client).await;
            control_plane.wait("the webhooks of JobSet did not answer", admits).await
        })
        .await
    }

    /// Runs `start`, which starts a program on the port given and waits for it; again with another port if the program
    /// ended, since then another process may have taken the port first.
    async fn with_port(
        &mut self,
        start: impl AsyncFn(&mut Self, u16) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut attempt = 1;
        loop {
            let outcome = start(self, free_port()?).await;
            let ended = self.processes.last_mut().is_some_and(|process| process.ended().is_some());
            if outcome.is_ok() || !ended || attempt == ATTEMPTS {
                return outcome;
            }
            self.processes.pop();
            attempt += 1;
        }
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
            let listed = nodes.list(&ListParams::default()).await;
            listed.is_ok_and(|list| list.items.iter().all(ready))
        };
        self.wait("the nodes were not Ready", all_ready).await
    }

    /// Polls until `ready`, as long as every program runs and [`LIMIT`] has not passed. The program started last is
    /// taken for the one that is waited for.
    async fn wait(&mut self, what: &'static str, ready: impl AsyncFn() -> bool) -> Result<(), Error> {
        let started = Instant::now();
        // A request may hang, so each has a limit too.
        while !tokio::time::timeout(REQUEST_LIMIT, ready()).await.unwrap_or(false) {
            self.check()?;
            if let Some(last) = self.processes.last().filter(|_| started.elapsed() > LIMIT) {
                return Err(not_ready(what, last));
            }
            tokio::time::sleep(INTERVAL).await;
        }
        Ok(())
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

    /// Waits for the service account without which no pod is admitted, if anything makes service accounts.
    pub(super) async fn service_account(&self, client: &Client, namespace: &str) -> Result<(), Error> {
        let name = "kube-controller-manager";
        let Some(manager) = self.processes.iter().find(|process| process.name() == name) else {
            return Ok(());
        };
        let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), namespace);
        let started = Instant::now();
        while !accounts.get_opt("default").await.is_ok_and(|account| account.is_some()) {
            if started.elapsed() > LIMIT {
                return Err(not_ready("the namespace had no service account", manager));
            }
            tokio::time::sleep(INTERVAL).await;
        }
        Ok(())
    }
}

fn not_ready(what: &'static str, program: &Process) -> Error {
    let seconds = LIMIT.as_secs();
    Error::NotReady { what, seconds, program: program.name().to_owned(), log: program.log_tail() }
}

/// Whether the API server says that it is ready.
async fn is_ready(client: &Client) -> bool {
    match http::Request::get("/readyz").body(Vec::new()) {
        Ok(request) => client.request_text(request).await.is_ok(),
        Err(_) => false,
    }
}

/// Whether the `JobSet` webhooks answer, both of them: the one fills in a default, the other refuses a success policy about
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
