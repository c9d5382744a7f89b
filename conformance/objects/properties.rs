//! What holds for every tree.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::{Value, json};
use trainmaster::object::Untyped;
use trainmaster::object::diff::{Quantities, diff};
use trainmaster::object::merge::{MergeError, OnWrite, Write, set, strategic, upsert};

use crate::pod::shape;

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!(null)),
        (0..3).prop_map(Value::from),
        "[a-c]{0,1}".prop_map(Value::from),
        Just(json!(true))
    ]
}

fn anything() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(3, 20, 4, |inner| {
        prop_oneof![vec(inner.clone(), 0..4).prop_map(Value::from), map("[a-d]", inner)]
    })
}

fn map(keys: &'static str, values: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    btree_map(keys, values, 0..4).prop_map(|map| Value::Object(map.into_iter().collect()))
}

/// An item with a key, or with none.
fn item(key: &'static str) -> impl Strategy<Value = Value> {
    (prop::option::weighted(0.95, "[A-D]"), map("value|valueFrom|x", scalar())).prop_map(
        move |(name, item)| {
            let mut item = item.as_object().cloned().unwrap_or_default();
            item.extend(name.map(|name| (key.to_owned(), name.into())));
            Value::Object(item)
        },
    )
}

fn container() -> impl Strategy<Value = Value> {
    let env = vec(item("name"), 0..5).prop_map(Value::from);
    let mounts = vec(item("mountPath"), 0..3).prop_map(Value::from);
    (prop::option::weighted(0.95, "[A-C]"), env, mounts, anything(), anything()).prop_map(
        |(name, env, mounts, args, resources)| {
            let mut container =
                json!({"env": env, "volumeMounts": mounts, "args": args, "resources": resources});
            container["name"] = name.into();
            container
        },
    )
}

/// A pod template, more or less.
fn template() -> impl Strategy<Value = Value> {
    let containers = vec(container(), 0..3).prop_map(Value::from);
    let volumes = vec(item("name"), 0..4).prop_map(Value::from);
    let finalizers = vec(scalar(), 0..4).prop_map(Value::from);
    (containers, volumes, finalizers, anything()).prop_map(|(containers, volumes, finalizers, unknown)| {
        json!({
            "metadata": {"finalizers": finalizers, "labels": unknown},
            "spec": {"containers": containers, "volumes": volumes, "unknown": unknown},
        })
    })
}

type Merge = fn(&mut Value, Value) -> Result<(), MergeError>;

