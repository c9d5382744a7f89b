//! The controller as its service account, granted what `trainmaster rbac` prints and nothing else.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::Client;
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};
use trainmaster::api::{GROUP, VERSION};

use super::serving_client::request;
use super::support::{Cluster, Namespace, WEBHOOKS, endless, train_job};
use crate::support::{chain, eventually, everything, object, objects};
use crate::testbed::audit::{Mark, Request};
use crate::testbed::{CONTROLLER, ControlPlane, Options, manifests, users};

const NAMESPACE: &str = "kubeflow-system";
const ACCOUNT: &str = "kubeflow-trainer-controller-manager";

/// What is granted and what none of these TrainJobs makes the controller ask for.
const UNUSED: &[&str] = &[
    // What an admission plug-in of the API server asks in the controller's name.
    "update trainjobs.trainer.kubeflow.org/finalizers",
    // Read where an object was made by another process and only its metadata are known, and where a name is taken.
    "get jobsets.jobset.x-k8s.io",
    "get configmaps",
    "get podgroups.scheduling.volcano.sh",
    "get podgroups.scheduling.x-k8s.io",
    "get secrets",
    "get services",
    // Gangs of kube-scheduler, which the API server does not serve by default.
    "create podgroups.scheduling.k8s.io",
    "create workloads.scheduling.k8s.io",
    "get podgroups.scheduling.k8s.io",
    "get workloads.scheduling.k8s.io",
    "list podgroups.scheduling.k8s.io",
    "list workloads.scheduling.k8s.io",
    "patch podgroups.scheduling.k8s.io",
    "patch workloads.scheduling.k8s.io",
    "watch podgroups.scheduling.k8s.io",
    "watch workloads.scheduling.k8s.io",
];

/// The controller's service account, as the API server calls it.
pub(crate) fn account() -> String {
    format!("system:serviceaccount:{NAMESPACE}:{ACCOUNT}")
}

#[tokio::test]
async fn train_jobs_of_all_kinds_end_well_under_exactly_the_rules_that_are_printed() {
    let account = account();
    let options = Options {
        audited: vec![account.clone()],
        admission_plugins: vec!["OwnerReferencesPermissionEnforcement"],
        ..everything()
    };
    let mut cluster = Cluster::without_controller(&options).with_flags([
        WEBHOOKS,
        "127.0.0.1:0",
        "--leader-elect",
        "--feature-gates=TrainJobStatus=true",
        "--status-bind-address=127.0.0.1:0",
    ]);
    let client = cluster.client().await;
    cluster.namespace(NAMESPACE).await;
    let granted = grant(&client).await;
    become_the_account(&cluster, &client).await;
    apply_webhooks(&client).await;
    apply_runtimes(&client).await;
    cluster.start_controller().await;
    let namespace = cluster.namespace("rights").await;
    run(&namespace).await;
    ask_servers(&cluster, &client).await;
    let asked = cluster.control_plane.audit().requests(&account, Mark::default()).expect("reads the log");
    let refused: Vec<&Request> = asked.iter().filter(|request| request.status == 403).collect();
    assert!(refused.is_empty(), "{refused:#?}");
    let used: BTreeSet<String> = asked.iter().flat_map(verbs).collect();
    let unused: BTreeSet<&str> = granted.difference(&used).map(String::as_str).collect();
    assert_eq!(unused, UNUSED.iter().copied().collect(), "granted, and never asked for");
}

/// The Secret and the webhook configurations that an installation has. They are asked about nothing: nobody resolves the
/// name of the Service here.
async fn apply_webhooks(client: &Client) {
    let mut objects = manifests::read(&repository("charts/kustomize/manager.yaml")).expect("is YAML");
    objects.retain(|it| it["kind"] == "Secret" || it["webhooks"].is_array());
    let configurations = objects.iter_mut().filter(|it| it["webhooks"].is_array());
    for webhook in configurations.filter_map(|it| it["webhooks"].as_array_mut()).flatten() {
        webhook["rules"][0]["apiGroups"] = json!(["nobody.example.dev"]);
    }
    assert_eq!(objects.len(), 3, "{objects:#?}");
    manifests::apply(client, &objects).await.unwrap_or_else(|error| panic!("{}", chain(&error)));
}

