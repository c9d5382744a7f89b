//! Every value of a tree with its type.

use serde_json::Value;

use super::{MAX_DEPTH, Schemas, Shape, Type, TypeId};
use crate::object::path::At;

/// Calls `visitor` for `value` and for all that is in it as far as its type is known, outer before inner.
pub(super) fn visit(
    schemas: &Schemas,
    ty: TypeId,
    value: &Value,
    at: &At<'_>,
    visitor: &mut dyn FnMut(&Type, &Value, &At<'_>),
) {
    if at.depth() > MAX_DEPTH {
        return;
    }
    let ty = schemas.get(ty);
    visitor(ty, value, at);
    match (&ty.shape, value) {
        (Shape::Object(object), Value::Object(map)) => {
            for (name, value) in map {
                if let Some(field) = object.field(name) {
                    visit(schemas, field.ty, value, &at.field(name), visitor);
                }
            }
        }
        (Shape::Map(values), Value::Object(map)) => {
            for (key, value) in map {
                visit(schemas, values.values, value, &at.field(key), visitor);
            }
        }
        (Shape::List(list), Value::Array(items)) => {
            for (index, item) in items.iter().enumerate() {
                visit(schemas, list.item, item, &at.index(index), visitor);
            }
        }
        _ => {}
    }
}
