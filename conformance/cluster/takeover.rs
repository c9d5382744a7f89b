//! A cluster passes from upstream's controller to this one, and back: `make takeover`.
//!
//! Upstream's v2.3 runs TrainJobs of all frameworks in all states. It stops and ours starts: no object that belongs to
//! them may be written, unless a defect is cured that [`CURED`] names; then half of them go on to their end. Ours
//! stops and upstream's starts again: no object may be written either, and the other half goes on to its end.

use std::collections::BTreeMap;
use std::path::Path;

use kube::api::{Api, DynamicObject, ListParams};
use serde_json::{Value, json};

use crate::controller::support::{Cluster, Namespace, settle};
use crate::support::{condition, everything, objects};
use crate::testbed::peer::PEER;
use crate::testbed::{Options, User, manifests};

/// What taking over writes, and why: kind, end of the name, reason.
const CURED: [(&str, &str, &str); 0] = [];
/// The same on the way back.
const UNDONE: [(&str, &str, &str); 0] = [];

const FRAMEWORKS: [&str; 10] =
    ["torch", "tune", "deepspeed", "mlx", "jax", "xgboost", "flux", "plain", "coscheduling", "volcano"];
const STATES: [&str; 5] = ["running", "suspended", "resumed", "complete", "failed"];

/// The runtime of a framework: one that is shipped, with `change`. Its pods need no scheduler, and a job fails with its
/// first pod.
fn runtime(framework: &str) -> Value {
    let shipped = |file: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("charts/trainmaster/runtimes").join(file);
        let mut objects = manifests::read(&path).expect("a shipped runtime can be read");
        objects.remove(0)
    };
    let bare = |policy: Value| {
        let mut runtime = crate::controller::support::runtime("bare");
        runtime["spec"]["mlPolicy"] = policy;
        runtime
    };
    let mut runtime = match framework {
        "tune" => shipped("torchtune-llama3.2-1b.yaml"),
        "plain" => bare(json!({ "numNodes": 2 })),
        "flux" => bare(json!({ "numNodes": 2, "flux": { "numProcPerNode": 2 } })),
        "coscheduling" | "volcano" => shipped("torch-distributed.yaml"),
        other => shipped(&format!("{other}-distributed.yaml")),
    };
    match framework {
        "coscheduling" => {
            runtime["spec"]["podGroupPolicy"] = json!({ "coscheduling": { "scheduleTimeoutSeconds": 30 } });
        }
        "volcano" => runtime["spec"]["podGroupPolicy"] = json!({ "volcano": {} }),
        _ => {}
    }
    // Torchtune is chosen by the name of the runtime.
    if framework != "tune" {
        runtime["metadata"]["name"] = json!(framework);
    }
    runtime["kind"] = json!("TrainingRuntime");
    for job in jobs(&mut runtime) {
        job["template"]["spec"]["backoffLimit"] = json!(0);
        job["template"]["spec"]["template"]["spec"]["nodeName"] = json!("node-0");
    }
    runtime
}

fn jobs(runtime: &mut Value) -> &mut Vec<Value> {
    let jobs = runtime["spec"]["template"]["spec"]["replicatedJobs"].as_array_mut();
    jobs.expect("a runtime has jobs")
}

/// The TrainJob of a framework whose pods behave as its state wants it.
fn train_job(framework: &str, state: &str) -> Value {
    let mut runtime = runtime(framework);
    let mut job = crate::controller::support::train_job(&format!("{framework}-{state}"));
    job["spec"]["runtimeRef"]["name"] = runtime["metadata"]["name"].clone();
    job["spec"]["trainer"] = json!({ "numNodes": 2, "env": [{ "name": "A", "value": "1" }] });
    if framework == "tune" {
        job["spec"]["trainer"] = json!({ "command": ["tune", "run"], "args": ["epochs=1"] });
        job["spec"]["initializer"] = json!({ "dataset": { "storageUri": "hf://data/set" }, "model": { "storageUri": "hf://a/model" } });
    }
    let phase = match state {
        "complete" => return job,
        "failed" => "Failed",
        _ => "Running",
    };
    let annotations = json!({ "testbed.trainmaster.dev/phase": phase });
    let trainers = jobs(&mut runtime)
        .iter()
        .filter(|it| !it["name"].as_str().is_some_and(|it| it.ends_with("initializer")));
    let patch = |it: &Value| json!({ "name": it["name"], "template": { "spec": { "template": { "metadata": { "annotations": annotations } } } } });
    let patches: Vec<Value> = trainers.map(patch).collect();
    job["spec"]["runtimePatches"] = json!([{
        "manager": "example.com/takeover",
        "trainingRuntimeSpec": { "template": { "spec": { "replicatedJobs": patches } } },
    }]);
    job["spec"]["suspend"] = json!(matches!(state, "suspended" | "resumed"));
    job
}

