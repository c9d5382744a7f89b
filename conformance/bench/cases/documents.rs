//! What the cases work on.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use trainmaster::{
    api,
    diagnostic::Source,
    object::{Gvk, ObjectRef},
    plan::{Config, Plan, Runtime, Served, Snapshot, pinned_runtime, plan},
    policy::PolicySet,
    schema, yaml,
};

/// A torch TrainJob, as the API server stores it.
pub(crate) fn torch_job(nodes: i64) -> Value {
    let mut job = example(include_str!("../../../examples/torch/trainjob.yaml"));
    job["metadata"]["namespace"] = json!("team");
    job["metadata"]["uid"] = json!("2f1c6f5e-8f8e-4e0e-9a51-6a5c1f2f5b1c");
    job["metadata"]["generation"] = json!(1);
    job["spec"]["trainer"]["numNodes"] = json!(nodes);
    stored(job)
}

/// Its runtime.
pub(crate) fn torch_runtime() -> Value {
    stored(example(include_str!("../../../examples/torch/runtime.yaml")))
}

/// The same with as much in it as makes 50 kB: sidecars with environment, mounts and probes.
pub(crate) fn large_runtime() -> Value {
    let mut runtime = torch_runtime();
    let spec = "/spec/template/spec/replicatedJobs/0/template/spec/template/spec";
    let containers = runtime.pointer_mut(spec).unwrap()["containers"].as_array_mut().unwrap();
    for number in 0..24 {
        let env: Vec<Value> = (0..32)
            .map(|it| json!({"name": format!("SETTING_{it}"), "value": format!("value {it}")}))
            .collect();
        let mounts: Vec<Value> =
            (0..4).map(|it| json!({"name": format!("v{it}"), "mountPath": format!("/mnt/{it}")})).collect();
        containers.push(json!({
            "name": format!("sidecar-{number}"), "image": "registry.example/sidecar:1", "env": env,
            "volumeMounts": mounts, "resources": {"limits": {"cpu": "500m", "memory": "1Gi"}},
            "livenessProbe": {"httpGet": {"path": "/healthz", "port": 8080}},
        }));
    }
    stored(runtime)
}

/// A runtime without a framework.
pub(crate) fn plain_runtime() -> Value {
    let mut runtime = torch_runtime();
    runtime["spec"]["mlPolicy"] = json!({"numNodes": 4});
    runtime
}

fn example(text: &str) -> Value {
    yaml::parse(&Source::new("example", text)).0[0].to_json()
}

/// The object with the API server's defaults.
fn stored(mut object: Value) -> Value {
    let (schemas, kind) = (api::schemas(), Gvk::of(&object).unwrap());
    schema::default(schemas, schemas.kind(&kind.api_version, &kind.kind).unwrap(), &mut object);
    object
}

/// What there is before the first plan.
pub(crate) fn snapshot(train_job: Value, runtime: Value) -> Snapshot {
    Snapshot {
        train_job,
        old_train_job: None,
        runtime: Runtime::live(runtime),
        live: BTreeMap::new(),
        others: BTreeMap::new(),
        served: Served::Everything,
        random: None,
        config: Config::default(),
    }
}

/// With the runtime pinned, but no JobSet yet.
pub(crate) fn pinned(mut snapshot: Snapshot, policies: &PolicySet) -> Snapshot {
    let Plan { children, .. } = plan(&snapshot, policies).unwrap();
    let pin = children.into_iter().find(|child| child.reference.gvk.kind == "ConfigMap").unwrap();
    snapshot.runtime = Runtime::Pinned(pinned_runtime(&pin.object, &snapshot.train_job).unwrap());
    snapshot.live.insert(pin.reference, pin.object);
    snapshot
}

/// With everything written, and a JobSet that runs.
pub(crate) fn running(mut snapshot: Snapshot, policies: &PolicySet) -> Snapshot {
    let children: BTreeMap<ObjectRef, Value> = plan(&snapshot, policies)
        .unwrap()
        .children
        .into_iter()
        .map(|child| {
            let mut object = child.object;
            if child.workload {
                object["status"] = json!({
                    "conditions": [{
                        "type": "StartupPolicyCompleted", "status": "True", "reason": "StartupPolicyCompleted",
                        "message": "all replicated jobs have started", "lastTransitionTime": "2020-01-01T00:00:00Z",
                    }],
                    "replicatedJobsStatus": [
                        {"name": "node", "ready": 1, "succeeded": 0, "failed": 0, "active": 1, "suspended": 0},
                    ],
                });
            }
            (child.reference, object)
        })
        .collect();
    snapshot.live.extend(children);
    snapshot
}
