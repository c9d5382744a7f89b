//! Objects: merging, defaults, validation, spelling, quantities.

use super::{
    Measure,
    documents::{large_runtime, torch_runtime},
};
use serde_json::{Value, json};
use trainmaster::{
    api,
    object::merge::{strategic, upsert},
    quantity::Quantity,
    schema::{canonical, default, prune, validate},
    yaml,
};

pub(crate) fn run(measure: &mut impl Measure) {
    measure.case("quantity: parse", || ["1500m", "64Gi", "8"].map(|text| Quantity::parse(text).unwrap()));
    measure.case("quantity: parse, sum, print", || {
        let sum: Quantity = ["1500m", "64Gi", "8"]
            .iter()
            .map(|text| Quantity::parse(text).unwrap())
            .collect::<Vec<_>>()
            .iter()
            .sum();
        sum.canonical().to_string()
    });
    merges(measure);
    for (name, runtime) in [("torch runtime", torch_runtime()), ("runtime of 50 kB", large_runtime())] {
        schemas(measure, name, &runtime);
    }
}

fn merges(measure: &mut impl Measure) {
    let schemas = api::schemas();
    let shape = schemas.typed(schemas.named("v1.Container").unwrap());
    let env = |from: usize, to: usize| -> Value {
        (from..to).map(|it| json!({"name": format!("NAME_{it}"), "value": it.to_string()})).collect()
    };
    let container = json!({"name": "node", "image": "registry.example/train:1", "env": env(0, 20)});
    let with = json!({"env": env(16, 24)});
    measure.case("clone: a container of 20 env", || container.clone());
    measure.case("merge: upsert 8 env into 20", || {
        let mut container = container.clone();
        upsert(&mut container, with.clone(), shape, &mut |_| {}).unwrap();
        container
    });
    measure.case("merge: strategic, 8 env into 20", || {
        let mut container = container.clone();
        strategic(&mut container, &with, shape, &mut |_| {}).unwrap();
        container
    });
}

fn schemas(measure: &mut impl Measure, name: &str, runtime: &Value) {
    let schemas = api::schemas();
    let ty = schemas.kind("trainer.kubeflow.org/v1alpha1", "ClusterTrainingRuntime").unwrap();
    measure.case(&format!("clone: {name}"), || runtime.clone());
    for (verb, change) in [("default", default as fn(&_, _, &mut _)), ("canonical", canonical)] {
        measure.case(&format!("schema: clone and {verb}, {name}"), || {
            let mut runtime = runtime.clone();
            change(schemas, ty, &mut runtime);
            runtime
        });
    }
    measure.case(&format!("schema: clone and prune, {name}"), || {
        let mut runtime = runtime.clone();
        (prune(schemas, ty, &mut runtime), runtime)
    });
    measure.case(&format!("schema: validate, {name}"), || validate(schemas, ty, runtime, None));
    measure.case(&format!("yaml: emit, {name}"), || yaml::emit(runtime));
}
