//! Generated expressions against another implementation, the evaluator of the crate `cel`: the same value or both an
//! error. What the two are known to disagree on is not generated.

use crate::support::{Values, tag};
use cel::{Context, Program, Value as Theirs};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use trainmaster::cel::{Bounds, Budget, Env, Limits, PER_EXPRESSION, PER_OBJECT, Type, Val};

/// An expression of the kind. Operands of another kind are generated where both implementations refuse them: that maps
/// have an order here, and that numbers have Kubernetes' text, would be differences otherwise.
fn expression(kind: Kind, depth: u32) -> BoxedStrategy<String> {
    if depth == 0 {
        return leaf(kind);
    }
    let sub = move |kind| expression(kind, depth - 1);
    let any = move || kinds().prop_flat_map(sub);
    let compound = match kind {
        Kind::Int => prop_oneof![
            (sub(Kind::Int), prop::sample::select(vec!["+", "-", "*", "/", "%"]), sub(Kind::Int))
                .prop_map(|(a, op, b)| format!("({a} {op} {b})")),
            sub(Kind::Int).prop_map(|a| format!("-({a})")),
            (any(), sub(Kind::Int)).prop_map(|(a, b)| format!("(dyn({a}) - {b})")),
            sub(Kind::Text).prop_map(|a| format!("size({a})")),
            sub(Kind::List).prop_map(|a| format!("size({a})")),
            sub(Kind::Map).prop_map(|a| format!("{a}.size()")),
            sub(Kind::Text).prop_map(|a| format!("int({a})")),
            sub(Kind::Double).prop_map(|a| format!("int({a})")),
            (sub(Kind::List), sub(Kind::Int)).prop_map(|(a, b)| format!("{a}[{b}]")),
            (sub(Kind::Map), sub(Kind::Text)).prop_map(|(a, b)| format!("{a}[{b}]")),
        ]
        .boxed(),
        Kind::Double => prop_oneof![
            (sub(Kind::Double), prop::sample::select(vec!["+", "-", "*", "/"]), sub(Kind::Double))
                .prop_map(|(a, op, b)| format!("({a} {op} {b})")),
            sub(Kind::Int).prop_map(|a| format!("double({a})")),
            sub(Kind::Text).prop_map(|a| format!("double({a})")),
        ]
        .boxed(),
        Kind::Bool => prop_oneof![
            (sub(Kind::Bool), prop::sample::select(vec!["&&", "||", "==", "!="]), sub(Kind::Bool))
                .prop_map(|(a, op, b)| format!("({a} {op} {b})")),
            sub(Kind::Bool).prop_map(|a| format!("!({a})")),
            (any(), sub(Kind::Bool)).prop_map(|(a, b)| format!("({b} || dyn({a}))")),
            (any(), sub(Kind::Bool)).prop_map(|(a, b)| format!("(dyn({a}) && {b})")),
            (kinds(), order())
                .prop_flat_map(move |(kind, op)| (sub(kind), Just(op), sub(kind)))
                .prop_map(|(a, op, b)| format!("({a} {op} {b})")),
            (any(), any()).prop_map(|(a, b)| format!("({a} == {b})")),
            (sub(Kind::Int), sub(Kind::List)).prop_map(|(a, b)| format!("({a} in {b})")),
            (sub(Kind::Text), sub(Kind::Map)).prop_map(|(a, b)| format!("({a} in {b})")),
            (
                sub(Kind::Text),
                prop::sample::select(vec!["contains", "startsWith", "endsWith"]),
                sub(Kind::Text)
            )
                .prop_map(|(a, f, b)| format!("{a}.{f}({b})")),
            (sub(Kind::List), prop::sample::select(vec!["all", "exists", "exists_one"]), sub(Kind::Bool))
                .prop_map(|(a, f, b)| format!("{a}.{f}(x, {b})")),
            sub(Kind::Map).prop_map(|a| format!("has({a}.a)")),
        ]
        .boxed(),
        Kind::Text => prop_oneof![
            (sub(Kind::Text), sub(Kind::Text)).prop_map(|(a, b)| format!("({a} + {b})")),
            sub(Kind::Int).prop_map(|a| format!("string({a})")),
            sub(Kind::Bool).prop_map(|a| format!("string({a})")),
        ]
        .boxed(),
        Kind::List => prop_oneof![
            prop::collection::vec(sub(Kind::Int), 0..3).prop_map(|items| format!("[{}]", items.join(", "))),
            (sub(Kind::List), sub(Kind::List)).prop_map(|(a, b)| format!("({a} + {b})")),
            (sub(Kind::List), sub(Kind::Bool)).prop_map(|(a, b)| format!("{a}.filter(x, {b})")),
            (sub(Kind::List), sub(Kind::Int)).prop_map(|(a, b)| format!("{a}.map(x, {b})")),
            (sub(Kind::List), sub(Kind::Bool), sub(Kind::Int))
                .prop_map(|(a, b, c)| format!("{a}.map(x, {b}, {c})")),
        ]
        .boxed(),
        Kind::Map => prop_oneof![
            (sub(Kind::Int), sub(Kind::Int)).prop_map(|(a, b)| format!("{{\"a\": {a}, \"b\": {b}}}")),
            sub(Kind::Int).prop_map(|a| format!("{{\"c\": {a}}}")),
        ]
        .boxed(),
    };
    let choice = (sub(Kind::Bool), sub(kind), sub(kind)).prop_map(|(a, b, c)| format!("({a} ? {b} : {c})"));
    prop_oneof![2 => leaf(kind), 6 => compound, 1 => choice].boxed()
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Int,
    Double,
    Bool,
    Text,
    List,
    Map,
}

