//! Expressions on a runtime of 50 kB, as large as they get.

use super::{
    Measure,
    documents::{large_runtime, torch_job},
};
use serde_json::{Value, json};
use trainmaster::cel::{Bindings, Bounds, Budget, Env, Error, Type, Val};

const CASES: &[(&str, &str)] = &[
    ("a field there may be", "has(runtime.spec.mlPolicy.torch)"),
    ("optionals", "trainJob.spec.?trainer.?numNodes.orValue(runtime.spec.?mlPolicy.?numNodes.orValue(1))"),
    ("text", "trainJob.metadata.name + '-node-0-0.' + trainJob.metadata.name"),
    ("numbers", "trainJob.spec.trainer.numNodes * 2 > 3 && trainJob.spec.suspend == false"),
    ("exists, 32 items", "pod.containers[1].env.exists(e, e.name == 'SETTING_23')"),
    ("filter and map, 32 items", "pod.containers[1].env.filter(e, e.name != 'SETTING_3').map(e, e.value)"),
    (
        "a job by its label",
        "runtime.spec.template.spec.replicatedJobs.filter(j, j.template.metadata.labels[?'trainer.kubeflow.org/trainjob-ancestor-step'].orValue('') == 'trainer')",
    ),
    ("conditional map", "has(runtime.spec.mlPolicy.torch) ? {'a': 1, 'b': 2} : {'c': 3}"),
    ("optional indexes", "runtime.spec.?template.?spec.?replicatedJobs[?0].?name.orValue('none')"),
    ("map, 10,000 numbers", "numbers.map(n, n + 1)"),
    ("all, 10,000 numbers", "numbers.all(n, n >= 0)"),
    ("join, 10,000 texts", "texts.join(',')"),
];

struct Documents([Value; 5]);

impl<'a> Bindings<'a> for &'a Documents {
    fn get(&self, slot: usize, _budget: &mut Budget) -> Result<Val<'a>, Error> {
        Ok(Val::from_json(&self.0[slot]))
    }
}

pub(crate) fn run(measure: &mut impl Measure) {
    let mut env = Env::new();
    for name in ["trainJob", "runtime", "pod", "numbers", "texts"] {
        env.declare(name, &Type::Dyn, Bounds::default());
    }
    let runtime = large_runtime();
    let pod = runtime.pointer("/spec/template/spec/replicatedJobs/0/template/spec/template/spec").unwrap();
    let numbers: Value = (0..10_000).collect();
    let texts: Value = (0..10_000).map(|number| format!("node-{number}")).collect();
    let mut train_job = torch_job(4);
    train_job["spec"]["suspend"] = json!(false);
    let documents = &Documents([train_job, runtime.clone(), pod.clone(), numbers, texts]);
    for (name, source) in CASES {
        let compiled = env.compile(source);
        let program = compiled.program.unwrap();
        measure.case(&format!("cel: {name}"), || program.eval(&documents, &mut Budget::default()).unwrap());
    }
    let source = CASES[6].1;
    measure.case("cel: compile", || env.compile(source));
}
