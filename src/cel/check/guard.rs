//! Which optional fields are known to be present: `has(a.b) && a.b.c == 1` reads `a.b` safely.

use super::{Checked, Checker};
use crate::cel::syntax::{Expr, Kind, Literal, Logic, Unary};
use std::collections::BTreeSet;

/// Paths that are known to be present where the check is now, and those already warned about.
#[derive(Default)]
pub(super) struct Guards {
    present: Vec<String>,
    warned: BTreeSet<String>,
}

impl Guards {
    /// Whether to warn about reading the optional field at `path`: once for each, and not where it is present.
    pub(super) fn warns(&mut self, path: Option<String>) -> bool {
        let Some(path) = path else { return true };
        let inside = |present: &String| {
            present
                .strip_prefix(path.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        !self.present.iter().any(inside) && self.warned.insert(path)
    }
}

impl Checker<'_> {
    /// Checks `expr` with the fields present that must be when `condition` is `outcome`.
    pub(super) fn knowing(&mut self, condition: &Expr, outcome: bool, expr: &Expr) -> Checked {
        let before = self.known_present();
        self.learn(condition, outcome);
        let checked = self.check(expr);
        self.forget(before);
        checked
    }

    /// How much is known to be present, for [`Checker::forget`].
    pub(super) fn known_present(&self) -> usize {
        self.guards.present.len()
    }

    /// Back to what was known before.
    pub(super) fn forget(&mut self, before: usize) {
        self.guards.present.truncate(before);
    }

    /// Notes the fields that must be present when `condition` is `outcome`.
    pub(super) fn learn(&mut self, condition: &Expr, outcome: bool) {
        match &condition.kind {
            Kind::Call { target: None, name, args } if name.text == "has" && outcome => {
                let path = args.first().and_then(|arg| self.path(arg));
                self.guards.present.extend(path);
            }
            Kind::Unary { operator: Unary::Not, operand, .. } => self.learn(operand, !outcome),
            Kind::Logic { operator, operands } if (*operator == Logic::And) == outcome => {
                for operand in operands {
                    self.learn(operand, outcome);
                }
            }
            _ => {}
        }
    }

    /// The selections from a variable that `expr` is; two expressions with the same path have the same value.
    pub(super) fn path(&self, expr: &Expr) -> Option<String> {
        match &expr.kind {
            Kind::Ident { name, absolute } => {
                let local = self.locals.iter().rev().find(|local| !absolute && local.name == *name);
                Some(local.map_or_else(|| name.clone(), |local| format!("{name}#{}", local.id)))
            }
            Kind::Select { operand, field, optional: false } => {
                Some(format!("{}.{}", self.path(operand)?, field.text))
            }
            Kind::Index { operand, index, optional: false } => match &index.kind {
                Kind::Literal(Literal::Int(position)) => Some(format!("{}[{position}]", self.path(operand)?)),
                Kind::Literal(Literal::String(key)) => Some(format!("{}.{key}", self.path(operand)?)),
                _ => None,
            },
            _ => None,
        }
    }
}
