//! TrainJobs in the queues of Kueue, the real one: they wait suspended, are admitted as the quota allows, run where the
//! flavor says, give way to a higher priority and come back.

use std::fs;
use std::process::{Command, Stdio};

use kube::Client;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};

use crate::controller::support::{Cluster, Namespace, endless, train_job};
use crate::support::{chain, condition, eventually, everything, object, objects};
use crate::testbed::assets::Assets;
use crate::testbed::{ADMIN, ControlPlane, Options, Process, manifests, users};

/// The only kinds that its webhooks are asked about here; nobody else's are served.
const KINDS: [&str; 6] = ["trainjob", "workload", "clusterqueue", "localqueue", "resourceflavor", "cohort"];
const QUEUE: &str = "queue";

#[tokio::test]
#[ignore = "builds Kueue, which takes minutes: make kueue"]
async fn jobs_wait_for_quota_run_in_the_flavor_give_way_and_come_back() {
    let Some(queued) = Queued::start("kueue", "1").await else { return };
    let namespace = &queued.namespace;
    namespace.create_runtime("plain", endless).await;
    // Each asks for half of the quota.
    for name in ["first", "second", "third"] {
        let created = queued.create(name, None).await;
        assert_eq!(created.data["spec"]["suspend"], true, "it waits from the beginning");
        if name != "third" {
            queued.once_runs(name).await;
        }
    }
    queued.once_waits("third").await;
    for name in ["first", "second"] {
        queued.in_the_flavor(name).await;
        queued.pods_are_those_that_were_counted(name).await;
    }
    namespace.end_pods("first").await;
    namespace.once_is("first", "Complete").await;
    queued.once_runs("third").await;

    queued.create("urgent", Some("high")).await;
    queued.once_runs("urgent").await;
    let preempted = queued.one_that_waits(["second", "third"]).await;
    eventually("the pods of the preempted one are gone", async || {
        queued.pods(preempted).await.is_empty().then_some(())
    })
    .await;
    namespace.end_pods("urgent").await;
    namespace.once_is("urgent", "Complete").await;
    queued.once_runs(preempted).await;
    queued.in_the_flavor(preempted).await;
    for name in ["second", "third"] {
        namespace.end_pods(name).await;
        namespace.once_is(name, "Complete").await;
    }
}

#[tokio::test]
#[ignore = "builds Kueue, which takes minutes: make kueue"]
async fn the_pods_of_each_framework_are_those_that_were_counted() {
    let Some(queued) = Queued::start("kueue-frameworks", "100").await else { return };
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("charts/trainmaster/runtimes");
    let mut runtimes = manifests::read_all(&[folder]).expect("are YAML");
    runtimes.iter_mut().for_each(keep_running);
    let applied = manifests::apply(&queued.namespace.client, &runtimes).await;
    applied.unwrap_or_else(|error| panic!("{}", chain(&error)));
    let shipped = ["torch-distributed", "jax-distributed", "deepspeed-distributed", "xgboost-distributed"];
    for runtime in shipped {
        queued.create_on(runtime, &json!({ "name": runtime }), 3).await;
    }
    for runtime in shipped {
        queued.once_runs(runtime).await;
        queued.pods_are_those_that_were_counted(runtime).await;
    }
}

/// Makes the pods of all jobs of a runtime run until they are told otherwise.
fn keep_running(runtime: &mut Value) {
    let jobs = runtime["spec"]["template"]["spec"]["replicatedJobs"].as_array_mut().into_iter().flatten();
    for job in jobs {
        let pod = &mut job["template"]["spec"]["template"];
        pod["metadata"]["annotations"]["testbed.trainmaster.dev/phase"] = json!("Running");
    }
}

/// A control plane with Kueue and the controller, and a namespace with a queue.
struct Queued {
    namespace: Namespace,
    // Dropped before the control plane.
    _kueue: Process,
    _cluster: Cluster,
}

