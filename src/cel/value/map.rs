//! Maps: JSON objects, or created ones, which keep the order of their entries.

use super::{Error, ErrorKind, Str, Val, nest};
use serde_json::Value;
use std::{cmp::Ordering, fmt, sync::Arc};

/// A map.
#[derive(Clone)]
pub enum Map<'a> {
    /// A JSON object.
    Json(&'a serde_json::Map<String, Value>),
    /// A created map; see [`Map::new`].
    Owned(Arc<Entries<'a>>),
}

/// The entries of a created map in the order they were written.
#[derive(Debug)]
pub struct Entries<'a> {
    depth: u16,
    pairs: Vec<(Key<'a>, Val<'a>)>,
    /// Positions in `pairs` by key; empty for small maps, which are searched from the front.
    sorted: Vec<u32>,
}

/// A key of a map. Integers are one kind of key whatever their type: `{1: "a"}[1u]` is `"a"`.
#[derive(Clone)]
pub enum Key<'a> {
    /// `true` or `false`.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// An unsigned integer.
    UInt(u64),
    /// Text.
    String(Str<'a>),
}

/// Maps with more entries than this are searched by bisection.
const SMALL: usize = 8;

impl<'a> Map<'a> {
    /// A map of `entries`. Fails when a key occurs twice, blaming the argument with the number of the second, or when
    /// the map would nest too deeply.
    pub fn new(entries: Vec<(Key<'a>, Val<'a>)>) -> Result<Map<'a>, Error> {
        let depth = u16::try_from(nest(entries.iter().map(|(_, value)| value))?).unwrap_or(u16::MAX);
        let sorted = sort(&entries)?;
        Ok(Map::Owned(Arc::new(Entries { depth, pairs: entries, sorted })))
    }

    /// A map with text for keys, which must differ.
    pub fn object(fields: impl IntoIterator<Item = (&'a str, Val<'a>)>) -> Result<Map<'a>, Error> {
        Map::new(fields.into_iter().map(|(name, value)| (Key::String(Str::Borrowed(name)), value)).collect())
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        match self {
            Map::Json(object) => object.len(),
            Map::Owned(map) => map.pairs.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value under `key`, if there is one.
    pub fn get(&self, key: &Key) -> Option<Val<'a>> {
        match (self, key) {
            (Map::Json(object), Key::String(name)) => object.get(&**name).map(Val::from_json),
            (Map::Json(_), _) => None,
            (Map::Owned(map), key) => map.find(|found| found.cmp(key)).cloned(),
        }
    }

    /// The value under the text `name`, if there is one.
    #[inline]
    pub fn field(&self, name: &str) -> Option<Val<'a>> {
        match self {
            Map::Json(object) => object.get(name).map(Val::from_json),
            Map::Owned(map) => map.find(|found| found.cmp_text(name)).cloned(),
        }
    }

    /// Whether there is a value under the text `name`.
    pub(in crate::cel) fn has_field(&self, name: &str) -> bool {
        match self {
            Map::Json(object) => object.contains_key(name),
            Map::Owned(map) => map.find(|found| found.cmp_text(name)).is_some(),
        }
    }

    /// The entries in order.
    pub fn iter(&self) -> Iter<'_, 'a> {
        match self {
            Map::Json(object) => Iter::Json(object.iter()),
            Map::Owned(map) => Iter::Owned(map.pairs.iter()),
        }
    }
}

impl<'m, 'a> IntoIterator for &'m Map<'a> {
    type Item = (Key<'a>, Val<'a>);
    type IntoIter = Iter<'m, 'a>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// The entries of a map in order; see [`Map::iter`].
pub enum Iter<'m, 'a> {
    /// Of a JSON object.
    Json(serde_json::map::Iter<'a>),
    /// Of a created map.
    Owned(std::slice::Iter<'m, (Key<'a>, Val<'a>)>),
}

impl<'a> Iterator for Iter<'_, 'a> {
    type Item = (Key<'a>, Val<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Iter::Json(entries) => {
                entries.next().map(|(name, value)| (Key::String(Str::Borrowed(name)), Val::from_json(value)))
            }
            Iter::Owned(entries) => entries.next().cloned(),
        }
    }
}

