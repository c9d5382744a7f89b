use super::*;
use crate::diagnostic::{Color, Source, render};
use proptest::prelude::*;
use serde_json::{Value, json};

fn read(text: &str) -> (Vec<Node>, Vec<String>) {
    let (documents, diagnostics) = parse(&Source::new("t.yaml", text));
    let rendered = diagnostics.iter().map(|diagnostic| {
        assert!(render::text(diagnostic, Color::Never).contains(diagnostic.code.id));
        format!("{:?} {} {}", diagnostic.place, diagnostic.code, diagnostic.message)
    });
    (documents, rendered.collect())
}

fn check(text: &str, want: &[Value]) {
    let (documents, problems) = read(text);
    assert_eq!(problems, [""; 0], "{text}");
    assert_eq!(documents.iter().map(Node::to_json).collect::<Vec<_>>(), want, "{text}");
}

fn check_problem(text: &str, want: &str) {
    let (_, problems) = read(text);
    assert!(problems.iter().any(|problem| problem.contains(want)), "{text}: {problems:?} has no {want:?}");
}

#[test]
fn scalars_mean_what_they_mean_to_kubectl() {
    let cases = [
        ("0444", json!(292)),
        ("0o17", json!(15)),
        ("0x1F", json!(31)),
        ("-0b11", json!(-3)),
        ("1_000", json!(1000)),
        ("08", json!(8)),
        ("1e3", json!(1000)),
        ("2.0", json!(2)),
        ("1.5", json!(1.5)),
        (".5", json!(0.5)),
        ("1.", json!(1)),
        ("18446744073709551615", json!(u64::MAX)),
        ("18446744073709551616", json!(18_446_744_073_709_551_616.0)),
        ("yes", json!(true)),
        ("off", json!(false)),
        ("Null", json!(null)),
        ("''", json!("")),
        ("'yes'", json!("yes")),
        ("1:30", json!("1:30")),
        ("1Gi", json!("1Gi")),
        ("-x", json!("-x")),
        ("1e", json!("1e")),
        ("2026-01-01", json!("2026-01-01")),
        ("!!str 1", json!("1")),
        ("!!float 1.5", json!(1.5)),
        ("! 1", json!("1")),
    ];
    for (text, want) in cases {
        check(&format!("a: {text}"), &[json!({ "a": want })]);
    }
}

#[test]
fn documents_keys_merges_and_aliases() {
    check("---\na: 1\n---\n# nothing\n---\n[b]\n", &[json!({"a": 1}), json!(["b"])]);
    check("1: a\ntrue: b\n~: c\n", &[json!({"1": "a", "true": "b", "null": "c"})]);
    check(
        "a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}\n",
        &[json!({"a": {"x": 1, "true": 2}, "b": {"x": 1, "true": 3}})],
    );
    check(
        "a: &a {x: 1}\nb: &b {x: 2, z: 2}\nc: {<<: [*a, *b]}\n",
        &[json!({"a": {"x": 1}, "b": {"x": 2, "z": 2}, "c": {"x": 1, "z": 2}})],
    );
    check("{\"a\": [1, {\"b\": null}]}", &[json!({"a": [1, {"b": null}]})]);
    check("", &[]);
}

#[test]
fn each_problem_is_reported_at_its_place() {
    check_problem("a: 1\nb: 2\na: 3\n", "t.yaml:3:1) TM0003 the key `a` stands here a second time");
    check_problem("a: .inf\n", "t.yaml:1:4) TM0004 `.inf` is not a number");
    check_problem("a: !!int x\n", "t.yaml:1:4) TM0004 `x` is no `!!int`");
    check_problem("a: !thing x\n", "TM0004 the tag `!thing` is not known");
    check_problem("? [a]\n: b\n", "TM0004 a key must be a string");
    check_problem("<<: 3\n", "t.yaml:1:5) TM0004 `<<` takes a map");
    check_problem("é: [1\n", "TM0002");
    check_problem("a: &a [*a]\n", "TM0002 the alias stands inside");
    check_problem("a: 1\na: 2\nb: .nan\n", "t.yaml:3:4) TM0004");
}

#[test]
fn what_stands_before_a_syntax_error_is_kept() {
    let (documents, problems) = read("a: 1\n---\nb: [\n");
    assert_eq!(documents.len(), 1);
    assert_eq!(problems.len(), 1);
}

#[test]
fn depth_and_aliases_are_bounded() {
    for open in ["[", "- ", "{a: ", "? "] {
        check_problem(&open.repeat(200), "TM0005 nested more than 128 deep");
        check_problem(&open.repeat(20_000), "TM000");
    }
    let bomb: Vec<String> =
        (1..30).map(|i| format!("a{i}: &a{i} [*a{j}, *a{j}, *a{j}]\n", j = i - 1)).collect();
    check_problem(&format!("a0: &a0 [x, x]\n{}", bomb.concat()), "TM0005 more than 1048576 values");
}

