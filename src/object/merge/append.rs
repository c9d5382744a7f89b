//! Items at the ends of lists.

use serde_json::Value;

use super::{MergeError, OnWrite, Walk, check_depth};
use crate::object::path::At;

/// Adds the items of the lists in `fragment` to the ends of the lists of `tree`: maps are walked into, a list that is
/// not there is made, any other value takes the place of what is there. Doing it twice adds them twice.
pub fn append(tree: &mut Value, fragment: Value, on_write: OnWrite<'_>) -> Result<(), MergeError> {
    add(&mut Walk { on_write }, tree, fragment, &At::ROOT)
}

fn add(walk: &mut Walk<'_>, tree: &mut Value, fragment: Value, at: &At<'_>) -> Result<(), MergeError> {
    check_depth(at)?;
    match (tree, fragment) {
        (Value::Object(tree), Value::Object(fragment)) => {
            for (name, new) in fragment {
                let known = tree.get(&name).is_some_and(|value| !value.is_null());
                let empty = match &new {
                    Value::Object(map) if !map.is_empty() => Some(Value::Object(serde_json::Map::new())),
                    Value::Array(items) if !items.is_empty() => Some(Value::Array(Vec::new())),
                    _ => None,
                };
                match empty {
                    None if !known => walk.insert(tree, name, new, at),
                    empty => {
                        let slot = tree.entry(name.as_str()).or_insert(Value::Null);
                        if let Some(empty) = empty.filter(|_| !known) {
                            *slot = empty;
                        }
                        add(walk, slot, new, &at.field(&name))?;
                    }
                }
            }
        }
        (Value::Array(items), Value::Array(new)) => {
            for item in new {
                walk.push_item(items, item, &[], at);
            }
        }
        (tree, fragment) => walk.replace(tree, fragment, at),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn items_go_to_the_end_and_maps_are_walked_into() {
        let check = |mut tree: Value, fragment: Value, want: Value, writes: &[&str]| {
            let mut paths = Vec::new();
            append(&mut tree, fragment, &mut |write| paths.push(write.at.path().to_string())).unwrap();
            assert_eq!((tree, paths), (want, writes.iter().map(ToString::to_string).collect()));
        };
        check(json!({"a": [1]}), json!({"a": [2, 1]}), json!({"a": [1, 2, 1]}), &["a[1]", "a[2]"]);
        check(json!({}), json!({"a": {"b": ["x"]}}), json!({"a": {"b": ["x"]}}), &["a.b[0]"]);
        check(json!({"a": null}), json!({"a": []}), json!({"a": []}), &["a"]);
        check(json!({"a": 1, "b": 2}), json!({"a": [1]}), json!({"a": [1], "b": 2}), &["a"]);
    }

    #[test]
    fn depth_is_bounded() {
        let deep = (0..1000).fold(json!([1]), |value, _| json!({ "a": value }));
        assert!(matches!(append(&mut json!({}), deep, &mut |_| ()), Err(MergeError::TooDeep(_))));
    }
}
