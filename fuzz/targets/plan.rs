//! A TrainJob, its runtime and objects on the cluster: as they are, and as an API server would store them, planned with
//! the built-in policies.

#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use serde_json::{Value, json};
use std::{collections::BTreeMap, sync::LazyLock};
use trainmaster::{
    api,
    object::{Gvk, ObjectRef},
    plan::{Config, Plan, Runtime, Served, Snapshot, concerns, pinned_runtime, plan, wanted},
    policy::PolicySet,
    schema::{canonical, default, prune, validate},
    status::{Problem, status},
};

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    trainmaster_fuzz::mutate(data, size, max_size, seed, trainmaster_fuzz::trees::change_json)
});

fuzz_target!(|input: &[u8]| {
    let Some(mut documents) = trainmaster_fuzz::documents(input) else { return };
    documents.truncate(6);
    planned(&documents);
    if let [train_job, runtime, ..] = documents.as_mut_slice() {
        name(train_job, "TrainJob");
        name(runtime, "ClusterTrainingRuntime");
    }
    // All of them, not only until the first that is refused.
    let accepted = documents.iter_mut().map(stored).fold(true, |all, one| all & one);
    if let Some(plan) = planned(&documents)
        && accepted
    {
        for child in &plan.children {
            applied(&child.object);
        }
    }
});

/// The plan of a TrainJob and a runtime, with the other documents on the cluster. It is the same twice.
fn planned(documents: &[Value]) -> Option<Plan> {
    static POLICIES: LazyLock<PolicySet> = LazyLock::new(PolicySet::builtin);
    let [train_job, runtime, others @ ..] = documents else { return None };
    let snapshot = snapshot(train_job, runtime, others);
    let (one, two) = (plan(&snapshot, &POLICIES), plan(&snapshot, &POLICIES));
    assert_eq!((&snapshot.train_job, &snapshot.runtime), (train_job, &Runtime::live(runtime.clone())));
    match (&one, &two) {
        (Ok(one), Ok(two)) => assert_eq!((&one.children, &one.warnings), (&two.children, &two.warnings)),
        _ => assert_eq!(one.as_ref().err(), two.as_ref().err()),
    }
    let problem = one.as_ref().err().map(Problem::of);
    for time in [0, 1_600_000_000, 253_402_207_200] {
        let now = jiff::Timestamp::from_second(time).unwrap();
        let _ = status(&snapshot, &POLICIES, problem.as_ref(), now);
    }
    let _ = wanted(&snapshot, &POLICIES);
    for other in others {
        concerns(other, train_job, &POLICIES, &Config::default());
        let _ = pinned_runtime(other, train_job);
    }
    one.ok()
}

fn snapshot(train_job: &Value, runtime: &Value, others: &[Value]) -> Snapshot {
    let objects: BTreeMap<ObjectRef, Value> =
        others.iter().filter_map(|object| Some((ObjectRef::of(object)?, object.clone()))).collect();
    Snapshot {
        train_job: train_job.clone(),
        old_train_job: others.first().cloned(),
        runtime: Runtime::live(runtime.clone()),
        live: objects.clone(),
        others: objects,
        served: Served::Everything,
        random: Some([7; 32]),
        config: Config::default(),
    }
}

fn name(object: &mut Value, kind: &str) {
    if let Value::Object(object) = object {
        object.insert("apiVersion".to_owned(), json!("trainer.kubeflow.org/v1alpha1"));
        object.insert("kind".to_owned(), json!(kind));
    }
}

/// Makes of an object what an API server would store; whether it would.
fn stored(object: &mut Value) -> bool {
    let schemas = api::schemas();
    let Some(ty) = Gvk::of(object).and_then(|kind| schemas.kind(&kind.api_version, &kind.kind)) else {
        return true;
    };
    prune(schemas, ty, object);
    assert_eq!(prune(schemas, ty, object), [], "pruning twice finds more");
    default(schemas, ty, object);
    let mut again = object.clone();
    default(schemas, ty, &mut again);
    assert_eq!(again, *object, "defaulting twice changes more");
    let accepted = validate(schemas, ty, object, None).is_empty();
    canonical(schemas, ty, &mut again);
    accepted
}

/// What is applied has no field that its schema does not know.
fn applied(object: &Value) {
    let schemas = api::schemas();
    let Some(ty) = Gvk::of(object).and_then(|kind| schemas.kind(&kind.api_version, &kind.kind)) else {
        return;
    };
    assert_eq!(prune(schemas, ty, &mut object.clone()), [], "{object}");
}
