//! TrainJobs and runtimes that no one should write, and that someone will: each is answered, none harms another.
//!
//! Nobody runs JobSets here: one of them asks for two thousand million Jobs.

use std::fs;

use k8s_openapi::api::core::v1::Namespace as CoreNamespace;
use kube::api::{Api, DeleteParams, DynamicObject, PostParams};
use serde_json::{Value, json};

use super::policies::Folder;
use super::support::{Cluster, Namespace, api_server, message, runtime, settle, train_job};
use crate::support::{chain, condition, eventually, object};

/// The most resident memory that all of it may cost, in bytes. A build without optimisation begins with 25 MiB.
const PEAK: u64 = 96 << 20;

/// What becomes of a TrainJob.
enum Fate {
    /// It is blocked, and this is among the reasons.
    Blocked(&'static str),
    /// It has its JobSet.
    Runs,
}
use Fate::{Blocked, Runs};

struct Poison {
    name: &'static str,
    runtime: fn(&mut Value),
    job: fn(&mut Value),
    fate: Fate,
}

impl Poison {
    /// The runtime and the TrainJob.
    fn objects(&self) -> (Value, Value) {
        let (mut runtime, mut job) = (runtime(self.name), train_job(self.name));
        (self.runtime)(&mut runtime);
        job["spec"]["runtimeRef"]["name"] = json!(self.name);
        (self.job)(&mut job);
        (runtime, job)
    }
}

const MOST: i32 = i32::MAX;

fn job_template(runtime: &mut Value) -> &mut Value {
    &mut runtime["spec"]["template"]["spec"]["replicatedJobs"][0]
}

fn pod(runtime: &mut Value) -> &mut Value {
    &mut job_template(runtime)["template"]["spec"]["template"]["spec"]
}

/// A launcher before the nodes, to which it is the trainer.
fn mpi(runtime: &mut Value) {
    runtime["spec"]["mlPolicy"]["mpi"] = json!({ "mpiImplementation": "OpenMPI" });
    let jobs = &mut runtime["spec"]["template"]["spec"]["replicatedJobs"];
    let mut launcher = jobs[0].clone();
    launcher["name"] = json!("launcher");
    jobs[0]["template"]["metadata"] = json!({});
    jobs.as_array_mut().expect("is a list").insert(0, launcher);
}

fn requests(runtime: &mut Value, cpu: &str) {
    pod(runtime)["containers"][0]["resources"] = json!({ "requests": { "cpu": cpu } });
    runtime["spec"]["podGroupPolicy"] = json!({ "coscheduling": {} });
}

fn poisons() -> Vec<Poison> {
    let poison = |name, runtime, job, fate| Poison { name, runtime, job, fate };
    vec![
        poison(
            "nodes-of-a-host-file",
            mpi,
            |job| job["spec"]["trainer"] = json!({ "numNodes": MOST }),
            Blocked("host file of more than 1 MiB"),
        ),
        poison(
            "replicas-of-a-host-file",
            |it| {
                mpi(it);
                it["spec"]["template"]["spec"]["replicatedJobs"][1]["replicas"] = json!(MOST);
            },
            |_| {},
            Blocked("host file of more than 1 MiB"),
        ),
        poison("replicas", |it| job_template(it)["replicas"] = json!(MOST), |_| {}, Runs),
        poison(
            "replicas-of-another",
            |it| {
                let mut other = job_template(it).clone();
                other["name"] = json!("other");
                other["replicas"] = json!(MOST);
                other["template"]["metadata"] = json!({});
                let jobs = &mut it["spec"]["template"]["spec"]["replicatedJobs"];
                jobs.as_array_mut().expect("is a list").push(other);
            },
            |_| {},
            Runs,
        ),
        poison(
            "nodes",
            |it| it["spec"]["mlPolicy"]["torch"] = json!({}),
            |job| job["spec"]["trainer"] = json!({ "numNodes": MOST }),
            Runs,
        ),
        poison(
            "gang-of-all-nodes",
            |it| requests(it, "9223372036854775807"),
            |job| job["spec"]["trainer"] = json!({ "numNodes": MOST }),
            Runs,
        ),
        poison(
            "flux-without-trainer",
            |it| {
                it["spec"]["mlPolicy"]["flux"] = json!({});
                job_template(it)["template"]["metadata"] = json!({});
            },
            |_| {},
            Runs,
        ),
        poison(
            "nameless-pull-secret",
            |it| pod(it)["imagePullSecrets"] = json!([{}]),
            |job| {
                let pod = json!({ "imagePullSecrets": [{}] });
                let jobs =
                    json!([{ "name": "node", "template": { "spec": { "template": { "spec": pod } } } }]);
                let patch = json!({ "template": { "spec": { "replicatedJobs": jobs } } });
                job["spec"]["runtimePatches"] =
                    json!([{ "manager": "example.com/poison", "trainingRuntimeSpec": patch }]);
            },
            Runs,
        ),
        poison("amount-that-is-none", |it| requests(it, "1e1.5"), |_| {}, Blocked("1e1.5")),
        poison("amount-without-end", |it| requests(it, "1e999999999"), |_| {}, Blocked("1e999999999")),
        poison(
            "runtime-of-a-megabyte",
            |it| pod(it)["containers"][0]["args"] = json!(vec!["x".repeat(1000); 1040]),
            |_| {},
            Blocked("ConfigMap poison/runtime-of-a-megabyte-runtime-snapshot"),
        ),
        poison(
            "deadline-without-end",
            |_| {},
            |job| job["spec"]["activeDeadlineSeconds"] = json!(i64::MAX),
            Runs,
        ),
    ]
}

/// A field of /proc/ID/status in bytes.
fn memory(id: u32, field: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{id}/status")).expect("the process runs");
    let line = status.lines().find_map(|line| line.strip_prefix(field)).expect("has memory");
    let kibibytes: u64 =
        line.trim_matches([':', ' ', '\t']).trim_end_matches(" kB").parse().expect("a number");
    kibibytes << 10
}

async fn is_as_fated(namespace: &Namespace, poison: &Poison) {
    let name = poison.name;
    match poison.fate {
        Runs => {
            namespace.job_set(name).await;
            let job = namespace.train_jobs().get(name).await.expect("is there");
            assert_eq!(condition(&job, "Blocked"), None, "{name}: {}", message(&job, "Blocked"));
        }
        Blocked(why) => {
            let said = message(&namespace.once_is(name, "Blocked").await, "Blocked");
            assert!(said.contains(why), "{name}: {said}");
        }
    }
}

#[tokio::test]
async fn poison_is_answered_memory_stays_flat_and_others_go_on() {
    let mut cluster = Cluster::start(&api_server()).await;
    let namespace = cluster.namespace("poison").await;
    namespace.create_runtime("plain", |_| {}).await;
    namespace.create_job("before", |_| {}).await;
    namespace.job_set("before").await;
    let process = cluster.controller().id();
    println!("resident before: {} KiB", memory(process, "VmRSS") >> 10);
    let poisons = poisons();
    for poison in &poisons {
        let (runtime, job) = poison.objects();
        namespace.create(&namespace.runtimes(), runtime).await;
        namespace.create(&namespace.train_jobs(), job).await;
    }
    namespace.create_job("after", |_| {}).await;
    namespace.job_set("after").await;
    for poison in &poisons {
        is_as_fated(&namespace, poison).await;
    }
    let first = memory(process, "VmRSS");
    // Looked at again and again, it costs no more.
    for round in 0..3 {
        for poison in &poisons {
            let labels = json!({ "metadata": { "labels": { "round": round.to_string() } } });
            namespace.merge(&namespace.train_jobs(), poison.name, &labels).await;
        }
        settle().await;
    }
    let mark = cluster.mark();
    settle().await;
    let requests = cluster.requests(mark).len();
    let (last, peak) = (memory(process, "VmRSS"), memory(process, "VmHWM"));
    println!(
        "resident with all: {} KiB, in the end {} KiB, at most {} KiB",
        first >> 10,
        last >> 10,
        peak >> 10
    );
    println!("requests while nothing changes: {requests}");
    assert!(peak < PEAK, "{peak} bytes");
    assert!(last < first + (16 << 20), "{first} bytes, then {last}");
    assert!(requests <= poisons.len() * 2, "{requests} requests in 3 s while nothing changes");
    let log = cluster.log();
    assert!(!log.contains("panic"), "{log}");
    namespace.create_job("in-the-end", |_| {}).await;
    namespace.job_set("in-the-end").await;
}

/// Creates an object; returns why it was refused.
async fn refusal(api: &Api<DynamicObject>, value: Value) -> Option<String> {
    match api.create(&PostParams::default(), &object(value)).await {
        Ok(_) => None,
        Err(kube::Error::Api(status)) if (400..500).contains(&status.code) => Some(status.message),
        Err(error) => panic!("{}", chain(&error)),
    }
}

#[tokio::test]
async fn with_webhooks_poison_is_refused_with_its_reason_or_becomes_of_it_what_did_without() {
    let mut cluster = super::admission::start(&api_server()).await;
    let namespace = cluster.namespace("poison").await;
    for poison in poisons() {
        let (runtime, job) = poison.objects();
        let refused = match refusal(&namespace.runtimes(), runtime).await {
            None => refusal(&namespace.train_jobs(), job).await,
            refused => refused,
        };
        println!("{}: {}", poison.name, refused.as_deref().unwrap_or("accepted"));
        match (&poison.fate, refused) {
            (_, None) => is_as_fated(&namespace, &poison).await,
            (Blocked(why), Some(said)) => assert!(said.contains(why), "{}: {said}", poison.name),
            // Without webhooks it is put right; with them its author hears of it.
            (Runs, Some(said)) => assert!(said.contains(": Invalid value: "), "{}: {said}", poison.name),
        }
    }
    namespace.create_runtime("plain", |_| {}).await;
    namespace.create_job("after", |_| {}).await;
    namespace.job_set("after").await;
    let peak = memory(cluster.controller().id(), "VmHWM");
    println!("resident at most {} KiB", peak >> 10);
    assert!(peak < PEAK, "{peak} bytes");
    assert!(!cluster.log().contains("panic"));
}

/// What a JobSet's controller should never say.
#[tokio::test]
async fn a_job_set_status_that_no_schema_takes_blocks_nothing_else() {
    let cluster = Cluster::start(&api_server()).await;
    let namespace = cluster.namespace("statuses").await;
    namespace.create_runtime("plain", |_| {}).await;
    let odd = |name: &str, ready: i32| json!({ "name": name, "ready": ready, "active": 0, "succeeded": 0, "failed": 0, "suspended": 0 });
    let many: Vec<Value> = (0..120).map(|number| odd(&format!("job-{number}"), 1)).collect();
    let statuses = [("negative", vec![odd("node", -3)]), ("nameless", vec![odd("", 1)]), ("many", many)];
    let completed = json!([{
        "type": "Completed", "status": "True", "reason": "AllJobsCompleted", "message": "jobset completed successfully",
        "lastTransitionTime": "2030-01-01T00:00:00Z",
    }]);
    for (name, jobs) in &statuses {
        namespace.create_job(name, |_| {}).await;
        namespace.job_set(name).await;
        namespace
            .job_set_status(name, &json!({ "replicatedJobsStatus": jobs, "conditions": completed }))
            .await;
    }
    for (name, _) in &statuses {
        namespace.once_is(name, "Complete").await;
    }
    assert!(!cluster.log().contains("panic"));
}

/// A policy whose parameter a ConfigMap sets.
const GREETING: &str = r#"apiVersion: policy.trainmaster.dev/v1alpha1
kind: TrainingPolicy
metadata: {name: greeting}
spec:
  version: 1.0.0
  language: "1"
  params:
    schema: {greeting: 'string | default="hello" maxLength=8'}
    configMap: {name: greetings, namespace: parameters, optional: true}
  mutations:
  - name: greeting
    phase: ml
    podSets: {ancestor: trainer}
    containers: {name: node}
    upsert:
      env: [{name: GREETING, value: "${params.greeting}"}]
"#;

#[tokio::test]
async fn parameters_of_a_config_map_that_changes_reach_suspended_trainjobs_and_wrong_ones_block_them() {
    let folder = Folder::new("parameters");
    folder.write("greeting.yaml", GREETING);
    let flags = ["--policy-dir", folder.0.to_str().expect("a path in UTF-8")];
    let mut cluster = Cluster::without_controller(&api_server()).with_flags(flags);
    cluster.start_controller().await;
    let namespace = cluster.namespace("parameters").await;
    namespace.create_runtime("plain", |_| {}).await;
    namespace.create_job("greets", |it| it["spec"]["suspend"] = json!(true)).await;
    let greets = async |greeting: &str| {
        let wanted = json!([{ "name": "GREETING", "value": greeting }]);
        let has = |set: &DynamicObject| {
            let jobs = &set.data["spec"]["replicatedJobs"];
            jobs[0]["template"]["spec"]["template"]["spec"]["containers"][0]["env"] == wanted
        };
        namespace.once(&format!("says {greeting}"), &namespace.job_sets(), "greets", has).await;
    };
    greets("hello").await;
    let maps = namespace.config_maps();
    let map = |greeting: &str| json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "greetings" }, "data": { "greeting": greeting } });
    namespace.create(&maps, map("hallo")).await;
    greets("hallo").await;
    namespace.merge(&maps, "greetings", &json!({ "data": { "greeting": "much too long" } })).await;
    let said = message(&namespace.once_is("greets", "Blocked").await, "Blocked");
    assert!(said.contains("greeting"), "{said}");
    namespace.merge(&maps, "greetings", &json!({ "data": { "greeting": "salut" } })).await;
    greets("salut").await;
    namespace.once_is_not("greets", "Blocked").await;
    namespace.delete(&maps, "greetings").await;
    greets("hello").await;
}