/// The resourceVersion of each object that a TrainJob may have.
async fn versions(namespace: &Namespace) -> BTreeMap<String, (String, Value)> {
    let kinds = [
        ("jobset.x-k8s.io", "v1alpha2", "JobSet"),
        ("scheduling.x-k8s.io", "v1alpha1", "PodGroup"),
        ("scheduling.volcano.sh", "v1beta1", "PodGroup"),
        ("", "v1", "ConfigMap"),
        ("", "v1", "Secret"),
    ];
    let mut versions = BTreeMap::new();
    for (group, version, kind) in kinds {
        let api = objects(&namespace.client, &namespace.name, group, version, kind);
        for object in api.list(&ListParams::default()).await.expect("lists").items {
            let name = format!("{kind} {}", object.metadata.name.clone().unwrap_or_default());
            let version = object.metadata.resource_version.clone().unwrap_or_default();
            versions.insert(name, (version, serde_json::to_value(object).expect("is JSON")));
        }
    }
    versions
}

/// The objects once nothing has been written for a while.
async fn at_rest(namespace: &Namespace) -> BTreeMap<String, (String, Value)> {
    let mut before = versions(namespace).await;
    for _ in 0..20 {
        settle().await;
        let now = versions(namespace).await;
        if now
            .iter()
            .map(|(name, (version, _))| (name, version))
            .eq(before.iter().map(|(name, (version, _))| (name, version)))
        {
            return now;
        }
        before = now;
    }
    panic!("the objects never come to rest");
}

/// Fails if an object differs that `listed` does not name.
fn compare(
    before: &BTreeMap<String, (String, Value)>,
    after: &BTreeMap<String, (String, Value)>,
    listed: &[(&str, &str, &str)],
) {
    let is_listed = |name: &str| {
        listed
            .iter()
            .any(|(kind, end, _)| name.split_once(' ').is_some_and(|(k, n)| k == *kind && n.ends_with(end)))
    };
    let names = before.keys().chain(after.keys());
    let version =
        |side: &BTreeMap<String, (String, Value)>, name: &str| side.get(name).map(|it| it.0.clone());
    let mut changed: Vec<&String> =
        names.filter(|name| version(before, name) != version(after, name)).collect();
    changed.dedup();
    for name in changed.iter().filter(|name| is_listed(name)) {
        println!("cured: {name}");
    }
    let unlisted: Vec<&&String> = changed.iter().filter(|name| !is_listed(name)).collect();
    let text =
        |side: &BTreeMap<String, (String, Value)>, name: &str| side.get(name).map(|it| format!("{:#}", it.1));
    let shown = unlisted.first().map(|name| (text(before, name), text(after, name)));
    if let Some((before, after)) = shown {
        println!("before: {}\nafter: {}", before.unwrap_or_default(), after.unwrap_or_default());
    }
    assert!(unlisted.is_empty(), "written though nothing had to be: {unlisted:#?}");
}

async fn is_as_it_should_be(namespace: &Namespace, name: &str, state: &str) {
    let jobs = namespace.train_jobs();
    let is = |kind: &'static str, value: &'static str| {
        move |it: &DynamicObject| condition(it, kind) == Some(value)
    };
    match state {
        "complete" => drop(namespace.once("is complete", &jobs, name, is("Complete", "True")).await),
        "failed" => drop(namespace.once("has failed", &jobs, name, is("Failed", "True")).await),
        "suspended" => {
            namespace.once("is suspended", &jobs, name, is("Suspended", "True")).await;
            namespace.job_set(name).await;
        }
        _ => runs(namespace, name).await,
    }
}

