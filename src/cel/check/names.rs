//! What a name means: a local variable, a declared one, or a type.

use super::{Amount, Checked, Checker, Known, Node, Op, Shape, did_you_mean};
use crate::{
    cel::{
        syntax::{Expr, Kind, Span},
        types::Type,
        value::Val,
    },
    diagnostic::codes,
};

/// The types that an expression can name, as `type(x)` gives them.
const TYPES: [&str; 15] = [
    "bool",
    "bytes",
    "double",
    "google.protobuf.Duration",
    "google.protobuf.Timestamp",
    "int",
    "list",
    "map",
    "net.CIDR",
    "net.IP",
    "null_type",
    "optional_type",
    "string",
    "type",
    "uint",
];

impl Checker<'_> {
    pub(super) fn ident(&mut self, span: Span, name: &str, absolute: bool) -> Checked {
        if !absolute && let Some(local) = self.locals.iter().rev().find(|local| local.name == name) {
            let (ty, shape, op) = (local.ty.clone(), local.shape.clone(), Op::Local(local.slot));
            return self.read((span, span), op, ty, shape, Amount::ONE);
        }
        match self.global(span, name) {
            Some(checked) => checked,
            None => self.undeclared(span, name),
        }
    }

    /// The declared variable or the type with this name, dots included.
    fn global(&mut self, span: Span, name: &str) -> Option<Checked> {
        if let Some(slot) = self.env.slot(name) {
            let variable = self.env.variables.get(slot)?;
            self.variables.insert(slot);
            let shape = Shape::declared(&variable.ty, &variable.bounds);
            return Some(self.read(
                (span, span),
                Op::Variable(slot),
                variable.ty.clone(),
                shape,
                Amount::ONE,
            ));
        }
        let name = TYPES.iter().find(|known| **known == name)?;
        let node = Node::new(span, Op::Const(Val::Type(name)));
        Some(Known::new(Type::Type, node, Shape::SCALAR, Amount::ONE))
    }

    /// The variable or type that a chain of selections spells as a whole. A local variable goes before: its fields
    /// are fields.
    pub(super) fn qualified(&mut self, expr: &Expr) -> Option<Checked> {
        let (name, absolute) = dotted(expr)?;
        let root = name.split('.').next().unwrap_or_default();
        if !absolute && self.is_local(root) {
            return None;
        }
        self.global(expr.span, &name)
    }

    pub(super) fn is_local(&self, name: &str) -> bool {
        self.locals.iter().any(|local| local.name == name)
    }

    fn undeclared(&mut self, span: Span, name: &str) -> Checked {
        let prefix = format!("{name}.");
        let namespace = self.env.variables.iter().any(|variable| variable.name.starts_with(&prefix));
        let (message, help) = if namespace {
            let known = self.names_below(&prefix);
            (format!("`{name}` is no variable by itself"), Some(format!("there is {}", known.join(", "))))
        } else {
            let names = self.locals.iter().map(|local| local.name.as_str());
            let names =
                names.chain(self.env.variables.iter().map(|variable| variable.name.as_str())).chain(TYPES);
            (format!("there is no variable `{name}`"), did_you_mean(name, names))
        };
        self.error(codes::UNDECLARED_NAME, span, message, help);
        Self::unknown(span)
    }

    /// Reports that `root.field` is none of the variables whose names begin with `root.`, if there are such.
    pub(super) fn undeclared_below(&mut self, operand: &Expr, field: &str, at: Span) -> Option<Checked> {
        let (root, absolute) = dotted(operand)?;
        let prefix = format!("{root}.");
        let hidden = !absolute && self.is_local(root.split('.').next().unwrap_or_default());
        let known = self.names_below(&prefix);
        if hidden || known.is_empty() || self.env.slot(&root).is_some() {
            return None;
        }
        let name = format!("{prefix}{field}");
        let help = did_you_mean(&name, known.iter().map(String::as_str));
        self.error(codes::UNDECLARED_NAME, at, format!("there is no variable `{name}`"), help);
        Some(Self::unknown(at))
    }

    /// Variables whose names begin with `prefix`, sorted.
    fn names_below(&self, prefix: &str) -> Vec<String> {
        let names = self.env.variables.iter().filter(|variable| variable.name.starts_with(prefix));
        let mut names: Vec<_> = names.map(|variable| variable.name.clone()).collect();
        names.sort();
        names.dedup();
        names
    }
}

/// The dotted name that `expr` spells, and whether it is absolute.
pub(super) fn dotted(expr: &Expr) -> Option<(String, bool)> {
    match &expr.kind {
        Kind::Ident { name, absolute } => Some((name.clone(), *absolute)),
        Kind::Select { operand, field, optional: false } => {
            let (name, absolute) = dotted(operand)?;
            Some((format!("{name}.{}", field.text), absolute))
        }
        _ => None,
    }
}
