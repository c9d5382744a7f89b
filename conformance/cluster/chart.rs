//! The chart, by Helm, on a real API server: every object that it makes is accepted as it stands, and a release of upstream's
//! chart becomes one of ours without a TrainJob noticing.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use kube::Client;
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams, ValidationDirective};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};
use trainmaster::api::{GROUP, VERSION};
use trainmaster::yaml;

use crate::controller::rights;
use crate::controller::support::api_server;
use crate::support::{chain, condition, control_plane, eventually, object, objects};
use crate::testbed::assets::Assets;
use crate::testbed::audit::Mark;
use crate::testbed::{ADMIN, CONTROLLER, ControlPlane, Options, go, manifests};

const NAMESPACE: &str = "kubeflow-system";
const RELEASE: &str = "kubeflow-trainer";
const MANAGER: &str = "kubeflow-trainer-controller-manager";

/// What charts need: Helm, ours with the chart of JobSet in it, upstream's likewise.
struct Charts {
    helm: PathBuf,
    ours: PathBuf,
    upstream: PathBuf,
}

static CHARTS: LazyLock<Charts> = LazyLock::new(|| {
    let assets = Assets::from_environment().expect("has a cache");
    assets
        .ensure(&["helm", "jobset-chart", "upstream-chart"])
        .unwrap_or_else(|error| panic!("{}", chain(&error)));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("charts");
    _ = std::fs::remove_dir_all(&folder);
    let jobset = assets.path("jobset-chart").expect("has a place");
    let with_jobset = |name: &str, from: &Path| {
        let to = folder.join(name);
        let copied = go::copy(from, &to).and_then(|()| std::fs::create_dir_all(to.join("charts")));
        copied.and_then(|()| go::copy(&jobset, &to.join("charts/jobset"))).expect("copies the chart");
        to
    };
    let ours = with_jobset("trainmaster", &repository("charts/trainmaster"));
    let upstream = with_jobset("kubeflow-trainer", &assets.path("upstream-chart").expect("has a place"));
    // Helm wants every dependency, wanted or not.
    let lws = upstream.join("charts/lws");
    std::fs::create_dir_all(&lws).expect("makes a folder");
    std::fs::write(lws.join("Chart.yaml"), "apiVersion: v2\nname: lws\nversion: 0.8.0\n").expect("writes");
    Charts { helm: assets.path("helm").expect("has a place"), ours, upstream }
});

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Runs Helm; returns what it prints, or what is wrong.
fn helm(control_plane: Option<&ControlPlane>, arguments: &[&str]) -> Result<String, String> {
    let mut command = Command::new(&CHARTS.helm);
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("helm");
    command.env_clear().env("HOME", home).args(arguments);
    if let Some(control_plane) = control_plane {
        command.env("KUBECONFIG", control_plane.kubeconfig(ADMIN));
    }
    let output = command.output().expect("runs Helm");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

/// The objects of our chart with further flags.
fn template(flags: &[&str]) -> Result<Vec<Value>, String> {
    let ours = CHARTS.ours.display().to_string();
    let text = helm(
        None,
        &[&["template", RELEASE, &ours, "--namespace", NAMESPACE, "--skip-tests"], flags].concat(),
    )?;
    let documents: Vec<Value> = serde_saphyr::from_multiple(&text).expect("Helm prints YAML");
    Ok(documents.into_iter().filter(|it| !it.is_null()).collect())
}

#[test]
fn helm_has_nothing_against_the_chart() {
    let ours = CHARTS.ours.display().to_string();
    let said = helm(None, &["lint", "--strict", &ours]).unwrap_or_else(|error| panic!("{error}"));
    assert!(said.contains("0 chart(s) failed"), "{said}");
}

/// Ways to set the chart up: a name, flags, kinds that the API server of the tests does not serve.
const VARIANTS: &[(&str, &[&str], &[&str])] = &[
    ("as it is", &[], &[]),
    ("all runtimes", &["--set", "runtimes.defaultEnabled=true,runtimes.unsloth.enabled=true"], &[]),
    (
        "with a mirror",
        &[
            "--set",
            "runtimes.mlxDistributed.enabled=true,runtimes.mlxDistributed.image.registry=mirror.example.com",
        ],
        &[],
    ),
    (
        "data cache",
        &[
            "--set",
            "dataCache.enabled=true,dataCache.lws.install=false,dataCache.runtimes.torchDistributedWithCache.enabled=true",
        ],
        &[],
    ),
    (
        "three replicas",
        &[
            "--set",
            "manager.replicas=3,manager.priorityClassName=system-cluster-critical,manager.nodeSelector.pool=system,commonLabels.team=ml",
        ],
        &[],
    ),
    (
        "own policies",
        &[
            "--set-file",
            "policies.files.torch\\.yaml=policies/torch.yaml",
            "--set-json",
            r#"rbac.extraRules=[{"apiGroups":["example.com"],"resources":["gangs"],"verbs":["list","watch"]}]"#,
        ],
        &[],
    ),
    ("own certificate", &["--set", "manager.config.certManagement.enable=false,webhook.caBundle=PEM"], &[]),
    ("cert-manager", &["--set", "certManager.enabled=true"], &["Certificate", "Issuer"]),
    (
        "Prometheus",
        &["--set", "serviceMonitor.enabled=true,serviceMonitor.labels.release=prometheus"],
        &["ServiceMonitor"],
    ),
    ("no metrics", &["--set-string", "manager.config.metrics.bindAddress=0"], &[]),
    (
        "other names",
        &[
            "--set",
            "fullnameOverride=trainer,nameOverride=trainer,manager.config.leaderElection.resourceName=other",
        ],
        &[],
    ),
    ("a Lease elsewhere", &["--set", "manager.config.leaderElection.resourceNamespace=default"], &[]),
    ("an upgrade", &["--is-upgrade", "--set", "runtimes.defaultEnabled=true"], &[]),
];

#[tokio::test]
async fn the_api_server_takes_every_object_of_every_variant() {
    let control_plane = control_plane();
    let client = control_plane.client(ADMIN).await.expect("makes a client");
    _ = control_plane.namespace(&client, NAMESPACE).await;
    for (name, flags, unserved) in VARIANTS {
        let objects = template(flags).unwrap_or_else(|error| panic!("{name}: {error}"));
        configuration_is_read(name, &objects);
        let kinds: BTreeSet<&str> = objects.iter().filter_map(|it| it["kind"].as_str()).collect();
        assert!(unserved.iter().all(|kind| kinds.contains(kind)), "{name}: {kinds:?}");
        for object in objects.iter().filter(|it| !unserved.iter().any(|kind| it["kind"] == *kind)) {
            let tried = try_out(&client, object).await;
            tried.unwrap_or_else(|error| {
                panic!("{name}: {} {}: {}", object["kind"], object["metadata"]["name"], chain(&error))
            });
        }
    }
}

/// The controller has nothing against the configuration: without it, what it misses is the cluster.
fn configuration_is_read(variant: &str, objects: &[Value]) {
    // The chart of JobSet has a file of that name, too.
    let mut texts = objects.iter().filter_map(|it| it["data"]["controller_manager_config.yaml"].as_str());
    let text =
        texts.find(|text| text.contains("config.trainer.kubeflow.org")).expect("there is a configuration");
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}.yaml", variant.replace(' ', "-")));
    std::fs::write(&path, text).expect("writes");
    let mut command = Command::new(env!("CARGO_BIN_EXE_trainmaster"));
    command.args(["controller", "--kubeconfig", "/nonexistent", "--config"]).arg(&path);
    let said = String::from_utf8(command.output().expect("runs").stderr).expect("is text");
    assert!(said.contains("error: cannot read the kubeconfig"), "{variant}: {said}");
}