/// Returns when all pods of a TrainJob that will ever be there run.
async fn runs(namespace: &Namespace, name: &str) {
    let last = |it: &DynamicObject| {
        let jobs = it.data["status"]["jobsStatus"].as_array().cloned().unwrap_or_default();
        jobs.iter().any(|job| job["name"] == "launcher" && job["active"] == json!(1))
            || jobs.iter().all(|job| job["name"] != "launcher")
                && jobs
                    .iter()
                    .any(|job| job["name"] == "node" && job["active"] == json!(1) && job["ready"] == json!(1))
    };
    namespace.once("runs", &namespace.train_jobs(), name, last).await;
}

/// Lets a TrainJob run to its end.
async fn goes_on(namespace: &Namespace, framework: &str, state: &str) {
    let name = format!("{framework}-{state}");
    if state == "suspended" {
        namespace.merge(&namespace.train_jobs(), &name, &json!({ "spec": { "suspend": false } })).await;
        runs(namespace, &name).await;
    }
    if matches!(state, "running" | "suspended" | "resumed") {
        namespace.end_pods(&name).await;
        is_as_it_should_be(namespace, &name, "complete").await;
    } else {
        is_as_it_should_be(namespace, &name, state).await;
    }
}

fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
    FRAMEWORKS.iter().flat_map(|framework| STATES.iter().map(|state| (*framework, *state)))
}

#[tokio::test]
#[ignore = "takes minutes, and upstream's controller is built for it: make takeover"]
async fn from_upstream_and_back() {
    let mut options: Options = everything();
    options.users.push(User::master(PEER));
    let mut cluster = Cluster::without_controller(&options);
    let mut peer = cluster.control_plane.start_peer().expect("starts upstream's controller");
    let namespace = cluster.namespace("takeover").await;
    for framework in FRAMEWORKS {
        namespace.create(&namespace.runtimes(), runtime(framework)).await;
    }
    let jobs: Api<DynamicObject> = namespace.train_jobs();
    for (framework, state) in all() {
        namespace.create(&jobs, train_job(framework, state)).await;
    }
    for (framework, state) in all().filter(|(_, state)| *state == "resumed") {
        let name = format!("{framework}-{state}");
        is_as_it_should_be(&namespace, &name, "suspended").await;
        namespace.merge(&jobs, &name, &json!({ "spec": { "suspend": false } })).await;
    }
    for (framework, state) in all() {
        is_as_it_should_be(&namespace, &format!("{framework}-{state}"), state).await;
    }
    let before = at_rest(&namespace).await;
    println!("upstream's controller runs {} TrainJobs with {} objects", all().count(), before.len());

    assert!(peer.terminate().is_ok(), "ends");
    drop(peer);
    cluster.start_controller().await;
    let after = at_rest(&namespace).await;
    compare(&before, &after, &CURED);
    for (framework, state) in all() {
        is_as_it_should_be(&namespace, &format!("{framework}-{state}"), state).await;
    }
    let half = |number: usize| all().enumerate().filter(move |(at, _)| at % 2 == number).map(|(_, it)| it);
    for (framework, state) in half(0) {
        goes_on(&namespace, framework, state).await;
    }
    println!("taken over, and half of them gone on to their end");

    let before = at_rest(&namespace).await;
    assert!(cluster.controller().terminate().expect("ends").success());
    let peer = cluster.control_plane.start_peer().expect("starts upstream's controller again");
    let after = at_rest(&namespace).await;
    compare(&before, &after, &UNDONE);
    for (framework, state) in half(1) {
        goes_on(&namespace, framework, state).await;
    }
    // What has ended stays so.
    for (framework, state) in half(0) {
        let end = if state == "failed" { "failed" } else { "complete" };
        is_as_it_should_be(&namespace, &format!("{framework}-{state}"), end).await;
    }
    drop(peer);
    println!("given back, and the other half gone on to its end");
}