/// In `text`, `«…»` marks what `value[range]` must be found as.
fn check_inside(text: &str, key: &str, part: &str) {
    let (start, rest) = (text.find('«').unwrap(), text.replace('«', ""));
    let end = rest.find('»').unwrap();
    let plain = rest.replace('»', "");
    let (documents, problems) = read(&plain);
    assert_eq!(problems, [""; 0]);
    let node = documents[0].get(key).unwrap();
    let at = node.as_str().unwrap().find(part).unwrap_or_else(|| panic!("{part} not in {node:?}"));
    assert_eq!(
        node.inside(at..at + part.len()).range(),
        start..end,
        "{text}\nfound {:?}",
        node.inside(at..at + part.len()).text()
    );
}

#[test]
fn a_place_inside_a_scalar_is_found_through_folds_indents_and_escapes() {
    check_inside("a: one «two» three\n", "a", "two");
    check_inside("a: ü «two» three\n", "a", "two");
    check_inside("a: 'it''s «two»'\n", "a", "two");
    check_inside("a: 'it«''»s'\n", "a", "'");
    check_inside("a: \"\\u00e9\\t«two»\"\n", "a", "two");
    check_inside("a: \"one\\\n   «two»\"\n", "a", "two");
    check_inside("a: one\n  «two»\n  three\n", "a", "two");
    check_inside("a: |\n  one\n    «two»\n", "a", "two");
    check_inside("a: |-  # note\n\n\n  one\n  «two»\n", "a", "two");
    check_inside("a: >-\n  one\n  «two»\n\n  three\n", "a", "two");
    check_inside("a: >\n  one\n\n    «two»\n  three\n", "a", "two");
    check_inside("b: 1\na: >-\n    one «two\n    three» four\n", "a", "two three");
}

#[test]
fn spans_cover_values_and_nothing_more() {
    let (documents, _) = read("a: {b: [1, 2]}  # x\nc:\n- d: |\n    t\n  # comment\ne: 'f'\n");
    let text = |path: &[Step]| documents[0].nearest(path.iter().copied()).0.span.text().to_owned();
    assert_eq!(text(&[Step::Key("a")]), "{b: [1, 2]}");
    assert_eq!(text(&[Step::Key("a"), Step::Key("b")]), "[1, 2]");
    assert_eq!(text(&[Step::Key("c"), Step::Index(0), Step::Key("d")]), "t");
    assert_eq!(text(&[Step::Key("e")]), "'f'");
    assert!(!documents[0].nearest([Step::Key("c"), Step::Index(3)]).1);
}

#[test]
fn keys_too_long_to_be_known_by_their_colon_read_back() {
    for length in [1000, 1022, 1023, 1024, 1025, 5000] {
        for letter in ["a", "é", "\u{1}"] {
            let key = letter.repeat(length);
            let value = json!([{ &key: 1, "b": { &key: [{ &key: "x\ny" }] } }, { &key: {} }]);
            let text = emit(&value);
            let (nodes, problems) = parse(&Source::new("long", &*text));
            assert!(problems.is_empty(), "{length} times {letter}: {problems:?}");
            assert_eq!(nodes[0].to_json(), value, "{length} times {letter}");
        }
    }
}

#[test]
fn emitted_yaml_looks_like_kubectls() {
    let value = json!({
        "apiVersion": "v1", "empty": {}, "none": [], "number": 1.5,
        "items": [{ "name": "a", "args": ["-c", "x: y"] }, [1, [2]], "plain text"],
        "script": "#!/bin/sh\necho ${A}\n", "yes": "no", "date": "2026-01-01", "tab": "a\tb ",
    });
    let want = "\
apiVersion: v1
date: \"2026-01-01\"
empty: {}
items:
- args:
  - \"-c\"
  - \"x: y\"
  name: a
- - 1
  - - 2
- plain text
none: []
number: 1.5
script: |
  #!/bin/sh
  echo ${A}
tab: \"a\\tb \"
\"yes\": \"no\"
";
    assert_eq!(emit(&value), want);
}

#[allow(clippy::cast_possible_truncation, reason = "whole and small")]
fn whole(x: f64) -> i64 {
    x as i64
}

fn any_json() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        "[ -~]{0,12}",
        "[a-z0-9:#'\"|>%@`*&!\\-\\[\\]{} \n\t]{0,16}",
        "\\PC{0,8}",
        prop::sample::select(vec![
            "yes", "0777", "1e3", "~", "- a", "a: b", " x", "x\n", "\n", "x\n\n", "a\n b\n", "é\nb", "1_0",
            ".5", "\u{feff}"
        ])
        .prop_map(str::to_owned),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1.0e9..1.0e9f64).prop_map(|x| if x.fract() == 0.0 { json!(whole(x)) } else { json!(x) }),
        text.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(text.clone(), inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn what_is_emitted_reads_back_the_same(value in any_json()) {
        let text = emit(&value);
        let (documents, problems) = read(&text);
        prop_assert_eq!(&problems, &Vec::<String>::new(), "{}", text);
        let back = documents.first().map_or(Value::Null, Node::to_json);
        prop_assert_eq!(back, value, "{}", text);
    }

    #[test]
    fn any_text_is_answered(text in "[a-c:\\-\\[\\]{}&*!|>%@`'\"#?,.~ \n\té0-9<]{0,60}") {
        let (documents, _) = read(&text);
        for document in documents {
            document.to_json();
        }
    }
}