impl Queued {
    /// One whose quota is `cpu`; None, and it is said, where Kueue cannot run.
    async fn start(name: &str, cpu: &str) -> Option<Queued> {
        if !can_give_it_a_folder() {
            println!(
                "SKIPPED: Kueue reads a certificate from /etc/kueue, for which `unshare -rm` must be allowed"
            );
            return None;
        }
        let assets = Assets::from_environment().expect("has a cache");
        let needed = assets.ensure(&["kueue", "kueue-crds", "kueue-webhooks.yaml"]);
        needed.unwrap_or_else(|error| panic!("{}", chain(&error)));
        let mut options: Options = everything();
        options.manifests.push(assets.path("kueue-crds").expect("has a place"));
        let mut cluster = Cluster::without_controller(&options);
        let client = cluster.client().await;
        let namespace = cluster.namespace(name).await;
        label_nodes(&client).await;
        let kueue = run(&cluster.control_plane, &assets, &client).await;
        create_queue(&client, name, cpu).await;
        cluster.start_controller().await;
        Some(Queued { namespace, _kueue: kueue, _cluster: cluster })
    }

    /// A TrainJob in the queue, on the runtime `plain`.
    async fn create(&self, name: &str, priority: Option<&str>) -> DynamicObject {
        let mut job = train_job(name);
        job["spec"]["trainer"] = json!({ "resourcesPerNode": { "requests": { "cpu": "500m" } } });
        if let Some(priority) = priority {
            job["metadata"]["labels"] = json!({ "kueue.x-k8s.io/priority-class": priority });
        }
        self.submit(job).await
    }

    async fn create_on(&self, name: &str, runtime: &Value, nodes: u32) -> DynamicObject {
        let mut job = train_job(name);
        job["spec"]["runtimeRef"] = runtime.clone();
        job["spec"]["trainer"] = json!({ "numNodes": nodes, "resourcesPerNode": { "requests": { "cpu": "500m", "memory": "1Gi" } } });
        self.submit(job).await
    }

    async fn submit(&self, mut job: Value) -> DynamicObject {
        job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = json!(QUEUE);
        let created =
            self.namespace.train_jobs().create(&kube::api::PostParams::default(), &object(job)).await;
        created.unwrap_or_else(|error| panic!("{}", chain(&error)))
    }

    async fn pods(&self, name: &str) -> Vec<DynamicObject> {
        let params = ListParams::default().labels(&format!("jobset.sigs.k8s.io/jobset-name={name}"));
        objects(&self.namespace.client, &self.namespace.name, "", "v1", "Pod")
            .list(&params)
            .await
            .expect("lists")
            .items
    }

    /// Waits until the TrainJob is resumed and all its pods run.
    async fn once_runs(&self, name: &str) {
        eventually(&format!("{name} runs"), async || {
            let job = self.namespace.train_jobs().get(name).await.ok()?;
            let pods = self.pods(name).await;
            let run = !pods.is_empty() && pods.iter().all(|pod| pod.data["status"]["phase"] == "Running");
            let wanted: u64 = self.pod_sets(name).await.iter().filter_map(|set| set["count"].as_u64()).sum();
            (job.data["spec"]["suspend"] == false && run && wanted == pods.len() as u64).then_some(())
        })
        .await;
    }

    /// Waits until the TrainJob says that it is suspended.
    async fn once_waits(&self, name: &str) {
        let waits = |job: &DynamicObject| {
            job.data["spec"]["suspend"] == true && condition(job, "Suspended") == Some("True")
        };
        self.namespace.once("waits", &self.namespace.train_jobs(), name, waits).await;
        assert_eq!(self.pods(name).await.len(), 0);
    }

