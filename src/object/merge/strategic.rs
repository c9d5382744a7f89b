//! Strategic merge patches, as Kubernetes applies those that it makes of typed objects: no directives, and null says
//! nothing.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::identity::{Identity, Keys, places};
use super::{MergeError, OnWrite, Walk, check_depth, missing_key};
use crate::object::path::At;
use crate::object::{PatchKind, Shape};

/// Applies `patch`, an object as a Go type writes it, without its empty fields, to `tree`.
///
/// Maps merge by key, lists as [`Shape::patch`] says. In a merged list the patch's items keep the patch's order, the
/// others theirs; an item that only the tree has stands before one of the patch only if both are in the tree and in that
/// order. Unlike in Kubernetes, a field of a union takes out the others, and items of the tree may lack their key or stand
/// twice: such an item stays, unmatched.
pub fn strategic<'s, S: Shape<'s>>(
    tree: &mut Value,
    patch: &Value,
    shape: S,
    on_write: OnWrite<'_>,
) -> Result<(), MergeError> {
    Strategic { walk: Walk { on_write } }.value(tree, patch, Some(shape), &At::ROOT)
}

struct Strategic<'w> {
    walk: Walk<'w>,
}

impl Strategic<'_> {
    fn value<'s, S: Shape<'s>>(
        &mut self,
        tree: &mut Value,
        patch: &Value,
        shape: Option<S>,
        at: &At<'_>,
    ) -> Result<(), MergeError> {
        check_depth(at)?;
        let kind = shape.map_or(PatchKind::Replace, Shape::patch);
        match (tree, patch, kind) {
            (_, Value::Null, _) => {}
            (Value::Object(tree), Value::Object(patch), _) => self.map(tree, patch, shape, at)?,
            (Value::Array(items), Value::Array(patch), PatchKind::Items(key)) => {
                let item = shape.and_then(Shape::item);
                self.items(items, patch, &Keys::new([key], item), item, at)?;
            }
            (Value::Array(items), Value::Array(patch), PatchKind::Values) => self.values(items, patch, at),
            (tree, patch, _) if tree == patch => {}
            (tree, patch, _) => self.walk.replace(tree, without_nulls(patch, at)?, at),
        }
        Ok(())
    }

    fn map<'s, S: Shape<'s>>(
        &mut self,
        tree: &mut Map<String, Value>,
        patch: &Map<String, Value>,
        shape: Option<S>,
        at: &At<'_>,
    ) -> Result<(), MergeError> {
        self.walk.exclude(tree, patch, shape, at);
        for (name, new) in patch.iter().filter(|(_, value)| !value.is_null()) {
            let at_field = at.field(name);
            match tree.get_mut(name) {
                Some(value) => {
                    let field = shape.and_then(|shape| shape.field(name));
                    self.value(value, new, field, &at_field)?;
                }
                None => self.walk.insert(tree, name.clone(), without_nulls(new, &at_field)?, at),
            }
        }
        Ok(())
    }

    fn items<'s, S: Shape<'s>>(
        &mut self,
        items: &mut Vec<Value>,
        patch: &[Value],
        keys: &Keys<'s>,
        item_shape: Option<S>,
        at: &At<'_>,
    ) -> Result<(), MergeError> {
        let length = items.len();
        let places = keys.places(items, patch).map_err(|error| missing_key(error, at))?;
        for (item, place) in patch.iter().zip(&places) {
            let at_item = at.item(&keys.names, item);
            match items.get_mut(*place) {
                Some(slot) => self.value(slot, item, item_shape, &at_item)?,
                None => self.walk.push_item(items, without_nulls(item, &at_item)?, &keys.names, at),
            }
        }
        reorder(items, &order(length, &places));
        Ok(())
    }

    fn values(&mut self, items: &mut Vec<Value>, patch: &[Value], at: &At<'_>) {
        let length = items.len();
        let known = items.iter().map(|item| Some(Identity::of_value(item)));
        let places = places(known, patch.iter().map(Identity::of_value));
        for (value, place) in patch.iter().zip(&places) {
            if *place == items.len() {
                self.walk.push_item(items, value.clone(), &[], at);
            }
        }
        reorder(items, &order(length, &places));
    }
}

/// The positions of a merged list's items in their new order. The first `length` are the tree's, the rest those that only
/// the patch has; `places` are those of the patch's items, in its order. A position may come twice, and counts once.
fn order(length: usize, places: &[usize]) -> Vec<usize> {
    let of_patch: BTreeSet<usize> = places.iter().copied().collect();
    let mut rest = (0..length).filter(|position| !of_patch.contains(position)).peekable();
    let mut order = Vec::with_capacity(length + places.len());
    for &place in places {
        while let Some(position) = rest.next_if(|position| place < length && *position < place) {
            order.push(position);
        }
        order.push(place);
    }
    order.extend(rest);
    order
}

fn reorder(items: &mut Vec<Value>, order: &[usize]) {
    let mut unordered: Vec<Option<Value>> = std::mem::take(items).into_iter().map(Some).collect();
    items.extend(order.iter().filter_map(|position| unordered.get_mut(*position)?.take()));
}

/// A copy of `value` in which no map has null.
fn without_nulls(value: &Value, at: &At<'_>) -> Result<Value, MergeError> {
    check_depth(at)?;
    Ok(match value {
        Value::Object(map) => {
            let present = map.iter().filter(|(_, value)| !value.is_null());
            let copy =
                |(name, value): (&String, &Value)| Ok((name.clone(), without_nulls(value, &at.field(name))?));
            Value::Object(present.map(copy).collect::<Result<_, _>>()?)
        }
        Value::Array(items) => {
            let copy = |(index, item)| without_nulls(item, &at.index(index));
            Value::Array(items.iter().enumerate().map(copy).collect::<Result<_, _>>()?)
        }
        plain => plain.clone(),
    })
}
