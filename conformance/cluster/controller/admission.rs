//! Webhooks on the API server: what it refuses and warns of by them, what it lets through, what it stores.

use std::fs;
use std::process::Command;

use http::Request;
use http_body_util::BodyExt as _;
use kube::Client;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use super::support::{Cluster, Namespace, api_server, ask, runtime, train_job};
use crate::support::{chain, eventually};
use crate::testbed::{ADMIN, Options};

/// A control plane whose API server asks the controller on it.
async fn shared() -> &'static Cluster {
    static SHARED: OnceCell<Cluster> = OnceCell::const_new();
    SHARED.get_or_init(async || start(&api_server()).await).await
}

/// A control plane whose API server asks the controller on it, ready.
pub(super) async fn start(options: &Options) -> Cluster {
    let cluster = Cluster::without_controller(options);
    let flags = cluster.control_plane.webhook_flags().unwrap_or_else(|error| panic!("{}", chain(&error)));
    let mut cluster = cluster.with_flags(flags.each_ref().map(String::as_str));
    cluster.launch();
    let address = cluster.address("webhooks").await;
    let port = address.rsplit(':').next().and_then(|port| port.parse().ok()).expect("has a port");
    let configured = cluster.control_plane.configure_webhooks(&cluster.client().await, port).await;
    configured.unwrap_or_else(|error| panic!("{}", chain(&error)));
    let health = cluster.address("/healthz and /readyz").await;
    eventually("it is ready", async || (ask(&health, "/readyz") == "HTTP/1.1 200 OK").then_some(())).await;
    cluster
}

/// What the API server answers.
#[derive(Debug)]
struct Answer {
    code: u16,
    body: Value,
    warnings: Vec<String>,
}

impl Answer {
    fn fields(&self) -> Vec<(&str, &str)> {
        let causes = self.body["details"]["causes"].as_array().into_iter().flatten();
        causes.filter_map(|it| Some((it["field"].as_str()?, it["reason"].as_str()?))).collect()
    }
}

async fn send(client: &Client, method: &str, path: &str, kind: &str, body: &Value) -> Answer {
    let request = Request::builder().method(method).uri(path).header("content-type", kind);
    let request = request.body(body.to_string().into_bytes().into()).expect("is a request");
    let answer = client.send(request).await.expect("answers");
    let (head, body) = answer.into_parts();
    let warnings = head.headers.get_all("warning").iter().filter_map(|it| it.to_str().ok());
    let body = body.collect().await.expect("answers").to_bytes();
    Answer {
        code: head.status.as_u16(),
        body: serde_json::from_slice(&body).expect("is JSON"),
        warnings: warnings.map(str::to_owned).collect(),
    }
}

impl Namespace {
    fn path(&self, resource: &str) -> String {
        format!("/apis/trainer.kubeflow.org/v1alpha1/namespaces/{}/{resource}", self.name)
    }

    async fn post(&self, resource: &str, body: &Value) -> Answer {
        send(&self.client, "POST", &self.path(resource), "application/json", body).await
    }

    async fn patch(&self, resource: &str, name: &str, body: &Value) -> Answer {
        let path = format!("{}/{name}", self.path(resource));
        send(&self.client, "PATCH", &path, "application/merge-patch+json", body).await
    }
}