    async fn one_that_waits<'n>(&self, names: [&'n str; 2]) -> &'n str {
        eventually("one is preempted", async || {
            for name in names {
                let job = self.namespace.train_jobs().get(name).await.ok()?;
                if job.data["spec"]["suspend"] == true && condition(&job, "Suspended") == Some("True") {
                    return Some(name);
                }
            }
            None
        })
        .await
    }

    /// The pod sets that Kueue has reckoned with.
    async fn pod_sets(&self, name: &str) -> Vec<Value> {
        let workloads =
            objects(&self.namespace.client, &self.namespace.name, "kueue.x-k8s.io", "v1beta2", "Workload");
        let workloads = workloads.list(&ListParams::default()).await.expect("lists workloads");
        let owned = |workload: &&DynamicObject| {
            workload.metadata.owner_references.iter().flatten().any(|it| it.name == name)
        };
        let found = workloads.items.iter().find(owned);
        found.and_then(|it| it.data["spec"]["podSets"].as_array().cloned()).unwrap_or_default()
    }

    /// What the flavor says is in the pods.
    async fn in_the_flavor(&self, name: &str) {
        for pod in self.pods(name).await {
            assert_eq!(pod.data["spec"]["nodeSelector"]["pool"], "spot", "{name}");
            let labels = pod.metadata.labels.unwrap_or_default();
            assert_eq!(labels.get("kueue.x-k8s.io/podset").map(String::as_str), Some("node"), "{name}");
        }
    }

    /// As many pods of each pod set as Kueue has counted, each asking for what it has reckoned with.
    async fn pods_are_those_that_were_counted(&self, name: &str) {
        let (sets, pods) = (self.pod_sets(name).await, self.pods(name).await);
        let counted: u64 = sets.iter().filter_map(|set| set["count"].as_u64()).sum();
        assert_eq!(counted, pods.len() as u64, "{name}: {sets:#?}");
        let asks = |set: &Value| requests(&set["template"]["spec"]).iter().any(|(_, it)| it["cpu"] == "500m");
        assert!(sets.iter().any(asks), "{name}: {sets:#?}");
        for set in sets {
            let job = set["name"].as_str().expect("a pod set has a name");
            let of_set: Vec<&DynamicObject> = pods.iter().filter(|pod| is_of(pod, job)).collect();
            assert_eq!(set["count"].as_u64(), Some(of_set.len() as u64), "{name}: pods of {job}");
            for pod in of_set {
                assert_eq!(requests(&pod.data["spec"]), requests(&set["template"]["spec"]), "{name}: {job}");
            }
        }
    }
}

fn is_of(pod: &DynamicObject, job: &str) -> bool {
    let labels = pod.metadata.labels.as_ref();
    labels.and_then(|it| it.get("jobset.sigs.k8s.io/replicatedjob-name")).is_some_and(|it| it == job)
}

/// What each container of a pod asks for.
fn requests(spec: &Value) -> Vec<(Value, Value)> {
    let containers = spec["containers"].as_array().into_iter().flatten();
    containers.map(|it| (it["name"].clone(), it["resources"]["requests"].clone())).collect()
}

/// Kueue reads a certificate from a fixed place below /etc, which it gets in a mount namespace of its own.
fn can_give_it_a_folder() -> bool {
    let tried = Command::new("unshare").args(["-rm", "true"]).stderr(Stdio::null()).status();
    tried.is_ok_and(|status| status.success())
}

