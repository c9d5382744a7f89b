//! What `trainmaster render` prints is what the controller applies.

use std::fs;
use std::process::Command;

use kube::api::DynamicObject;
use serde_json::{Value, json};
use trainmaster::api::schemas;
use trainmaster::object::owned::{applied, owned};
use trainmaster::object::{Gvk, ObjectRef};
use trainmaster::yaml;

use super::support::{Cluster, api_server};
use crate::support::{eventually, objects};
use crate::testbed::manifests;

/// An object as the API server gave it.
fn tree(object: &DynamicObject, gvk: &Gvk) -> Value {
    let mut tree = serde_json::to_value(object).expect("an object is JSON");
    (tree["apiVersion"], tree["kind"]) = (json!(gvk.api_version), json!(gvk.kind));
    tree
}

#[tokio::test]
async fn what_is_rendered_offline_is_what_is_applied() {
    let cluster = Cluster::start(&api_server()).await;
    let namespace = cluster.namespace("rendered").await;
    namespace
        .create_runtime("plain", |it| {
            it["spec"]["mlPolicy"]["torch"] = json!({ "numProcPerNode": "auto" });
            it["spec"]["podGroupPolicy"] = json!({ "coscheduling": {} });
        })
        .await;
    let trainer = json!({
        "numNodes": 3, "env": [{ "name": "A", "value": "b" }], "args": ["x"],
        "resourcesPerNode": { "requests": { "cpu": "1000m", "memory": "2048Mi" } },
    });
    namespace.create_job("same", |it| it["spec"]["trainer"] = trainer).await;
    namespace.job_set("same").await;

    let folder = std::env::temp_dir().join(format!("trainmaster-rendered-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("makes a folder");
    let ours = |kind: &str| Gvk::new("trainer.kubeflow.org/v1alpha1", kind);
    let runtime = namespace.runtimes().get("plain").await.expect("is there");
    let job = namespace.train_jobs().get("same").await.expect("is there");
    for (name, object) in [
        ("runtime.yaml", tree(&runtime, &ours("TrainingRuntime"))),
        ("trainjob.yaml", tree(&job, &ours("TrainJob"))),
    ] {
        fs::write(folder.join(name), yaml::emit(&object)).expect("writes a manifest");
    }
    let output =
        Command::new(env!("CARGO_BIN_EXE_trainmaster")).arg("render").arg("-f").arg(&folder).output();
    let output = output.expect("renders");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let rendered = folder.join("rendered.yaml");
    fs::write(&rendered, output.stdout).expect("writes what is rendered");
    let rendered = manifests::read(&rendered);
    fs::remove_dir_all(&folder).expect("removes the folder");
    let rendered = rendered.expect("is YAML");

    let kinds: Vec<&str> = rendered.iter().filter_map(|it| it["kind"].as_str()).collect();
    assert_eq!(kinds, ["ConfigMap", "PodGroup", "JobSet"], "what pods wait for comes first");
    for object in &rendered {
        let reference = ObjectRef::of(object).expect("has a name");
        let gvk = &reference.gvk;
        let api = objects(&namespace.client, &namespace.name, gvk.group(), gvk.version(), &gvk.kind);
        let live = eventually("it is applied", async || api.get_opt(&reference.name).await.expect("answers"));
        let live = tree(&live.await, gvk);
        let ty = schemas().kind(&gvk.api_version, &gvk.kind).map(|ty| schemas().typed(ty));
        let live = owned(&live, "trainer", ty).expect("is applied by us");
        assert_eq!(live.to_string(), applied(object).to_string(), "{reference}");
    }
}