/// Applies an object without storing it, unknown fields being errors.
async fn try_out(client: &Client, object: &Value) -> Result<(), kube::Error> {
    let api = api(client, object).await?;
    let params = PatchParams {
        field_validation: Some(ValidationDirective::Strict),
        dry_run: true,
        ..PatchParams::apply("test").force()
    };
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    api.patch(name, &params, &Patch::Apply(object)).await.map(drop)
}

async fn api(client: &Client, object: &Value) -> Result<Api<DynamicObject>, kube::Error> {
    let text = |field: &str| object[field].as_str().unwrap_or_default();
    let (group, version) = text("apiVersion").split_once('/').unwrap_or(("", text("apiVersion")));
    let gvk = GroupVersionKind::gvk(group, version, text("kind"));
    let (resource, _) = kube::discovery::pinned_kind(client, &gvk).await?;
    Ok(match object["metadata"]["namespace"].as_str() {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    })
}

/// The chart's objects as plain manifests, in the order in which they are to be applied.
fn plain_manifests() -> String {
    let flags = ["--is-upgrade", "--set", "crds.enabled=false,jobset.install=false"];
    let mut text = "# Made from the chart; do not edit. `make manifests` makes it again.\n".to_owned();
    for mut object in template(&flags).unwrap_or_else(|error| panic!("{error}")) {
        let labels = object["metadata"]["labels"].as_object_mut().expect("every object has labels");
        labels.retain(|label, _| label != "helm.sh/chart" && label != "app.kubernetes.io/managed-by");
        text += "---\n";
        text += &yaml::emit(&object);
    }
    text
}

