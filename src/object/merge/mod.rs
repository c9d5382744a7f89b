//! One tree into another, by the rules of the lists in it.
//!
//! - [`set()`] walks into maps; any other value takes the place of what is there.
//! - [`upsert()`] does so too, but puts the items of a list with keys in the place of those with equal keys, and the
//!   others at the end.
//! - [`append()`] walks into maps and adds to the ends of lists.
//! - [`strategic()`] is Kubernetes' strategic merge patch.
//!
//! All but [`append()`] take out the fields that a new one excludes, as `valueFrom` excludes `value`, all keep every field they
//! are not told about, and take time in proportion to the trees (times the logarithm of their longest list). What a type is like
//! is told by a [`Shape`].

mod append;
pub(super) mod identity;
mod strategic;
mod upsert;

pub use append::append;
pub use strategic::strategic;
pub use upsert::{set, upsert};

use serde_json::{Map, Value};

use super::Shape;
use super::path::{At, FieldPath, MAX_DEPTH};
use identity::NoIdentity;

/// Why a tree cannot be merged into another. The tree may have been changed in part.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MergeError {
    /// An item has no value, or none that is text, a whole number, true or false, for a field that tells items apart.
    #[error("`{path}` has no `{key}` to tell it from other items")]
    MissingKey {
        /// The item in what was to be merged.
        path: FieldPath,
        /// The field.
        key: String,
    },
    /// Deeper than [`MAX_DEPTH`].
    #[error("`{0}` is nested more than {MAX_DEPTH} deep")]
    TooDeep(FieldPath),
}

/// A change that a merge made. Where a map is new, its values are reported one by one.
#[derive(Debug)]
pub struct Write<'a> {
    /// Where, from the tree that was merged into.
    pub at: At<'a>,
    /// What was there.
    pub before: Option<Value>,
    /// What is there now; nothing if it was excluded by another field.
    pub after: Option<&'a Value>,
}

/// Whom a merge tells what it writes.
pub type OnWrite<'w> = &'w mut dyn FnMut(Write<'_>);

/// A merge on its way down two trees.
struct Walk<'w> {
    on_write: OnWrite<'w>,
}

impl Walk<'_> {
    /// Puts `value` in the place of `slot`.
    fn replace(&mut self, slot: &mut Value, value: Value, at: &At<'_>) {
        let before = std::mem::replace(slot, value);
        (self.on_write)(Write { at: *at, before: Some(before), after: Some(slot) });
    }

    /// Puts `item` in the place of `slot`, an item of the list at `at`.
    fn replace_item(&mut self, slot: &mut Value, item: Value, keys: &[&str], at: &At<'_>) {
        let before = std::mem::replace(slot, item);
        (self.on_write)(Write { at: at.item(keys, slot), before: Some(before), after: Some(slot) });
    }

    /// Puts `item` at the end of `items`, the list at `at`. Without `keys`, the item is known by its position.
    fn push_item(&mut self, items: &mut Vec<Value>, item: Value, keys: &[&str], at: &At<'_>) {
        let position = items.len();
        items.push(item);
        let Some(item) = items.last() else { return };
        let at = if keys.is_empty() { at.index(position) } else { at.item(keys, item) };
        (self.on_write)(Write { at, before: None, after: Some(item) });
    }

    /// Puts `value` at the key `name`, which has nothing or null.
    fn insert(&mut self, map: &mut Map<String, Value>, name: String, value: Value, at: &At<'_>) {
        let step = name.clone();
        let slot = map.entry(name).or_insert(Value::Null);
        *slot = value;
        (self.on_write)(Write { at: at.field(&step), before: None, after: Some(slot) });
    }

    /// Takes out the fields of `map` that one in `over` excludes.
    fn exclude<'s, S: Shape<'s>>(
        &mut self,
        map: &mut Map<String, Value>,
        over: &Map<String, Value>,
        shape: Option<S>,
        at: &At<'_>,
    ) {
        let Some(union) = shape.map(Shape::union) else { return };
        if !over.iter().any(|(name, value)| union.has(name) && !value.is_null()) {
            return;
        }
        let excluded: Vec<String> =
            map.keys().filter(|name| union.has(name) && !over.contains_key(*name)).cloned().collect();
        for name in excluded {
            let before = map.remove(&name);
            (self.on_write)(Write { at: at.field(&name), before, after: None });
        }
    }
}

fn check_depth(at: &At<'_>) -> Result<(), MergeError> {
    if at.depth() > MAX_DEPTH { Err(MergeError::TooDeep(at.path())) } else { Ok(()) }
}

fn missing_key(error: NoIdentity, at: &At<'_>) -> MergeError {
    MergeError::MissingKey { path: at.index(error.index).path(), key: error.key }
}