/// A patch of one job's nodes.
fn patch(manager: &str, pool: &str) -> Value {
    let pod =
        json!({ "template": { "spec": { "template": { "spec": { "nodeSelector": { "pool": pool } } } } } });
    let mut job = pod;
    job["name"] = json!("node");
    json!({ "manager": manager, "trainingRuntimeSpec": { "template": { "spec": { "replicatedJobs": [job] } } } })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_names_every_field_with_its_reason() {
    let namespace = shared().await.namespace("admission-refusals").await;
    namespace.create_runtime("torch", |it| it["spec"]["mlPolicy"]["torch"] = json!({})).await;
    let mut job = train_job("bert");
    job["spec"] = json!({
        "runtimeRef": { "name": "torch", "kind": "TrainingRuntime" },
        "trainer": { "env": [{ "name": "PET_NNODES", "value": "2" }] },
        "initializer": { "dataset": { "storageUri": "hf://a/b" } },
        "runtimePatches": [patch("mine", "a")],
    });
    let answer = namespace.post("trainjobs", &job).await;
    assert_eq!((answer.code, &answer.body["reason"]), (403, &json!("Forbidden")));
    let fields = [
        ("spec.runtimeRef", "FieldValueInvalid"),
        ("spec.runtimePatches[0].manager", "FieldValueInvalid"),
        ("spec.trainer.env", "FieldValueInvalid"),
    ];
    assert_eq!(answer.fields(), fields);
    let message = answer.body["message"].as_str().expect("says why");
    let start = "admission webhook \"validator.trainjob.trainer.kubeflow.org\" denied the request: [spec.runtimeRef: ";
    assert!(message.starts_with(start), "{message}");
    for (field, _) in fields {
        assert!(message.contains(&format!("{field}: Invalid value: ")), "{message}");
    }

    let mut unknown = train_job("bert");
    unknown["spec"]["runtimeRef"]["name"] = json!("tosch");
    let answer = namespace.post("trainjobs", &unknown).await;
    assert_eq!((answer.code, answer.fields()), (403, vec![("spec.runtimeRef", "FieldValueInvalid")]));
    let message = answer.body["message"].as_str().expect("says why");
    assert!(message.ends_with("is not there (did you mean `torch`?)"), "{message}");

    let mut long = train_job(&"b".repeat(49));
    long["spec"]["runtimeRef"]["name"] = json!("torch");
    let answer = namespace.post("trainjobs", &long).await;
    assert_eq!((answer.code, answer.fields()), (403, vec![("metadata.name", "FieldValueInvalid")]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_kubectl_prints_has_every_field_and_every_warning() {
    let cluster = shared().await;
    let namespace = cluster.namespace("admission-kubectl").await;
    namespace
        .create_runtime("plain", |it| {
            it["metadata"]["labels"] = json!({ "trainer.kubeflow.org/support": "deprecated" });
        })
        .await;
    let file = cluster.control_plane.folder().join("kubectl.json");
    let apply = |job: &Value| {
        fs::write(&file, job.to_string()).expect("writes");
        let mut command = Command::new("kubectl");
        command.arg("--kubeconfig").arg(cluster.control_plane.kubeconfig(ADMIN));
        command.args(["--namespace", &namespace.name, "apply", "-f"]).arg(&file).output()
    };
    let mut job = train_job("bert");
    job["spec"]["runtimePatches"] = json!([patch("mine", "a"), patch("yours", "b")]);
    let Ok(output) = apply(&job) else {
        return println!("SKIPPED: what kubectl prints: there is no kubectl");
    };
    let said = String::from_utf8(output.stderr).expect("is text");
    assert!(!output.status.success());
    for part in [
        "Warning: spec.runtimeRef: TrainingRuntime admission-kubectl/plain is deprecated",
        "Error from server (Forbidden): ",
        "spec.runtimePatches[0].manager: Invalid value: \"mine\": must be a domain-prefixed path",
        "spec.runtimePatches[1].manager: Invalid value: \"yours\": must be a domain-prefixed path",
    ] {
        assert!(said.contains(part), "{part}\nis not in\n{said}");
    }
    let output = apply(&train_job("bert")).expect("runs");
    let said = String::from_utf8(output.stderr).expect("is text");
    assert!(output.status.success() && said.starts_with("Warning: spec.runtimeRef: "), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_train_job_may_follow_its_runtime_at_once() {
    let namespace = shared().await.namespace("admission-haste").await;
    for round in 0..20 {
        let name = format!("plain-{round}");
        namespace.create_runtime(&name, |_| {}).await;
        let mut job = train_job(&name);
        job["spec"]["runtimeRef"]["name"] = json!(name);
        let answer = namespace.post("trainjobs", &job).await;
        assert_eq!(answer.code, 201, "{answer:?}");
        // One that was put right a moment ago, too.
        let name = format!("torch-{round}");
        let wrong = |it: &mut Value| {
            it["spec"]["mlPolicy"]["torch"] =
                json!({ "envInjection": { "targets": [{ "jobName": "x", "containerNames": ["y"] }] } });
        };
        namespace.create_runtime(&name, wrong).await;
        job["metadata"]["name"] = json!(name);
        job["spec"]["runtimeRef"]["name"] = json!(name);
        if round == 0 {
            assert_eq!(namespace.post("trainjobs", &job).await.code, 403);
        }
        let right = json!({ "spec": { "mlPolicy": { "torch": { "envInjection": null } } } });
        assert_eq!(namespace.patch("trainingruntimes", &name, &right).await.code, 200);
        let answer = namespace.post("trainjobs", &job).await;
        assert_eq!(answer.code, 201, "{answer:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_its_runtime_a_train_job_can_be_changed_and_deleted() {
    let namespace = shared().await.namespace("admission-gone").await;
    namespace.create_runtime("plain", |_| {}).await;
    let mut job = train_job("bert");
    job["metadata"]["finalizers"] = json!(["example.dev/hold"]);
    assert_eq!(namespace.post("trainjobs", &job).await.code, 201);
    let mut foreign = train_job("elsewhere");
    foreign["spec"]["managedBy"] = json!("kueue.x-k8s.io/multikueue");
    assert_eq!(namespace.post("trainjobs", &foreign).await.code, 201);
    namespace.job_set("bert").await;
    namespace.delete(&namespace.runtimes(), "plain").await;
    eventually("the runtime is gone", async || {
        namespace.runtimes().get_opt("plain").await.expect("answers").is_none().then_some(())
    })
    .await;
    // One is pinned to its runtime, the other never was.
    for name in ["bert", "elsewhere"] {
        for change in [
            json!({ "metadata": { "labels": { "a": "b" } } }),
            json!({ "spec": { "suspend": true } }),
            json!({}),
        ] {
            let answer = namespace.patch("trainjobs", name, &change).await;
            assert_eq!(answer.code, 200, "{name} {change}: {answer:?}");
        }
    }
    let status = json!({ "status": { "trainerStatus": { "progressPercentage": 5, "lastUpdatedTime": "2026-01-01T00:00:00Z" } } });
    let path = format!("{}/bert/status", namespace.path("trainjobs"));
    let answer = send(&namespace.client, "PATCH", &path, "application/merge-patch+json", &status).await;
    assert_eq!(answer.code, 200, "{answer:?}");
    namespace.delete(&namespace.train_jobs(), "bert").await;
    namespace.delete(&namespace.train_jobs(), "elsewhere").await;
    let answer = namespace.patch("trainjobs", "bert", &json!({ "metadata": { "finalizers": null } })).await;
    assert_eq!(answer.code, 200, "{answer:?}");
    eventually("it is gone", async || {
        namespace.train_jobs().get_opt("bert").await.expect("answers").is_none().then_some(())
    })
    .await;
    let answer = namespace.post("trainjobs", &train_job("again")).await;
    assert_eq!((answer.code, answer.fields()), (403, vec![("spec.runtimeRef", "FieldValueInvalid")]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn patches_get_their_times_and_nothing_else_changes() {
    let namespace = shared().await.namespace("admission-times").await;
    namespace.create_runtime("plain", |_| {}).await;
    let mut job = train_job("bert");
    job["spec"]["suspend"] = json!(true);
    job["spec"]["trainer"] = json!({
        "args": [], "env": [{ "name": "A" }],
        "resourcesPerNode": { "limits": { "nvidia.com/gpu": 1 }, "requests": { "cpu": "1000m", "memory": "1024Mi" } },
    });
    job["spec"]["runtimePatches"] = json!([patch("example.dev/a", "a")]);
    let created = namespace.post("trainjobs", &job).await;
    assert_eq!(created.code, 201, "{created:?}");
    let times = |answer: &Answer| -> Vec<Value> {
        let patches = answer.body["spec"]["runtimePatches"].as_array().expect("has patches");
        patches.iter().map(|it| it["time"].clone()).collect()
    };
    assert!(times(&created).iter().all(Value::is_string), "{created:?}");
    let mut without = created.body["spec"].clone();
    without["runtimePatches"][0].as_object_mut().expect("is a patch").remove("time");
    for field in ["trainer", "runtimePatches"] {
        assert_eq!(without[field], job["spec"][field]);
    }

    // As a queue does it: its patch comes later, beside what may not change.
    let patches = json!([patch("example.dev/a", "a"), patch("kueue.x-k8s.io/manager", "b")]);
    let change = json!({ "spec": { "suspend": false, "runtimePatches": patches } });
    let resumed = namespace.patch("trainjobs", "bert", &change).await;
    assert_eq!(resumed.code, 200, "{resumed:?}");
    assert_eq!(resumed.body["spec"]["trainer"], job["spec"]["trainer"]);
    assert_eq!(times(&resumed)[0], times(&created)[0]);
    assert!(times(&resumed)[1].is_string());

    // What runs is not changed, and to say the same again is no change.
    let again = namespace.patch("trainjobs", "bert", &change).await;
    assert_eq!((again.code, times(&again)), (200, times(&resumed)), "{again:?}");
    let late = json!({ "spec": { "runtimePatches": [patch("example.dev/a", "c")] } });
    let refused = namespace.patch("trainjobs", "bert", &late).await;
    assert_eq!((refused.code, refused.fields()), (403, vec![("spec.runtimePatches", "FieldValueForbidden")]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_runtime_is_judged_unless_its_label_spares_it() {
    let namespace = shared().await.namespace("admission-runtimes").await;
    let job = "/spec/template/spec/replicatedJobs/0";
    let mut wrong = runtime("wrong");
    *wrong.pointer_mut(job).expect("has a job").get_mut("name").expect("has a name") = json!("node");
    wrong.pointer_mut(job).expect("has a job")["replicas"] = json!(2);
    let refused = namespace.post("trainingruntimes", &wrong).await;
    let field = "spec.template.spec.replicatedJobs[0].replicas";
    assert_eq!((refused.code, refused.fields()), (403, vec![(field, "FieldValueInvalid")]));

    wrong["metadata"]["labels"] = json!({ "trainer.kubeflow.org/webhook-validation": "disabled" });
    assert_eq!(namespace.post("trainingruntimes", &wrong).await.code, 201);
    let label = json!({ "metadata": { "labels": { "trainer.kubeflow.org/webhook-validation": null } } });
    let relabelled = namespace.patch("trainingruntimes", "wrong", &label).await;
    assert_eq!(relabelled.code, 200, "what was wrong before is not held against a change: {relabelled:?}");

    let mut old = runtime("old");
    old["metadata"]["labels"] = json!({ "trainer.kubeflow.org/support": "deprecated" });
    let warned = namespace.post("trainingruntimes", &old).await;
    assert_eq!((warned.code, warned.warnings.len()), (201, 1), "{warned:?}");
    assert!(
        warned.warnings[0].contains("TrainingRuntime admission-runtimes/old is deprecated"),
        "{warned:?}"
    );
}
