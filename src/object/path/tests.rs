use super::*;
use proptest::prelude::*;
use serde_json::json;

fn parse(text: &str) -> FieldPath {
    FieldPath::parse(text).unwrap_or_else(|error| panic!("{text}: {error} at {}", error.offset))
}

#[test]
fn a_path_prints_as_kubernetes_does() {
    let check = |path: FieldPath, want: &str| assert_eq!(path.to_string(), want);
    let root = FieldPath::root;
    check(root(), "");
    check(
        root().field("spec").field("trainer").field("env").index(2).field("name"),
        "spec.trainer.env[2].name",
    );
    check(
        root().field("metadata").field("annotations").key("example.com/x"),
        "metadata.annotations[example.com/x]",
    );
    check(
        root().field("metadata").field("annotations").field("example.com/x"),
        "metadata.annotations[example.com/x]",
    );
    check(root().field("labels").field("a/b"), "labels[a/b]");
    check(root().field("labels").key("2"), "labels[\"2\"]");
    check(root().field("data").key("a]b").key(""), r#"data["a]b"][""]"#);
    check(root().index(0).index(1), "[0][1]");
    let ports = [("containerPort".into(), Scalar::Int(80)), ("protocol".into(), Scalar::Text("TCP".into()))];
    check(root().field("ports").then(Step::Item(ports.into())), "ports[containerPort=80,protocol=TCP]");
    let number_as_text = [("name".into(), Scalar::Text("80".into()))];
    check(root().field("a").then(Step::Item(number_as_text.into())), r#"a[name="80"]"#);
}

#[test]
fn the_spellings_people_use_are_read() {
    let check = |text: &str, want: &str| assert_eq!(parse(text).to_string(), want, "{text}");
    check("", "");
    check(".spec.replicas", "spec.replicas");
    check(
        "metadata.annotations['batch.kubernetes.io/index']",
        "metadata.annotations[batch.kubernetes.io/index]",
    );
    check(r#"metadata.labels["a.b"]"#, "metadata.labels[a.b]");
    check("env[name=FOO].value", "env[name=FOO].value");
    check("env[name='FOO BAR']", r#"env[name="FOO BAR"]"#);
    check("ports[containerPort=80,protocol=UDP]", "ports[containerPort=80,protocol=UDP]");
    check("a[ok=true]", "a[ok=true]");
    check("[0].x", "[0].x");
    check("a.1b.c-d", "a.1b.c-d");
}

#[test]
fn what_is_no_path_is_refused_where_it_goes_wrong() {
    let check = |text: &str, offset: usize, want: &str| {
        let error = FieldPath::parse(text).unwrap_err();
        assert_eq!((error.offset, error.to_string().as_str()), (offset, want), "{text}");
    };
    let (name, bracket) =
        ("a path has the name of a field here, like `spec.replicas`", Problem::Bracket.to_string());
    check("a..b", 2, name);
    check("a.", 2, name);
    check(".", 1, name);
    check("a b", 0, name);
    check("a]", 0, name);
    check("a[", 2, "`]` is missing");
    check("a[]", 2, &bracket);
    check("a[x", 3, "`]` is missing");
    check("a[x y]", 2, &bracket);
    check("a[99999999999999999999999]", 2, &bracket);
    check("a[b=]", 4, &bracket);
    check("a[b=c", 5, "`]` is missing");
    check("a['x]", 2, "`'` is missing");
    check("a[\"x]", 2, "`\"` is missing");
    check("a[\"x\"y]", 5, "`]` is missing");
    check("a[0]b", 4, "`.` or `[` follows a bracket");
    check(&"a.".repeat(200), 257, "a path has at most 128 steps");
}

#[test]
fn a_field_and_a_key_of_one_name_are_one_place() {
    let (field, key) = (parse("metadata.labels.app"), parse("metadata.labels[app]"));
    assert_eq!(field, key);
    assert!(parse("metadata.labels").contains(&key) && !key.contains(&parse("metadata.labels")));
    assert_ne!(parse("a[0]"), parse("a[\"0\"]"));
}

#[test]
fn values_are_found_changed_and_removed() {
    let mut tree =
        json!({"spec": {"env": [{"name": "A", "value": "1"}, {"name": "B"}], "labels": {"a/b": "c"}}});
    let get = |tree: &Value, path: &str| parse(path).get(tree).cloned();
    assert_eq!(get(&tree, "spec.env[1].name"), Some(json!("B")));
    assert_eq!(get(&tree, "spec.env[name=A].value"), Some(json!("1")));
    assert_eq!(get(&tree, "spec.labels[a/b]"), Some(json!("c")));
    assert_eq!(get(&tree, "spec.env[2]"), None);
    assert_eq!(get(&tree, "spec.env.name"), None);
    assert_eq!(get(&tree, "spec.labels[0]"), None);
    *parse("spec.env[name=B]").get_mut(&mut tree).unwrap() = json!({"name": "C"});
    assert_eq!(parse("spec.env[name=A]").remove(&mut tree), Some(json!({"name": "A", "value": "1"})));
    assert_eq!(parse("spec.labels").remove(&mut tree), Some(json!({"a/b": "c"})));
    assert_eq!(parse("spec.env[5]").remove(&mut tree), None);
    assert_eq!(parse("spec.env[name=Z]").remove(&mut tree), None);
    assert_eq!(FieldPath::root().remove(&mut tree), None);
    assert_eq!(tree, json!({"spec": {"env": [{"name": "C"}]}}));
}

#[test]
fn setting_makes_what_is_missing_on_the_way() {
    let check = |mut tree: Value, path: &str, want: Value, before: Option<Value>| {
        assert_eq!(parse(path).set(&mut tree, json!("x")), Ok(before), "{path}");
        assert_eq!(tree, want, "{path}");
    };
    check(json!(null), "a.b", json!({"a": {"b": "x"}}), None);
    check(json!({"a": {"b": 1, "c": 2}}), "a.b", json!({"a": {"b": "x", "c": 2}}), Some(json!(1)));
    check(json!({"a": null}), "a", json!({"a": "x"}), None);
    check(json!({}), "env[name=A].value", json!({"env": [{"name": "A", "value": "x"}]}), None);
    check(json!([{"name": "A"}]), "[name=A].value", json!([{"name": "A", "value": "x"}]), None);
    check(json!({"a": [1]}), "a[1]", json!({"a": [1, "x"]}), None);
    check(json!({"a": [1]}), "a[0]", json!({"a": ["x"]}), Some(json!(1)));
}

#[test]
fn an_error_leaves_the_tree_as_it_was() {
    let tree = json!({"a": {"b": 1}, "list": [1]});
    let check = |path: &str, want: &str| {
        let mut changed = tree.clone();
        assert_eq!(parse(path).set(&mut changed, json!(0)).unwrap_err().to_string(), want);
        assert_eq!(changed, tree, "{path}");
    };
    check("a.b.c", "`a.b` is not a map");
    check("a[0]", "`a` is not a list");
    check("list.a", "`list` is not a map");
    check("list[2]", "`list[2]` is beyond the end of a list of 1");
    check("new.list[1].x", "`new.list[1]` is beyond the end of a list of 0");
    check("list[0][name=x]", "`list[0]` is not a list");
}

fn step() -> impl Strategy<Value = Step> {
    let scalar = prop_oneof![
        any::<bool>().prop_map(Scalar::Bool),
        any::<i64>().prop_map(Scalar::Int),
        "\\PC{0,6}|[0-9]{1,3}|true".prop_map(|text| Scalar::Text(text.into())),
    ];
    let values = proptest::collection::vec(("\\PC{0,5}|[a-z]{1,5}".prop_map(Box::from), scalar), 1..3);
    prop_oneof![
        "\\PC{0,8}|[a-z]{1,8}|[0-9]{1,3}".prop_map(|name| Step::Field(name.into())),
        "\\PC{0,8}|[a-z./]{1,8}|[0-9]{1,3}".prop_map(|key| Step::Key(key.into())),
        (0..usize::MAX).prop_map(Step::Index),
        values.prop_map(|values| Step::Item(values.into())),
    ]
}

proptest! {
    #[test]
    fn a_printed_path_reads_back_as_itself(steps in proptest::collection::vec(step(), 0..6)) {
        let path: FieldPath = steps.into_iter().collect();
        prop_assert_eq!(FieldPath::parse(&path.to_string()), Ok(path));
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,20}|[a-c.\\[\\]=,0-9\"']{0,20}") {
        if let Ok(path) = FieldPath::parse(&text) {
            let mut tree = json!({});
            let _ = path.set(&mut tree, json!(1));
            prop_assert!(path.get(&tree).is_none_or(|value| *value == json!(1)));
        }
    }
}
