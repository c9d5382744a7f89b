//! What a mutation writes: `remove`, `set`, `append` and `upsert` as one change per field.

use super::{Checker, expression::Loops, fit::describe, templates::WHEN};
use crate::{
    diagnostic::{Code, Diagnostic, Span, codes},
    object::{FieldPath, path::Segment},
    policy::{
        compiled::{Expr, Operation, Write},
        document::{self, Text},
        scope::{Place, types},
    },
    schema::{ListKind, Shape, TypeId},
    yaml::{Entry, Kind, Node},
};
use std::sync::Arc;

/// Which of the three fields a node stands under.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verb {
    Set,
    Append,
    Upsert,
}

/// Where on the way down to the leaves of a fragment.
struct Walk<'c, 'd, 'l> {
    checker: &'c mut Checker<'d>,
    verb: Verb,
    place: Place,
    loops: &'l Loops,
    path: Vec<String>,
    when: Vec<Arc<Expr>>,
    writes: Vec<Write>,
    valid: bool,
}

impl Checker<'_> {
    /// The writes of a mutation, in the order in which they happen.
    pub(super) fn writes(&mut self, rule: &document::Mutation, place: Place, loops: &Loops) -> Option<Vec<Write>> {
        let target = target(place);
        let mut valid = true;
        let mut writes = Vec::new();
        for text in &rule.remove {
            let write = self.removal(text, target);
            valid &= write.is_some();
            writes.extend(write);
        }
        let fragments = [(&rule.set, Verb::Set), (&rule.append, Verb::Append), (&rule.upsert, Verb::Upsert)];
        for (node, verb) in fragments {
            let Some(node) = node else { continue };
            let mut walk = Walk {
                checker: self,
                verb,
                place,
                loops,
                path: Vec::new(),
                when: Vec::new(),
                writes: Vec::new(),
                valid: true,
            };
            walk.top(node, target);
            valid &= walk.valid;
            writes.extend(walk.writes);
        }
        valid.then_some(writes)
    }

    fn removal(&mut self, text: &Text, target: Option<TypeId>) -> Option<Write> {
        let path = match FieldPath::parse(text.as_str()) {
            Ok(path) => path,
            Err(error) => {
                self.error(codes::NO_SUCH_PATH, text.span().clone(), error.to_string());
                return None;
            }
        };
        let mut names = Vec::new();
        let mut item = None;
        let mut ty = target;
        for segment in path.segments() {
            match segment {
                Segment::Field(name) if item.is_none() => {
                    ty = self.field(ty, name, text)?;
                    names.push(name.clone());
                }
                Segment::Item(keys) if item.is_none() => item = Some(self.item(ty, keys, text)?),
                _ => {
                    let message = "`remove` takes fields, then at most one list item: `env[name=FOO]`";
                    self.error(codes::NO_SUCH_PATH, text.span().clone(), message);
                    return None;
                }
            }
        }
        Some(Write { span: text.span().clone(), path: names, when: Vec::new(), operation: Operation::Remove { item } })
    }

    fn field(&mut self, ty: Option<TypeId>, name: &str, text: &Text) -> Option<Option<TypeId>> {
        let entry = Entry { key: name.to_owned(), key_span: text.span().clone(), value: null(text) };
        let (known, child) = self.child(&entry, ty);
        known.then_some(child)
    }

    fn item(&mut self, ty: Option<TypeId>, keys: &[(String, String)], text: &Text) -> Option<(String, String)> {
        let [(key, value)] = keys else {
            self.error(codes::LIST_KEY, text.span().clone(), "an item is told by one key: `[name=FOO]`");
            return None;
        };
        if let Some(Shape::List(list)) = ty.map(|ty| &self.schemas.get(ty).shape)
            && self.schemas.child(list.item, key).is_none()
        {
            let message = format!("items of this list have no field `{key}`");
            self.error(codes::LIST_KEY, text.span().clone(), message);
            return None;
        }
        Some((key.clone(), value.clone()))
    }
}