/// Asks the webhooks, as the API server does, about TrainJobs whose runtimes are not known: they are looked for. And tells of
/// progress, with a token that is looked at.
async fn ask_servers(cluster: &Cluster, client: &Client) {
    let gvk = GroupVersionKind::gvk("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration");
    let configurations: Api<DynamicObject> = Api::all_with(client.clone(), &ApiResource::from_gvk(&gvk));
    let configuration = configurations.get("validator.trainer.kubeflow.org").await.expect("is there");
    let bundle = configuration.data["webhooks"][0]["clientConfig"]["caBundle"].as_str().expect("is injected");
    let bundle = STANDARD.decode(bundle).expect("is base64");
    let address = cluster.address("webhooks").await;
    for kind in ["TrainingRuntime", "ClusterTrainingRuntime"] {
        let mut job = train_job("asked");
        job["metadata"]["namespace"] = json!("rights");
        job["spec"]["runtimeRef"] = json!({ "name": "unknown", "kind": kind, "apiGroup": GROUP });
        let review = json!({
            "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
            "request": {
                "uid": "1", "operation": "CREATE", "namespace": "rights", "name": "asked", "object": job,
                "kind": { "group": GROUP, "version": VERSION, "kind": "TrainJob" },
                "resource": { "group": GROUP, "version": VERSION, "resource": "trainjobs" },
                "userInfo": {}, "options": null, "oldObject": null, "dryRun": false,
            },
        });
        let head = "POST /validate-trainer-kubeflow-org-v1alpha1-trainjob HTTP/1.1\r\nContent-Type: application/json";
        let answer = request(&bundle, &address, head, review.to_string().as_bytes()).await.expect("answers");
        assert!(answer.status == 200 && answer.body.contains("\"allowed\":false"), "{answer:?}");
    }
    let path = format!("/apis/{GROUP}/{VERSION}/namespaces/rights/trainjobs/late/status");
    let head =
        format!("POST {path} HTTP/1.1\r\nAuthorization: Bearer none\r\nContent-Type: application/json");
    let address = cluster.address("progress").await;
    let answer = request(&bundle, &address, &head, b"{}").await.expect("answers");
    assert_eq!(answer.status, 403, "{answer:?}");
}

/// The shipped runtimes, one of them as upstream before v2.3 left it, and one of another MPI.
async fn apply_runtimes(client: &Client) {
    let folders = ["charts/trainmaster/runtimes", "examples/mpi-intel/runtime.yaml"].map(repository);
    let mut runtimes = manifests::read_all(&folders).expect("are YAML");
    runtimes[0]["metadata"]["finalizers"] = json!(["trainer.kubeflow.org/resource-in-use"]);
    manifests::apply(client, &runtimes).await.unwrap_or_else(|error| panic!("{}", chain(&error)));
}

/// TrainJobs of several frameworks to their end, gangs, one that runs too long, one without a runtime, and a runtime that
/// upstream left.
async fn run(namespace: &Namespace) {
    let shipped =
        ["torch-distributed", "deepspeed-distributed", "mpi-intel", "jax-distributed", "xgboost-distributed"];
    for runtime in shipped {
        namespace
            .create_job(runtime, |it| {
                it["spec"]["runtimeRef"] = json!({ "name": runtime, "kind": "ClusterTrainingRuntime" });
            })
            .await;
    }
    for gang in ["coscheduling", "volcano"] {
        namespace.create_runtime(gang, |it| it["spec"]["podGroupPolicy"] = json!({ gang: {} })).await;
        namespace.create_job(gang, |it| it["spec"]["runtimeRef"]["name"] = json!(gang)).await;
    }
    namespace.create_runtime("plain", endless).await;
    namespace.create_job("late", |it| it["spec"]["activeDeadlineSeconds"] = json!(10)).await;
    namespace.job_set("late").await;
    namespace.create_job("none", |it| it["spec"]["runtimeRef"]["name"] = json!("none")).await;
    namespace
        .create_runtime("kept", |it| {
            it["metadata"]["finalizers"] = json!(["trainer.kubeflow.org/resource-in-use"]);
        })
        .await;
    for name in shipped.into_iter().chain(["coscheduling", "volcano"]) {
        namespace.once_is(name, "Complete").await;
    }
    namespace.once_is("late", "Failed").await;
    namespace.once_is("none", "Blocked").await;
    namespace.once("is let go", &namespace.runtimes(), "kept", |it| it.metadata.finalizers.is_none()).await;
    again(namespace).await;
}

