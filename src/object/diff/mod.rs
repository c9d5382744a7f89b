//! How two trees differ.
//!
//! [`diff()`] lists the changes, matching items of lists by what tells them apart; [`text()`] shows them to people.

mod text;

pub use text::text;

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::merge::identity::{Identity, Keys};
use super::path::{At, FieldPath, MAX_DEPTH};
use super::{ListKind, Shape};
use crate::quantity::Quantity;

/// A difference between two trees.
#[derive(Clone, Debug, PartialEq)]
pub struct Change<'a> {
    /// Where.
    pub path: FieldPath,
    /// What is different there.
    pub kind: ChangeKind<'a>,
}

/// What is different.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ChangeKind<'a> {
    /// Only the second tree has this.
    Added(&'a Value),
    /// Only the first tree has this.
    Removed(&'a Value),
    /// One value has become another.
    Replaced(&'a Value, &'a Value),
    /// The items of a list that are in both trees are in another order. Both lists as they are.
    Reordered(&'a [Value], &'a [Value]),
}

/// What counts as different.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantities {
    /// Quantities that are spelled differently, like everything else.
    AsWritten,
    /// Only quantities that are different amounts: `1` is `1000m`. Quantities are the values that the shape says are,
    /// and those in fields that Kubernetes uses for nothing else, such as `resources.limits`.
    ByValue,
}

/// What has changed from `before` to `after`, in the order of the fields' names and, in lists, of the items. Below 128
/// levels, values are compared as a whole.
pub fn diff<'a, 's, S: Shape<'s>>(
    before: &'a Value,
    after: &'a Value,
    shape: S,
    quantities: Quantities,
) -> Vec<Change<'a>> {
    let mut diff = Diff { changes: Vec::new(), quantities };
    diff.value(before, after, Some(shape), &At::ROOT, Holds::Anything);
    diff.changes
}

struct Diff<'a> {
    changes: Vec<Change<'a>>,
    quantities: Quantities,
}

/// What a field's name says of its value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Holds {
    Anything,
    Quantity,
    /// A map of quantities.
    Quantities,
}

impl Holds {
    fn of_field(name: &str) -> Holds {
        match name {
            "requests" | "limits" | "overhead" | "capacity" | "allocatable" | "allocatedResources"
            | "minResources" => Holds::Quantities,
            "divisor" | "sizeLimit" => Holds::Quantity,
            _ => Holds::Anything,
        }
    }

    fn inside(self, name: &str) -> Holds {
        if self == Holds::Quantities { Holds::Quantity } else { Holds::of_field(name) }
    }
}

impl<'a> Diff<'a> {
    fn add(&mut self, at: &At<'_>, kind: ChangeKind<'a>) {
        self.changes.push(Change { path: at.path(), kind });
    }

    fn value<'s, S: Shape<'s>>(
        &mut self,
        before: &'a Value,
        after: &'a Value,
        shape: Option<S>,
        at: &At<'_>,
        holds: Holds,
    ) {
        match (before, after) {
            (Value::Object(old), Value::Object(new)) if at.depth() < MAX_DEPTH => {
                self.map(old, new, shape, at, holds);
            }
            (Value::Array(old), Value::Array(new)) if at.depth() < MAX_DEPTH => {
                self.list(old, new, shape, at);
            }
            _ if before == after => {}
            _ if self.equal_quantities(before, after, shape, holds) => {}
            _ => self.add(at, ChangeKind::Replaced(before, after)),
        }
    }

    fn equal_quantities<'s, S: Shape<'s>>(
        &self,
        before: &Value,
        after: &Value,
        shape: Option<S>,
        holds: Holds,
    ) -> bool {
        let is_quantity = holds == Holds::Quantity || shape.is_some_and(Shape::is_quantity);
        self.quantities == Quantities::ByValue
            && is_quantity
            && Quantity::from_json(before).is_ok_and(|before| Quantity::from_json(after) == Ok(before))
    }

