//! What the tests of the controller share: control planes of their own, the controller as a process, TrainJobs.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use kube::Client;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tokio::sync::OnceCell;
use trainmaster::api::{GROUP, VERSION};

use crate::support::{chain, condition, crds, eventually, everything, object, objects};
use crate::testbed::audit::{Mark, Request};
use crate::testbed::{ADMIN, CONTROLLER, ControlPlane, Options, Process};

/// The flag for the address of the webhooks, which only the tests of them need.
pub(crate) const WEBHOOKS: &str = "--webhook-bind-address";
/// The flag for the address of the metrics: with a configuration file they would have one that others have too.
pub(crate) const METRICS: &str = "--metrics-bind-address";

/// A control plane with a controller, for one test: what it counts is its own.
pub(crate) struct Cluster {
    // Dropped before the control plane.
    controller: Option<Process>,
    pub(crate) control_plane: ControlPlane,
    flags: Vec<String>,
    /// How the controller finds the API server, if not as its user does.
    kubeconfig: Option<PathBuf>,
}

/// The API server with our CRDs and those of what TrainJobs become, and nobody who runs JobSets: a test says what becomes
/// of them.
pub(crate) fn api_server() -> Options {
    let crds_of_others = Options::default().crds;
    Options { manifests: vec![crds()], crds: crds_of_others, ..Options::api_server_only() }
}

impl Cluster {
    /// A control plane with the controller on it, ready.
    pub(crate) async fn start(options: &Options) -> Self {
        let mut cluster = Self::without_controller(options);
        cluster.start_controller().await;
        cluster
    }

    pub(crate) fn without_controller(options: &Options) -> Self {
        let control_plane = ControlPlane::start(options).unwrap_or_else(|error| panic!("{}", chain(&error)));
        Self { controller: None, control_plane, flags: Vec::new(), kubeconfig: None }
    }

    /// One with everything, for all tests that neither count requests nor touch the controller.
    pub(crate) async fn shared() -> &'static Self {
        static SHARED: OnceCell<Cluster> = OnceCell::const_new();
        SHARED.get_or_init(async || Self::start(&everything()).await).await
    }

    pub(crate) async fn client(&self) -> Client {
        self.control_plane.client(ADMIN).await.unwrap_or_else(|error| panic!("{}", chain(&error)))
    }

    /// Starts the controller with further flags from now on.
    pub(crate) fn with_flags<const N: usize>(mut self, flags: [&str; N]) -> Self {
        self.flags = flags.map(str::to_owned).into();
        self
    }

    /// Starts the controller with this kubeconfig from now on.
    pub(crate) fn with_kubeconfig(mut self, path: &Path) -> Self {
        self.kubeconfig = Some(path.to_owned());
        self
    }

    /// Starts the controller and returns when it is ready.
    pub(crate) async fn start_controller(&mut self) {
        self.launch();
        self.logged("\"message\":\"ready\"").await;
    }

    /// Starts the controller.
    pub(crate) fn launch(&mut self) {
        let program = std::env::var_os("TRAINMASTER_PROGRAM");
        let mut command = Command::new(program.unwrap_or_else(|| env!("CARGO_BIN_EXE_trainmaster").into()));
        let kubeconfig = self.kubeconfig.clone().unwrap_or_else(|| self.control_plane.kubeconfig(CONTROLLER));
        command.arg("controller").arg("--kubeconfig").arg(kubeconfig);
        command.args(["--health-bind-address", "127.0.0.1:0", "--log-level", "debug"]).args(&self.flags);
        for address in [WEBHOOKS, METRICS] {
            if !self.flags.iter().any(|flag| flag == address) {
                command.args([address, "0"]);
            }
        }
        let process = self.control_plane.run("trainmaster", command);
        self.controller = Some(process.unwrap_or_else(|error| panic!("{}", chain(&error))));
    }

    pub(crate) fn controller(&mut self) -> &mut Process {
        self.controller.as_mut().expect("the controller was started")
    }

    /// The address that the controller has logged for `what`.
    pub(crate) async fn address(&self, what: &str) -> String {
        let line = self.logged(&format!("\"answering {what}\"")).await;
        let line: Value = serde_json::from_str(&line).expect("logs JSON");
        line["address"].as_str().expect("names its address").to_owned()
    }

    /// What this controller has logged so far.
    pub(crate) fn log(&self) -> String {
        let path = self.controller.as_ref().expect("the controller was started").log();
        let mut text = String::new();
        std::fs::File::open(path).expect("has a log").read_to_string(&mut text).expect("logs text");
        text
    }

    /// Waits until a line of the log contains `text`; returns the line.
    pub(crate) async fn logged(&self, text: &str) -> String {
        let found = async || self.log().lines().find(|line| line.contains(text)).map(str::to_owned);
        eventually(&format!("the log says {text}"), found).await
    }

    /// Kills the controller where it stands.
    pub(crate) fn kill_controller(&mut self) {
        self.controller = None;
    }

    /// The end of the audit log as it is now.
    pub(crate) fn mark(&self) -> Mark {
        self.control_plane.audit().mark().expect("reads the log")
    }

    /// What the controller has asked since `mark`.
    pub(crate) fn requests(&self, mark: Mark) -> Vec<Request> {
        self.control_plane.audit().requests(CONTROLLER, mark).expect("reads the log")
    }

    /// What the controller has written since `mark`.
    pub(crate) fn writes(&self, mark: Mark) -> Vec<Request> {
        self.requests(mark).into_iter().filter(Request::writes).collect()
    }

    /// A namespace of that name, with what is asked of it.
    pub(crate) async fn namespace(&self, name: &str) -> Namespace {
        let client = self.client().await;
        let created = self.control_plane.namespace(&client, name).await;
        created.unwrap_or_else(|error| panic!("{}", chain(&error)));
        Namespace { client, name: name.to_owned() }
    }
}