#[test]
fn plain_manifests_are_those_of_the_chart() {
    let path = repository("charts/kustomize/manager.yaml");
    let wanted = plain_manifests();
    if std::env::var_os("UPDATE_GOLDENS").is_some() {
        std::fs::write(&path, &wanted).expect("writes");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == wanted, "{} is out of date: make manifests", path.display());
}

#[tokio::test]
async fn the_api_server_takes_what_kustomize_makes() {
    let client = control_plane().client(ADMIN).await.expect("makes a client");
    _ = control_plane().namespace(&client, NAMESPACE).await;
    for folder in ["charts/kustomize", "charts/trainmaster/runtimes"] {
        let Ok(output) = Command::new("kubectl").arg("kustomize").arg(repository(folder)).output() else {
            return println!("SKIPPED: what kustomize makes of {folder}: there is no kubectl");
        };
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).expect("kubectl prints text");
        let documents: Vec<Value> = serde_saphyr::from_multiple(&text).expect("kubectl prints YAML");
        for object in &documents {
            let tried = try_out(&client, object).await;
            tried.unwrap_or_else(|error| {
                panic!("{} {}: {}", object["kind"], object["metadata"]["name"], chain(&error))
            });
        }
        assert!(documents.len() > 10, "{folder}");
    }
}

#[test]
fn values_that_there_are_not_are_refused_and_those_of_upstream_taken() {
    let error = template(&["--set", "manager.replica=2"]).expect_err("there is no such value");
    assert!(error.contains("'replica'"), "{error}");
    let error =
        template(&["--set", "dataCache.enabled=true"]).expect_err("LeaderWorkerSet is not in the chart");
    assert!(error.contains("LeaderWorkerSet"), "{error}");
    let upstream = CHARTS.upstream.join("values.yaml").display().to_string();
    let objects = template(&["--values", &upstream]).unwrap_or_else(|error| panic!("{error}"));
    configuration_is_read("values of upstream", &objects);
}

/// What must not change when a release of upstream's chart becomes one of ours.
async fn identities(client: &Client) -> Vec<(String, Option<String>)> {
    let of = async |group: &str, version: &str, kind: &str, namespace: &str, name: &str| {
        let found = objects(client, namespace, group, version, kind).get(name).await;
        let found = found.unwrap_or_else(|error| panic!("{kind} {name}: {}", chain(&error)));
        (format!("{kind} {name}"), found.metadata.uid)
    };
    let crd = async |name: &str| {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(
            "apiextensions.k8s.io",
            "v1",
            "CustomResourceDefinition",
        ));
        let crds: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
        (
            name.to_owned(),
            crds.get(name).await.unwrap_or_else(|error| panic!("{name}: {}", chain(&error))).metadata.uid,
        )
    };
    vec![
        crd("trainjobs.trainer.kubeflow.org").await,
        crd("trainingruntimes.trainer.kubeflow.org").await,
        crd("clustertrainingruntimes.trainer.kubeflow.org").await,
        crd("jobsets.jobset.x-k8s.io").await,
        of("apps", "v1", "Deployment", NAMESPACE, MANAGER).await,
        of("apps", "v1", "Deployment", NAMESPACE, "jobset-controller").await,
        of("", "v1", "Service", NAMESPACE, MANAGER).await,
        of("", "v1", "Secret", NAMESPACE, "kubeflow-trainer-webhook-cert").await,
        of(GROUP, VERSION, "TrainJob", "default", "old").await,
    ]
}

