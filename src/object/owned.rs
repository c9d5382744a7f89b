//! What one field manager has applied of an object, as the object's `metadata.managedFields` tell.
//!
//! [`owned()`] takes that part out of an object that an API server stores, [`applied()`] brings what is to be applied
//! into the same form: if both are equal, applying would change nothing. [`digest`] makes them cheap to keep, and
//! [`mark`] tells by the metadata alone whether the part may have changed.

use super::{ListKind, Shape, path::MAX_DEPTH};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

/// A value in 128 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Digest([u8; 16]);

/// The digest of a value: equal for equal values, however they were written.
pub fn digest(value: &Value) -> Digest {
    let hash = Sha256::digest(value.to_string());
    let mut short = [0; 16];
    short.iter_mut().zip(hash).for_each(|(to, from)| *to = from);
    Digest(short)
}

/// What `manager` says about its part of `object`: which fields, and when it last changed them. Whoever changes a value
/// there takes the field away from the manager, so as long as this is the same, the values are. `None` if it has
/// applied nothing.
pub fn mark(object: &Value, manager: &str) -> Option<Digest> {
    entry(object, manager).map(|entry| digest(&json!([entry.get("time"), entry.get("fieldsV1")])))
}

/// What `manager` has applied of `object`. `shape` is the object's type as far as it is known; without one a value that
/// the manager owns with nothing in it counts as a whole.
pub fn owned<'s>(object: &Value, manager: &str, shape: Option<impl Shape<'s>>) -> Option<Value> {
    let fields = entry(object, manager)?.get("fieldsV1")?;
    Some(part(fields, object, shape, 0))
}

/// `object`, which is to be applied, without what no manager owns: its kind and its name.
pub fn applied(object: &Value) -> Value {
    let mut object = object.clone();
    if let Value::Object(fields) = &mut object {
        fields.remove("apiVersion");
        fields.remove("kind");
        if let Some(Value::Object(metadata)) = fields.get_mut("metadata") {
            metadata.remove("name");
            metadata.remove("namespace");
        }
    }
    object
}

fn entry<'a>(object: &'a Value, manager: &str) -> Option<&'a Value> {
    let entries = object.pointer("/metadata/managedFields")?.as_array()?;
    entries.iter().find(|entry| {
        let part_of_status =
            entry.get("subresource").and_then(Value::as_str).is_some_and(|it| !it.is_empty());
        entry["manager"] == manager && entry["operation"] == "Apply" && !part_of_status
    })
}

/// The part of `value` that `fields`, a node of `fieldsV1`, names.
fn part<'s>(fields: &Value, value: &Value, shape: Option<impl Shape<'s>>, depth: usize) -> Value {
    let below: Vec<(&str, &Value)> = fields
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(key, _)| *key != ".")
        .map(|(key, fields)| (key.as_str(), fields))
        .collect();
    if depth >= MAX_DEPTH {
        return value.clone();
    }
    match value {
        Value::Object(_) if below.is_empty() && shape.is_some_and(|it| !it.is_atomic_map()) => json!({}),
        Value::Array(_) if below.is_empty() && shape.is_some_and(|it| it.list() != ListKind::Atomic) => {
            json!([])
        }
        _ if below.is_empty() => value.clone(),
        Value::Object(object) => Value::Object(of_object(&below, object, shape, depth)),
        Value::Array(list) => Value::Array(of_list(&below, list, shape, depth)),
        _ => value.clone(),
    }
}

fn of_object<'s>(
    below: &[(&str, &Value)],
    object: &Map<String, Value>,
    shape: Option<impl Shape<'s>>,
    depth: usize,
) -> Map<String, Value> {
    let named = below.iter().filter_map(|(key, fields)| {
        let name = key.strip_prefix("f:")?;
        let value = object.get(name)?;
        Some((name.to_owned(), part(fields, value, shape.and_then(|it| it.field(name)), depth + 1)))
    });
    named.collect()
}