type TellingMerge = fn(&mut Value, Value, OnWrite<'_>) -> Result<(), MergeError>;

const TELLING_MERGES: [TellingMerge; 2] = [
    |tree, with, on_write| set(tree, with, shape(), on_write),
    |tree, with, on_write| upsert(tree, with, shape(), on_write),
];

const MERGES: [Merge; 3] = [
    |tree, with| set(tree, with, shape(), &mut |_| {}),
    |tree, with| upsert(tree, with, shape(), &mut |_| {}),
    |tree, with| strategic(tree, &with, shape(), &mut |_| {}),
];

proptest! {
    #[test]
    fn merging_again_changes_nothing(tree in template(), with in template()) {
        // A strategic merge takes a list that is new as it is, with items that stand twice.
        for merge in MERGES.into_iter().take(2) {
            let mut once = tree.clone();
            if merge(&mut once, with.clone()).is_ok() {
                let mut twice = once.clone();
                prop_assert_eq!(merge(&mut twice, with.clone()), Ok(()));
                prop_assert_eq!(twice, once);
            }
        }
    }

    #[test]
    fn merging_nothing_changes_nothing(tree in template()) {
        for merge in MERGES {
            let mut merged = tree.clone();
            prop_assert_eq!(merge(&mut merged, json!({})), Ok(()));
            prop_assert_eq!(&merged, &tree);
        }
    }

    #[test]
    fn merging_keeps_the_fields_it_is_not_told_about(tree in template(), with in template(), extra in anything()) {
        for merge in MERGES {
            let mut merged = tree.clone();
            merged["spec"]["future"] = extra.clone();
            if merge(&mut merged, with.clone()).is_ok() {
                prop_assert_eq!(&merged["spec"]["future"], &extra);
            }
        }
    }

    /// Every item of either list is in the merged one, once; what the tree had alone keeps its order.
    #[test]
    fn a_merged_list_has_every_item(tree in vec("[A-H]", 0..8), with in vec("[A-H]", 0..8)) {
        let gates = |names: &[String]| json!({"spec": {"schedulingGates":
            names.iter().map(|name| json!({"name": name})).collect::<Vec<_>>()}});
        let distinct = |names: &[String]| {
            let mut distinct = Vec::new();
            for name in names {
                if !distinct.contains(name) {
                    distinct.push(name.clone());
                }
            }
            distinct
        };
        let (tree, with) = (distinct(&tree), distinct(&with));
        let mut merged = gates(&tree);
        prop_assert_eq!(strategic(&mut merged, &gates(&with), shape(), &mut |_| {}), Ok(()));
        let names: Vec<_> = merged["spec"]["schedulingGates"].as_array().unwrap().iter()
            .map(|item| item["name"].as_str().unwrap().to_owned()).collect();
        let only = |names: &[String], of: &[String]| names.iter().filter(|name| of.contains(name)).cloned().collect::<Vec<_>>();
        prop_assert_eq!(only(&names, &with), with.clone());
        let rest: Vec<_> = tree.iter().filter(|name| !with.contains(name)).cloned().collect();
        prop_assert_eq!(only(&names, &rest), rest.clone());
        prop_assert_eq!(names.len(), with.len() + rest.len());
    }

    #[test]
    fn what_a_merge_tells_is_all_it_does(tree in template(), with in template()) {
        for merge in TELLING_MERGES {
            let (mut merged, mut followed) = (tree.clone(), tree.clone());
            let mut follow = |write: Write<'_>| {
                let path = write.at.path();
                let before = match write.after {
                    Some(after) => path.set(&mut followed, after.clone()).unwrap(),
                    None => path.remove(&mut followed),
                };
                assert_eq!(before, write.before.filter(|before| !before.is_null()), "{path}");
            };
            if merge(&mut merged, with.clone(), &mut follow).is_ok() {
                prop_assert_eq!(followed, merged);
            }
        }
    }

    #[test]
    fn equal_trees_have_no_differences_and_others_have_some(a in template(), b in template()) {
        prop_assert!(diff(&a, &a, shape(), Quantities::AsWritten).is_empty());
        prop_assert_eq!(diff(&a, &b, shape(), Quantities::AsWritten).is_empty(), a == b);
        prop_assert_eq!(diff(&a, &b, Untyped, Quantities::AsWritten).is_empty(), a == b);
    }
}

fn nested(depth: usize) -> Value {
    (0..depth).fold(json!({"end": 1}), |inner, _| json!({ "a": inner }))
}

#[test]
fn deep_trees_are_refused_and_not_overflowed() {
    for merge in MERGES {
        let error = merge(&mut nested(500), nested(500)).unwrap_err();
        assert!(matches!(error, MergeError::TooDeep(_)), "{error}");
    }
    assert_eq!(diff(&nested(500), &nested(501), Untyped, Quantities::AsWritten).len(), 1);
}

/// A megabyte of environment takes no time; item by item compared with item it would take minutes.
#[test]
fn long_lists_merge() {
    let env = |from: usize| -> Value {
        let items = (from..from + 40_000).map(|i| json!({"name": format!("NAME_{i}"), "value": "x"}));
        json!({"spec": {"containers": [{"name": "n", "env": items.collect::<Vec<_>>()}]}})
    };
    for merge in MERGES {
        let mut tree = env(0);
        merge(&mut tree, env(20_000)).unwrap();
        let length = tree.pointer("/spec/containers/0/env").and_then(Value::as_array).map(Vec::len);
        assert!(matches!(length, Some(40_000 | 60_000)), "{length:?}");
        assert!(!diff(&env(0), &env(20_000), shape(), Quantities::AsWritten).is_empty());
    }
}

#[test]
fn a_merge_tells_what_it_wrote_and_what_was_there() {
    let mut tree = json!({"spec": {"containers": [{"name": "n", "image": "a", "env": [{"name": "A"}]}]}});
    let with = json!({"spec": {"hostname": "h", "nodeSelector": {"a": "b"},
        "containers": [{"name": "n", "image": "b", "env": [{"name": "A", "value": "1"}]}]}});
    let mut writes = Vec::new();
    strategic(&mut tree, &with, shape(), &mut |write| {
        let none = Value::from("-");
        writes.push(format!(
            "{} {} {}",
            write.at,
            write.before.as_ref().unwrap_or(&none),
            write.after.unwrap_or(&none)
        ));
    })
    .unwrap();
    let want = [
        r#"spec.containers[name=n].env[name=A].value "-" "1""#,
        r#"spec.containers[name=n].image "a" "b""#,
        r#"spec.hostname "-" "h""#,
        r#"spec.nodeSelector "-" {"a":"b"}"#,
    ];
    assert_eq!(writes, want);
}
