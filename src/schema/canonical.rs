//! The form that Go types give an object.

use serde_json::{Map, Value};

use super::{Field, MAX_DEPTH, Object, Schemas, Shape, Text, TextFormat, TypeId, Wire};
use crate::quantity::Quantity;

/// Rewrites `value` the way it comes out of the Go types of its kind: without the fields that `omitempty` drops, with
/// the structs that are always written, quantities and times in Go's spelling. Upstream passes templates through such
/// types, so a job taken over must be written in this form to be left alone. Fields that no schema knows stay.
pub fn canonical(schemas: &Schemas, ty: TypeId, value: &mut Value) {
    Rewrite { schemas, pointers: false }.value(ty, value, 0);
}

/// Rewrites `value` the way it comes out of Go's apply configurations, where every field is a pointer: as [`canonical()`],
/// but nothing is added, and a number, text or truth value that is there was put there on purpose and stays, be it zero.
pub fn applied(schemas: &Schemas, ty: TypeId, value: &mut Value) {
    Rewrite { schemas, pointers: true }.value(ty, value, 0);
}

struct Rewrite<'s> {
    schemas: &'s Schemas,
    /// Whether every field is a pointer: none is written that is not there, zeroes that are no lists, maps or structs stay.
    pointers: bool,
}

impl Rewrite<'_> {
    fn value(&self, ty: TypeId, value: &mut Value, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        match (&self.schemas.get(ty).shape, value) {
            (Shape::Object(object), Value::Object(map)) => {
                self.fields(object, map, depth + 1);
            }
            (Shape::Map(values), Value::Object(map)) => {
                for value in map.values_mut() {
                    self.value(values.values, value, depth + 1);
                }
            }
            (Shape::Quantity, value) => respell(value),
            (Shape::String(Text { format: Some(format), .. }), Value::String(text)) => {
                rewrite_time(*format, text);
            }
            (Shape::List(list), Value::Array(items)) => {
                for item in items {
                    self.value(list.item, item, depth + 1);
                }
            }
            _ => {}
        }
    }

    fn fields(&self, object: &Object, map: &mut Map<String, Value>, depth: usize) {
        // Few fields are dropped, if any: going over a map is cheaper than taking out of it on the way.
        let mut dropped = Vec::new();
        for (name, value) in map.iter_mut() {
            if object.field(name).is_some_and(|field| !self.keeps(field, value, depth)) {
                dropped.push(name.clone());
            }
        }
        for name in dropped {
            map.remove(&name);
        }
        if self.pointers {
            return;
        }
        for field in object.fields.iter().filter(|field| field.wire == Wire::Always) {
            if !map.contains_key(field.name.as_ref()) {
                map.extend(self.missing(field, depth).map(|zero| (field.name.to_string(), zero)));
            }
        }
    }

    /// Rewrites the value of a field; whether it is written at all.
    fn keeps(&self, field: &Field, value: &mut Value, depth: usize) -> bool {
        let ty = self.schemas.get(field.ty);
        if value.is_null() {
            if let Some(zero) = self.missing(field, depth) {
                *value = zero;
                return true;
            }
            if !ty.nullable {
                return false;
            }
        }
        if field.wire == Wire::NotZero && self.drops(&ty.shape, value) {
            return false;
        }
        self.value(field.ty, value, depth);
        true
    }

    /// What Go writes where the field is missing. Of a required text that would be "", which would hide the mistake; a
    /// struct hides nothing.
    fn missing(&self, field: &Field, depth: usize) -> Option<Value> {
        let shape = &self.schemas.get(field.ty).shape;
        if self.pointers
            || field.wire != Wire::Always
            || (field.required && !matches!(shape, Shape::Object(_)))
        {
            return None;
        }
        let mut zero = zero(shape)?;
        self.value(field.ty, &mut zero, depth);
        Some(zero)
    }

    /// Whether `omitempty` drops a value.
    fn drops(&self, shape: &Shape, value: &Value) -> bool {
        let scalar = !value.is_array() && !value.is_object();
        !(scalar && self.pointers) && is_zero(self.schemas, shape, value)
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

/// Whether Go drops a value: an empty list or map, a zero, a struct of nothing but zeroes. An empty list within a struct
/// is no zero.
fn is_zero(schemas: &Schemas, shape: &Shape, value: &Value) -> bool {
    match (value, shape) {
        (Value::Null, _) => true,
        (Value::Bool(value), _) => !value,
        (Value::Number(number), _) => number.as_f64() == Some(0.0),
        (Value::String(text), _) => text.is_empty(),
        (Value::Array(items), _) => items.is_empty(),
        (Value::Object(map), Shape::Object(object)) => map.iter().all(|(name, value)| {
            let Some(field) = object.field(name) else { return false };
            let shape = &schemas.get(field.ty).shape;
            let pointer = field.wire == Wire::Kept || matches!(shape, Shape::List(_) | Shape::Map(_));
            value.is_null() || (!pointer && is_zero(schemas, shape, value))
        }),
        (Value::Object(map), _) => map.is_empty(),
    }
}
