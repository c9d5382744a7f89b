//! Fragments into trees.

use serde_json::{Map, Value};

use super::identity::{Identity, Keys, places};
use super::{MergeError, OnWrite, Walk, Write, check_depth, missing_key};
use crate::object::path::At;
use crate::object::{ListKind, Shape};

/// Writes `fragment` over `tree`: maps are walked into, any other value takes the place of what is there.
pub fn set<'s, S: Shape<'s>>(
    tree: &mut Value,
    fragment: Value,
    shape: S,
    on_write: OnWrite<'_>,
) -> Result<(), MergeError> {
    let mut walk = Upsert { walk: Walk { on_write }, lists: false };
    walk.value(tree, fragment, Some(shape), &At::ROOT)
}

/// Writes `fragment` over `tree` as [`set()`] does, but list by list: an item of a list with keys takes the place of the
/// first one with equal keys, or is added at the end; values are added to a set where they are missing. Doing it twice
/// is doing it once.
pub fn upsert<'s, S: Shape<'s>>(
    tree: &mut Value,
    fragment: Value,
    shape: S,
    on_write: OnWrite<'_>,
) -> Result<(), MergeError> {
    let mut walk = Upsert { walk: Walk { on_write }, lists: true };
    walk.value(tree, fragment, Some(shape), &At::ROOT)
}

struct Upsert<'w> {
    walk: Walk<'w>,
    /// Whether lists are walked into.
    lists: bool,
}

impl Upsert<'_> {
    fn value<'s, S: Shape<'s>>(
        &mut self,
        tree: &mut Value,
        fragment: Value,
        shape: Option<S>,
        at: &At<'_>,
    ) -> Result<(), MergeError> {
        check_depth(at)?;
        match (tree, fragment, self.list(shape)) {
            (Value::Object(tree), Value::Object(fragment), _) => self.map(tree, fragment, shape, at),
            (Value::Array(items), Value::Array(new), ListKind::Map(names)) => {
                let keys = Keys::new(names.iter().map(AsRef::as_ref), shape.and_then(Shape::item));
                self.items(items, new, &keys, at)
            }
            (Value::Array(items), Value::Array(new), ListKind::Set) => {
                self.values(items, new, at);
                Ok(())
            }
            (tree, fragment, _) => self.replace(tree, fragment, shape, at),
        }
    }

    /// Puts `new` in the place of a value of another type. It is merged into nothing, as in [`Upsert::map`].
    fn replace<'s, S: Shape<'s>>(
        &mut self,
        tree: &mut Value,
        new: Value,
        shape: Option<S>,
        at: &At<'_>,
    ) -> Result<(), MergeError> {
        let Some(empty) = self.empty(&new, shape) else {
            self.walk.replace(tree, new, at);
            return Ok(());
        };
        let before = std::mem::replace(tree, empty);
        let mut silent = Upsert { walk: Walk { on_write: &mut |_| {} }, lists: self.lists };
        silent.value(tree, new, shape, at)?;
        (self.walk.on_write)(Write { at: *at, before: Some(before), after: Some(tree) });
        Ok(())
    }

    fn map<'s, S: Shape<'s>>(
        &mut self,
        tree: &mut Map<String, Value>,
        fragment: Map<String, Value>,
        shape: Option<S>,
        at: &At<'_>,
    ) -> Result<(), MergeError> {
        self.walk.exclude(tree, &fragment, shape, at);
        for (name, new) in fragment {
            let field = shape.and_then(|shape| shape.field(&name));
            match tree.get_mut(&name) {
                Some(value) if !value.is_null() => self.value(value, new, field, &at.field(&name))?,
                _ => match self.empty(&new, field) {
                    // What is new is merged into nothing, so that it comes out the same when it is merged again.
                    Some(empty) => {
                        let value = tree.entry(name.as_str()).or_insert(Value::Null);
                        *value = empty;
                        self.value(value, new, field, &at.field(&name))?;
                    }
                    None => self.walk.insert(tree, name, new, at),
                },
            }
        }
        Ok(())
    }

    /// What to merge `new` into where there is nothing; `None` if it is to be taken as a whole.
    fn empty<'s, S: Shape<'s>>(&self, new: &Value, shape: Option<S>) -> Option<Value> {
        match new {
            Value::Object(map) if !map.is_empty() => Some(Value::Object(Map::new())),
            Value::Array(items) if !items.is_empty() && self.list(shape) != ListKind::Atomic => {
                Some(Value::Array(Vec::new()))
            }
            _ => None,
        }
    }

    fn list<'s, S: Shape<'s>>(&self, shape: Option<S>) -> ListKind<'s> {
        shape.filter(|_| self.lists).map_or(ListKind::Atomic, Shape::list)
    }

    fn items(
        &mut self,
        items: &mut Vec<Value>,
        new: Vec<Value>,
        keys: &Keys<'_>,
        at: &At<'_>,
    ) -> Result<(), MergeError> {
        let places = keys.places(items, &new).map_err(|error| missing_key(error, at))?;
        for (item, place) in new.into_iter().zip(places) {
            match items.get_mut(place) {
                Some(slot) => self.walk.replace_item(slot, item, &keys.names, at),
                None => self.walk.push_item(items, item, &keys.names, at),
            }
        }
        Ok(())
    }

    fn values(&mut self, items: &mut Vec<Value>, new: Vec<Value>, at: &At<'_>) {
        let known = items.iter().map(|item| Some(Identity::of_value(item)));
        let places = places(known, new.iter().map(Identity::of_value));
        for (value, place) in new.into_iter().zip(places) {
            if place == items.len() {
                self.walk.push_item(items, value, &[], at);
            }
        }
    }
}
