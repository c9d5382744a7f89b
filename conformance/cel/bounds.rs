//! Whatever the input, there is an answer: no stack is exhausted, no evaluation is longer or larger than its budget.

use crate::support::{Values, Variable, env, values};
use serde_json::{Value, json};
use trainmaster::{
    cel::{Bounds, Budget, Compiled, Env, Error, ErrorKind, Limits, MAX_DEPTH, PER_EXPRESSION, Type, Val},
    diagnostic::codes,
};

/// A stack as small as any thread in use has.
const SMALL_STACK: usize = 512 * 1024;

/// Ways to nest, as what stands before, in the middle and after, to be repeated.
const SHAPES: [(&str, &str, &str, &str); 22] = [
    ("parentheses", "(", "1", ")"),
    ("lists", "[", "1", "]"),
    ("maps", "{1: ", "1", "}"),
    ("map keys", "{", "1", ": 1}"),
    ("calls", "type(", "1", ")"),
    ("arguments", "\"a\".contains(", "\"a\"", ")"),
    ("indexes inside", "x[", "0", "]"),
    ("macros", "[1].map(x, ", "1", ")"),
    ("two-variable macros", "[1].transformList(i, x, ", "1", ")"),
    ("bindings", "cel.bind(x, 1, ", "1", ")"),
    ("conditions", "(", "true", " ? true : false)"),
    ("choices", "true ? 1 : ", "1", ""),
    ("not", "!", "true", ""),
    ("minus", "- ", "x", ""),
    ("sums", "", "1", " + 1"),
    ("sums to the right", "1 + (", "1", ")"),
    ("comparisons", "", "1", " == 1"),
    ("selections", "", "x", ".a"),
    ("optional selections", "", "x", ".?a"),
    ("indexes", "", "x", "[0]"),
    ("methods", "", "x", ".size()"),
    ("or", "(", "true", ") || (true && false)"),
];

fn nested((_, before, middle, after): (&str, &str, &str, &str), depth: usize) -> String {
    format!("{}{middle}{}", before.repeat(depth), after.repeat(depth))
}

fn on_small_stack<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> T {
    std::thread::Builder::new().stack_size(SMALL_STACK).spawn(run).unwrap().join().unwrap()
}

fn compile(source: &str) -> Compiled {
    let mut env = Env::new();
    env.declare("x", &Type::Dyn, Bounds::default());
    env.compile(source)
}

fn evaluate(compiled: &Compiled) -> Option<Result<(), Error>> {
    let program = compiled.program.as_ref()?;
    let document = json!([{"a": 1}]);
    let values = Values(vec![Val::from_json(&document)]);
    Some(program.eval(&values, &mut Budget::default()).map(|_| ()))
}

#[test]
fn an_input_nested_20000_deep_is_refused_on_a_small_stack() {
    for shape in SHAPES {
        let source = nested(shape, 20_000);
        let compiled = on_small_stack(move || compile(&source));
        let codes: Vec<_> = compiled.issues.iter().map(|issue| issue.code).collect();
        assert_eq!(codes, [codes::EXPRESSION_TOO_LARGE], "{}", shape.0);
    }
}

/// As deep as a source of the allowed length can be, which is deeper than a tree may be.
#[test]
fn an_input_as_deep_as_its_length_allows_is_refused_on_a_small_stack() {
    for shape in SHAPES {
        let depth = 16_000 / (shape.1.len() + shape.3.len());
        let source = nested(shape, depth);
        let compiled = on_small_stack(move || compile(&source));
        assert!(compiled.program.is_none(), "{}", shape.0);
        assert!(compiled.issues.iter().all(|issue| issue.code == codes::EXPRESSION_TOO_LARGE), "{}", shape.0);
    }
}

#[test]
fn an_input_that_only_opens_is_refused_on_a_small_stack() {
    for open in [
        "(", "[", "{", "[[(", "f(", "a[", "!", "-", "- ", "a ? ", "a ? b : ", "{1:", "\"", "//\n", "a.", "?",
        "`",
    ] {
        for count in [1, 10, 249, 250, 251, 16_000 / open.len()] {
            let source = open.repeat(count);
            let compiled = on_small_stack(move || compile(&source));
            assert!(compiled.program.is_none() && !compiled.issues.is_empty(), "{open} {count} times");
        }
    }
}

#[test]
fn an_input_at_the_limit_is_compiled_and_evaluated_on_a_small_stack() {
    for shape in SHAPES {
        let deepest = (1..=MAX_DEPTH).rev().find(|depth| {
            let source = nested(shape, *depth);
            on_small_stack(move || {
                compile(&source).issues.iter().all(|issue| issue.code != codes::EXPRESSION_TOO_LARGE)
            })
        });
        let deepest = deepest.unwrap();
        assert!(deepest >= MAX_DEPTH / 2 - 1, "{}: {deepest}", shape.0);
        let source = nested(shape, deepest);
        on_small_stack(move || drop(evaluate(&compile(&source))));
    }
}

