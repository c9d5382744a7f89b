//! What happens while the controller is away, and what is taken back from a TrainJob that waits.

use kube::api::DeleteParams;
use serde_json::{Value, json};

use super::support::{Cluster, api_server, settle};
use crate::support::condition;
use crate::testbed::audit::Request;

fn gang(runtime: &mut Value) {
    runtime["spec"]["podGroupPolicy"] = json!({ "coscheduling": { "scheduleTimeoutSeconds": 60 } });
}

#[tokio::test]
async fn what_went_of_a_running_trainjob_while_the_controller_was_away_is_made_again() {
    let mut cluster = Cluster::start(&api_server()).await;
    let namespace = cluster.namespace("away").await;
    namespace.create_runtime("gang", gang).await;
    namespace.create_runtime("edited", gang).await;
    // Times of objects are whole seconds: the runtimes are older than what is pinned.
    tokio::time::sleep(std::time::Duration::from_millis(1100)).await;
    let on =
        |runtime: &'static str| move |job: &mut Value| job["spec"]["runtimeRef"]["name"] = json!(runtime);
    for (name, runtime) in [("whole", "gang"), ("lacks", "gang"), ("pinned", "edited")] {
        namespace.create_job(name, on(runtime)).await;
        namespace.job_set(name).await;
    }
    settle().await;
    cluster.kill_controller();
    // By the runtime as it is now there would be no gang; by the one that the TrainJob is pinned to there is.
    namespace.merge(&namespace.runtimes(), "edited", &json!({ "spec": { "podGroupPolicy": null } })).await;
    for name in ["lacks", "pinned"] {
        let deleted = namespace.pod_groups().delete(name, &DeleteParams::default()).await;
        deleted.expect("deletes");
    }
    let mark = cluster.mark();
    cluster.start_controller().await;
    for name in ["lacks", "pinned"] {
        namespace.once("is there again", &namespace.pod_groups(), name, |_| true).await;
    }
    settle().await;
    let about = |name: &'static str| move |request: &&Request| request.name.starts_with(name);
    let requests = cluster.requests(mark);
    assert_eq!(requests.iter().filter(about("whole")).count(), 0, "{requests:#?}");
    let writes: Vec<&Request> = requests.iter().filter(|it| it.writes()).collect();
    assert_eq!(writes.len(), 2, "{writes:#?}");
}

#[tokio::test]
async fn what_a_queue_gave_a_trainjob_can_be_taken_back() {
    let cluster = Cluster::shared().await;
    let namespace = cluster.namespace("taken-back").await;
    namespace.create_runtime("plain", super::support::endless).await;
    namespace.create_job("queued", |job| job["spec"]["suspend"] = json!(true)).await;
    namespace.once_is("queued", "Suspended").await;
    let patch = json!([{
        "manager": "kueue.x-k8s.io/manager",
        "trainingRuntimeSpec": { "template": { "spec": { "replicatedJobs": [{
            "name": "node",
            "template": { "spec": { "template": {
                "metadata": { "labels": { "flavor": "a" } },
                "spec": { "nodeSelector": { "kubernetes.io/os": "linux" } },
            } } },
        }] } } },
    }]);
    let jobs = namespace.train_jobs();
    let sets = namespace.job_sets();
    let selector = |set: &kube::api::DynamicObject| {
        let job = &set.data["spec"]["replicatedJobs"][0];
        job["template"]["spec"]["template"]["spec"]["nodeSelector"].clone()
    };
    // Admitted, evicted, admitted elsewhere.
    namespace.merge(&jobs, "queued", &json!({ "spec": { "suspend": false, "runtimePatches": patch } })).await;
    namespace.once("is placed", &sets, "queued", |it| selector(it)["kubernetes.io/os"] == "linux").await;
    namespace.merge(&jobs, "queued", &json!({ "spec": { "suspend": true, "runtimePatches": [] } })).await;
    let freed =
        |it: &kube::api::DynamicObject| selector(it).is_null() && it.data["spec"]["suspend"] == json!(true);
    namespace.once("is free again", &sets, "queued", freed).await;
    let suspended = |it: &kube::api::DynamicObject| condition(it, "Suspended") == Some("True");
    let job = namespace.once("waits again", &jobs, "queued", suspended).await;
    assert_eq!(condition(&job, "Blocked"), None);
    namespace.merge(&jobs, "queued", &json!({ "spec": { "suspend": false } })).await;
    let runs =
        |it: &kube::api::DynamicObject| it.data["status"]["replicatedJobsStatus"][0]["active"] == json!(1);
    namespace.once("runs", &sets, "queued", runs).await;
}

#[tokio::test]
async fn a_trainjob_with_volume_claims_that_waited_is_resumed() {
    let cluster = Cluster::shared().await;
    let namespace = cluster.namespace("claims").await;
    let claim = json!({
        "metadata": { "name": "initializer" },
        "spec": { "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } },
    });
    namespace
        .create_runtime("plain", |it| {
            super::support::endless(it);
            let template = &mut it["spec"]["template"]["spec"];
            template["volumeClaimPolicies"] = json!([{ "templates": [claim] }]);
            template["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["nodeName"] = json!("node-0");
            let mounts = json!([{ "name": "initializer", "mountPath": "/workspace" }]);
            template["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["containers"][0]["volumeMounts"] = mounts;
        })
        .await;
    namespace.create_job("held", |job| job["spec"]["suspend"] = json!(true)).await;
    namespace.once_is("held", "Suspended").await;
    namespace.job_set("held").await;
    namespace.merge(&namespace.train_jobs(), "held", &json!({ "spec": { "suspend": false } })).await;
    let set = namespace
        .once("is resumed", &namespace.job_sets(), "held", |it| it.data["spec"]["suspend"] == json!(false))
        .await;
    assert_eq!(set.data["spec"]["volumeClaimPolicies"][0]["templates"][0]["metadata"]["name"], "initializer");
    let job = namespace.train_jobs().get("held").await.expect("is there");
    assert_eq!(condition(&job, "Blocked"), None);
}

#[tokio::test]
async fn trainjobs_that_fail_for_ever_hold_up_nobody_and_tell_it_once() {
    const BAD: usize = 60;
    let cluster = Cluster::start(&api_server()).await;
    let namespace = cluster.namespace("starving").await;
    namespace.create_runtime("plain", |_| {}).await;
    // A label that the API server refuses is refused at every try.
    namespace
        .create_runtime("bad", |it| {
            it["spec"]["template"]["metadata"] = json!({ "labels": { "a": "no label!" } });
        })
        .await;
    for number in 0..BAD {
        let on_bad = |job: &mut Value| job["spec"]["runtimeRef"]["name"] = json!("bad");
        namespace.create_job(&format!("bad-{number}"), on_bad).await;
    }
    namespace.once_is("bad-0", "Blocked").await;
    let began = std::time::Instant::now();
    namespace.create_job("good", |_| {}).await;
    namespace.job_set("good").await;
    println!("a good TrainJob among {BAD} bad ones had its JobSet after {} ms", began.elapsed().as_millis());
    settle().await;
    // Later and later: after some seconds each has been tried a few times, and told of once.
    let tries = cluster.writes(crate::testbed::audit::Mark::default());
    let of_last = tries.iter().filter(|it| it.name == "bad-59" && it.resource.starts_with("jobsets")).count();
    assert!((1..=9).contains(&of_last), "{of_last} tries");
    for name in ["bad-0", "bad-59"] {
        let events = namespace.events(name).await;
        assert_eq!(events.len(), 1, "{events:#?}");
        assert_eq!(events[0].data["count"], json!(1));
    }
}