/// The items that are named, in the order of the list.
fn of_list<'s>(
    below: &[(&str, &Value)],
    list: &[Value],
    shape: Option<impl Shape<'s>>,
    depth: usize,
) -> Vec<Value> {
    let item = shape.and_then(Shape::item);
    let selectors: Vec<(Selector, &Value)> =
        below.iter().filter_map(|(key, fields)| Some((Selector::parse(key)?, *fields))).collect();
    let owned = list.iter().enumerate().filter_map(|(index, value)| {
        let (_, fields) = selectors.iter().find(|(selector, _)| selector.selects(index, value, item))?;
        Some(part(fields, value, item, depth + 1))
    });
    owned.collect()
}

/// How `fieldsV1` names an item of a list.
enum Selector {
    /// By the fields that are its key.
    Key(Map<String, Value>),
    /// By its value.
    Value(Value),
    /// By its position.
    Index(usize),
}

impl Selector {
    fn parse(key: &str) -> Option<Selector> {
        let (kind, text) = key.split_once(':')?;
        match kind {
            "k" => serde_json::from_str(text).ok().map(Selector::Key),
            "v" => serde_json::from_str(text).ok().map(Selector::Value),
            "i" => text.parse().ok().map(Selector::Index),
            _ => None,
        }
    }

    fn selects<'s>(&self, at: usize, item: &Value, shape: Option<impl Shape<'s>>) -> bool {
        match self {
            Selector::Key(key) => key.iter().all(|(name, wanted)| {
                let default = || shape.and_then(|it| it.default(name));
                item.get(name).or_else(default) == Some(wanted)
            }),
            Selector::Value(value) => item == value,
            Selector::Index(index) => at == *index,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{api, schema::Typed};
    use proptest::prelude::*;

    fn job_set_type() -> Typed<'static> {
        let schemas = api::schemas();
        schemas.typed(schemas.kind("jobset.x-k8s.io/v1alpha2", "JobSet").unwrap())
    }

    fn managed(mut object: Value, fields: &Value) -> Value {
        object["metadata"]["managedFields"] = json!([
            {"manager": "trainer", "operation": "Update", "fieldsV1": {"f:spec": {"f:other": {}}}},
            {"manager": "other", "operation": "Apply", "fieldsV1": {"f:spec": {"f:other": {}}}},
            {"manager": "trainer", "operation": "Apply", "subresource": "status", "fieldsV1": {"f:status": {}}},
            {"manager": "trainer", "operation": "Apply", "time": "t", "fieldsV1": fields},
        ]);
        object
    }

    #[test]
    fn items_of_others_defaults_and_status_are_left_out() {
        let container =
            |env: Value| json!({"name": "node", "image": "i", "terminationMessagePath": "/x", "env": env});
        let object = |containers: Value, template: Value| {
            json!({
                "metadata": {"name": "n", "labels": {"mine": "1", "theirs": "2"}, "finalizers": ["a", "b"]},
                "spec": {"suspend": false, "network": {"enableDNSHostnames": true}, "replicatedJobs": [{
                    "name": "node", "replicas": 1,
                    "template": {"metadata": template, "spec": {"template": {"spec": {"containers": containers}}}},
                }]},
                "status": {"restarts": 1},
            })
        };
        let env = json!([{"name": "THEIRS", "value": "0"}, {"name": "B", "value": "2"}, {"name": "A", "value": "1"}]);
        let live = object(json!([container(env), {"name": "sidecar"}]), json!({"creationTimestamp": null}));
        let fields = json!({
            "f:metadata": {"f:labels": {"f:mine": {}}, "f:finalizers": {".": {}, "v:\"b\"": {}}},
            "f:spec": {"f:suspend": {}, "f:replicatedJobs": {"k:{\"name\":\"node\"}": {
                ".": {}, "f:name": {}, "f:template": {"f:metadata": {}, "f:spec": {"f:template": {"f:spec": {
                    "f:containers": {"k:{\"name\":\"node\"}": {".": {}, "f:name": {}, "f:image": {}, "f:env": {
                        "k:{\"name\":\"A\"}": {".": {}, "f:name": {}, "f:value": {}},
                        "k:{\"name\":\"B\"}": {".": {}, "f:name": {}, "f:value": {}},
                    }}},
                }}}},
            }}},
        });
        let env = json!([{"name": "B", "value": "2"}, {"name": "A", "value": "1"}]);
        let containers = json!([{"name": "node", "image": "i", "env": env}]);
        let expected = json!({
            "metadata": {"labels": {"mine": "1"}, "finalizers": ["b"]},
            "spec": {"suspend": false, "replicatedJobs": [{
                "name": "node",
                "template": {"metadata": {}, "spec": {"template": {"spec": {"containers": containers}}}},
            }]},
        });
        assert_eq!(owned(&managed(live, &fields), "trainer", Some(job_set_type())), Some(expected));
    }

    #[test]
    fn a_key_that_the_schema_fills_in_finds_its_item() {
        let ports = json!([{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}]);
        let key = r#"k:{"containerPort":80,"protocol":"TCP"}"#;
        let fields = json!({"f:ports": {key: {".": {}, "f:containerPort": {}}}});
        let live = managed(json!({"metadata": {}, "ports": ports}), &fields);
        let schemas = api::schemas();
        let shape = schemas.typed(schemas.named("v1.Container").unwrap());
        assert_eq!(owned(&live, "trainer", Some(shape)), Some(json!({"ports": [{"containerPort": 80}]})));
    }

    #[test]
    fn who_has_applied_nothing_owns_nothing() {
        for object in [json!({}), json!({"metadata": {"managedFields": 3}}), managed(json!({}), &Value::Null)]
        {
            assert_eq!(owned(&object, "nobody", Some(job_set_type())), None, "{object}");
            assert_eq!(mark(&object, "nobody"), None, "{object}");
        }
    }

    #[test]
    fn the_mark_changes_when_a_field_is_taken_away() {
        let of = |fields: Value| mark(&managed(json!({"metadata": {}}), &fields), "trainer");
        assert_eq!(of(json!({"f:a": {}})), of(json!({"f:a": {}})));
        assert_ne!(of(json!({"f:a": {}, "f:b": {}})), of(json!({"f:a": {}})));
    }

    /// Trees of maps and atomic lists, as the API server owns them where no schema says otherwise.
    fn tree() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![any::<i32>().prop_map(|it| json!(it)), "[a-z]{0,3}".prop_map(|it| json!(it))];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::Array),
                prop::collection::btree_map("[a-e]", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    fn fields(value: &Value) -> Value {
        let Value::Object(object) = value else { return json!({}) };
        Value::Object(object.iter().map(|(name, value)| (format!("f:{name}"), fields(value))).collect())
    }

    /// Puts fields of others beside those of `value`.
    fn with_others(value: &Value) -> Value {
        let Value::Object(object) = value else { return value.clone() };
        let mut object: Map<String, Value> =
            object.iter().map(|(name, value)| (name.clone(), with_others(value))).collect();
        if !object.is_empty() {
            object.insert("theirs".to_owned(), json!({"x": 1}));
        }
        Value::Object(object)
    }

    proptest! {
        #[test]
        fn what_was_applied_is_found_again_among_what_others_wrote(spec in tree()) {
            let object = json!({"apiVersion": "v1", "kind": "K", "metadata": {"name": "n", "labels": {"a": "b"}}, "spec": spec});
            let wanted = applied(&object);
            let stored = managed(with_others(&object), &fields(&wanted));
            prop_assert_eq!(owned(&stored, "trainer", None::<Typed<'_>>), Some(wanted));
        }
    }
}