    fn map<'s, S: Shape<'s>>(
        &mut self,
        before: &'a Map<String, Value>,
        after: &'a Map<String, Value>,
        shape: Option<S>,
        at: &At<'_>,
        holds: Holds,
    ) {
        let added = after.iter().filter(|(name, _)| !before.contains_key(*name));
        let mut names: Vec<&str> =
            before.keys().chain(added.map(|(name, _)| name)).map(String::as_str).collect();
        names.sort_unstable();
        for name in names {
            let at = at.field(name);
            match (before.get(name), after.get(name)) {
                (Some(before), Some(after)) => {
                    let field = shape.and_then(|shape| shape.field(name));
                    self.value(before, after, field, &at, holds.inside(name));
                }
                (Some(before), None) => self.add(&at, ChangeKind::Removed(before)),
                (None, Some(after)) => self.add(&at, ChangeKind::Added(after)),
                (None, None) => {}
            }
        }
    }

    fn list<'s, S: Shape<'s>>(
        &mut self,
        before: &'a [Value],
        after: &'a [Value],
        shape: Option<S>,
        at: &At<'_>,
    ) {
        let item = shape.and_then(Shape::item);
        match shape.map_or(ListKind::Atomic, Shape::list) {
            ListKind::Atomic => self.by_position(before, after, item, at),
            ListKind::Set => self.by_identity(before, after, None, item, at),
            ListKind::Map(names) => {
                let keys = Keys::new(names.iter().map(AsRef::as_ref), item);
                self.by_identity(before, after, Some(&keys), item, at);
            }
        }
    }

    /// A list whose items are known by their positions.
    fn by_position<'s, S: Shape<'s>>(
        &mut self,
        before: &'a [Value],
        after: &'a [Value],
        item: Option<S>,
        at: &At<'_>,
    ) {
        for index in 0..before.len().max(after.len()) {
            let at = at.index(index);
            match (before.get(index), after.get(index)) {
                (Some(before), Some(after)) => self.value(before, after, item, &at, Holds::Anything),
                (Some(before), None) => self.add(&at, ChangeKind::Removed(before)),
                (None, Some(after)) => self.add(&at, ChangeKind::Added(after)),
                (None, None) => {}
            }
        }
    }

    /// A list whose items are known by their keys, or by their values. Where one has no identity, or stands twice, the
    /// positions count.
    fn by_identity<'s, S: Shape<'s>>(
        &mut self,
        before: &'a [Value],
        after: &'a [Value],
        keys: Option<&Keys<'s>>,
        item: Option<S>,
        at: &At<'_>,
    ) {
        let (Some(old), Some(new)) = (identities(before, keys), identities(after, keys)) else {
            return self.by_position(before, after, item, at);
        };
        let (Some(in_old), Some(in_new)) = (index(&old), index(&new)) else {
            return self.by_position(before, after, item, at);
        };
        let names = keys.map_or(&[][..], |keys| &keys.names);
        let mut kept = Vec::new();
        for (index, (value, identity)) in before.iter().zip(&old).enumerate() {
            let at = place(at, names, value, index);
            let position = in_new.get(identity).copied();
            match position.and_then(|position| after.get(position)) {
                Some(now) => self.value(value, now, item, &at, Holds::Anything),
                None => self.add(&at, ChangeKind::Removed(value)),
            }
            kept.extend(position);
        }
        for (index, (value, identity)) in after.iter().zip(&new).enumerate() {
            if !in_old.contains_key(identity) {
                self.add(&place(at, names, value, index), ChangeKind::Added(value));
            }
        }
        if !kept.is_sorted() {
            self.add(at, ChangeKind::Reordered(before, after));
        }
    }
}

/// The place of an item: by its keys, or by its position if it has none.
fn place<'p>(list: &'p At<'p>, keys: &'p [&'p str], item: &'p Value, position: usize) -> At<'p> {
    if keys.is_empty() { list.index(position) } else { list.item(keys, item) }
}

/// What tells each of `items` from others; `None` if one lacks its key.
fn identities<'i, 's: 'i>(items: &'i [Value], keys: Option<&Keys<'s>>) -> Option<Vec<Identity<'i>>> {
    let identity = |item| match keys {
        Some(keys) => keys.identity(item).ok(),
        None => Some(Identity::of_value(item)),
    };
    items.iter().map(identity).collect()
}

/// Where each is; `None` if one stands twice.
fn index<'m, 'i>(identities: &'m [Identity<'i>]) -> Option<BTreeMap<&'m Identity<'i>, usize>> {
    let map: BTreeMap<_, _> =
        identities.iter().enumerate().map(|(position, identity)| (identity, position)).collect();
    (map.len() == identities.len()).then_some(map)
}
