//! TrainJobs from their creation to their end.

use kube::api::DynamicObject;
use serde_json::{Value, json};

use super::support::{Cluster, endless};
use crate::support::condition;

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
