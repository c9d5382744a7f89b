//! A text as an expression: compiled, and evaluated on a fixed document within budgets.

#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use serde_json::{Value, json};
use std::sync::LazyLock;
use trainmaster::{
    api,
    cel::{
        Bindings, Bounds, Budget, Env, Error, ErrorKind, Limits, PER_EXPRESSION, PER_OBJECT, Program, Type,
        Val,
    },
    schema::{cel_bounds, cel_type},
};

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    trainmaster_fuzz::mutate(data, size, max_size, seed, trainmaster_fuzz::tokens::change)
});

fuzz_target!(|source: &str| {
    static ENVS: LazyLock<[Env; 2]> = LazyLock::new(|| [env(), env().with_mixed_literals().unchecked()]);
    for env in &*ENVS {
        let compiled = env.compile(source);
        for issue in &compiled.issues {
            assert!(source.get(issue.span.clone()).is_some(), "{issue:?}");
        }
        if let Some(program) = &compiled.program {
            run(program);
        }
    }
});

/// An evaluation gives the same twice, takes no more than it may, and with less either gives the same or is refused.
fn run(program: &Program) {
    let (full, spent) = evaluate(program, PER_EXPRESSION);
    assert_eq!(evaluate(program, PER_EXPRESSION), (full.clone(), spent));
    let few = Limits { cost: spent.cost / 2, bytes: spent.bytes / 2 };
    match evaluate(program, few).0 {
        Err((ErrorKind::Budget, _)) => {}
        less => assert_eq!(less, full, "{program:?}"),
    }
}

type Answer = Result<Option<String>, (ErrorKind, String)>;

/// What comes out as text, and what it took.
fn evaluate(program: &Program, limits: Limits) -> (Answer, Limits) {
    let mut budget = Budget::new(limits, PER_OBJECT);
    let answer = program.eval(&Documents, &mut budget).map(|value| (value.type_name(), value));
    let answer = match answer {
        Ok((name, value)) => value.to_json(&mut budget).map(|json| json.map(|json| format!("{name} {json}"))),
        Err(error) => Err(error),
    };
    let left = budget.left();
    let spent = Limits { cost: PER_OBJECT.cost - left.cost, bytes: PER_OBJECT.bytes - left.bytes };
    (answer.map_err(|error| checked(program, &error)), spent)
}

fn checked(program: &Program, error: &Error) -> (ErrorKind, String) {
    assert!(program.source().get(error.span()).is_some(), "{error:?}");
    (error.kind(), error.message().to_owned())
}

/// The variables: name, type and value.
static VARIABLES: LazyLock<Vec<(&str, Type, Bounds, Value)>> = LazyLock::new(|| {
    let schemas = api::schemas();
    let job = schemas.kind("trainer.kubeflow.org/v1alpha1", "TrainJob").unwrap();
    let env: Vec<Value> = (0..20).map(|i| json!({"name": format!("E{i}"), "value": i.to_string()})).collect();
    let spec = json!({
        "runtimeRef": {"name": "r"}, "suspend": false,
        "trainer": {"numNodes": 4, "env": env, "resourcesPerNode": {"limits": {"cpu": "1500m", "nvidia.com/gpu": 2}}},
    });
    vec![
        (
            "x",
            Type::Dyn,
            Bounds::default(),
            json!({"a": {"a": 1, "b": [1, "é", null, 1.5]}, "b": [[1], {}], "": true}),
        ),
        ("n", Type::Int, Bounds::default(), json!(7)),
        ("s", Type::String, Bounds::default(), json!("aé日\u{1f600} 10.0.0.1")),
        ("items", Type::list(Type::Int), Bounds::default(), json!([3, 1, 2, i64::MAX, i64::MIN])),
        ("counts", Type::map(Type::String, Type::Int), Bounds::default(), json!({"a": 1, "b": -1})),
        (
            "job",
            cel_type(schemas, job),
            cel_bounds(schemas, job),
            json!({"metadata": {"name": "j"}, "spec": spec}),
        ),
    ]
});

fn env() -> Env {
    let mut env = Env::new();
    for (name, ty, bounds, _) in &*VARIABLES {
        env.declare(*name, ty, bounds.clone());
    }
    env
}

struct Documents;

impl<'a> Bindings<'a> for Documents {
    fn get(&self, slot: usize, _budget: &mut Budget) -> Result<Val<'a>, Error> {
        Ok(Val::from_json(&VARIABLES[slot].3))
    }
}
