//! Fields, keys and positions.

use super::{Error, ErrorKind, Evaluator, Result, wanted};
use crate::cel::{
    program::{Node, Op},
    value::{Key, List, Val},
};
use std::sync::Arc;

impl<'a> Evaluator<'_, 'a> {
    pub(super) fn select(&mut self, operand: &'a Node, field: &str) -> Result<Val<'a>> {
        match self.eval(operand)? {
            Val::Map(map) => map.field(field).ok_or_else(|| no_key(&field)),
            Val::Optional(value) => optional_field(value.as_deref(), field),
            other => Err(no_fields(&other, field)),
        }
    }

    pub(super) fn optional_select(&mut self, operand: &'a Node, field: &str) -> Result<Val<'a>> {
        self.maybe_field(operand, field).map(|value| Val::Optional(value.map(Arc::new)))
    }

    /// The value of a node that is an optional. That of a chain, `a.?b.?c`, of `or` and of `optMap` is handed on without
    /// being wrapped: wrapping takes memory.
    pub(super) fn optional(&mut self, node: &'a Node) -> Result<Option<Val<'a>>> {
        if !gives_optional(node) {
            return match self.eval(node)? {
                Val::Optional(value) => Ok(value.map(Arc::unwrap_or_clone)),
                other => Err(wanted("an optional", &other).at(node.span)),
            };
        }
        let value = self.budget.charge(1).and_then(|()| match &node.op {
            Op::OptionalSelect { operand, field } => self.maybe_field(operand, field),
            Op::OptionalOr(operands) => self.optional_or(operands),
            Op::OptionalMap { bind, flat } => self.optional_map(bind, *flat),
            _ => Ok(None),
        });
        value.map_err(|mut error| {
            error.place(node.at);
            error
        })
    }

    /// The value of a node, with an optional replaced by what is in it.
    pub(super) fn present(&mut self, node: &'a Node) -> Result<Option<Val<'a>>> {
        if gives_optional(node) {
            return self.optional(node);
        }
        Ok(match self.eval(node)? {
            Val::Optional(value) => value.map(Arc::unwrap_or_clone),
            value => Some(value),
        })
    }

    fn maybe_field(&mut self, operand: &'a Node, field: &str) -> Result<Option<Val<'a>>> {
        match self.present(operand)? {
            None => Ok(None),
            Some(Val::Map(map)) => Ok(map.field(field)),
            Some(other) => Err(no_fields(&other, field)),
        }
    }

    pub(super) fn has(&mut self, operand: &'a Node, field: &str) -> Result<Val<'a>> {
        let present = |value: &Val| match value {
            Val::Map(map) => Ok(map.has_field(field)),
            other => Err(no_fields(other, field)),
        };
        Ok(Val::Bool(match self.eval(operand)? {
            Val::Optional(value) => value.map_or(Ok(false), |value| present(&value))?,
            value => present(&value)?,
        }))
    }

    pub(super) fn index(&mut self, operands: &'a [Node; 2]) -> Result<Val<'a>> {
        let [operand, index] = operands;
        let container = self.eval(operand)?;
        let key = self.eval(index)?;
        match &container {
            Val::Optional(value) => optional_item(value.as_deref(), &key),
            container => item(container, &key)?.ok_or_else(|| missing(container, &key)),
        }
        .map_err(|error| error.at(index.span))
    }

    pub(super) fn optional_index(&mut self, operands: &'a [Node; 2]) -> Result<Val<'a>> {
        let [operand, index] = operands;
        let container = self.eval(operand)?;
        let key = self.eval(index)?;
        match &container {
            Val::Optional(value) => optional_item(value.as_deref(), &key),
            container => optional_item(Some(container), &key),
        }
        .map_err(|error| error.at(index.span))
    }

    /// Whether the first operand is an item of the list, or a key of the map, that is the second.
    pub(super) fn contains(&mut self, operands: &'a [Node; 2]) -> Result<Val<'a>> {
        let element = self.eval(&operands[0])?;
        let container = self.eval(&operands[1])?;
        Ok(Val::Bool(match &container {
            Val::List(list) => self.list_contains(list, &element)?,
            Val::Map(map) => Key::from_val(&element).is_some_and(|key| map.get(&key).is_some()),
            other => return Err(wanted("a list or map after `in`", other)),
        }))
    }

    fn list_contains(&mut self, list: &List<'a>, element: &Val<'a>) -> Result<bool> {
        for item in list.iter() {
            self.budget.charge(1)?;
            if crate::cel::value::equal(&item, element, self.budget)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Whether a node gives an optional that [`Evaluator::optional`] need not unwrap.
fn gives_optional(node: &Node) -> bool {
    matches!(node.op, Op::OptionalSelect { .. } | Op::OptionalOr(_) | Op::OptionalMap { .. })
}

fn optional_field<'a>(value: Option<&Val<'a>>, field: &str) -> Result<Val<'a>> {
    Ok(Val::Optional(match value {
        None => None,
        Some(Val::Map(map)) => map.field(field).map(Arc::new),
        Some(other) => return Err(no_fields(other, field)),
    }))
}

fn optional_item<'a>(container: Option<&Val<'a>>, key: &Val<'a>) -> Result<Val<'a>> {
    let found = container.map(|container| item(container, key)).transpose()?;
    Ok(Val::Optional(found.flatten().map(Arc::new)))
}

/// The item at `key`, if there is one.
fn item<'a>(container: &Val<'a>, key: &Val<'a>) -> Result<Option<Val<'a>>> {
    match container {
        Val::List(list) => match Key::from_val(key) {
            Some(Key::Int(position)) => Ok(usize::try_from(position).ok().and_then(|at| list.get(at))),
            Some(Key::UInt(position)) => Ok(usize::try_from(position).ok().and_then(|at| list.get(at))),
            _ => Err(wanted("an int as position in the list", key)),
        },
        Val::Map(map) => match Key::from_val(key) {
            Some(key) => Ok(map.get(&key)),
            None if matches!(key, Val::Double(_)) => Ok(None),
            None => Err(wanted("a string, an int, a uint or a bool as key", key)),
        },
        other => Err(Error::new(
            ErrorKind::NoSuchOverload,
            format!("a value of type {} has no items", other.kind()),
        )),
    }
}

fn missing(container: &Val, key: &Val) -> Error {
    match container {
        Val::List(list) => {
            let message = format!("there is no position {key:?} in a list of {}", list.len());
            Error::new(ErrorKind::OutOfRange, message)
        }
        _ => no_key(&format!("{key:?}").trim_matches('"')),
    }
}

fn no_key(key: &dyn std::fmt::Display) -> Error {
    Error::new(ErrorKind::NoSuchKey, format!("no such key: `{key}`"))
}

fn no_fields(value: &Val, field: &str) -> Error {
    let message = format!("a value of type {} has no field `{field}`", value.kind());
    Error::new(ErrorKind::NoSuchOverload, message)
}
