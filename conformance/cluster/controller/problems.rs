//! What keeps a TrainJob from running is said, in its status and in an Event, and no longer when it is cured.

use serde_json::json;

use super::support::{Cluster, Namespace, api_server, message, runtime};

/// The one Event about the TrainJob, which says what its condition says.
async fn one_event(namespace: &Namespace, name: &str, said: &str) {
    let events = crate::support::eventually("there is an Event", async || {
        let events = namespace.events(name).await;
        (!events.is_empty()).then_some(events)
    })
    .await;
    assert_eq!(events.len(), 1, "{events:?}");
    let event = &events[0].data;
    assert_eq!(event["reason"], "TrainJobResourcesCreationFailed");
    assert_eq!(event["type"], "Warning");
    assert_eq!(event["source"]["component"], "trainer-trainjob-controller");
    assert_eq!(event["reportingComponent"], "trainer-trainjob-controller");
    assert!(event["firstTimestamp"].is_string() && event["lastTimestamp"].is_string(), "{event}");
    assert_eq!(event["message"], format!("TrainJob resources reconciliation failed: {said}"));
}

#[tokio::test]
async fn a_missing_runtime_blocks_until_it_is_created() {
    let cluster = Cluster::shared().await;
    let namespace = cluster.namespace("missing").await;
    namespace.create_job("waits", |_| {}).await;
    let said = message(&namespace.once_is("waits", "Blocked").await, "Blocked");
    assert!(said.contains("TrainingRuntime missing/plain is not there"), "{said}");
    one_event(&namespace, "waits", &said).await;
    namespace.create_runtime("plain", |_| {}).await;
    namespace.job_set("waits").await;
    namespace.once_is_not("waits", "Blocked").await;
}

#[tokio::test]
async fn a_runtime_created_together_with_its_trainjob_is_no_problem() {
    let cluster = Cluster::start(&api_server()).await;
    let namespace = cluster.namespace("together").await;
    let mark = cluster.mark();
    namespace.create_job("quick", |_| {}).await;
    namespace.create_runtime("plain", |_| {}).await;
    namespace.job_set("quick").await;
    let statuses = cluster.writes(mark).into_iter().filter(|it| it.resource.ends_with("/status"));
    assert_eq!(statuses.count(), 0);
}

#[tokio::test]
async fn a_job_set_of_somebody_else_blocks_and_is_left_alone() {
    let cluster = Cluster::shared().await;
    let namespace = cluster.namespace("foreign").await;
    namespace.create_runtime("plain", |_| {}).await;
    let mut theirs = runtime("none")["spec"]["template"]["spec"]["replicatedJobs"][0].clone();
    theirs["replicas"] = json!(1);
    let theirs = json!({
        "apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": { "name": "taken" },
        "spec": { "suspend": true, "replicatedJobs": [theirs] },
    });
    namespace.create(&namespace.job_sets(), theirs).await;
    let settled = |it: &kube::api::DynamicObject| it.data["status"]["conditions"].is_array();
    let before = namespace.once("is suspended", &namespace.job_sets(), "taken", settled).await;
    namespace.create_job("taken", |_| {}).await;
    let said = message(&namespace.once_is("taken", "Blocked").await, "Blocked");
    assert!(said.contains("JobSet foreign/taken exists and does not belong to this TrainJob"), "{said}");
    one_event(&namespace, "taken", &said).await;
    let after = namespace.job_set("taken").await;
    assert_eq!((&after.data["spec"], &after.metadata.owner_references), (&before.data["spec"], &None));
    namespace.delete(&namespace.job_sets(), "taken").await;
    namespace
        .once("is ours", &namespace.job_sets(), "taken", |it| it.metadata.owner_references.is_some())
        .await;
    namespace.once_is_not("taken", "Blocked").await;
}

#[tokio::test]
async fn a_child_that_the_api_server_refuses_blocks_with_its_words() {
    let cluster = Cluster::shared().await;
    let namespace = cluster.namespace("refused").await;
    // Labels of the JobSet, which nobody looks at before the API server does.
    let metadata = json!({ "labels": { "team": "not a label" } });
    namespace.create_runtime("plain", |it| it["spec"]["template"]["metadata"] = metadata).await;
    namespace.create_job("refused", |_| {}).await;
    let said = message(&namespace.once_is("refused", "Blocked").await, "Blocked");
    assert!(said.starts_with("JobSet refused/refused: "), "{said}");
    assert!(said.contains("metadata.labels: Invalid value: \"not a label\""), "{said}");
    one_event(&namespace, "refused", &said).await;
    // What comes before the JobSet is there, and stays.
    let snapshot = namespace.config_maps().get("refused-runtime-snapshot").await;
    assert!(snapshot.is_ok(), "{snapshot:?}");
}

#[tokio::test]
async fn a_reserved_variable_blocks_and_the_policy_rule_is_named() {
    let cluster = Cluster::shared().await;
    let namespace = cluster.namespace("reserved").await;
    namespace.create_runtime("plain", |it| it["spec"]["mlPolicy"]["torch"] = json!({})).await;
    let env = json!([{ "name": "PET_NNODES", "value": "7" }]);
    namespace.create_job("reserved", |it| it["spec"]["trainer"] = json!({ "env": env })).await;
    let said = message(&namespace.once_is("reserved", "Blocked").await, "Blocked");
    assert!(said.contains("PET_NNODES"), "{said}");
    one_event(&namespace, "reserved", &said).await;
}

#[tokio::test]
async fn a_finalizer_of_earlier_versions_does_not_keep_a_runtime() {
    let cluster = Cluster::shared().await;
    let namespace = cluster.namespace("finalizer").await;
    let finalizers = json!(["example.com/theirs", "trainer.kubeflow.org/resource-in-use"]);
    namespace.create_runtime("plain", |it| it["metadata"]["finalizers"] = finalizers).await;
    let only_theirs = |it: &kube::api::DynamicObject| {
        it.metadata.finalizers.as_deref() == Some(&["example.com/theirs".to_owned()])
    };
    namespace.once("is released", &namespace.runtimes(), "plain", only_theirs).await;
}