/// The image of the controller, and its configuration as the pods see it.
async fn deployed(client: &Client) -> String {
    let deployment =
        objects(client, NAMESPACE, "apps", "v1", "Deployment").get(MANAGER).await.expect("is there");
    let containers = &deployment.data["spec"]["template"]["spec"]["containers"];
    assert_eq!(containers.as_array().map(Vec::len), Some(1), "{containers}");
    containers[0]["image"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn a_release_of_upstream_becomes_one_of_ours_and_goes_back() {
    let options = Options { crds: Vec::new(), jobset: false, ..Options::default() };
    let control_plane = ControlPlane::start(&options).unwrap_or_else(|error| panic!("{}", chain(&error)));
    let client = control_plane.client(ADMIN).await.expect("makes a client");
    let run = |arguments: &[&str]| {
        let all = [arguments, &["--namespace", NAMESPACE]].concat();
        helm(Some(&control_plane), &all).unwrap_or_else(|error| panic!("{arguments:?}: {error}"))
    };
    let (ours, upstream) = (CHARTS.ours.display().to_string(), CHARTS.upstream.display().to_string());
    // Nobody answers webhooks here: no program runs in the pods.
    let set = "webhook.failurePolicy=Ignore,runtimes.torchDistributed.enabled=true,manager.nodeSelector.pool=system";
    run(&["install", RELEASE, &upstream, "--create-namespace", "--set", set]);
    runtime_of_the_installer(&client).await;
    let job = json!({
        "apiVersion": format!("{GROUP}/{VERSION}"), "kind": "TrainJob", "metadata": { "name": "old" },
        "spec": { "runtimeRef": { "name": "torch-distributed" } },
    });
    objects(&client, "default", GROUP, VERSION, "TrainJob")
        .create(&PostParams::default(), &object(job))
        .await
        .expect("creates");
    let before = identities(&client).await;
    assert!(deployed(&client).await.contains("trainer-controller-manager"));

    run(&["upgrade", RELEASE, &ours, "--reset-then-reuse-values", "--take-ownership", "--force-conflicts"]);
    assert_eq!(identities(&client).await, before);
    assert!(deployed(&client).await.contains("trainmaster"));
    let deployment =
        objects(&client, NAMESPACE, "apps", "v1", "Deployment").get(MANAGER).await.expect("is there");
    let pod = &deployment.data["spec"]["template"]["spec"];
    assert_eq!(pod["nodeSelector"], json!({ "pool": "system" }), "what was set is kept");
    assert_eq!(pod["containers"][0].get("command"), None, "{pod}");

    run(&["rollback", RELEASE, "1", "--force-conflicts"]);
    assert_eq!(identities(&client).await, before);
    assert!(deployed(&client).await.contains("trainer-controller-manager"));
    torch(&client).await.expect("the runtime stays");
}

/// Upstream's chart has a Job apply runtimes; no program runs in its pod here, so this does what it would.
async fn runtime_of_the_installer(client: &Client) {
    let runtimes = cluster_runtimes(client);
    let runtime: Value = serde_saphyr::from_str(
        &std::fs::read_to_string(repository("charts/trainmaster/runtimes/torch-distributed.yaml"))
            .expect("is there"),
    )
    .expect("is YAML");
    let params = PatchParams::apply("kubectl").force();
    runtimes.patch("torch-distributed", &params, &Patch::Apply(&runtime)).await.expect("applies");
}

fn cluster_runtimes(client: &Client) -> Api<DynamicObject> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(GROUP, VERSION, "ClusterTrainingRuntime"));
    Api::all_with(client.clone(), &resource)
}