fn kinds() -> impl Strategy<Value = Kind> {
    prop::sample::select(vec![Kind::Int, Kind::Double, Kind::Bool, Kind::Text, Kind::List, Kind::Map])
}

fn order() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["<", "<=", ">", ">=", "==", "!="])
}

/// Constants, the variables `i`, `d`, `b`, `s`, `l` and `m`, and the variable of a loop, which may not be there.
fn leaf(kind: Kind) -> BoxedStrategy<String> {
    let of =
        |texts: &[&str]| prop::sample::select(texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>());
    match kind {
        Kind::Int => {
            of(&["0", "1", "-1", "7", "i", "x", "9223372036854775807", "-9223372036854775808"]).boxed()
        }
        Kind::Double => of(&["0.0", "1.0", "-1.5", "1e300", "d"]).boxed(),
        Kind::Bool => of(&["true", "false", "b"]).boxed(),
        Kind::Text => of(&["\"\"", "\"a\"", "\"7\"", "\"é日\"", "\"1.5\"", "s"]).boxed(),
        Kind::List => of(&["[]", "[1]", "[3, 1, 2]", "l"]).boxed(),
        Kind::Map => of(&["{}", "{\"a\": 1}", "m"]).boxed(),
    }
}

const NAMES: [&str; 6] = ["i", "d", "b", "s", "l", "m"];

fn document() -> Value {
    json!({"i": 5, "d": 2.5, "b": true, "s": "abc", "l": [1, 2, 3, 0], "m": {"a": 10, "z": 0}})
}

/// The value here, tagged; `None` for an error.
fn here(source: &str) -> Option<Value> {
    let mut env = Env::new().with_mixed_literals().unchecked();
    for name in NAMES {
        env.declare(name, &Type::Dyn, Bounds::default());
    }
    let document = document();
    let values = Values(NAMES.iter().map(|name| Val::from_json(&document[name])).collect());
    let compiled = env.compile(source);
    let value = compiled.program.as_ref()?.eval(&values, &mut Budget::default());
    value.ok().map(|value| tag(&value))
}

/// The value there, tagged; `None` for an error.
fn there(source: &str) -> Option<Value> {
    let program = Program::compile(source).ok()?;
    let mut context = Context::default();
    context.add_variable_from_value("i", 5_i64);
    context.add_variable_from_value("d", 2.5_f64);
    context.add_variable_from_value("b", true);
    context.add_variable_from_value("s", "abc");
    context.add_variable_from_value("l", vec![1_i64, 2, 3, 0]);
    context.add_variable_from_value("m", cel::to_value(BTreeMap::from([("a", 10_i64), ("z", 0)])).unwrap());
    program.execute(&context).ok().map(|value| tag_theirs(&value))
}

