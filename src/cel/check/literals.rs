//! Literals, and lists and maps of values.

use super::{Amount, Checked, Checker, Known, Node, Op, Shape};
use crate::{
    cel::{
        program,
        syntax::{Element, Entry, Literal, Span},
        types::Type,
        value::{Key, List, Map, Val},
    },
    diagnostic::codes,
};
use std::collections::BTreeSet;

pub(super) fn literal(span: Span, literal: &Literal) -> Checked {
    let (ty, value, shape) = match literal {
        Literal::Null => (Type::Null, Val::Null, Shape::SCALAR),
        Literal::Bool(value) => (Type::Bool, Val::Bool(*value), Shape::SCALAR),
        Literal::Int(value) => (Type::Int, Val::Int(*value), Shape::number(*value)),
        Literal::UInt(value) => (Type::UInt, Val::UInt(*value), Shape::SCALAR),
        Literal::Double(value) => (Type::Double, Val::Double(*value), Shape::SCALAR),
        Literal::String(text) => (Type::String, Val::text(text.as_str()), sized(text.len())),
        Literal::Bytes(bytes) => (Type::Bytes, Val::Bytes(bytes.as_slice().into()), sized(bytes.len())),
    };
    Known::new(ty, Node::new(span, Op::Const(value)), shape, Amount::ONE)
}

fn sized(length: usize) -> Shape {
    Shape::sized(Amount::exactly(length as u64))
}

