//! Structural pruning.

use serde_json::Value;

use super::{MAX_DEPTH, Schemas, Shape, TypeId};
use crate::object::FieldPath;
use crate::object::path::At;

/// No object is worth more paths.
const MOST: usize = 1000;

/// Drops the fields that no schema knows, as the API server does, and says which, in document order, the first thousand
/// of them. What an open object or a field of any type holds is kept.
pub fn prune(schemas: &Schemas, ty: TypeId, value: &mut Value) -> Vec<FieldPath> {
    let mut dropped = Vec::new();
    walk(schemas, ty, value, &At::ROOT, &mut dropped);
    dropped
}

fn walk(schemas: &Schemas, ty: TypeId, value: &mut Value, at: &At<'_>, dropped: &mut Vec<FieldPath>) {
    if at.depth() > MAX_DEPTH {
        return;
    }
    match (&schemas.get(ty).shape, value) {
        (Shape::Object(object), Value::Object(map)) => map.retain(|name, value| {
            let known = object.field(name);
            match known {
                Some(field) => walk(schemas, field.ty, value, &at.field(name), dropped),
                None if !object.open && dropped.len() < MOST => dropped.push(at.field(name).path()),
                None => {}
            }
            known.is_some() || object.open
        }),
        (Shape::Map(map), Value::Object(entries)) => {
            for (key, value) in entries {
                walk(schemas, map.values, value, &at.field(key), dropped);
            }
        }
        (Shape::List(list), Value::Array(items)) => {
            for (index, item) in items.iter_mut().enumerate() {
                walk(schemas, list.item, item, &at.index(index), dropped);
            }
        }
        _ => {}
    }
}