async fn torch(client: &Client) -> Result<DynamicObject, kube::Error> {
    cluster_runtimes(client).get("torch-distributed").await
}

#[tokio::test]
async fn it_is_installed_upgraded_and_uninstalled_and_what_users_made_stays() {
    let options = Options { crds: Vec::new(), jobset: false, ..Options::default() };
    let control_plane = ControlPlane::start(&options).unwrap_or_else(|error| panic!("{}", chain(&error)));
    let client = control_plane.client(ADMIN).await.expect("makes a client");
    let run = |arguments: &[&str]| {
        let all = [arguments, &["--namespace", NAMESPACE]].concat();
        helm(Some(&control_plane), &all).unwrap_or_else(|error| panic!("{arguments:?}: {error}"))
    };
    let ours = CHARTS.ours.display().to_string();
    run(&[
        "install",
        RELEASE,
        &ours,
        "--create-namespace",
        "--wait",
        "--set",
        "runtimes.torchDistributed.enabled=true",
    ]);
    let uid = torch(&client).await.expect("the runtime is there").metadata.uid;
    let pods = objects(&client, NAMESPACE, "", "v1", "Pod");
    eventually("the controller's pod runs", async || {
        let pods = pods
            .list(&kube::api::ListParams::default().labels("app.kubernetes.io/component=manager"))
            .await
            .ok()?;
        pods.items.iter().any(|pod| pod.data["status"]["phase"] == "Running").then_some(())
    })
    .await;
    run(&[
        "upgrade",
        RELEASE,
        &ours,
        "--reset-then-reuse-values",
        "--set",
        "manager.replicas=2,runtimes.jaxDistributed.enabled=true",
    ]);
    assert_eq!(torch(&client).await.expect("the runtime is there").metadata.uid, uid);
    cluster_runtimes(&client).get("jax-distributed").await.expect("the further runtime is there");
    run(&["uninstall", RELEASE]);
    torch(&client).await.expect("the runtime stays");
    let deployments = objects(&client, NAMESPACE, "apps", "v1", "Deployment");
    assert!(deployments.get_opt(MANAGER).await.expect("answers").is_none());
}

