//! Structural defaulting.

use serde_json::{Map, Value};

use super::{Field, MAX_DEPTH, Schemas, Shape, TypeId};

/// Fills in what is missing, as the API server does: a field with a default gets it where it is absent, or null and not
/// nullable; any other null that means nothing goes away. Defaults of fields of a missing object are not made up: an
/// absent `coscheduling` stays absent.
pub fn default(schemas: &Schemas, ty: TypeId, value: &mut Value) {
    fill(schemas, ty, value, 0);
}

fn fill(schemas: &Schemas, ty: TypeId, value: &mut Value, depth: usize) {
    if depth > MAX_DEPTH {
        return;
    }
    match (&schemas.get(ty).shape, value) {
        (Shape::Object(object), Value::Object(map)) => {
            for field in &object.fields {
                fill_field(schemas, field, map, depth + 1);
            }
        }
        (Shape::Map(values), Value::Object(map)) => {
            map.retain(|_, value| !is_absent(schemas, values.values, value));
            for value in map.values_mut() {
                fill(schemas, values.values, value, depth + 1);
            }
        }
        (Shape::List(list), Value::Array(items)) => {
            for item in items {
                fill(schemas, list.item, item, depth + 1);
            }
        }
        _ => {}
    }
}

fn fill_field(schemas: &Schemas, field: &Field, map: &mut Map<String, Value>, depth: usize) {
    let name = field.name.as_ref();
    match map.get_mut(name) {
        Some(value) if !is_absent(schemas, field.ty, value) => return fill(schemas, field.ty, value, depth),
        Some(_) => _ = map.remove(name),
        None => {}
    }
    if let Some(mut value) = field.default.clone() {
        fill(schemas, field.ty, &mut value, depth);
        map.insert(name.to_owned(), value);
    }
}

/// Whether a value says no more than a missing one.
fn is_absent(schemas: &Schemas, ty: TypeId, value: &Value) -> bool {
    value.is_null() && !schemas.get(ty).nullable
}