/// A namespace and what a user does in it.
#[derive(Clone)]
pub(crate) struct Namespace {
    pub(crate) client: Client,
    pub(crate) name: String,
}

impl Namespace {
    pub(crate) fn train_jobs(&self) -> Api<DynamicObject> {
        objects(&self.client, &self.name, GROUP, VERSION, "TrainJob")
    }

    pub(crate) fn runtimes(&self) -> Api<DynamicObject> {
        objects(&self.client, &self.name, GROUP, VERSION, "TrainingRuntime")
    }

    pub(crate) fn job_sets(&self) -> Api<DynamicObject> {
        objects(&self.client, &self.name, "jobset.x-k8s.io", "v1alpha2", "JobSet")
    }

    pub(crate) fn pod_groups(&self) -> Api<DynamicObject> {
        objects(&self.client, &self.name, "scheduling.x-k8s.io", "v1alpha1", "PodGroup")
    }

    pub(crate) fn config_maps(&self) -> Api<DynamicObject> {
        objects(&self.client, &self.name, "", "v1", "ConfigMap")
    }

    /// Creates an object.
    pub(crate) async fn create(&self, api: &Api<DynamicObject>, value: Value) {
        let created = api.create(&PostParams::default(), &object(value)).await;
        created.unwrap_or_else(|error| panic!("{}", chain(&error)));
    }

    /// Creates a runtime of one job, changed by `change`.
    pub(crate) async fn create_runtime(&self, name: &str, change: impl FnOnce(&mut Value)) {
        let mut value = runtime(name);
        change(&mut value);
        self.create(&self.runtimes(), value).await;
    }

    /// Creates a TrainJob on the runtime `plain`, changed by `change`.
    pub(crate) async fn create_job(&self, name: &str, change: impl FnOnce(&mut Value)) {
        let mut value = train_job(name);
        change(&mut value);
        self.create(&self.train_jobs(), value).await;
    }

    /// Changes an object by a merge patch.
    pub(crate) async fn merge(&self, api: &Api<DynamicObject>, name: &str, patch: &Value) {
        let patched = api.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await;
        patched.unwrap_or_else(|error| panic!("{}", chain(&error)));
    }

    /// Sets the status of a JobSet, as its controller would.
    pub(crate) async fn job_set_status(&self, name: &str, status: &Value) {
        let patch = Patch::Merge(json!({ "status": status }));
        let patched = self.job_sets().patch_status(name, &PatchParams::default(), &patch).await;
        patched.unwrap_or_else(|error| panic!("{}", chain(&error)));
    }

    pub(crate) async fn delete(&self, api: &Api<DynamicObject>, name: &str) {
        let deleted = api.delete(name, &DeleteParams::background()).await;
        deleted.map_or_else(|error| panic!("{}", chain(&error)), drop);
    }

