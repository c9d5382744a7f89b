//! From a field of an object to its place in the text.

use crate::{
    diagnostic::{Diagnostic, Place, Span},
    object::{
        FieldPath,
        path::{ItemValue, Step},
    },
    yaml::{Entry, Kind, Node},
};

/// `diagnostic` about a field of the object that `node` is, with its place in the text.
pub(super) fn located(mut diagnostic: Diagnostic, node: &Node) -> Diagnostic {
    if let Place::Field { object, path } = diagnostic.place {
        let span = span(node, &path);
        diagnostic.place = Place::SourceField { span, object, path };
    }
    diagnostic
}

/// Where the field at `path` stands, or else what comes nearest around it. A path that cannot be read is about the object
/// as a whole.
pub(super) fn span(node: &Node, path: &str) -> Span {
    let path = FieldPath::parse(path).unwrap_or_default();
    let mut place = head(node);
    let mut node = node;
    for step in path.steps() {
        let Some((next, name)) = child(node, step) else { break };
        place = shown(next, name);
        node = next;
    }
    place
}

/// What stands for an object as a whole: its name, or its first line.
pub(super) fn head(node: &Node) -> Span {
    let name = node.get("metadata").and_then(|metadata| metadata.get("name"));
    name.unwrap_or(node).span.clone()
}

/// The value one step down, with the key it stands under.
fn child<'n>(node: &'n Node, step: &Step) -> Option<(&'n Node, Option<&'n Entry>)> {
    match step {
        Step::Field(name) | Step::Key(name) => {
            let entry = node.as_map()?.iter().find(|entry| entry.key == **name)?;
            Some((&entry.value, Some(entry)))
        }
        Step::Index(index) => Some((node.as_list()?.get(*index)?, None)),
        Step::Item(values) => Some((node.as_list()?.iter().find(|item| has(item, values))?, None)),
    }
}

fn has(item: &Node, values: &[ItemValue]) -> bool {
    values.iter().all(|(key, value)| item.get(key).is_some_and(|node| value.is(&node.to_json())))
}

/// Of a scalar the value is shown, of a list or map the key above it.
fn shown(node: &Node, entry: Option<&Entry>) -> Span {
    match (&node.kind, entry) {
        (Kind::List(_) | Kind::Map(_) | Kind::Null, Some(entry)) => entry.key_span.clone(),
        _ => node.span.clone(),
    }
}

/// Where the key stands that `path` ends with: what a name that is not known is blamed on.
pub(super) fn key_span(node: &Node, path: &FieldPath) -> Option<Span> {
    let mut place = None;
    let mut node = node;
    for step in path.steps() {
        let (next, entry) = child(node, step)?;
        place = entry.map(|entry| entry.key_span.clone());
        node = next;
    }
    place
}