impl<'a> Entries<'a> {
    pub(super) fn depth(&self) -> usize {
        self.depth.into()
    }

    /// The value whose key compares as equal.
    fn find(&self, compare: impl Fn(&Key) -> Ordering) -> Option<&Val<'a>> {
        if self.sorted.is_empty() {
            return self.pairs.iter().find(|(key, _)| compare(key).is_eq()).map(|(_, value)| value);
        }
        let entry = |position: &u32| self.pairs.get(*position as usize);
        let found =
            self.sorted.binary_search_by(|at| entry(at).map_or(Ordering::Less, |(key, _)| compare(key)));
        found.ok().and_then(|at| self.sorted.get(at)).and_then(entry).map(|(_, value)| value)
    }
}

/// The order of the keys, or nothing for a small map. Fails when two keys are equal.
fn sort(entries: &[(Key, Val)]) -> Result<Vec<u32>, Error> {
    let repeated = |position: usize| {
        let key = entries.get(position).map_or_else(String::new, |(key, _)| format!(" {key:?}"));
        Error::new(ErrorKind::InvalidArgument, format!("the key{key} occurs twice")).in_argument(position)
    };
    if entries.len() <= SMALL {
        for (position, (key, _)) in entries.iter().enumerate() {
            if entries.iter().take(position).any(|(before, _)| before == key) {
                return Err(repeated(position));
            }
        }
        return Ok(Vec::new());
    }
    let mut sorted: Vec<(&Key, u32)> = entries.iter().map(|(key, _)| key).zip(0..).collect();
    sorted.sort();
    match sorted.windows(2).find(|pair| matches!(pair, [(a, _), (b, _)] if a == b)) {
        Some([_, (_, second)]) => Err(repeated(*second as usize)),
        _ => Ok(sorted.into_iter().map(|(_, position)| position).collect()),
    }
}

impl<'a> Key<'a> {
    /// The key that `value` is, if it can be one. A double without a fraction finds the integer it equals.
    pub fn from_val(value: &Val<'a>) -> Option<Key<'a>> {
        Some(match value {
            Val::Bool(value) => Key::Bool(*value),
            Val::Int(value) => Key::Int(*value),
            Val::UInt(value) => Key::UInt(*value),
            Val::String(text) => Key::String(text.clone()),
            Val::Double(value) if value.fract() == 0.0 => match super::double_to_int(*value) {
                Some(value) => Key::Int(value),
                None => Key::UInt(super::double_to_uint(*value)?),
            },
            _ => return None,
        })
    }

    pub(super) fn into_owned(self) -> Key<'static> {
        match self {
            Key::Bool(value) => Key::Bool(value),
            Key::Int(value) => Key::Int(value),
            Key::UInt(value) => Key::UInt(value),
            Key::String(text) => Key::String(Str::Owned((*text).into())),
        }
    }

    fn cmp_text(&self, text: &str) -> Ordering {
        match self {
            Key::String(key) => (**key).cmp(text),
            Key::Bool(_) | Key::Int(_) | Key::UInt(_) => Ordering::Less,
        }
    }

    /// Kinds in order, then a number within the kind of numbers.
    fn rank(&self) -> (u8, i128) {
        match self {
            Key::Bool(value) => (0, i128::from(*value)),
            Key::Int(value) => (1, i128::from(*value)),
            Key::UInt(value) => (1, i128::from(*value)),
            Key::String(_) => (2, 0),
        }
    }
}

impl<'a> From<Key<'a>> for Val<'a> {
    fn from(key: Key<'a>) -> Self {
        match key {
            Key::Bool(value) => Val::Bool(value),
            Key::Int(value) => Val::Int(value),
            Key::UInt(value) => Val::UInt(value),
            Key::String(text) => Val::String(text),
        }
    }
}

impl Ord for Key<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Key::String(a), Key::String(b)) => (**a).cmp(&**b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for Key<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Key<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Key<'_> {}

impl fmt::Debug for Key<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Val::from(self.clone()).fmt(f)
    }
}
