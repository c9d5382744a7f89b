//! Structural defaulting.

use serde_json::Value;

use super::{MAX_DEPTH, Schemas, Shape, TypeId};

/// Fills in what is missing, as the API server does: a field with a default gets it where it is absent, or null and not
/// nullable; a null that means nothing and has no default goes away. Defaults of fields of a missing object are not
/// made up: an absent `coscheduling` stays absent.
pub fn default(schemas: &Schemas, ty: TypeId, value: &mut Value) {
    fill(schemas, ty, value, 0);
}

fn fill(schemas: &Schemas, ty: TypeId, value: &mut Value, depth: usize) {
    if depth > MAX_DEPTH {
        return;
    }
    let meaningless = |ty: TypeId, value: &Value| value.is_null() && !schemas.get(ty).nullable;
    match (&schemas.get(ty).shape, value) {
        (Shape::Object(object), Value::Object(map)) => {
            for field in &object.fields {
                match (map.get_mut(field.name.as_ref()), &field.default) {
                    (Some(value), None) if meaningless(field.ty, value) => {
                        drop(map.remove(field.name.as_ref()))
                    }
                    (Some(value), Some(default)) if meaningless(field.ty, value) => *value = default.clone(),
                    (None, Some(default)) => drop(map.insert(field.name.to_string(), default.clone())),
                    _ => {}
                }
                if let Some(value) = map.get_mut(field.name.as_ref()) {
                    fill(schemas, field.ty, value, depth + 1);
                }
            }
        }
        (Shape::Map(values), Value::Object(map)) => {
            map.retain(|_, value| !meaningless(values.values, value));
            map.values_mut().for_each(|value| fill(schemas, values.values, value, depth + 1));
        }
        (Shape::List(list), Value::Array(items)) => {
            items.iter_mut().for_each(|item| fill(schemas, list.item, item, depth + 1));
        }
        _ => {}
    }
}
