//! TrainJobs from their creation to their end.

use kube::api::{DynamicObject, ListParams};
use serde_json::{Value, json};

use super::support::{Cluster, api_server, endless, message, settle};
use crate::support::{condition, eventually};

#[tokio::test]
async fn torch_and_plain_jobs_become_complete_and_all_counters_are_told() {
    let cluster = Cluster::shared().await;
    let namespace = cluster.namespace("complete").await;
    namespace.create_runtime("plain", endless).await;
    namespace
        .create_runtime("torch", |it| {
            endless(it);
            it["spec"]["mlPolicy"]["torch"] = json!({});
        })
        .await;
    namespace.create_job("plain", |_| {}).await;
    namespace
        .create_job("torch", |it| {
            it["spec"]["runtimeRef"]["name"] = json!("torch");
            it["spec"]["trainer"] = json!({ "numNodes": 2 });
        })
        .await;
    for (name, pods) in [("plain", 1), ("torch", 2)] {
        let counters = |ready: u32, active: u32, succeeded: u32| {
            let counters = json!({
                "name": "node", "ready": ready, "succeeded": succeeded, "failed": 0, "active": active, "suspended": 0,
            });
            move |job: &DynamicObject| job.data["status"]["jobsStatus"] == json!([counters])
        };
        let job = namespace.once("runs", &namespace.train_jobs(), name, counters(1, 1, 0)).await;
        assert_eq!(job.data["status"].get("conditions"), None, "the SDK takes such a TrainJob to run");
        namespace.end_pods(name).await;
        let job = namespace.once_is(name, "Complete").await;
        assert_eq!(condition(&job, "Blocked"), None);
        namespace.once("tells its counters", &namespace.train_jobs(), name, counters(0, 0, 1)).await;
        let set = namespace.job_set(name).await;
        let parallelism: &Value = &set.data["spec"]["replicatedJobs"][0]["template"]["spec"]["parallelism"];
        assert_eq!(parallelism, &json!(pods));
    }
}

#[tokio::test]
async fn a_suspended_trainjob_is_put_right_and_a_running_one_is_left_alone() {
    let cluster = Cluster::shared().await;
    let namespace = cluster.namespace("drift").await;
    namespace.create_runtime("plain", endless).await;
    let gang = json!({ "coscheduling": {} });
    namespace
        .create_runtime("gang", |it| {
            endless(it);
            it["spec"]["podGroupPolicy"] = gang;
        })
        .await;
    let on_gang = |it: &mut Value| {
        it["spec"]["runtimeRef"]["name"] = json!("gang");
        it["spec"]["suspend"] = json!(true);
    };
    namespace.create_job("drift", on_gang).await;
    namespace.once_is("drift", "Suspended").await;
    let sets = namespace.job_sets();
    let groups = namespace.pod_groups();
    namespace.job_set("drift").await;

    // Edited and deleted while suspended: put right.
    namespace.merge(&groups, "drift", &json!({ "spec": { "minMember": 9 } })).await;
    namespace.once("is put right", &groups, "drift", |it| it.data["spec"]["minMember"] == json!(1)).await;
    let uid = namespace.job_set("drift").await.metadata.uid;
    namespace.delete(&sets, "drift").await;
    namespace.once("is there again", &sets, "drift", |it| it.metadata.uid != uid).await;

    // Resumed: it runs; edited while running: left alone; deleted while running: made again.
    namespace.merge(&namespace.train_jobs(), "drift", &json!({ "spec": { "suspend": false } })).await;
    let runs = |it: &DynamicObject| it.data["status"]["replicatedJobsStatus"][0]["active"] == json!(1);
    namespace.once("runs", &sets, "drift", runs).await;
    let resumed = |it: &DynamicObject| condition(it, "Suspended") == Some("False");
    namespace.once("is resumed", &namespace.train_jobs(), "drift", resumed).await;
    namespace.merge(&groups, "drift", &json!({ "spec": { "minMember": 9 } })).await;
    namespace.merge(&sets, "drift", &json!({ "metadata": { "labels": { "touched": "yes" } } })).await;
    settle().await;
    assert_eq!(groups.get("drift").await.expect("is there").data["spec"]["minMember"], json!(9));
    let uid = namespace.job_set("drift").await.metadata.uid;
    namespace.delete(&sets, "drift").await;
    namespace.once("is there again", &sets, "drift", |it| it.metadata.uid != uid).await;
    namespace.once("runs again", &sets, "drift", runs).await;

    // Suspended again: its pods go.
    namespace.merge(&namespace.train_jobs(), "drift", &json!({ "spec": { "suspend": true } })).await;
    namespace.once_is("drift", "Suspended").await;
    let still = |it: &DynamicObject| it.data["status"]["replicatedJobsStatus"][0]["suspended"] == json!(1);
    namespace.once("is suspended", &sets, "drift", still).await;
}