fn null(text: &Text) -> Node {
    Node::null(text.span().clone())
}

/// The type of what a mutation changes.
fn target(place: Place) -> Option<TypeId> {
    match place {
        Place::Container => Some(types().container),
        Place::PodSet => Some(types().pod_set),
        _ => Some(types().template),
    }
}

impl Walk<'_, '_, '_> {
    /// The fragment itself is a map of fields.
    fn top(&mut self, node: &Node, ty: Option<TypeId>) {
        match &node.kind {
            Kind::Map(entries) => self.entries(entries, ty),
            _ => self.problem(codes::WRONG_TYPE, &node.span, format!("this must be a map of fields, not {}", node.type_name())),
        }
    }

    fn problem(&mut self, code: Code, span: &Span, message: String) {
        self.valid = false;
        self.checker.report(Diagnostic::error(code, span.clone(), message));
    }

    fn entries(&mut self, entries: &[Entry], ty: Option<TypeId>) {
        let conditions = self.when.len();
        if let Some(entry) = entries.iter().find(|entry| entry.key == WHEN) {
            match self.checker.when(&entry.value, self.place, self.loops) {
                Some(condition) => self.when.push(Arc::new(condition)),
                None => self.valid = false,
            }
        }
        for entry in entries.iter().filter(|entry| entry.key != WHEN) {
            let (known, child) = self.checker.child(entry, ty);
            self.valid &= known;
            if known {
                self.path.push(entry.key.clone());
                self.node(entry, child);
                self.path.pop();
            }
        }
        self.when.truncate(conditions);
    }

    fn node(&mut self, entry: &Entry, ty: Option<TypeId>) {
        match &entry.value.kind {
            Kind::Map(entries) if !entries.is_empty() && !is_raw(entries) => self.entries(entries, ty),
            _ => self.leaf(entry, ty),
        }
    }

    fn leaf(&mut self, entry: &Entry, ty: Option<TypeId>) {
        let Entry { key_span, value: node, .. } = entry;
        let kind = match ty.map(|ty| &self.checker.schemas.get(ty).shape) {
            Some(Shape::List(list)) => Some(list.kind.clone()),
            _ => None,
        };
        let wrong = self.misuse(kind.as_ref(), ty, node);
        if let Some((message, help)) = wrong {
            self.valid = false;
            self.checker.report(Diagnostic::error(codes::WRONG_OPERATION, key_span.clone(), message).help(help));
            return;
        }
        let Some(template) = self.checker.template(node, ty, self.place, self.loops) else {
            self.valid = false;
            return;
        };
        let operation = match self.verb {
            Verb::Set => Operation::Set(template),
            Verb::Append => Operation::Append(template),
            Verb::Upsert => Operation::Upsert(template, ty),
        };
        let (path, when) = (self.path.clone(), self.when.clone());
        self.writes.push(Write { span: key_span.to(&node.span), path, when, operation });
    }

    /// What is wrong with the verb for such a field, and which is right.
    fn misuse(&self, kind: Option<&ListKind>, ty: Option<TypeId>, node: &Node) -> Option<(String, &'static str)> {
        let what = || ty.map_or_else(String::new, |ty| describe(&self.checker.schemas, ty));
        let is_list = kind.is_some() || (ty.is_none() && node.as_list().is_some());
        match (self.verb, kind) {
            (Verb::Append, None) if ty.is_some() || !is_list => {
                Some((format!("`append` adds to lists; this is {}", what()), "`set` replaces a value"))
            }
            (Verb::Append, Some(ListKind::Map(_))) => Some((
                "the items of this list are told apart by keys: appending could repeat one".to_owned(),
                "`upsert` replaces an item with an equal key and adds any other",
            )),
            (Verb::Upsert, Some(ListKind::Atomic)) => Some((
                "the items of this list have no keys to merge them by".to_owned(),
                "`append` adds to its end, `set` replaces it",
            )),
            _ => None,
        }
    }
}

fn is_raw(entries: &[Entry]) -> bool {
    matches!(entries, [entry] if entry.key == "$raw")
}
