//! TrainJobs from their creation to their end.

use serde_json::{Value, json};

use super::support::{Cluster, everything};
use crate::support::condition;

#[tokio::test]
async fn torch_and_plain_jobs_become_complete_and_all_counters_are_told() {
    let cluster = Cluster::start(&everything()).await;
    let namespace = cluster.namespace("complete").await;
    namespace.create_runtime("plain", |_| {}).await;
    namespace.create_runtime("torch", |it| it["spec"]["mlPolicy"]["torch"] = json!({})).await;
    namespace.create_job("plain", |_| {}).await;
    namespace
        .create_job("torch", |it| {
            it["spec"]["runtimeRef"]["name"] = json!("torch");
            it["spec"]["trainer"] = json!({ "numNodes": 2 });
        })
        .await;
    for (name, pods) in [("plain", 1), ("torch", 2)] {
        let running = |job: &kube::api::DynamicObject| job.data["status"]["jobsStatus"][0]["active"] == json!(1);
        namespace.once("runs", &namespace.train_jobs(), name, running).await;
        let job = namespace.once_is(name, "Complete").await;
        assert_eq!(condition(&job, "Blocked"), None);
        let expected = json!([{ "name": "node", "ready": 0, "succeeded": 1, "failed": 0, "active": 0, "suspended": 0 }]);
        let told = |job: &kube::api::DynamicObject| job.data["status"]["jobsStatus"] == expected;
        namespace.once("tells its counters", &namespace.train_jobs(), name, told).await;
        let set = namespace.job_set(name).await;
        let parallelism: &Value = &set.data["spec"]["replicatedJobs"][0]["template"]["spec"]["parallelism"];
        assert_eq!(parallelism, &json!(pods));
    }
}