fn tag_theirs(value: &Theirs) -> Value {
    match value {
        Theirs::Null => json!({"null": null}),
        Theirs::Bool(value) => json!({"bool": value}),
        Theirs::Int(value) => json!({"int": value}),
        Theirs::UInt(value) => json!({"uint": value}),
        Theirs::Float(value) => tag(&Val::Double(*value)),
        Theirs::String(text) => json!({"string": **text}),
        Theirs::List(items) => json!({"list": items.iter().map(tag_theirs).collect::<Vec<_>>()}),
        Theirs::Map(map) => {
            let pairs =
                map.map.iter().map(|(key, value)| json!([{"string": key.to_string()}, tag_theirs(value)]));
            let mut pairs: Vec<_> = pairs.collect();
            pairs.sort_by_key(ToString::to_string);
            json!({"map": pairs})
        }
        other => json!({"other": format!("{other:?}")}),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn generated_expressions_end_as_in_another_implementation(source in kinds().prop_flat_map(|kind| expression(kind, 3))) {
        prop_assert_eq!(here(&source), there(&source), "{}", source);
    }

    /// Whatever the text, there is an answer, and it costs no more than it may.
    #[test]
    fn a_soup_of_tokens_neither_panics_nor_exceeds_its_budget(tokens in prop::collection::vec(token(), 0..40), small in 0_u64..2_000) {
        let source = tokens.concat();
        let mut env = Env::new();
        for name in NAMES {
            env.declare(name, &Type::Dyn, Bounds::default());
        }
        for env in [env.clone(), env.with_mixed_literals().unchecked()] {
            let compiled = env.compile(&source);
            for issue in &compiled.issues {
                prop_assert!(source.get(issue.span.clone()).is_some(), "{:?}", issue);
            }
            let Some(program) = &compiled.program else { continue };
            let document = document();
            let values = Values(NAMES.iter().map(|name| Val::from_json(&document[name])).collect());
            let limits = Limits { cost: small, bytes: small * 10 };
            let mut budget = Budget::new(limits, PER_OBJECT);
            if let Err(error) = program.eval(&values, &mut budget) {
                prop_assert!(source.get(error.span()).is_some(), "{:?}", error);
            }
            prop_assert!(PER_OBJECT.cost - budget.left().cost <= limits.cost);
            prop_assert!(PER_OBJECT.bytes - budget.left().bytes <= limits.bytes);
        }
    }

    /// The estimate is not less than what an evaluation takes, where all sizes are known.
    #[test]
    fn an_evaluation_takes_no_more_than_was_estimated(source in kinds().prop_flat_map(|kind| expression(kind, 3))) {
        let mut env = Env::new();
        env.declare("i", &Type::Int, Bounds::default());
        env.declare("d", &Type::Double, Bounds::default());
        env.declare("b", &Type::Bool, Bounds::default());
        env.declare("s", &Type::String, Bounds::size(3));
        env.declare("l", &Type::list(Type::Int), Bounds::size(4));
        env.declare("m", &Type::map(Type::String, Type::Int), Bounds::size(2));
        let compiled = env.compile(&source);
        if let Some(program) = &compiled.program {
            let document = document();
            let values = Values(NAMES.iter().map(|name| Val::from_json(&document[name])).collect());
            let mut budget = Budget::new(PER_EXPRESSION, PER_OBJECT);
            let _ = program.eval(&values, &mut budget);
            let taken = PER_OBJECT.cost - budget.left().cost;
            prop_assert!(taken <= program.estimate().declared, "{} takes {}, estimated {:?}", source, taken, program.estimate());
        }
    }
}

fn token() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ",",
        ":",
        "?",
        ".",
        ".?",
        "[?",
        "+",
        "-",
        "*",
        "/",
        "%",
        "!",
        "&&",
        "||",
        "==",
        "!=",
        "<",
        "<=",
        ">",
        ">=",
        " in ",
        " ",
        "\n",
        "//",
        "\"",
        "'",
        "\"a\"",
        "'é'",
        "b'a'",
        "r'\\'",
        "1",
        "1u",
        "1.5",
        "0x1F",
        "-1",
        "null",
        "true",
        "false",
        "i",
        "d",
        "b",
        "s",
        "l",
        "m",
        "x",
        "y",
        "has(m.a)",
        "l.map(x,",
        "l.all(x,",
        "l.exists(i, x,",
        "m.transformMap(k, v,",
        "cel.bind(x,",
        ".filter(x,",
        ".sortBy(x,",
        ".size()",
        "size(",
        "string(",
        "int(",
        "lists.range(",
        ".join()",
        ".split(s)",
        ".format(",
        "optional.of(",
        ".orValue(",
        "optional.none()",
        ".optMap(x,",
        "quantity('1Gi')",
        "semver('1.2.3')",
        "duration('1s')",
        "timestamp(0)",
        "ip('::1')",
        "type(",
        "dyn(",
        "sets.contains(",
        "math.greatest(",
        "\u{0}",
        "é",
        "`a-b`",
        "_",
        "9999999999999999999",
        "1e999",
        "\\",
        "$",
        "#",
        "@",
        "${x}",
        "jobset.endpoints('a','b',3,4,'c')",
        "pod.requests(m)",
        "resources.sum([m])",
    ])
}