impl Checker<'_> {
    pub(super) fn list(&mut self, span: Span, elements: &[Element]) -> Checked {
        let values: Vec<_> = elements.iter().map(|element| self.check(&element.value)).collect();
        self.listed(span, elements, values)
    }

    fn listed(&mut self, span: Span, elements: &[Element], values: Vec<Checked>) -> Checked {
        let mut joined = Joined::default();
        let mut nodes = Vec::with_capacity(elements.len());
        for (Element { optional, .. }, value) in elements.iter().zip(values) {
            let value = self.element(&mut joined, value, *optional);
            nodes.push(program::Element { value, optional: *optional });
        }
        let item = joined.ty.unwrap_or_else(|| self.types.fresh());
        let size = Amount::exactly(elements.len() as u64);
        let op = constant_list(&nodes).map_or_else(|| Op::List(nodes.into()), Op::Const);
        let shape = joined.shape.map_or(Shape::sized(size), |shape| Shape::with_items(size, shape));
        Known::new(Type::list(item), Node::new(span, op), shape, joined.steps + size + Amount::ONE)
    }

    pub(super) fn map(&mut self, span: Span, entries: &[Entry]) -> Checked {
        let keys: Vec<_> = entries.iter().map(|entry| self.check(&entry.key)).collect();
        let values: Vec<_> = entries.iter().map(|entry| self.check(&entry.value)).collect();
        self.mapped(span, entries, keys, values)
    }

    fn mapped(&mut self, span: Span, entries: &[Entry], keys: Vec<Checked>, values: Vec<Checked>) -> Checked {
        let (mut joined_keys, mut joined_values, mut seen) =
            (Joined::default(), Joined::default(), BTreeSet::new());
        let mut nodes = Vec::with_capacity(entries.len());
        for ((Entry { optional, .. }, key), value) in entries.iter().zip(keys).zip(values) {
            let key = self.element(&mut joined_keys, key, false);
            self.check_key(&mut joined_keys, key.span);
            self.check_repeated(&mut seen, &key);
            let value = self.element(&mut joined_values, value, *optional);
            nodes.push(program::Entry { key, value, optional: *optional });
        }
        let key = joined_keys.ty.unwrap_or_else(|| self.types.fresh());
        let value = joined_values.ty.unwrap_or_else(|| self.types.fresh());
        let size = Amount::exactly(entries.len() as u64);
        let op = constant_map(&nodes).map_or_else(|| Op::Map(nodes.into()), Op::Const);
        let shape = joined_values.shape.map_or(Shape::sized(size), |shape| Shape::with_items(size, shape));
        let steps = joined_keys.steps + joined_values.steps + size + Amount::ONE;
        Known::new(Type::map(key, value), Node::new(span, op), shape, steps)
    }

    fn check_key(&mut self, keys: &mut Joined, span: Span) {
        let ty = keys.ty.as_ref().map(|ty| self.types.resolve(ty));
        if !matches!(ty, Some(Type::String | Type::Int | Type::UInt | Type::Bool | Type::Dyn)) {
            let found = ty.unwrap_or(Type::Dyn);
            let message = format!("a key must be a string, an int, a uint or a bool, this is {found}");
            self.error(codes::TYPE_MISMATCH, span, message, None);
            keys.ty = Some(Type::Dyn);
        }
    }

    fn check_repeated(&mut self, seen: &mut BTreeSet<Key<'static>>, key: &Node) {
        let Some(found) = constant(key).and_then(|value| Key::from_val(&value)) else { return };
        let message = format!("the key {found:?} occurs twice");
        if !seen.insert(found) {
            self.error(codes::INVALID_LITERAL, key.span, message, None);
        }
    }

    /// Joins the type of one more element with those before it.
    fn element(&mut self, joined: &mut Joined, checked: Checked, optional: bool) -> Node {
        let span = checked.node.span;
        let ty = if optional { self.inside(&checked.ty, span) } else { checked.ty };
        joined.steps = joined.steps + checked.steps;
        joined.shape =
            Some(joined.shape.take().map_or(checked.shape.clone(), |shape| shape.or(&checked.shape)));
        joined.ty = Some(match joined.ty.take() {
            None => ty,
            Some(before) => self.types.join(&before, &ty).unwrap_or_else(|| {
                if !self.mixed_literals {
                    let (before, ty) = (self.shown(&before), self.shown(&ty));
                    let message = format!("all elements must be of one type: {before} before, this is {ty}");
                    let help = Some("wrap each in dyn(…) to mix types".into());
                    self.error(codes::TYPE_MISMATCH, span, message, help);
                }
                Type::Dyn
            }),
        });
        checked.node
    }

    /// The type of the value in an optional.
    pub(super) fn inside(&mut self, ty: &Type, span: Span) -> Type {
        match self.types.known(ty) {
            Type::Optional(value) => (*value).clone(),
            Type::Dyn => Type::Dyn,
            Type::Param(_) => {
                let value = self.types.fresh();
                self.types.assign(ty, &Type::optional(value.clone()));
                value
            }
            other => {
                let message = format!("after `?` an optional is wanted, this is {}", self.shown(&other));
                self.error(codes::TYPE_MISMATCH, span, message, Some("write it without the `?`".into()));
                Type::Dyn
            }
        }
    }
}

/// What is known of the elements so far.
struct Joined {
    ty: Option<Type>,
    shape: Option<Shape>,
    steps: Amount,
}

impl Default for Joined {
    fn default() -> Self {
        Joined { ty: None, shape: None, steps: Amount::exactly(0) }
    }
}

/// The list, if all of its elements are constants.
fn constant_list(elements: &[program::Element]) -> Option<Val<'static>> {
    let items = elements.iter().map(|element| constant(&element.value).filter(|_| !element.optional));
    List::new(items.collect::<Option<_>>()?).ok().map(Val::List)
}

fn constant_map(entries: &[program::Entry]) -> Option<Val<'static>> {
    let pairs = entries.iter().map(|entry| {
        let key = constant(&entry.key).filter(|key| !matches!(key, Val::Double(_)))?;
        Some((Key::from_val(&key)?, constant(&entry.value).filter(|_| !entry.optional)?))
    });
    Map::new(pairs.collect::<Option<_>>()?).ok().map(Val::Map)
}

/// The value of a step that is one.
pub(super) fn constant(node: &Node) -> Option<Val<'static>> {
    match &node.op {
        Op::Const(value) => Some(value.clone()),
        _ => None,
    }
}
