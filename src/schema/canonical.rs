//! The form that Go types give an object.

use serde_json::{Map, Value};

use super::{Field, MAX_DEPTH, Schemas, Shape, Text, TextFormat, TypeId, Wire};
use crate::quantity::Quantity;

/// Rewrites `value` the way it comes out of the Go types of its kind: without the fields that `omitempty` drops, with
/// the structs that are always written, quantities and times in Go's spelling. Upstream passes templates through such types, so a job taken over must be
/// written in this form to be left alone. Fields that no schema knows stay as they are.
pub fn canonical(schemas: &Schemas, ty: TypeId, value: &mut Value) {
    rewrite(schemas, ty, value, 0);
}

fn rewrite(schemas: &Schemas, ty: TypeId, value: &mut Value, depth: usize) {
    if depth > MAX_DEPTH {
        return;
    }
    match (&schemas.get(ty).shape, value) {
        (Shape::Object(object), Value::Object(map)) => {
            for field in &object.fields {
                write_field(schemas, field, map, depth + 1);
            }
        }
        (Shape::Map(values), Value::Object(map)) => {
            for value in map.values_mut() {
                rewrite(schemas, values.values, value, depth + 1);
            }
        }
        (Shape::Quantity, value) => respell(value),
        (Shape::String(Text { format: Some(format), .. }), Value::String(text)) => {
            rewrite_time(*format, text);
        }
        (Shape::List(list), Value::Array(items)) => {
            for item in items {
                rewrite(schemas, list.item, item, depth + 1);
            }
        }
        _ => {}
    }
}

/// Writes a quantity as Go does: canonically, unless it takes the spelling for canonical enough. What is none stays.
fn respell(value: &mut Value) {
    if let Ok(quantity) = Quantity::from_json(value) {
        let spelling = Value::from(&quantity);
        if *value != spelling {
            *value = spelling;
        }
    }
}

/// Writes a time as Go does: in UTC, in whole seconds or microseconds. What is none stays.
fn rewrite_time(format: TextFormat, text: &mut String) {
    let form = match format {
        TextFormat::Time => "%Y-%m-%dT%H:%M:%SZ",
        TextFormat::MicroTime => "%Y-%m-%dT%H:%M:%S.%6fZ",
        TextFormat::Bytes => return,
    };
    if let Ok(time) = text.parse::<jiff::Timestamp>() {
        *text = time.strftime(form).to_string();
    }
}

fn write_field(schemas: &Schemas, field: &Field, map: &mut Map<String, Value>, depth: usize) {
    let name = field.name.as_ref();
    let ty = schemas.get(field.ty);
    // Go writes a required text as "" where it is missing; that would hide the mistake. A struct hides nothing.
    let written = field.wire == Wire::Always && (!field.required || matches!(ty.shape, Shape::Object(_)));
    let missing = written.then(|| zero(&ty.shape)).flatten();
    match (map.get_mut(name), missing) {
        (Some(Value::Null) | None, Some(mut zero)) => {
            rewrite(schemas, field.ty, &mut zero, depth);
            map.insert(name.to_owned(), zero);
        }
        (Some(value), _) if dropped(field.wire, value, ty.nullable) => _ = map.remove(name),
        (Some(value), _) => rewrite(schemas, field.ty, value, depth),
        (None, None) => {}
    }
}

fn dropped(wire: Wire, value: &Value, nullable: bool) -> bool {
    match value {
        Value::Null => !nullable,
        value => wire == Wire::NotZero && is_zero(value),
    }
}

/// Go's zero value as JSON; `None` where that is null.
fn zero(shape: &Shape) -> Option<Value> {
    Some(match shape {
        Shape::Object(_) => Value::Object(Map::new()),
        Shape::String(_) => Value::from(""),
        Shape::Quantity => Value::from("0"),
        Shape::Integer(_) | Shape::Number | Shape::IntOrString => Value::from(0),
        Shape::Boolean => Value::from(false),
        Shape::Map(_) | Shape::List(_) | Shape::Any => return None,
    })
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
    }
}