#[tokio::test]
async fn a_namespace_that_is_going_away_is_left_in_peace() {
    // Nobody empties namespaces here: this one goes on going away.
    let cluster = Cluster::start(&api_server()).await;
    let namespace = cluster.namespace("going").await;
    let runtimes = crate::support::cluster_objects(&namespace.client, "ClusterTrainingRuntime");
    namespace
        .create_job("late", |it| {
            it["spec"]["runtimeRef"] = json!({ "name": "late", "kind": "ClusterTrainingRuntime" });
        })
        .await;
    namespace.once_is("late", "Blocked").await;
    let namespaces: Api<CoreNamespace> = Api::all(namespace.client.clone());
    namespaces.delete("going", &DeleteParams::default()).await.expect("is deleted");
    let mut late = runtime("late");
    late["kind"] = json!("ClusterTrainingRuntime");
    let mark = cluster.mark();
    runtimes.create(&PostParams::default(), &object(late)).await.expect("is created");
    eventually("the children are refused", async || {
        cluster.requests(mark).iter().any(|it| it.status == 403).then_some(())
    })
    .await;
    settle().await;
    let requests = cluster.requests(mark);
    assert!(requests.len() < 10, "{requests:?}");
    assert_eq!(namespace.events("late").await.len(), 1, "only what was wrong before");
    let other = cluster.namespace("staying").await;
    other.create_runtime("plain", |_| {}).await;
    other.create_job("other", |_| {}).await;
    other.job_set("other").await;
}

#[tokio::test]
async fn a_namespace_is_emptied_with_trainjobs_in_it() {
    let cluster = Cluster::shared().await;
    let namespace = cluster.namespace("emptied").await;
    namespace.create_runtime("plain", super::support::endless).await;
    for number in 0..5 {
        namespace.create_job(&format!("job-{number}"), |_| {}).await;
    }
    for number in 0..5 {
        namespace.job_set(&format!("job-{number}")).await;
    }
    let namespaces: Api<CoreNamespace> = Api::all(namespace.client.clone());
    namespaces.delete("emptied", &DeleteParams::default()).await.expect("is deleted");
    eventually("the namespace is gone", async || {
        namespaces.get_opt("emptied").await.expect("answers").is_none().then_some(())
    })
    .await;
    assert!(!cluster.log().contains("panic"));
}