/// Starts Kueue, and returns when it admits queues.
async fn run(control_plane: &ControlPlane, assets: &Assets, client: &Client) -> Process {
    let folder = control_plane.folder();
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .and_then(|it| it.local_addr())
        .expect("a port is free")
        .port();
    let (etc, serving) = (folder.join("kueue-etc"), folder.join("kueue-serving"));
    for place in [&etc.join("kueue/metrics/certs"), &serving] {
        fs::create_dir_all(place).expect("makes a folder");
        control_plane.write_serving_certificate(place).expect("writes a certificate");
    }
    let config = json!({
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "namespace": "kueue-system",
        "leaderElection": { "leaderElect": false },
        "internalCertManagement": { "enable": false },
        "webhook": { "host": "127.0.0.1", "port": port, "certDir": serving },
        "metrics": { "bindAddress": "0" },
        "health": { "healthProbeBindAddress": "0" },
        "featureGates": { "VisibilityOnDemand": false },
        "integrations": { "frameworks": ["trainer.kubeflow.org/trainjob"] },
    });
    let path = folder.join("kueue.json");
    users::write_private(&path, &config.to_string()).expect("writes the configuration");
    let mut command = Command::new("unshare");
    command.args(["-rm", "sh", "-c", r#"mount --bind "$1" /etc && shift && exec "$@""#, "sh"]).arg(&etc);
    command.arg(assets.path("kueue").expect("has a place")).arg("--config").arg(&path);
    command.env("KUBECONFIG", control_plane.kubeconfig(ADMIN));
    control_plane.namespace(client, "kueue-system").await.expect("creates its namespace");
    let mut webhooks =
        manifests::read(&assets.path("kueue-webhooks.yaml").expect("has a place")).expect("is YAML");
    for configuration in &mut webhooks {
        // Without a name of its own it would take the place of JobSet's.
        let name = format!("kueue-{}", configuration["metadata"]["name"].as_str().unwrap_or_default());
        configuration["metadata"]["name"] = json!(name);
        let hooks = configuration["webhooks"].as_array_mut().expect("has webhooks");
        hooks.retain(|hook| {
            let path = hook["clientConfig"]["service"]["path"].as_str().unwrap_or_default();
            KINDS.iter().any(|kind| path.ends_with(&format!("-{kind}")))
        });
    }
    manifests::point_webhooks(&mut webhooks, port, &control_plane.authority());
    manifests::apply(client, &webhooks).await.unwrap_or_else(|error| panic!("{}", chain(&error)));
    control_plane.run("kueue", command).unwrap_or_else(|error| panic!("{}", chain(&error)))
}

/// A queue for a namespace, whose jobs share `cpu` on the nodes of the pool `spot`, and a priority above the usual one.
async fn create_queue(client: &Client, namespace: &str, cpu: &str) {
    let api = "kueue.x-k8s.io/v1beta2";
    let amounts =
        json!([{ "name": "cpu", "nominalQuota": cpu }, { "name": "memory", "nominalQuota": "1Ti" }]);
    let made = [
        json!({
            "apiVersion": api, "kind": "ResourceFlavor", "metadata": { "name": "spot" },
            "spec": { "nodeLabels": { "pool": "spot" } },
        }),
        json!({
            "apiVersion": api, "kind": "ClusterQueue", "metadata": { "name": QUEUE },
            "spec": {
                "namespaceSelector": {},
                "preemption": { "withinClusterQueue": "LowerPriority" },
                "resourceGroups": [{
                    "coveredResources": ["cpu", "memory"],
                    "flavors": [{ "name": "spot", "resources": amounts }],
                }],
            },
        }),
        json!({
            "apiVersion": api, "kind": "LocalQueue", "metadata": { "name": QUEUE, "namespace": namespace },
            "spec": { "clusterQueue": QUEUE },
        }),
        json!({
            "apiVersion": api, "kind": "WorkloadPriorityClass", "metadata": { "name": "high" }, "value": 1000,
            "description": "before others",
        }),
    ];
    eventually("Kueue takes a queue", async || manifests::apply(client, &made).await.ok()).await;
}

async fn label_nodes(client: &Client) {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "Node"));
    let nodes: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    for node in nodes.list(&ListParams::default()).await.expect("lists nodes") {
        let patch = Patch::Merge(json!({ "metadata": { "labels": { "pool": "spot" } } }));
        let name = node.metadata.name.unwrap_or_default();
        nodes.patch(&name, &PatchParams::default(), &patch).await.expect("labels the node");
    }
}