/// A problem that is told again counts in its Event.
async fn again(namespace: &Namespace) {
    let nothing = Patch::Merge(json!({ "status": null }));
    let patched = namespace.train_jobs().patch_status("none", &PatchParams::default(), &nothing).await;
    patched.unwrap_or_else(|error| panic!("{}", chain(&error)));
    namespace.merge(&namespace.train_jobs(), "none", &json!({ "spec": { "suspend": true } })).await;
    let counted =
        async || namespace.events("none").await.iter().any(|it| it.data["count"] == 2).then_some(());
    eventually("the Event counts two", counted).await;
}

/// The verbs that RBAC was asked for; applying an object that is not there is creating it, too.
fn verbs(request: &Request) -> Vec<String> {
    let created = request.verb == "patch" && request.status == 201;
    let verbs = [Some(request.verb.as_str()), created.then_some("create")];
    verbs.into_iter().flatten().map(|verb| format!("{verb} {}", request.resource)).collect()
}

/// Applies what `trainmaster rbac` prints; returns it as `VERB RESOURCE` each.
async fn grant(client: &Client) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_trainmaster")).args(["rbac", "-o", "json"]).output();
    let list: Value = serde_json::from_slice(&output.expect("runs").stdout).expect("is JSON");
    let printed = list["items"].as_array().expect("is a List");
    let applied = manifests::apply(client, printed).await;
    applied.unwrap_or_else(|error| panic!("{}", chain(&error)));
    let rules = printed.iter().filter_map(|it| it["rules"].as_array()).flatten();
    rules.flat_map(flat).collect()
}

fn flat(rule: &Value) -> Vec<String> {
    let texts = |field: &str| -> Vec<String> {
        let values = rule[field].as_array().into_iter().flatten();
        values.filter_map(|it| it.as_str().map(str::to_owned)).collect()
    };
    let mut flat = Vec::new();
    for group in texts("apiGroups") {
        for resource in texts("resources") {
            let (plural, sub) = resource.split_once('/').map_or((&*resource, None), |(a, b)| (a, Some(b)));
            let group = if group.is_empty() { String::new() } else { format!(".{group}") };
            let sub = sub.map(|sub| format!("/{sub}")).unwrap_or_default();
            flat.extend(texts("verbs").iter().map(|verb| format!("{verb} {plural}{group}{sub}")));
        }
    }
    flat
}

/// Makes the controller's service account and lets its kubeconfig be the controller's.
async fn become_the_account(cluster: &Cluster, client: &Client) {
    let accounts = objects(client, NAMESPACE, "", "v1", "ServiceAccount");
    let account = json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": ACCOUNT } });
    accounts.create(&PostParams::default(), &object(account)).await.expect("creates the account");
    write_kubeconfig(&cluster.control_plane, client).await;
}

/// Puts the kubeconfig of the controller's service account in the place of the controller's.
pub(crate) async fn write_kubeconfig(control_plane: &ControlPlane, client: &Client) {
    let accounts = objects(client, NAMESPACE, "", "v1", "ServiceAccount");
    let request = json!({
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "metadata": {}, "spec": { "audiences": null },
    });
    let params = PostParams::default();
    let token = accounts.create_subresource::<Value, Value>("token", ACCOUNT, &params, &request).await;
    let token = token.expect("gives a token");
    let token = token["status"]["token"].as_str().expect("is a token");
    let path = control_plane.kubeconfig(CONTROLLER);
    let written =
        users::write_kubeconfig(&path, control_plane.server(), &control_plane.authority(), ACCOUNT, token);
    written.expect("writes the kubeconfig");
}

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}
