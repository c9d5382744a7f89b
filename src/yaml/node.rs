//! The tree: what a YAML text says, and where.

use super::within;
use crate::diagnostic::Span;
use saphyr_parser::ScalarStyle;
use serde_json::{Map, Value};
use std::ops::Range;

/// A value with its place.
#[derive(Clone, Debug)]
pub struct Node {
    /// What it is.
    pub kind: Kind,
    /// Where it stands, quotes and block indicators included.
    pub span: Span,
    pub(super) style: ScalarStyle,
}

/// What a node is. Map keys are unique and in the text's order; a key that is no string is its text.
#[derive(Clone, Debug)]
pub enum Kind {
    /// `null`, `~` or nothing.
    Null,
    /// A truth value.
    Bool(bool),
    /// Any number; never NaN or infinite.
    Number(serde_json::Number),
    /// A string.
    String(String),
    /// A sequence.
    List(Vec<Node>),
    /// A mapping.
    Map(Vec<Entry>),
}

/// A key and its value.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Where the key stands.
    pub key_span: Span,
    /// The value.
    pub value: Node,
}

impl Node {
    /// Null at `span`.
    pub fn null(span: Span) -> Node {
        Node { kind: Kind::Null, span, style: ScalarStyle::Plain }
    }

    /// The string, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match &self.kind {
            Kind::String(text) => Some(text),
            _ => None,
        }
    }

    /// Whether it is null.
    pub fn is_null(&self) -> bool {
        matches!(self.kind, Kind::Null)
    }

    /// The truth value, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self.kind {
            Kind::Bool(value) => Some(value),
            _ => None,
        }
    }

    /// The number, if it is a whole one that fits.
    pub fn as_i64(&self) -> Option<i64> {
        match &self.kind {
            Kind::Number(number) => number.as_i64(),
            _ => None,
        }
    }

    /// The entries, if it is a map.
    pub fn as_map(&self) -> Option<&[Entry]> {
        match &self.kind {
            Kind::Map(entries) => Some(entries),
            _ => None,
        }
    }

    /// The items, if it is a list.
    pub fn as_list(&self) -> Option<&[Node]> {
        match &self.kind {
            Kind::List(items) => Some(items),
            _ => None,
        }
    }

    /// The value under `key`, if it is a map that has it.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.as_map()?.iter().find(|entry| entry.key == key).map(|entry| &entry.value)
    }

    /// What it is, for messages: `a string`, `a map`.
    pub fn type_name(&self) -> &'static str {
        match &self.kind {
            Kind::Null => "null",
            Kind::Bool(_) => "a boolean",
            Kind::Number(_) => "a number",
            Kind::String(_) => "a string",
            Kind::List(_) => "a list",
            Kind::Map(_) => "a map",
        }
    }

    /// The same as a JSON tree.
    pub fn to_json(&self) -> Value {
        match &self.kind {
            Kind::Null => Value::Null,
            Kind::Bool(value) => Value::Bool(*value),
            Kind::Number(value) => Value::Number(value.clone()),
            Kind::String(value) => Value::String(value.clone()),
            Kind::List(items) => Value::Array(items.iter().map(Node::to_json).collect()),
            Kind::Map(entries) => Value::Object(
                entries.iter().map(|entry| (entry.key.clone(), entry.value.to_json())).collect::<Map<_, _>>(),
            ),
        }
    }

    /// Where the bytes `range` of this scalar's string stand in the text, through folding, indentation and escapes.
    /// The whole scalar if it is no string.
    pub fn inside(&self, range: Range<usize>) -> Span {
        let Some(value) = self.as_str() else { return self.span.clone() };
        match within::locate(self.span.text(), self.style, value, &range) {
            Some(found) => {
                self.span.source().span(self.span.start() + found.start..self.span.start() + found.end)
            }
            None => self.span.clone(),
        }
    }

    /// The node at `path`, and whether that is all of it: the last node on the way that exists otherwise.
    pub fn nearest<'n, 'p>(&'n self, path: impl IntoIterator<Item = Step<'p>>) -> (&'n Node, bool) {
        let mut node = self;
        for step in path {
            let next = match step {
                Step::Key(key) => node.get(key),
                Step::Index(index) => node.as_list().and_then(|items| items.get(index)),
            };
            match next {
                Some(next) => node = next,
                None => return (node, false),
            }
        }
        (node, true)
    }
}

/// One step down a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// Into a map.
    Key(&'a str),
    /// Into a list.
    Index(usize),
}
