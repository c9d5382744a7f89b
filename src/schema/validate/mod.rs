//! What is wrong with an object.
//!
//! [`validate()`] walks value and schema together and reports everything at once, in document order. Three things are as
//! on an API server: what did not change in an update is not held against it (ratcheting), rules that name `oldSelf` see
//! the item with the same key of a list-map, and the words are its words. Three are better: a number out of range carries
//! its path, a key of a map is told from a field (`requests[nvidia.com/gpu]`), and an error in one part does not keep the
//! rules of other parts from being checked.

mod error;
mod limits;
mod lists;
mod metadata;
mod rules;

use std::collections::BTreeMap;

use serde_json::Value;

use super::visit::visit;
use super::{List, ListKind, MAX_DEPTH, Map, Object, Schemas, Shape, Type, TypeId};
use crate::cel::Budget;
use crate::object::path::At;
use crate::quantity::Quantity;
use error::{Errors, type_name};
pub use error::{FieldError, Reason};
pub(super) use limits::QUANTITY;
pub(super) use rules::Programs;
use rules::Subject;

/// Every reason why an API server would refuse `value`, or the change from `old` to it, as an object of the kind `ty`.
/// `value` is what [`super::default()`] and [`super::prune()`] left. No more than 100 errors are listed.
pub fn validate(schemas: &Schemas, ty: TypeId, value: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let named = metadata::with_generated_name(value);
    let value = named.as_ref().unwrap_or(value);
    let native = schemas.object(ty).and_then(|object| object.kind.as_ref()).is_some_and(|kind| !kind.custom);
    // Repeated items that an object had before are left to it, wherever they are.
    let lists = !old.is_some_and(|old| lists::has_duplicates(schemas, ty, old));
    let mut check = Check { schemas, errors: Errors::default(), budget: Budget::default(), lists, native };
    check.value(ty, value, Old { value: old, unchanged: false }, &At::ROOT);
    check.errors.finish()
}

/// The quantities in `value` that pass every CRD and that no Go program can read, nor ours: `1e1.5`, or with an exponent
/// beyond all reason. An API server stores them; who reads them fails.
pub fn unreadable_quantities(schemas: &Schemas, ty: TypeId, value: &Value) -> Vec<FieldError> {
    let mut errors = Errors::default();
    visit(schemas, ty, value, &At::ROOT, &mut |ty, value, at| {
        if let (Shape::Quantity, Err(error)) = (&ty.shape, Quantity::from_json(value)) {
            errors.invalid(at, Some(value), error.to_string());
        }
    });
    errors.finish()
}

struct Check<'a> {
    schemas: &'a Schemas,
    errors: Errors,
    /// What rules may still cost.
    budget: Budget,
    /// Whether items that stand twice are errors.
    lists: bool,
    /// Whether the kind is the API server's own, read by Go types and not by a schema.
    native: bool,
}

/// What stood in a value's place before.
#[derive(Clone, Copy)]
struct Old<'a> {
    value: Option<&'a Value>,
    /// Whether a value around this one is what it was.
    unchanged: bool,
}

impl<'a> Old<'a> {
    fn now(self, value: &Value) -> Old<'a> {
        Old { unchanged: self.unchanged || self.value == Some(value), ..self }
    }

    fn entry(self, name: &str) -> Old<'a> {
        Old { value: self.value.and_then(|value| value.get(name)), ..self }
    }

    fn item(self, value: Option<&'a Value>) -> Old<'a> {
        Old { value, ..self }
    }
}

