//! A cluster passes from upstream's controller to this one, and back: `make takeover`.
//!
//! Upstream's v2.3 runs TrainJobs of all frameworks in all states. It stops and ours starts: no object that belongs to
//! them may be written, unless a defect is cured that [`CURED`] names; then half of them go on to their end. Ours
//! stops and upstream's starts again: no object may be written either, and the other half goes on to its end.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use kube::api::{Api, DynamicObject, ListParams};
use serde_json::{Value, json};

use crate::controller::support::{Cluster, Namespace, settle};
use crate::support::{condition, everything, objects};
use crate::testbed::peer::PEER;
use crate::testbed::{Options, User, manifests};

/// What taking over writes, and why: kind, end of the name, reason.
const CURED: [(&str, &str, &str); 2] = [
    (
        "ConfigMap",
        "-flux-entrypoint",
        "B-13: upstream's script loses where words of the command begin and end",
    ),
    (
        "JobSet",
        "tune-resumed",
        "upstream drops what the JobSet webhook filled in, is refused, and never resumes it",
    ),
];
/// What upstream's controller may never bring into its state, as [`CURED`] says.
const STUCK: [&str; 1] = ["tune-resumed"];
/// What giving back writes.
const UNDONE: [(&str, &str, &str); 1] =
    [("ConfigMap", "-flux-entrypoint", "upstream writes its own script again")];

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
    changed.sort();
    changed.dedup();
    for name in changed.iter().filter(|name| is_listed(name)) {
        let why = listed.iter().find(|(_, end, _)| name.ends_with(end)).map(|it| it.2);
        println!("written: {name}: {}", why.unwrap_or_default());
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

/// Whether a TrainJob is as its state says: one that runs has all pods that will ever be there.
fn is(job: &DynamicObject, state: &str) -> bool {
    let condition = |kind| condition(job, kind) == Some("True");
    let jobs = job.data["status"]["jobsStatus"].as_array().cloned().unwrap_or_default();
    let active = |name: &str| jobs.iter().any(|job| job["name"] == name && job["active"] == json!(1));
    match state {
        "complete" => condition("Complete"),
        "failed" => condition("Failed"),
        "suspended" => condition("Suspended") && !jobs.is_empty(),
        _ if jobs.iter().any(|job| job["name"] == "launcher") => active("launcher"),
        _ => active("node"),
    }
}

async fn is_in(namespace: &Namespace, name: &str, state: &str) {
    let what = format!("is {state}");
    namespace.once(&what, &namespace.train_jobs(), name, |job| is(job, state)).await;
}

/// Returns when every TrainJob is in its state; says of those that never are what their JobSets say.
/// `but` are not waited for.
async fn all_are_in_theirs(namespace: &Namespace, but: &[&str]) {
    let mut missing = Vec::new();
    for _ in 0..120 {
        let jobs = namespace.train_jobs().list(&ListParams::default()).await.expect("lists").items;
        let found = |name: &str| jobs.iter().find(|job| job.metadata.name.as_deref() == Some(name));
        missing = all().map(|(framework, state)| (format!("{framework}-{state}"), state)).collect();
        missing.retain(|(name, _)| !but.contains(&name.as_str()));
        missing.retain(|(name, state)| !found(name).is_some_and(|job| is(job, state)));
        if missing.is_empty() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    for (name, _) in &missing {
        let set = namespace.job_sets().get_opt(name).await.ok().flatten();
        println!("{name}: {:#}", set.map(|set| set.data["status"].clone()).unwrap_or_default());
        let job = namespace.train_jobs().get(name).await.expect("is there");
        println!("{:#}", job.data["status"]);
    }
    panic!("not as they should be: {missing:?}");
}

/// Lets a TrainJob run to its end.
async fn goes_on(namespace: &Namespace, framework: &str, state: &str) {
    let name = format!("{framework}-{state}");
    if state == "suspended" {
        namespace.merge(&namespace.train_jobs(), &name, &json!({ "spec": { "suspend": false } })).await;
        is_in(namespace, &name, "running").await;
    }
    if matches!(state, "running" | "suspended" | "resumed") {
        namespace.end_pods(&name).await;
        is_in(namespace, &name, "complete").await;
    } else {
        is_in(namespace, &name, state).await;
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
        is_in(&namespace, &name, "suspended").await;
        namespace.merge(&jobs, &name, &json!({ "spec": { "suspend": false } })).await;
    }
    all_are_in_theirs(&namespace, &STUCK).await;
    let before = at_rest(&namespace).await;
    println!("upstream's controller runs {} TrainJobs with {} objects", all().count(), before.len());

    assert!(peer.terminate().is_ok(), "ends");
    drop(peer);
    cluster.start_controller().await;
    let after = at_rest(&namespace).await;
    compare(&before, &after, &CURED);
    all_are_in_theirs(&namespace, &[]).await;
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
        is_in(&namespace, &format!("{framework}-{state}"), end).await;
    }
    drop(peer);
    println!("given back, and the other half gone on to its end");
}
