//! Paths into trees.

use serde_json::{Map, Value};

use super::{FieldPath, ItemValue, Step};

/// Why a value cannot be set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AccessError {
    /// A field is wanted of something that has none.
    #[error("`{0}` is not a map")]
    NotAMap(FieldPath),
    /// An item is wanted of something that has none.
    #[error("`{0}` is not a list")]
    NotAList(FieldPath),
    /// A position is wanted beyond the end of a list.
    #[error("`{path}` is beyond the end of a list of {length}")]
    BeyondEnd {
        /// The item.
        path: FieldPath,
        /// How many items there are.
        length: usize,
    },
}

impl FieldPath {
    /// What the path leads to, if it leads somewhere.
    pub fn get<'v>(&self, tree: &'v Value) -> Option<&'v Value> {
        self.steps().iter().try_fold(tree, |value, step| step.get(value))
    }

    /// The same, to change it.
    pub fn get_mut<'v>(&self, tree: &'v mut Value) -> Option<&'v mut Value> {
        self.steps().iter().try_fold(tree, |value, step| step.get_mut(value))
    }

    /// Puts `value` where the path leads, and returns what was there. Maps, lists and items that are missing on the way
    /// are made; an item by position only at the end of its list. Null counts as missing. An error leaves the tree as it
    /// was.
    pub fn set(&self, tree: &mut Value, value: Value) -> Result<Option<Value>, AccessError> {
        self.check_way(tree)?;
        let taken = self.get(tree).is_some_and(|value| !value.is_null());
        let mut place = tree;
        for (depth, step) in self.steps().iter().enumerate() {
            place = step.slot(place).ok_or_else(|| AccessError::NotAMap(self.up_to(depth)))?;
        }
        let before = std::mem::replace(place, value);
        Ok(taken.then_some(before))
    }

    /// Whether a value can be set.
    fn check_way(&self, tree: &Value) -> Result<(), AccessError> {
        let mut place = Some(tree);
        for (depth, step) in self.steps().iter().enumerate() {
            place = place.filter(|value| !value.is_null());
            match (step, place) {
                (Step::Field(_) | Step::Key(_), Some(value)) if !value.is_object() => {
                    return Err(AccessError::NotAMap(self.up_to(depth)));
                }
                (Step::Index(_) | Step::Item(_), Some(value)) if !value.is_array() => {
                    return Err(AccessError::NotAList(self.up_to(depth)));
                }
                (Step::Index(index), _) => {
                    let length = place.and_then(Value::as_array).map_or(0, Vec::len);
                    if *index > length {
                        return Err(AccessError::BeyondEnd { path: self.up_to(depth + 1), length });
                    }
                }
                _ => {}
            }
            place = place.and_then(|value| step.get(value));
        }
        Ok(())
    }

    fn up_to(&self, length: usize) -> FieldPath {
        self.steps().iter().take(length).cloned().collect()
    }

    /// Takes what the path leads to out of its map or list.
    pub fn remove(&self, tree: &mut Value) -> Option<Value> {
        let (last, way) = self.steps().split_last()?;
        let around = way.iter().try_fold(tree, |value, step| step.get_mut(value))?;
        match (last, around) {
            (Step::Field(name) | Step::Key(name), Value::Object(map)) => map.remove(name.as_ref()),
            (Step::Index(_) | Step::Item(_), Value::Array(items)) => {
                let index = last.position(items).filter(|index| *index < items.len())?;
                Some(items.remove(index))
            }
            _ => None,
        }
    }
}

impl Step {
    fn get<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        match (self, value) {
            (Step::Field(name) | Step::Key(name), Value::Object(map)) => map.get(name.as_ref()),
            (Step::Index(_) | Step::Item(_), Value::Array(items)) => items.get(self.position(items)?),
            _ => None,
        }
    }

    fn get_mut<'v>(&self, value: &'v mut Value) -> Option<&'v mut Value> {
        match (self, value) {
            (Step::Field(name) | Step::Key(name), Value::Object(map)) => map.get_mut(name.as_ref()),
            (Step::Index(_) | Step::Item(_), Value::Array(items)) => {
                let index = self.position(items)?;
                items.get_mut(index)
            }
            _ => None,
        }
    }

    /// Where in a list this leads.
    fn position(&self, items: &[Value]) -> Option<usize> {
        match self {
            Step::Index(index) => Some(*index),
            Step::Item(values) => items.iter().position(|item| has_values(item, values)),
            Step::Field(_) | Step::Key(_) => None,
        }
    }

    /// The place this leads to in `value`, null if it had to be made. A `value` of null becomes a map or a list.
    fn slot<'v>(&self, value: &'v mut Value) -> Option<&'v mut Value> {
        if value.is_null() {
            *value = match self {
                Step::Field(_) | Step::Key(_) => Value::Object(Map::new()),
                Step::Index(_) | Step::Item(_) => Value::Array(Vec::new()),
            };
        }
        match (self, value) {
            (Step::Field(name) | Step::Key(name), Value::Object(map)) => {
                Some(map.entry(name.as_ref()).or_insert(Value::Null))
            }
            (Step::Index(_) | Step::Item(_), Value::Array(items)) => {
                let index = self.position(items).unwrap_or(items.len());
                if index == items.len() {
                    items.push(self.new_item());
                }
                items.get_mut(index)
            }
            _ => None,
        }
    }

    fn new_item(&self) -> Value {
        match self {
            Step::Item(values) => {
                let fields = values.iter().map(|(key, value)| (key.to_string(), Value::from(value)));
                Value::Object(fields.collect())
            }
            _ => Value::Null,
        }
    }
}

fn has_values(item: &Value, values: &[ItemValue]) -> bool {
    values.iter().all(|(key, value)| item.get(key.as_ref()).is_some_and(|own| value.is(own)))
}
