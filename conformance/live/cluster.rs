//! The cluster that cases are driven on: requests as a client sends them, answers as it gets them.

use crate::{
    testbed::{ADMIN, CONTROLLER, ControlPlane, Crd, Options, Process, manifests},
    world::World,
};
use http::{Method, Request};
use kube::{
    Client, Config,
    client::Body,
    config::{KubeConfigOptions, Kubeconfig},
};
use serde_json::Value;
use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
    time::{Duration, Instant},
};

/// How long a request may take.
const LIMIT: Duration = Duration::from_mins(1);

/// A cluster with a controller that runs TrainJobs.
pub(crate) struct Cluster {
    client: Client,
    pub(crate) world: Arc<World>,
    /// Whether anything fills in the time of a TrainJob's patches.
    pub(crate) stamps: bool,
    /// The programs that end with the test, if they are its own.
    _own: Option<(Process, ControlPlane)>,
}

/// What the API server answered.
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) body: Value,
    pub(crate) warnings: Vec<String>,
}

impl Answer {
    pub(crate) fn is_accepted(&self) -> bool {
        self.code < 300
    }
}

/// A kind that cases speak of: its name, its version, its place in URLs, whether it lives in a namespace.
pub(crate) type KindRow = (&'static str, &'static str, &'static str, bool);

pub(crate) const KINDS: [KindRow; 13] = [
    ("TrainJob", "trainer.kubeflow.org/v1alpha1", "trainjobs", true),
    ("JobSet", "jobset.x-k8s.io/v1alpha2", "jobsets", true),
    ("PodGroup", "scheduling.x-k8s.io/v1alpha1", "podgroups", true),
    ("PodGroup", "scheduling.volcano.sh/v1beta1", "podgroups", true),
    ("ConfigMap", "v1", "configmaps", true),
    ("Secret", "v1", "secrets", true),
    ("Event", "v1", "events", true),
    ("TrainingRuntime", "trainer.kubeflow.org/v1alpha1", "trainingruntimes", true),
    ("ClusterTrainingRuntime", "trainer.kubeflow.org/v1alpha1", "clustertrainingruntimes", false),
    ("LimitRange", "v1", "limitranges", true),
    ("RuntimeClass", "node.k8s.io/v1", "runtimeclasses", false),
    ("PriorityClass", "scheduling.k8s.io/v1", "priorityclasses", false),
    ("Namespace", "v1", "namespaces", false),
];

/// How many of [`KINDS`] are watched: those that are looked at after each step.
pub(crate) const WATCHED: usize = 7;

impl Cluster {
    /// The cluster that `TRAINMASTER_LIVE_KUBECONFIG` names, else a control plane of our own with this project's
    /// controller, which its API server asks by webhooks, and nobody who runs JobSets: their status changes where a step
    /// says so.
    pub(crate) async fn find() -> Cluster {
        if let Some(path) = std::env::var_os("TRAINMASTER_LIVE_KUBECONFIG") {
            let kubeconfig = Kubeconfig::read_from(path).expect("the kubeconfig can be read");
            let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
            let client =
                Client::try_from(config.expect("the kubeconfig names a cluster")).expect("makes a client");
            return Cluster::of(client, None).await;
        }
        let charts = Path::new(env!("CARGO_MANIFEST_DIR")).join("charts");
        let crds = vec![charts.join("trainmaster/crds")];
        let options = Options { manifests: crds, crds: Crd::ALL.to_vec(), ..Options::api_server_only() };
        let control_plane = ControlPlane::start(&options).unwrap_or_else(|error| panic!("{error}"));
        let client = control_plane.client(ADMIN).await.expect("makes a client");
        let controller = start_controller(&control_plane);
        let line = logged(&controller, "\"answering webhooks\"").await;
        let address = line.rsplit("127.0.0.1:").next().and_then(|it| it.split('"').next());
        let port = address.and_then(|it| it.parse().ok()).expect("logs the port of the webhooks");
        logged(&controller, "\"message\":\"ready\"").await;
        let mut webhooks =
            manifests::read(&charts.join("kustomize/manager.yaml")).expect("reads the manifests");
        webhooks.retain(|it| it["kind"].as_str().is_some_and(|it| it.ends_with("WebhookConfiguration")));
        manifests::point_webhooks(&mut webhooks, port, &control_plane.authority());
        manifests::apply(&client, &webhooks).await.expect("applies the webhook configurations");
        Cluster::of(client, Some((controller, control_plane))).await
    }

    async fn of(client: Client, own: Option<(Process, ControlPlane)>) -> Cluster {
        let world = World::watch(&client).await;
        let mut cluster = Cluster { client, world, stamps: false, _own: own };
        let path = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
        let configurations = cluster.send(&Method::GET, path, None).await.body.to_string();
        cluster.stamps = configurations.contains("trainjob");
        cluster
    }

    pub(crate) async fn create(&self, object: &Value) -> Answer {
        self.send(&Method::POST, &collection(row(object), namespace_of(object)), Some(object)).await
    }

    pub(crate) async fn get(&self, row: KindRow, namespace: &str, name: &str) -> Answer {
        self.send(&Method::GET, &path(row, namespace, name), None).await
    }

    pub(crate) async fn put(&self, row: KindRow, namespace: &str, name: &str, object: &Value) -> Answer {
        self.send(&Method::PUT, &path(row, namespace, name), Some(object)).await
    }

    pub(crate) async fn delete(&self, row: KindRow, namespace: &str, name: &str) -> Answer {
        self.send(&Method::DELETE, &path(row, namespace, name), None).await
    }

    /// Patches an object, or with `part` a part of it such as its status: by a JSON patch if `body` is a list, else by a
    /// merge patch.
    pub(crate) async fn patch(
        &self,
        row: KindRow,
        namespace: &str,
        name: &str,
        part: &str,
        body: &Value,
    ) -> Answer {
        self.send(&Method::PATCH, &format!("{}{part}", path(row, namespace, name)), Some(body)).await
    }

    async fn send(&self, method: &Method, path: &str, body: Option<&Value>) -> Answer {
        let content = match *method {
            Method::PATCH if body.is_some_and(Value::is_array) => "application/json-patch+json",
            Method::PATCH => "application/merge-patch+json",
            _ => "application/json",
        };
        let bytes = body.map(|it| it.to_string().into_bytes()).unwrap_or_default();
        let request = Request::builder().method(method).uri(path).header("content-type", content);
        let request = request.body(Body::from(bytes)).expect("a request has a path");
        let answer = async {
            let response = self.client.send(request).await.expect("the API server answers");
            let (head, body) = response.into_parts();
            let warnings = head.headers.get_all("warning").iter();
            let warnings = warnings.map(|it| String::from_utf8_lossy(it.as_bytes()).into_owned()).collect();
            let bytes = body.collect_bytes().await.expect("the API server answers to the end");
            Answer {
                code: head.status.as_u16(),
                body: serde_json::from_slice(&bytes).unwrap_or_default(),
                warnings,
            }
        };
        tokio::time::timeout(LIMIT, answer).await.expect("the API server answers in time")
    }
}

/// This project's controller, with its webhooks on a port of its choice.
fn start_controller(control_plane: &ControlPlane) -> Process {
    let folder = control_plane.folder().join("webhooks");
    control_plane.write_serving_certificate(&folder).expect("writes a certificate");
    let config = folder.join("config.yaml");
    let text = "apiVersion: config.trainer.kubeflow.org/v1alpha1\nkind: Configuration\n\
                certManagement: {enable: false}\nmetrics: {bindAddress: '0'}\n";
    std::fs::write(&config, text).expect("writes the configuration");
    let mut command = Command::new(PathBuf::from(env!("CARGO_BIN_EXE_trainmaster")));
    command.arg("controller").arg("--kubeconfig").arg(control_plane.kubeconfig(CONTROLLER));
    command.arg("--config").arg(config).arg("--cert-dir").arg(folder);
    let addresses = ["--health-bind-address", "127.0.0.1:0", "--webhook-bind-address", "127.0.0.1:0"];
    command.args(addresses).args(["--log-level", "debug"]);
    control_plane.run("trainmaster", command).expect("starts the controller")
}

/// The line of the controller's log that contains `text`, once there is one.
async fn logged(controller: &Process, text: &str) -> String {
    let started = Instant::now();
    loop {
        let log = std::fs::read_to_string(controller.log()).expect("has a log");
        if let Some(line) = log.lines().find(|line| line.contains(text)) {
            return line.to_owned();
        }
        assert!(started.elapsed() < LIMIT, "the controller never logs {text}:\n{log}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// The row of an object's kind.
pub(crate) fn row(object: &Value) -> KindRow {
    let found =
        KINDS.iter().find(|(kind, version, ..)| object["kind"] == *kind && object["apiVersion"] == *version);
    *found.unwrap_or_else(|| panic!("no such kind: {} {}", object["apiVersion"], object["kind"]))
}

/// The row of a kind of which a step may not say the version.
pub(crate) fn row_of(step: &Value) -> KindRow {
    let version = step["apiVersion"].as_str();
    let found =
        KINDS.iter().find(|(kind, of, ..)| step["kind"] == *kind && version.is_none_or(|it| it == *of));
    *found.unwrap_or_else(|| panic!("no such kind: {}", step["kind"]))
}

fn namespace_of(object: &Value) -> &str {
    object["metadata"]["namespace"].as_str().unwrap_or_default()
}

fn collection((_, version, plural, namespaced): KindRow, namespace: &str) -> String {
    let root = if version.contains('/') { "apis" } else { "api" };
    if namespaced {
        format!("/{root}/{version}/namespaces/{namespace}/{plural}")
    } else {
        format!("/{root}/{version}/{plural}")
    }
}

fn path(row: KindRow, namespace: &str, name: &str) -> String {
    format!("{}/{name}", collection(row, namespace))
}
