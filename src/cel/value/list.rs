//! Lists: borrowed from a document, created, or lazy.

use super::{Error, Val, nest};
use serde_json::Value;
use std::{fmt, sync::Arc};

/// A list.
#[derive(Clone)]
pub enum List<'a> {
    /// A JSON array.
    Json(&'a [Value]),
    /// A created list; see [`List::new`].
    Owned(Arc<Items<'a>>),
    /// A list whose items are made when they are asked for.
    Lazy(Arc<dyn Lazy>),
}

/// The items of a created list.
#[derive(Debug)]
pub struct Items<'a> {
    depth: u16,
    items: Vec<Val<'a>>,
}

/// A list that is a rule instead of data, such as the endpoints of a job: its length is known, its items are made one
/// at a time.
pub trait Lazy: Send + Sync + fmt::Debug {
    /// How many items there are.
    fn len(&self) -> usize;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The item at `index`; [`Val::Null`] outside the list.
    fn get(&self, index: usize) -> Val<'static>;

    /// Most bytes that making one item creates.
    fn item_bytes(&self) -> usize;

    /// Appends all items with `separator` between them if they are strings; returns whether they are.
    fn join(&self, _separator: &str, _text: &mut String) -> bool {
        false
    }
}

impl<'a> List<'a> {
    /// A list of `items`. Fails when it would nest too deeply.
    pub fn new(items: Vec<Val<'a>>) -> Result<List<'a>, Error> {
        let depth = u16::try_from(nest(&items)?).unwrap_or(u16::MAX);
        Ok(List::Owned(Arc::new(Items { depth, items })))
    }

    /// How many items there are.
    pub fn len(&self) -> usize {
        match self {
            List::Json(items) => items.len(),
            List::Owned(list) => list.items.len(),
            List::Lazy(list) => list.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The item at `index`, if there is one.
    #[inline]
    pub fn get(&self, index: usize) -> Option<Val<'a>> {
        match self {
            List::Json(items) => items.get(index).map(Val::from_json),
            List::Owned(list) => list.items.get(index).cloned(),
            List::Lazy(list) => (index < list.len()).then(|| list.get(index)),
        }
    }

    /// The text at `index`, if it is one that exists.
    pub(in crate::cel) fn text(&self, index: usize) -> Option<&str> {
        match self {
            List::Json(items) => items.get(index)?.as_str(),
            List::Owned(list) => list.items.get(index)?.as_str(),
            List::Lazy(_) => None,
        }
    }

    /// The items in order.
    pub fn iter(&self) -> impl Iterator<Item = Val<'a>> + '_ {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    /// Bytes that reading one item creates.
    pub(in crate::cel) fn item_bytes(&self) -> usize {
        match self {
            List::Json(_) | List::Owned(_) => 0,
            List::Lazy(list) => list.item_bytes(),
        }
    }
}

impl Items<'_> {
    pub(super) fn depth(&self) -> usize {
        self.depth.into()
    }
}