#[test]
fn chains_of_and_and_or_are_as_long_as_the_source() {
    for operator in [" && ", " || "] {
        let operand = if operator == " && " { "true" } else { "false" };
        let source = vec![operand; 16_000 / (operand.len() + operator.len())].join(operator);
        let compiled = compile(&source);
        assert!(matches!(evaluate(&compiled), Some(Ok(()))), "{:?}", compiled.issues);
    }
}

#[test]
fn a_source_of_more_than_16_kib_is_refused() {
    let source = format!("'{}'", "a".repeat(16 * 1024));
    assert_eq!(compile(&source).issues[0].code, codes::EXPRESSION_TOO_LARGE);
}

/// Values that variables build on each other cannot nest without end, nor can their types.
#[test]
fn values_of_variables_that_build_on_each_other_stay_shallow() {
    on_small_stack(|| {
        let wrap = format!("{}x{}", "[".repeat(60), "]".repeat(60));
        let mut value = Val::Int(1);
        let mut ty = Type::Int;
        for round in 0..50 {
            let mut env = Env::new();
            env.declare("x", &ty, Bounds::default());
            let compiled = env.compile(&wrap);
            ty = compiled.ty.clone();
            let program: &'static _ = Box::leak(Box::new(compiled.program.unwrap()));
            match program.eval(&Values(vec![value.clone()]), &mut Budget::default()) {
                Ok(next) => value = next,
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::NotRepresentable);
                    assert!(round > 0);
                    return;
                }
            }
        }
        panic!("3,000 levels");
    });
}

/// A small value that refers to itself many times is large as JSON, as text, and to compare.
#[test]
fn a_value_that_repeats_its_parts_is_paid_for_by_its_whole_size() {
    let doubled = (0..40).rev().fold("x39".to_owned(), |body, number| {
        let init = if number == 0 { "[1]".to_owned() } else { format!("[x{0}, x{0}]", number - 1) };
        format!("cel.bind(x{number}, {init}, {body})")
    });
    let compiled = compile(&doubled);
    let program = compiled.program.as_ref().unwrap();
    let none = Values(vec![Val::Null]);
    let value = program.eval(&none, &mut Budget::default()).unwrap();
    assert_eq!(value.to_json(&mut Budget::default()).unwrap_err().kind(), ErrorKind::Budget);
    for use_it in [
        "'%s'.format([x])",
        "x == x",
        "x in [x]",
        "sets.contains([x], [x])",
        "x.flatten(39)",
        "[x, x].distinct()",
    ] {
        let compiled = compile(use_it);
        let program = compiled.program.as_ref().unwrap();
        let error = program.eval(&Values(vec![value.clone()]), &mut Budget::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Budget, "{use_it}");
    }
}

#[test]
fn json_nested_without_end_is_an_error_where_it_is_walked() {
    let list = |inner| Value::Array(vec![inner]);
    let object = |inner| Value::Object([("a".to_owned(), inner)].into_iter().collect());
    for wrap in [&list as &dyn Fn(Value) -> Value, &object] {
        let document: &'static Value = Box::leak(Box::new((0..2_000).fold(json!(1), |inner, _| wrap(inner))));
        on_small_stack(|| {
            for source in ["x == x", "'%s'.format([x])", "[x].flatten(100000) == []"] {
                let compiled = compile(source);
                let program: &'static _ = Box::leak(Box::new(compiled.program.unwrap()));
                let result = program.eval(&Values(vec![Val::from_json(document)]), &mut Budget::default());
                if let Err(error) = result {
                    assert_eq!(error.kind(), ErrorKind::NotRepresentable, "{source}");
                } else {
                    assert!(source.contains("flatten") && document.is_object(), "{source}");
                }
            }
            let error = Val::from_json(document).to_json(&mut Budget::default()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotRepresentable);
        });
    }
}