    /// The object once it exists and `wanted` holds.
    pub(crate) async fn once(
        &self,
        what: &str,
        api: &Api<DynamicObject>,
        name: &str,
        wanted: impl Fn(&DynamicObject) -> bool,
    ) -> DynamicObject {
        eventually(&format!("{name} {what}"), async || {
            api.get_opt(name).await.expect("answers").filter(|object| wanted(object))
        })
        .await
    }

    /// The TrainJob once it has the condition.
    pub(crate) async fn once_is(&self, name: &str, kind: &str) -> DynamicObject {
        let what = format!("is {kind}");
        self.once(&what, &self.train_jobs(), name, |job| condition(job, kind) == Some("True")).await
    }

    /// The TrainJob once it has not got the condition.
    pub(crate) async fn once_is_not(&self, name: &str, kind: &str) -> DynamicObject {
        let what = format!("is not {kind}");
        self.once(&what, &self.train_jobs(), name, |job| condition(job, kind).is_none()).await
    }

    /// The JobSet of a TrainJob once it exists.
    pub(crate) async fn job_set(&self, name: &str) -> DynamicObject {
        self.once("is there", &self.job_sets(), name, |_| true).await
    }

    /// Lets the pods of a TrainJob end well, which were told to run.
    pub(crate) async fn end_pods(&self, name: &str) {
        let pods = objects(&self.client, &self.name, "", "v1", "Pod");
        let params = ListParams::default().labels(&format!("jobset.sigs.k8s.io/jobset-name={name}"));
        for pod in pods.list(&params).await.expect("lists pods") {
            let annotations = json!({ "testbed.trainmaster.dev/phase": "Succeeded", "testbed.trainmaster.dev/after": "0s" });
            let name = pod.metadata.name.expect("a pod has a name");
            self.merge(&pods, &name, &json!({ "metadata": { "annotations": annotations } })).await;
        }
    }

    /// The Events about a TrainJob.
    pub(crate) async fn events(&self, name: &str) -> Vec<DynamicObject> {
        let params =
            ListParams::default().fields(&format!("involvedObject.kind=TrainJob,involvedObject.name={name}"));
        objects(&self.client, &self.name, "", "v1", "Event").list(&params).await.expect("lists Events").items
    }
}

/// The status line of the answer to a request without TLS.
pub(crate) fn ask(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("connects");
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").expect("asks");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("answers");
    answer.lines().next().unwrap_or_default().to_owned()
}

/// Makes a runtime's pods run until they are told otherwise.
pub(crate) fn endless(runtime: &mut Value) {
    let template =
        &mut runtime["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"];
    template["metadata"] = json!({ "annotations": { "testbed.trainmaster.dev/phase": "Running" } });
}

/// A runtime of one job of one pod, which ends well.
pub(crate) fn runtime(name: &str) -> Value {
    let container = json!({ "name": "node", "image": "none", "command": ["train"] });
    let labels = json!({ "trainer.kubeflow.org/trainjob-ancestor-step": "trainer" });
    json!({
        "apiVersion": format!("{GROUP}/{VERSION}"),
        "kind": "TrainingRuntime",
        "metadata": { "name": name },
        "spec": {
            "mlPolicy": { "numNodes": 1 },
            "template": { "spec": { "replicatedJobs": [{
                "name": "node",
                "template": {
                    "metadata": { "labels": labels },
                    "spec": { "template": { "spec": { "containers": [container] } } },
                },
            }] } },
        },
    })
}

pub(crate) fn train_job(name: &str) -> Value {
    json!({
        "apiVersion": format!("{GROUP}/{VERSION}"),
        "kind": "TrainJob",
        "metadata": { "name": name },
        "spec": { "runtimeRef": { "name": "plain", "kind": "TrainingRuntime" } },
    })
}

/// The message of the condition of a TrainJob.
pub(crate) fn message(job: &DynamicObject, kind: &str) -> String {
    let conditions = job.data["status"]["conditions"].as_array().into_iter().flatten();
    let mut said = conditions.filter(|it| it["type"] == kind).filter_map(|it| it["message"].as_str());
    said.next().unwrap_or_default().to_owned()
}

/// Long enough for the controller to have done what it should not do. Nothing that must come is waited for like this.
pub(crate) async fn settle() {
    tokio::time::sleep(Duration::from_secs(3)).await;
}
