//! The macros that go through a list or a map.

use super::{Amount, Checked, Checker, Known, Node, Op, Shape};
use crate::{
    cel::{
        program::{Fold, FoldKind},
        syntax::{Expr, Span},
        types::Type,
    },
    diagnostic::codes,
};

/// A macro that goes through a list or a map, and how it is written.
#[derive(Clone, Copy)]
pub(super) struct Loop {
    pub(super) kind: FoldKind,
    /// Whether it has two variables.
    pub(super) two: bool,
    /// Whether a condition stands before the body.
    pub(super) filtered: bool,
}

impl Loop {
    /// Variables, condition and body.
    fn parts(self, args: &[Expr]) -> Option<(&[Expr], Option<&Expr>, &Expr)> {
        let (variables, rest) = args.split_at_checked(if self.two { 2 } else { 1 })?;
        match rest {
            [filter, body] if self.filtered => Some((variables, Some(filter), body)),
            [body] => Some((variables, None, body)),
            _ => None,
        }
    }

    /// Whether the body is a condition.
    fn is_question(self) -> bool {
        matches!(self.kind, FoldKind::All | FoldKind::Exists | FoldKind::ExistsOne | FoldKind::Filter)
    }
}

/// Where the variables of a loop are, and what they stand for.
struct Scope {
    slot: usize,
    /// What was known to be present outside of the loop.
    present: usize,
    /// Position or key.
    key: Type,
    /// Item of a list, key of a map: what a single variable stands for.
    element: (Type, Shape),
}

impl Checker<'_> {
    pub(super) fn go_through(&mut self, span: Span, form: Loop, target: &Expr, args: &[Expr]) -> Checked {
        let Some((variables, filter, body)) = form.parts(args) else { return Self::unknown(span) };
        let range = self.check(target);
        let scope = self.open_loop(form, &range, variables);
        let filter = filter.map(|filter| self.condition(filter));
        let body = if form.is_question() { self.condition(body) } else { self.check(body) };
        self.close_loop(span, form, &scope, range, filter, body)
    }

    /// Declares the variables.
    fn open_loop(&mut self, form: Loop, range: &Known, variables: &[Expr]) -> Box<Scope> {
        let (key, value) = self.elements(range);
        let is_map = matches!(self.types.known(&range.ty), Type::Map(..));
        let element = if is_map { key.clone() } else { value.clone() };
        let key_type = key.0.clone();
        let declared = if form.two { vec![key, value] } else { vec![element.clone()] };
        let names: Vec<_> = variables.iter().map(|variable| self.declared_name(variable)).collect();
        if let ([first, second], [_, variable]) = (names.as_slice(), variables)
            && first == second
        {
            let message = format!("both variables have the name `{first}`");
            self.error(codes::MACRO_ARGUMENT, variable.span, message, None);
        }
        let (slot, present) = (self.locals.len(), self.known_present());
        for (name, (ty, shape)) in names.into_iter().zip(declared) {
            self.declare_local(name, ty, shape);
        }
        Box::new(Scope { slot, present, key: key_type, element })
    }

    /// A condition: what it makes certain is known from then on.
    fn condition(&mut self, expr: &Expr) -> Checked {
        let checked = self.check(expr);
        self.expect(&checked.ty, &Type::Bool, expr.span, "the condition");
        self.learn(expr, true);
        checked
    }

    fn close_loop(
        &mut self,
        span: Span,
        form: Loop,
        scope: &Scope,
        range: Checked,
        filter: Option<Checked>,
        body: Checked,
    ) -> Checked {
        self.drop_locals(scope.slot);
        self.forget(scope.present);
        let size = range.shape.size;
        let (ty, shape) = self.folded(form.kind, scope, &body, size);
        let filter_steps = filter.as_ref().map_or(Amount::exactly(0), |filter| filter.steps);
        let each = Amount::exactly(3) + filter_steps + body.steps;
        let steps = Amount::ONE + range.steps + size * each;
        let fold = Fold {
            kind: form.kind,
            range: range.node,
            slot: scope.slot,
            two: form.two,
            filter: filter.map(|filter| filter.node),
            body: body.node,
        };
        Known::new(ty, Node::new(span, Op::Fold(Box::new(fold))), shape, steps)
    }

    /// Types and shapes of positions and items, or of keys and values.
    fn elements(&mut self, range: &Known) -> ((Type, Shape), (Type, Shape)) {
        let unknown = || (Type::Dyn, Shape::of(&Type::Dyn));
        match self.types.known(&range.ty) {
            Type::List(item) => ((Type::Int, Shape::SCALAR), ((*item).clone(), range.shape.item(&item))),
            Type::Map(key, value) => {
                (((*key).clone(), Shape::of(&key)), ((*value).clone(), range.shape.item(&value)))
            }
            Type::Dyn => (unknown(), (Type::Dyn, range.shape.item(&Type::Dyn))),
            Type::Param(_) => {
                self.types.assign(&Type::Dyn, &range.ty);
                (unknown(), unknown())
            }
            other => {
                let message =
                    format!("a list or a map is wanted to go through, this is {}", self.shown(&other));
                let help =
                    matches!(other, Type::Optional(_)).then(|| "write `.orValue([])` before".to_owned());
                self.error(codes::TYPE_MISMATCH, range.node.span, message, help);
                (unknown(), unknown())
            }
        }
    }

    /// Type and shape of the result.
    fn folded(&mut self, kind: FoldKind, scope: &Scope, body: &Known, size: Amount) -> (Type, Shape) {
        let (item, shape) = &scope.element;
        match kind {
            FoldKind::All | FoldKind::Exists | FoldKind::ExistsOne => (Type::Bool, Shape::SCALAR),
            FoldKind::Filter => (Type::list(item.clone()), Shape::with_items(size, shape.clone())),
            FoldKind::List => (Type::list(body.ty.clone()), Shape::with_items(size, body.shape.clone())),
            FoldKind::Map => {
                (Type::map(scope.key.clone(), body.ty.clone()), Shape::with_items(size, body.shape.clone()))
            }
            FoldKind::MapEntry => {
                let ty = Type::map(self.types.fresh(), self.types.fresh());
                self.expect(&body.ty, &ty, body.node.span, "each entry");
                (ty, Shape::sized(size * body.shape.size))
            }
            FoldKind::SortBy => {
                self.check_sort_key(&body.ty, body.node.span);
                (Type::list(item.clone()), Shape::with_items(size, shape.clone()))
            }
        }
    }

    fn check_sort_key(&mut self, ty: &Type, at: Span) {
        let ty = self.types.resolve(ty);
        let ordered = matches!(
            ty,
            Type::Dyn
                | Type::Bool
                | Type::Int
                | Type::UInt
                | Type::Double
                | Type::String
                | Type::Bytes
                | Type::Timestamp
                | Type::Duration
        );
        if !ordered {
            let message = format!("values of type {ty} have no order to sort by");
            self.error(codes::TYPE_MISMATCH, at, message, None);
        }
    }
}