impl Check<'_> {
    fn value(&mut self, id: TypeId, value: &Value, old: Old<'_>, at: &At<'_>) {
        // An object as a whole always counts as changed: its schema does not tell what its metadata is.
        let old = if at.depth() == 0 { old } else { old.now(value) };
        let ty = self.schemas.get(id);
        let blocking = self.errors.blocking();
        if at.depth() > MAX_DEPTH {
            self.errors.invalid(at, None, format!("nested deeper than {MAX_DEPTH} levels"));
        } else if value.is_null() && ty.nullable {
            // Null is one of its values; limits and rules are about the others.
        } else if old.unchanged || self.fits(ty, value, at) {
            self.within(ty, value, old, at);
            if self.errors.blocking() == blocking {
                let subject = Subject { ty: id, value, old: old.value, unchanged: old.unchanged };
                rules::check(self.schemas, &subject, &mut self.budget, &mut self.errors, at);
            }
        }
    }

    /// Whether a value is of its type. Reports it where not, and where it exceeds the type's own limits.
    fn fits(&mut self, ty: &Type, value: &Value, at: &At<'_>) -> bool {
        let errors = &mut self.errors;
        match (&ty.shape, value) {
            (
                Shape::Object(Object { min_properties: least, max_properties: most, .. })
                | Shape::Map(Map { min_properties: least, max_properties: most, .. }),
                Value::Object(map),
            ) => {
                limits::properties(errors, *least, *most, map, at);
            }
            (Shape::List(list), Value::Array(items)) => limits::items(errors, list, items, at),
            (Shape::String(limit), Value::String(text)) => limits::text(errors, limit, text, at),
            (Shape::Quantity, Value::String(text)) => limits::quantity(errors, text, at),
            (Shape::Integer(limit), Value::Number(number)) => match limits::whole(number) {
                Some(whole) => limits::integer(errors, limit, whole, at),
                None => return self.wrong_type(ty, value, at),
            },
            (Shape::Quantity | Shape::IntOrString, Value::Number(number))
                if limits::whole(number).is_some() => {}
            (Shape::Quantity, Value::Number(_)) if self.native => {}
            (Shape::IntOrString, Value::String(_))
            | (Shape::Boolean, Value::Bool(_))
            | (Shape::Number, Value::Number(_))
            | (Shape::Any, _) => {}
            _ => return self.wrong_type(ty, value, at),
        }
        true
    }

    fn wrong_type(&mut self, ty: &Type, value: &Value, at: &At<'_>) -> bool {
        self.errors.wrong_type(at, shape_name(&ty.shape), type_name(value));
        false
    }

    /// What is in a value that is of its type, or that did not change.
    fn within(&mut self, ty: &Type, value: &Value, old: Old<'_>, at: &At<'_>) {
        match (&ty.shape, value) {
            (Shape::Object(object), Value::Object(map)) => self.fields(object, map, old, at),
            (Shape::Map(values), Value::Object(map)) => {
                for (key, value) in map {
                    self.value(values.values, value, old.entry(key), &at.field(key));
                }
            }
            (Shape::List(list), Value::Array(items)) => self.items(list, items, old, at),
            _ => {}
        }
    }

    fn fields(&mut self, object: &Object, map: &serde_json::Map<String, Value>, old: Old<'_>, at: &At<'_>) {
        if object.kind.is_some() && at.depth() == 0 {
            metadata::check(
                &mut self.errors,
                map.get("metadata"),
                old.value.and_then(|old| old.get("metadata")),
            );
        }
        for field in &object.fields {
            match map.get(field.name.as_ref()) {
                Some(value) => self.value(field.ty, value, old.entry(&field.name), &at.field(&field.name)),
                None if field.required && !old.unchanged => self.errors.required(&at.field(&field.name)),
                None => {}
            }
        }
    }

    fn items(&mut self, list: &List, items: &[Value], old: Old<'_>, at: &At<'_>) {
        if self.lists && !old.unchanged {
            lists::report_duplicates(&mut self.errors, &list.kind, items, at);
        }
        let before = old.value.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let before = match &list.kind {
            ListKind::Map(keys) => before.iter().map(|item| (lists::key(keys, item), item)).collect(),
            ListKind::Atomic | ListKind::Set => BTreeMap::new(),
        };
        for (index, item) in items.iter().enumerate() {
            let counterpart = match &list.kind {
                ListKind::Map(keys) => before.get(&lists::key(keys, item)).copied(),
                ListKind::Atomic | ListKind::Set => None,
            };
            self.value(list.item, item, old.item(counterpart), &at.index(index));
        }
    }
}

/// A shape in the API server's words.
fn shape_name(shape: &Shape) -> &'static str {
    match shape {
        Shape::Object(_) | Shape::Map(_) => "object",
        Shape::List(_) => "array",
        Shape::String(_) => "string",
        Shape::Integer(_) => "integer",
        Shape::Number => "number",
        Shape::Boolean => "boolean",
        Shape::IntOrString | Shape::Quantity => "integer,string",
        Shape::Any => "any",
    }
}
