//! What `kubectl get` shows of our kinds: the API server reads it off each object by the columns of the CRDs.

use kube::Client;
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use trainmaster::api::{GROUP, VERSION};

use crate::support::{namespace, object, objects};

/// What an API server shows, a row each: `COLUMN=CELL`, empty cells and ages left out.
async fn table(client: &Client, path: &str) -> Vec<String> {
    let request = http::Request::get(format!("/apis/{GROUP}/{VERSION}/{path}"))
        .header("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
        .body(Vec::new())
        .expect("is a request");
    let table: Value = client.request(request).await.expect("answers");
    let columns = table["columnDefinitions"].as_array().expect("has columns");
    let row = |row: &Value| {
        let cells = row["cells"].as_array().expect("has cells");
        let shown =
            columns.iter().zip(cells).filter(|(column, cell)| !cell.is_null() && column["type"] != "date");
        let shown = shown.map(|(column, cell)| {
            let text = cell.as_str().map_or_else(|| cell.to_string(), str::to_owned);
            let wide = if column["priority"] == 0 { "" } else { "~" };
            format!("{wide}{}={text}", column["name"].as_str().unwrap_or_default())
        });
        shown.collect::<Vec<_>>().join(" ")
    };
    table["rows"].as_array().expect("has rows").iter().map(row).collect()
}

async fn create(api: &Api<DynamicObject>, name: &str, nodes: Option<u32>, status: Value) {
    let mut job = json!({
        "apiVersion": format!("{GROUP}/{VERSION}"), "kind": "TrainJob", "metadata": { "name": name },
        "spec": { "runtimeRef": { "name": "torch-distributed" }, "suspend": name.starts_with("suspended") },
    });
    if let Some(nodes) = nodes {
        job["spec"]["trainer"] = json!({ "numNodes": nodes });
    }
    api.create(&PostParams::default(), &object(job)).await.expect("creates");
    if !status.is_null() {
        let patch = Patch::Merge(json!({ "status": status }));
        api.patch_status(name, &PatchParams::default(), &patch).await.expect("sets the status");
    }
}

fn condition(kind: &str, status: &str, reason: &str) -> Value {
    json!({ "type": kind, "status": status, "reason": reason, "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z" })
}

#[tokio::test]
async fn a_state_is_shown_only_while_it_is_true() {
    let (client, namespace) = namespace("columns").await;
    let api = objects(&client, &namespace, GROUP, VERSION, "TrainJob");
    let suspended = condition("Suspended", "True", "Suspended");
    let resumed = condition("Suspended", "False", "Resumed");
    let counters = json!([
        { "name": "init", "ready": 0, "succeeded": 1, "failed": 0, "active": 0, "suspended": 0 },
        { "name": "node", "ready": 3, "succeeded": 0, "failed": 0, "active": 3, "suspended": 0 },
    ]);
    create(&api, "new", None, Value::Null).await;
    create(&api, "suspended", Some(2), json!({ "conditions": [suspended] })).await;
    let running = json!({ "conditions": [resumed], "jobsStatus": counters, "trainerStatus": { "progressPercentage": 40, "lastUpdatedTime": "2026-01-01T00:00:00Z" } });
    create(&api, "resumed", Some(3), running).await;
    let done = json!({ "conditions": [resumed, condition("Complete", "True", "JobsCompleted")] });
    create(&api, "done", None, done).await;
    assert_eq!(
        table(&client, &format!("namespaces/{namespace}/trainjobs")).await,
        [
            "Name=done State=Complete Runtime=torch-distributed ~Suspend=false ~Reason=JobsCompleted",
            "Name=new Runtime=torch-distributed ~Suspend=false",
            "Name=resumed Nodes=3 Runtime=torch-distributed ~Suspend=false ~Active=3 ~Progress=40",
            "Name=suspended State=Suspended Nodes=2 Runtime=torch-distributed ~Suspend=true ~Reason=Suspended",
        ]
    );
}

#[tokio::test]
async fn a_runtime_shows_its_framework_and_its_nodes() {
    let (client, namespace) = namespace("columns-of-runtimes").await;
    let runtime = json!({
        "apiVersion": format!("{GROUP}/{VERSION}"), "kind": "TrainingRuntime",
        "metadata": { "name": "mine", "labels": { "trainer.kubeflow.org/framework": "torch" } },
        "spec": {
            "mlPolicy": { "numNodes": 4 },
            "template": { "spec": { "replicatedJobs": [{ "name": "node", "template": { "spec": { "template": { "spec": {
                "containers": [{ "name": "node", "image": "none" }],
            } } } } }] } },
        },
    });
    let runtimes = objects(&client, &namespace, GROUP, VERSION, "TrainingRuntime");
    runtimes.create(&PostParams::default(), &object(runtime)).await.expect("creates");
    let shown = table(&client, &format!("namespaces/{namespace}/trainingruntimes")).await;
    assert_eq!(shown, ["Name=mine Framework=torch Nodes=4"]);
}