/// Runs the controller as the Deployment says, under the roles of the chart.
#[tokio::test]
async fn what_is_installed_runs_with_its_configuration_its_policies_and_its_rights() {
    let options = Options { audited: vec![rights::account()], ..api_server() };
    let options = Options { manifests: Vec::new(), ..options };
    let control_plane = ControlPlane::start(&options).unwrap_or_else(|error| panic!("{}", chain(&error)));
    let client = control_plane.client(ADMIN).await.expect("makes a client");
    let policy = repository("conformance/cli/rbac/policies/gangs.yaml").display().to_string();
    let rules = helm_values(&policy, control_plane.folder());
    // Nobody resolves the name of the Service here, so nobody asks the webhooks.
    let set = "jobset.install=false,webhook.failurePolicy=Ignore";
    let file = format!("policies.files.gangs\\.yaml={policy}");
    let ours = CHARTS.ours.display().to_string();
    let arguments = [
        "install",
        RELEASE,
        &ours,
        "--namespace",
        NAMESPACE,
        "--create-namespace",
        "--set",
        set,
        "--set-string",
        "manager.config.metrics.bindAddress=0",
        "--set-file",
        &file,
        "--values",
        &rules,
    ];
    helm(Some(&control_plane), &arguments).unwrap_or_else(|error| panic!("{error}"));
    let runtimes =
        manifests::read(&repository("charts/trainmaster/runtimes/torch-distributed.yaml")).expect("is YAML");
    eventually("the CRDs are served", async || manifests::apply(&client, &runtimes).await.ok()).await;
    rights::write_kubeconfig(&control_plane, &client).await;
    let mut command = as_deployed(&client, control_plane.folder()).await;
    command.arg("--kubeconfig").arg(control_plane.kubeconfig(CONTROLLER));
    command.args(["--webhook-bind-address", "127.0.0.1:0", "--health-bind-address", "127.0.0.1:0"]);
    let process =
        control_plane.run("trainmaster", command).unwrap_or_else(|error| panic!("{}", chain(&error)));
    let log = process.log().to_owned();
    let jobs = objects(&client, "default", GROUP, VERSION, "TrainJob");
    let job = json!({
        "apiVersion": format!("{GROUP}/{VERSION}"), "kind": "TrainJob", "metadata": { "name": "one" },
        "spec": { "runtimeRef": { "name": "torch-distributed" } },
    });
    jobs.create(&PostParams::default(), &object(job)).await.expect("creates");
    let job_sets = objects(&client, "default", "jobset.x-k8s.io", "v1alpha2", "JobSet");
    // The policy makes a kind that is not served, so the TrainJob says that; without the policy, the JobSet would be there.
    let blocked = async || jobs.get("one").await.ok().filter(|job| condition(job, "Blocked") == Some("True"));
    let blocked = eventually("the policy serves", blocked).await;
    assert!(blocked.data["status"].to_string().contains("example.com/v1 Gang"), "{:?}", blocked.data);
    assert!(job_sets.get_opt("one").await.expect("answers").is_none());
    let text = std::fs::read_to_string(&log).expect("has a log");
    assert!(!text.contains("\"level\":\"ERROR\""), "{text}");
    let asked = control_plane.audit().requests(&rights::account(), Mark::default()).expect("reads the log");
    assert!(!asked.is_empty());
    let refused: Vec<_> = asked.iter().filter(|request| request.status == 403).collect();
    assert!(refused.is_empty(), "{refused:#?}");
}

/// What `trainmaster rbac` prints as values for a policy, as a file in `folder`.
fn helm_values(policy: &str, folder: &Path) -> String {
    let program = env!("CARGO_BIN_EXE_trainmaster");
    let output =
        Command::new(program).args(["rbac", "--policy-dir", policy, "-o", "values"]).output().expect("runs");
    let path = folder.join("rights.yaml");
    std::fs::write(&path, output.stdout).expect("writes");
    path.display().to_string()
}

/// The command of the Deployment's container, with its ConfigMaps as folders below `folder`.
async fn as_deployed(client: &Client, folder: &Path) -> Command {
    let deployment =
        objects(client, NAMESPACE, "apps", "v1", "Deployment").get(MANAGER).await.expect("is there");
    let pod = &deployment.data["spec"]["template"]["spec"];
    let mut places: Vec<(String, String)> = Vec::new();
    for volume in pod["volumes"].as_array().expect("has volumes") {
        let name = volume["configMap"]["name"].as_str().expect("is of a ConfigMap");
        let map = objects(client, NAMESPACE, "", "v1", "ConfigMap").get(name).await.expect("is there");
        let place = folder.join(name);
        std::fs::create_dir_all(&place).expect("makes a folder");
        for (file, text) in map.data["data"].as_object().into_iter().flatten() {
            std::fs::write(place.join(file), text.as_str().unwrap_or_default()).expect("writes");
        }
        let mounts = pod["containers"][0]["volumeMounts"].as_array().into_iter().flatten();
        let mount = mounts.clone().find(|mount| mount["name"] == volume["name"]).expect("is mounted");
        places
            .push((mount["mountPath"].as_str().unwrap_or_default().to_owned(), place.display().to_string()));
    }
    // The longest first: one path may begin with another.
    places.sort_by_key(|(path, _)| std::cmp::Reverse(path.len()));
    let mut command = Command::new(env!("CARGO_BIN_EXE_trainmaster"));
    for argument in pod["containers"][0]["args"].as_array().expect("has arguments") {
        let mut argument = argument.as_str().unwrap_or_default().to_owned();
        if let Some((path, place)) = places.iter().find(|(path, _)| argument.contains(path.as_str())) {
            argument = argument.replace(path.as_str(), place);
        }
        command.arg(argument);
    }
    command
}
