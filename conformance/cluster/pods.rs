//! From a `JobSet` to pods that end as their annotations say: the controllers and the fake kubelets work together.

use k8s_openapi::api::core::v1::Pod;
use kube::Client;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::support::{condition, eventually, namespace, object, objects};

const PHASE: &str = "testbed.trainmaster.dev/phase";

/// A `JobSet` of one job with `pods` pods that carry `annotations`.
async fn create_jobset(client: &Client, namespace: &str, pods: u32, annotations: Value) {
    let template = json!({
        "metadata": { "annotations": annotations },
        "spec": { "restartPolicy": "Never", "containers": [{ "name": "main", "image": "none" }] },
    });
    let job = json!({
        "parallelism": pods, "completions": pods, "backoffLimit": 0, "completionMode": "Indexed", "template": template,
    });
    let jobset = object(json!({
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": { "name": "run" },
        "spec": { "replicatedJobs": [{ "name": "node", "replicas": 1, "template": { "spec": job } }] },
    }));
    let jobsets = objects(client, namespace, "jobset.x-k8s.io", "v1alpha2", "JobSet");
    jobsets.create(&PostParams::default(), &jobset).await.expect("creates a JobSet");
}

/// Waits until the `JobSet` has the condition.
async fn ends(client: &Client, namespace: &str, kind: &str) {
    let jobsets = objects(client, namespace, "jobset.x-k8s.io", "v1alpha2", "JobSet");
    eventually(&format!("the JobSet is {kind}"), async || {
        let jobset = jobsets.get("run").await.expect("the JobSet stays");
        (condition(&jobset, kind) == Some("True")).then_some(())
    })
    .await;
}

/// The pods in the namespace once there are `count` in `phase`.
async fn pods(client: &Client, namespace: &str, count: usize, phase: &str) -> Vec<Pod> {
    let api: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let in_phase = |pod: &Pod| pod.status.as_ref().and_then(|status| status.phase.as_deref()) == Some(phase);
    eventually(&format!("{count} pods are {phase}"), async || {
        let list = api.list(&ListParams::default()).await.expect("lists pods").items;
        (list.iter().filter(|pod| in_phase(pod)).count() == count).then_some(list)
    })
    .await
}

#[tokio::test]
async fn a_jobset_with_two_pods_is_completed() {
    let (client, namespace) = namespace("completed").await;
    create_jobset(&client, &namespace, 2, json!({})).await;
    ends(&client, &namespace, "Completed").await;
    let pods = pods(&client, &namespace, 2, "Succeeded").await;
    assert!(
        pods.iter().all(|pod| pod.spec.as_ref().is_some_and(|spec| spec.node_name.is_some())),
        "{pods:?}"
    );
}

#[tokio::test]
async fn a_pod_told_to_fail_fails_its_jobset_with_the_exit_code_given() {
    let (client, namespace) = namespace("failed").await;
    let annotations = json!({
        PHASE: "Failed", "testbed.trainmaster.dev/after": "100ms", "testbed.trainmaster.dev/exit-code": "137",
    });
    create_jobset(&client, &namespace, 1, annotations).await;
    let pods = pods(&client, &namespace, 1, "Failed").await;
    let statuses = pods[0].status.as_ref().and_then(|status| status.container_statuses.as_ref());
    let ended = statuses.and_then(|statuses| statuses[0].state.as_ref()?.terminated.as_ref());
    assert_eq!(ended.map(|ended| ended.exit_code), Some(137));
    ends(&client, &namespace, "Failed").await;
}

#[tokio::test]
async fn pods_told_to_run_stay_until_told_otherwise() {
    let (client, namespace) = namespace("running").await;
    create_jobset(&client, &namespace, 2, json!({ PHASE: "Running" })).await;
    let running = pods(&client, &namespace, 2, "Running").await;
    let api: Api<Pod> = Api::namespaced(client.clone(), &namespace);
    for pod in running {
        let annotations = json!({ PHASE: "Succeeded", "testbed.trainmaster.dev/after": "0s" });
        let patch = Patch::Merge(json!({ "metadata": { "annotations": annotations } }));
        let name = pod.metadata.name.expect("a pod has a name");
        api.patch(&name, &PatchParams::default(), &patch).await.expect("patches a pod");
    }
    ends(&client, &namespace, "Completed").await;
}

#[tokio::test]
async fn pods_told_to_wait_stay_pending() {
    let (client, namespace) = namespace("pending").await;
    create_jobset(&client, &namespace, 2, json!({ PHASE: "Pending" })).await;
    let scheduled = async || {
        let pods = pods(&client, &namespace, 2, "Pending").await;
        pods.iter().all(|pod| pod.spec.as_ref().is_some_and(|spec| spec.node_name.is_some())).then_some(())
    };
    eventually("both pods have a node", scheduled).await;
    // A pod without the annotation, scheduled after these, runs: so these were passed over and not just not seen yet.
    let other = object(json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "other" },
        "spec": { "containers": [{ "name": "main", "image": "none" }] },
    }));
    let api = objects(&client, &namespace, "", "v1", "Pod");
    api.create(&PostParams::default(), &other).await.expect("creates a pod");
    pods(&client, &namespace, 1, "Running").await;
    pods(&client, &namespace, 2, "Pending").await;
}

#[tokio::test]
async fn deleting_a_jobset_takes_its_jobs_and_running_pods_along() {
    let (client, namespace) = namespace("deleted").await;
    create_jobset(&client, &namespace, 2, json!({ PHASE: "Running" })).await;
    pods(&client, &namespace, 2, "Running").await;
    let jobsets = objects(&client, &namespace, "jobset.x-k8s.io", "v1alpha2", "JobSet");
    jobsets.delete("run", &DeleteParams::default()).await.expect("deletes the JobSet");
    for (group, kind) in [("batch", "Job"), ("", "Pod")] {
        let api = objects(&client, &namespace, group, "v1", kind);
        eventually(&format!("no {kind} is left"), async || {
            api.list(&ListParams::default()).await.is_ok_and(|list| list.items.is_empty()).then_some(())
        })
        .await;
    }
}