#[tokio::test]
async fn a_finished_trainjob_gets_no_second_jobset() {
    let cluster = Cluster::shared().await;
    let namespace = cluster.namespace("finished").await;
    namespace.create_runtime("plain", |_| {}).await;
    namespace.create_job("once", |_| {}).await;
    let before = namespace.once_is("once", "Complete").await;
    namespace.delete(&namespace.job_sets(), "once").await;
    namespace
        .merge(&namespace.train_jobs(), "once", &json!({ "metadata": { "labels": { "touched": "yes" } } }))
        .await;
    settle().await;
    assert!(namespace.job_sets().get_opt("once").await.expect("answers").is_none());
    let after = namespace.train_jobs().get("once").await.expect("is there");
    assert_eq!(after.data["status"]["conditions"], before.data["status"]["conditions"]);
}

#[tokio::test]
async fn what_a_jobset_said_before_it_was_deleted_is_heard() {
    const TOTAL: usize = 40;
    let cluster = Cluster::start(&api_server()).await;
    let namespace = cluster.namespace("last-words").await;
    namespace.create_runtime("plain", |_| {}).await;
    let names: Vec<String> = (0..TOTAL).map(|number| format!("job-{number}")).collect();
    for name in &names {
        namespace.create_job(name, |_| {}).await;
    }
    let completed = json!({ "conditions": [{
        "type": "Completed", "status": "True", "reason": "AllJobsCompleted", "message": "jobset completed successfully",
        "lastTransitionTime": "2030-01-01T00:00:00Z",
    }], "restarts": 0, "restartsCountTowardsMax": 0 });
    for name in &names {
        namespace.job_set(name).await;
        namespace.job_set_status(name, &completed).await;
        namespace.delete(&namespace.job_sets(), name).await;
    }
    for name in &names {
        namespace.once_is(name, "Complete").await;
    }
    let left = namespace.job_sets().list(&ListParams::default()).await.expect("lists JobSets").items;
    assert_eq!(left.len(), 0, "none is made again");
}

#[tokio::test]
async fn a_deadline_ends_the_pods_and_fails_the_trainjob() {
    let cluster = Cluster::shared().await;
    let namespace = cluster.namespace("deadline").await;
    namespace.create_runtime("plain", endless).await;
    namespace.create_job("late", |it| it["spec"]["activeDeadlineSeconds"] = json!(4)).await;
    namespace.job_set("late").await;
    let job = namespace.once_is("late", "Failed").await;
    assert_eq!(message(&job, "Failed"), "TrainJob exceeded its active deadline");
    let gone = async || namespace.job_sets().get_opt("late").await.expect("answers").is_none().then_some(());
    eventually("the JobSet is gone", gone).await;
}

#[tokio::test]
async fn a_trainjob_of_another_controller_is_not_touched() {
    let cluster = Cluster::shared().await;
    let namespace = cluster.namespace("multikueue").await;
    namespace.create_runtime("plain", |_| {}).await;
    namespace.create_job("theirs", |it| it["spec"]["managedBy"] = json!("kueue.x-k8s.io/multikueue")).await;
    namespace.create_job("ours", |_| {}).await;
    namespace.once_is("ours", "Complete").await;
    let theirs = namespace.train_jobs().get("theirs").await.expect("is there");
    assert_eq!(theirs.data.get("status"), None);
    assert!(namespace.job_sets().get_opt("theirs").await.expect("answers").is_none());
}

#[tokio::test]
async fn a_trainjob_made_again_under_its_name_runs_once_the_old_children_are_gone() {
    let cluster = Cluster::shared().await;
    let namespace = cluster.namespace("again").await;
    namespace.create_runtime("plain", |_| {}).await;
    namespace.create_job("again", |_| {}).await;
    let first = namespace.once_is("again", "Complete").await;
    namespace.delete(&namespace.train_jobs(), "again").await;
    namespace.create_job("again", |_| {}).await;
    let second = namespace
        .once("is Complete again", &namespace.train_jobs(), "again", |it| {
            it.metadata.uid != first.metadata.uid && condition(it, "Complete") == Some("True")
        })
        .await;
    let owner = |uid: Option<String>| {
        move |it: &DynamicObject| {
            it.metadata.owner_references.iter().flatten().any(|owner| Some(&owner.uid) == uid.as_ref())
        }
    };
    namespace.once("is the new one's", &namespace.job_sets(), "again", owner(second.metadata.uid)).await;
    assert_eq!(namespace.events("again").await.len(), 0, "what passes by itself is not told");
}

#[tokio::test]
async fn deleting_a_trainjob_takes_everything_along() {
    let cluster = Cluster::shared().await;
    let namespace = cluster.namespace("deletion").await;
    namespace.create_runtime("plain", endless).await;
    namespace.create_job("goes", |_| {}).await;
    namespace.job_set("goes").await;
    namespace.delete(&namespace.train_jobs(), "goes").await;
    for api in [namespace.train_jobs(), namespace.job_sets()] {
        let gone = async || api.get_opt("goes").await.expect("answers").is_none().then_some(());
        eventually("it is gone", gone).await;
    }
    let snapshot = "goes-runtime-snapshot";
    let gone =
        async || namespace.config_maps().get_opt(snapshot).await.expect("answers").is_none().then_some(());
    eventually("the snapshot is gone", gone).await;
}
