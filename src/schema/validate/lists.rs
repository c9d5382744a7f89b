//! Items of sets and list-maps that stand twice.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::error::{Errors, Reason};
use crate::object::path::At;
use crate::schema::visit::visit;
use crate::schema::{ListKind, Schemas, Shape, TypeId};

/// What identifies an item of a list-map: those of its keys that it has. A default is not assumed, since the API server
/// has written it already.
pub(super) fn key(keys: &[Box<str>], item: &Value) -> String {
    key_object(keys, item).to_string()
}

fn key_object(keys: &[Box<str>], item: &Value) -> Value {
    let present = keys.iter().filter_map(|key| Some((key.to_string(), item.get(key.as_ref())?.clone())));
    Value::Object(present.collect::<Map<_, _>>())
}

/// Reports each item that equals an earlier one, or has its keys; of several equal ones the second.
pub(super) fn report_duplicates(errors: &mut Errors, kind: &ListKind, items: &[Value], at: &At<'_>) {
    for index in duplicates(kind, items) {
        let Some(item) = items.get(index) else { continue };
        let value = match kind {
            ListKind::Map(keys) => &key_object(keys, item),
            ListKind::Set | ListKind::Atomic => item,
        };
        errors.push(&at.index(index), Reason::Duplicate, Some(value), String::new);
    }
}

fn duplicates(kind: &ListKind, items: &[Value]) -> Vec<usize> {
    let keyed = |item: &Value| item.is_object() || item.is_null();
    match kind {
        ListKind::Atomic => return Vec::new(),
        ListKind::Map(_) if !items.iter().all(keyed) => return Vec::new(), // its type is wrong, that is enough
        ListKind::Map(_) | ListKind::Set => {}
    }
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let identity = |item: &Value| match kind {
        ListKind::Map(keys) => key(keys, item),
        ListKind::Set | ListKind::Atomic => item.to_string(),
    };
    let second = |(index, item): (usize, &Value)| {
        let times = seen.entry(identity(item)).or_default();
        *times += 1;
        (*times == 2).then_some(index)
    };
    items.iter().enumerate().filter_map(second).collect()
}

/// Whether any list within `value` has duplicates.
pub(super) fn has_duplicates(schemas: &Schemas, ty: TypeId, value: &Value) -> bool {
    let mut found = false;
    visit(schemas, ty, value, &At::ROOT, &mut |ty, value, _| {
        if let (Shape::List(list), Value::Array(items)) = (&ty.shape, value) {
            found |= !duplicates(&list.kind, items).is_empty();
        }
    });
    found
}
