//! Each case of a file is one tree, what goes into it, and what comes out.

use serde_json::Value;
use trainmaster::diagnostic::Source;
use trainmaster::object::diff::{self, Quantities, diff};
use trainmaster::object::merge::{MergeError, set, strategic, upsert};
use trainmaster::yaml;

use crate::pod::{container_shape, shape};

fn documents(name: &str, text: &str) -> Vec<Value> {
    let (nodes, diagnostics) = yaml::parse(&Source::new(name, text));
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    nodes.iter().map(yaml::Node::to_json).collect()
}

fn field<'a>(case: &'a Value, name: &str) -> &'a Value {
    case.get(name).unwrap_or(&Value::Null)
}

/// Runs a merge on each case of a file: `name`, `tree`, `with`, and `want` or `error`.
fn check(file: &str, text: &str, merge: impl Fn(&mut Value, &Value) -> Result<(), MergeError>) {
    let cases = documents(file, text);
    assert!(cases.len() > 3, "{file} has only {} cases", cases.len());
    for case in cases {
        let name = format!("{file}: {}", field(&case, "name"));
        let mut tree = field(&case, "tree").clone();
        match merge(&mut tree, field(&case, "with")) {
            Ok(()) => {
                let changes = diff(field(&case, "want"), &tree, shape(), Quantities::AsWritten);
                assert!(*field(&case, "want") == tree, "{name}\n{}", diff::text(&changes));
            }
            Err(error) => assert_eq!(*field(&case, "error"), error.to_string(), "{name}"),
        }
    }
}

#[test]
fn upsert_cases() {
    check("upsert.yaml", include_str!("upsert.yaml"), |tree, with| {
        upsert(tree, with.clone(), container_shape(), &mut |_| {})
    });
}

#[test]
fn set_cases() {
    check("set.yaml", include_str!("set.yaml"), |tree, with| {
        set(tree, with.clone(), container_shape(), &mut |_| {})
    });
}

#[test]
fn strategic_cases() {
    check("strategic.yaml", include_str!("strategic.yaml"), |tree, with| {
        strategic(tree, with, shape(), &mut |_| {})
    });
}

#[test]
fn strategic_patches_do_what_they_do_in_kubernetes() {
    let mut count = 0;
    for line in include_str!("strategic.tsv").lines() {
        let documents: Vec<Value> =
            line.split('\t').map(|text| serde_json::from_str(text).unwrap()).collect();
        let [original, patch, want] = documents.try_into().unwrap();
        let mut tree = original;
        strategic(&mut tree, &patch, shape(), &mut |_| {}).unwrap();
        let changes = diff(&want, &tree, shape(), Quantities::AsWritten);
        assert!(tree == want, "case {count}\n{}", diff::text(&changes));
        count += 1;
    }
    assert!(count > 50, "{count} cases");
}

/// Cases of `name`, `before`, `after`, and the text of the `changes`.
#[test]
fn diff_cases() {
    let cases = documents("diff.yaml", include_str!("diff.yaml"));
    assert!(cases.len() > 5);
    for case in cases {
        let quantities = match field(&case, "quantities").as_str() {
            Some("by value") => Quantities::ByValue,
            _ => Quantities::AsWritten,
        };
        let changes = diff(field(&case, "before"), field(&case, "after"), shape(), quantities);
        assert_eq!(
            diff::text(&changes),
            field(&case, "changes").as_str().unwrap(),
            "{}",
            field(&case, "name")
        );
    }
}