/// Expressions that grow without end, with what they grow from.
const BOMBS: [(&str, &str); 28] = [
    (
        "text that doubles",
        "cel.bind(a, s + s, cel.bind(b, a + a, cel.bind(c, b + b, cel.bind(d, c + c, cel.bind(e, d + d, cel.bind(f, e + e, cel.bind(g, f + f, cel.bind(h, g + g, cel.bind(i, h + h, cel.bind(j, i + i, j + j))))))))))",
    ),
    (
        "a list that doubles",
        "cel.bind(a, l + l, cel.bind(b, a + a, cel.bind(c, b + b, cel.bind(d, c + c, cel.bind(e, d + d, cel.bind(f, e + e, cel.bind(g, f + f, g + g)))))))",
    ),
    ("ranges in ranges", "lists.range(n).map(x, lists.range(n).map(y, x * y))"),
    ("a range that is summed", "lists.range(n * n).sum()"),
    ("a range that is reversed", "lists.range(n * n).reverse()"),
    ("a range that is sorted", "lists.range(n * n).sort()"),
    ("a range that is distinct", "lists.range(n * n).distinct()"),
    ("a range that is sliced", "lists.range(n * n).slice(0, n * n)"),
    ("a range that is searched", "-1 in lists.range(n * n)"),
    ("a range that is compared", "lists.range(n * n) == lists.range(n * n)"),
    ("a range as JSON text", "'%s'.format([lists.range(n * n)])"),
    ("ranges as sets", "sets.contains(lists.range(n * n), lists.range(n * n))"),
    ("the position in a range", "lists.range(n * n).indexOf(-1)"),
    ("the least of a range", "lists.range(n * n).min()"),
    ("a range added to a range", "lists.range(n * n) + lists.range(n * n)"),
    ("decimals", "'%.1000f'.format([1.5]) + lists.range(n).map(x, '%.1000f'.format([1.5])).join('')"),
    ("replacements", "s.replace('', s)"),
    ("replacements of replacements", "s.replace('a', s).replace('a', s)"),
    ("texts joined", "lists.range(n).map(x, s).join(s)"),
    ("a text split", "lists.range(n).map(x, s.split(''))"),
    ("endpoints joined", "jobset.endpoints(s, s, 1, n * n, s).join(',')"),
    ("endpoints listed", "jobset.endpoints(s, s, 1, n * n, s).map(e, e)"),
    ("endpoints compared", "jobset.endpoints(s, s, 1, n * n, s).exists(e, e == 'x')"),
    ("regular expressions", "lists.range(n).map(x, s.matches('(a|aa)+$' + string(x)))"),
    ("a regular expression on long texts", "lists.range(n).all(x, !s.matches('(a|b|ab)*c'))"),
    ("maps of maps", "lists.range(n).transformMap(i, x, lists.range(n).transformMap(j, y, x))"),
    ("hashes", "lists.range(n).map(x, hash.sha256(s))"),
    (
        "an exists that hides everything",
        "lists.range(n).exists(x, lists.range(n).exists(y, lists.range(n).exists(z, 1 / 0 == 1)))",
    ),
];

#[test]
fn expressions_that_grow_without_end_spend_their_budget_and_end() {
    let let_s = Variable { name: "s".into(), schema: None, value: json!("a".repeat(100_000)) };
    let let_n = Variable { name: "n".into(), schema: None, value: json!(100_000) };
    let let_l = Variable { name: "l".into(), schema: None, value: json!(vec![1; 50_000]) };
    let variables = [let_s, let_n, let_l];
    let env = env(&variables);
    for (name, source) in BOMBS {
        let compiled = env.compile(source);
        let program = compiled.program.as_ref().unwrap_or_else(|| panic!("{name}: {:?}", compiled.issues));
        let mut budget = Budget::default();
        let before = budget.left();
        let error = program.eval(&values(&variables), &mut budget).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Budget, "{name}: {error}");
        assert!(before.cost - budget.left().cost <= PER_EXPRESSION.cost, "{name}");
        assert!(before.bytes - budget.left().bytes <= PER_EXPRESSION.bytes, "{name}");
    }
}

/// The budget of all expressions is spent by each of them, and then none is evaluated.
#[test]
fn the_budget_of_an_object_is_spent_by_all_of_its_expressions() {
    let compiled = compile("lists.range(100000).all(y, y >= 0)");
    let program = compiled.program.as_ref().unwrap();
    let mut budget = Budget::default();
    let none = Values(vec![Val::Null]);
    let evaluations = (0..1_000).take_while(|_| program.eval(&none, &mut budget).is_ok()).count();
    assert!((10..100).contains(&evaluations), "{evaluations}");
    assert_eq!(program.eval(&none, &mut budget).unwrap_err().kind(), ErrorKind::Budget);
    assert_eq!(compile("1").program.unwrap().eval(&none, &mut budget).unwrap_err().kind(), ErrorKind::Budget);
}

#[test]
fn a_budget_of_nothing_allows_nothing() {
    let nothing = Limits { cost: 0, bytes: 0 };
    let compiled = compile("1");
    let program = compiled.program.as_ref().unwrap();
    let error = program.eval(&Values(vec![]), &mut Budget::new(nothing, nothing)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Budget);
}
