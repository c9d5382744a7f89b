//! Which items of lists are the same.

use std::collections::BTreeMap;

use serde_json::Value;

use super::super::Shape;

/// The fields that tell items apart, with what each counts as when it is missing.
pub(in crate::object) struct Keys<'s> {
    pub(in crate::object) names: Vec<&'s str>,
    defaults: Vec<Option<&'s Value>>,
}

/// What tells an item from others.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::object) enum Identity<'a> {
    One(Plain<'a>),
    Several(Vec<Plain<'a>>),
    /// A value that is a list, a map, a fraction or null, as JSON.
    Other(String),
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::object) enum Plain<'a> {
    Bool(bool),
    Int(i64),
    Text(&'a str),
}

/// An item lacks a key.
pub(in crate::object) struct NoIdentity {
    pub(in crate::object) index: usize,
    pub(in crate::object) key: String,
}

impl<'a> Plain<'a> {
    fn new(value: &'a Value) -> Option<Plain<'a>> {
        match value {
            Value::Bool(value) => Some(Plain::Bool(*value)),
            Value::Number(number) => number.as_i64().map(Plain::Int),
            Value::String(text) => Some(Plain::Text(text)),
            Value::Null | Value::Array(_) | Value::Object(_) => None,
        }
    }
}

impl<'a> Identity<'a> {
    /// The identity of a value that stands for itself.
    pub(in crate::object) fn of_value(value: &'a Value) -> Identity<'a> {
        Plain::new(value).map_or_else(|| Identity::Other(value.to_string()), Identity::One)
    }
}

impl<'s> Keys<'s> {
    pub(in crate::object) fn new<S: Shape<'s>>(
        names: impl IntoIterator<Item = &'s str>,
        item: Option<S>,
    ) -> Keys<'s> {
        let names: Vec<_> = names.into_iter().collect();
        let defaults = names.iter().map(|name| item.and_then(|item| item.default(name))).collect();
        Keys { names, defaults }
    }

    /// What tells `item` from others, or the key it lacks.
    pub(in crate::object) fn identity<'a>(&self, item: &'a Value) -> Result<Identity<'a>, &'s str>
    where
        's: 'a,
    {
        let value = |(name, default): (&'s str, Option<&'s Value>)| {
            let own = item.get(name).filter(|value| !value.is_null());
            own.or(default.filter(|_| item.is_object())).and_then(Plain::new).ok_or(name)
        };
        let mut values = self.names.iter().copied().zip(self.defaults.iter().copied()).map(value);
        match (values.next(), values.len()) {
            (Some(first), 0) => first.map(Identity::One),
            (first, _) => first.into_iter().chain(values).collect::<Result<_, _>>().map(Identity::Several),
        }
    }

    /// Where each of `new` belongs among `items`: the position of the first item that is the same, or the position it
    /// will have when the new ones are added at the end, one after the other.
    pub(in crate::object) fn places(&self, items: &[Value], new: &[Value]) -> Result<Vec<usize>, NoIdentity> {
        let identity = |(index, item)| {
            self.identity(item).map_err(|key: &str| NoIdentity { index, key: key.to_owned() })
        };
        let known = items.iter().map(|item| self.identity(item).ok());
        let new: Vec<_> = new.iter().enumerate().map(identity).collect::<Result<_, _>>()?;
        Ok(places(known, new))
    }
}

/// Where each of `new` belongs among `known`, see [`Keys::places`].
pub(in crate::object) fn places<'a>(
    known: impl ExactSizeIterator<Item = Option<Identity<'a>>>,
    new: impl IntoIterator<Item = Identity<'a>>,
) -> Vec<usize> {
    let mut end = known.len();
    let mut first = BTreeMap::new();
    for (index, identity) in known.enumerate() {
        if let Some(identity) = identity {
            first.entry(identity).or_insert(index);
        }
    }
    let place = |identity| {
        *first.entry(identity).or_insert_with(|| {
            end += 1;
            end - 1
        })
    };
    new.into_iter().map(place).collect()
}
