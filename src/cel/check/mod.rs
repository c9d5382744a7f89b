//! The static check, which makes the program on the way: types, names, overloads, and what an evaluation can cost.
//!
//! Types are strict as in Kubernetes: literals of one type, no conversions, overloads by declared types. Where nothing
//! is known (`dyn`) everything is allowed and the evaluator checks. One thing goes beyond Kubernetes: where values of
//! one type are wanted, a map with string keys may stand for an object, so that `spec.?trainer.orValue({})` works.
//!
//! After an error the check goes on with `dyn` in the place of what failed, so that one mistake gives one issue.

#![allow(
    clippy::unnecessary_box_returns,
    clippy::boxed_local,
    reason = "what the check hands around is boxed to keep the frames of its recursion small"
)]

mod access;
mod calls;
mod guard;
mod inference;
mod literals;
mod loops;
mod macros;
mod names;
mod operators;
mod shape;

pub use macros::{Macro, macros};
pub use operators::{Operator, operators};
pub use shape::{ASSUMED_BYTES, ASSUMED_ITEMS};

use super::{
    budget::PER_EXPRESSION,
    env::{Compiled, Env, Issue},
    error::{Error, ErrorKind},
    functions::Overload,
    program::{Estimate, Node, Op, Program, Scalar},
    syntax::{Expr, Kind, Span},
    types::Type,
};
use crate::diagnostic::{Code, Severity, codes, nearest};
use inference::Inference;
use shape::{Amount, Shape};
use std::collections::BTreeSet;

/// Checks the tree of `source` in `env`.
pub(super) fn check(env: &Env, source: &str, expr: &Expr) -> Compiled {
    let mut checker = Checker::new(env);
    let root = checker.check(expr);
    let bounds = root.shape.bounds();
    let ty = checker.types.resolve(&root.ty).bounded();
    checker.check_cost(expr.span, root.steps);
    let mut issues = checker.issues;
    issues.sort_by_key(|issue| issue.span.start);
    issues.dedup();
    let failed = issues.iter().any(|issue| issue.severity == Severity::Error);
    let program = (!failed).then(|| Program {
        source: source.to_owned(),
        root: root.node,
        ty: ty.clone(),
        locals: checker.most_locals,
        variables: checker.variables.into_iter().collect(),
        overloads: checker.overloads,
        estimate: Estimate { declared: root.steps.declared, assumed: root.steps.assumed },
    });
    Compiled { program, ty, bounds, issues }
}

/// What is known of an expression.
struct Known {
    ty: Type,
    node: Node,
    /// How large its value can get.
    shape: Shape,
    /// Most steps to evaluate it.
    steps: Amount,
}

/// The check recurses as deep as expressions are, so what it hands around is small: see [`Checker::check`].
type Checked = Box<Known>;

impl Known {
    fn new(ty: Type, node: Node, shape: Shape, steps: Amount) -> Checked {
        Box::new(Known { ty, node, shape, steps })
    }
}

/// A variable of a macro.
struct Local {
    name: String,
    ty: Type,
    shape: Shape,
    slot: usize,
    /// Tells it from other locals of the same name.
    id: usize,
}

struct Checker<'e> {
    env: &'e Env,
    issues: Vec<Issue>,
    types: Inference,
    /// Innermost last.
    locals: Vec<Local>,
    most_locals: usize,
    next_local: usize,
    /// Slots of the variables that are read.
    variables: BTreeSet<usize>,
    overloads: Vec<&'static Overload>,
    /// Whether lists and maps may mix types here.
    mixed_literals: bool,
    guards: guard::Guards,
}

impl<'e> Checker<'e> {
    fn new(env: &'e Env) -> Self {
        Checker {
            env,
            issues: Vec::new(),
            types: Inference::default(),
            locals: Vec::new(),
            most_locals: 0,
            next_local: 0,
            variables: BTreeSet::new(),
            overloads: Vec::new(),
            mixed_literals: env.mixed_literals,
            guards: guard::Guards::default(),
        }
    }

    /// The methods that call this one do little else, and leave the rest to others: their frames decide how deep an
    /// expression a small stack can take.
    fn check(&mut self, expr: &Expr) -> Checked {
        match &expr.kind {
            Kind::Literal(literal) => literals::literal(expr.span, literal),
            Kind::Ident { name, absolute } => self.ident(expr.span, name, *absolute),
            Kind::Select { operand, field, optional } => self.select(expr, operand, field, *optional),
            Kind::Index { operand, index, optional } => self.index(expr.span, operand, index, *optional),
            Kind::Call { target, name, args } => self.call(expr, target.as_deref(), name, args),
            Kind::Unary { operator, at, operand } => self.unary(*operator, *at, operand),
            Kind::Binary { operator, at, operands } => self.binary(*operator, *at, operands),
            Kind::Logic { operator, operands } => self.logic(*operator, expr.span, operands),
            Kind::Conditional(parts) => self.conditional(expr.span, parts),
            Kind::List(elements) => self.list(expr.span, elements),
            Kind::Map(entries) => self.map(expr.span, entries),
        }
    }

    // Issues.

    fn report(&mut self, severity: Severity, code: Code, span: Span, message: String, help: Option<String>) {
        if self.env.unchecked {
            return;
        }
        self.issues.push(Issue { span: span.range(), code, severity, message, help });
    }

    fn error(&mut self, code: Code, span: Span, message: impl Into<String>, help: Option<String>) {
        self.report(Severity::Error, code, span, message.into(), help);
    }

    /// The type as messages print it.
    fn shown(&self, ty: &Type) -> Type {
        self.types.resolve(ty)
    }

    /// Reports `found` at `span` if it cannot be `wanted`.
    fn expect(&mut self, found: &Type, wanted: &Type, span: Span, place: &str) {
        if !self.types.assign(found, wanted) {
            let message = format!("{place} must be {wanted}, this is {}", self.shown(found));
            self.error(codes::TYPE_MISMATCH, span, message, None);
        }
    }

    fn check_cost(&mut self, span: Span, steps: Amount) {
        let limit = PER_EXPRESSION.cost;
        let help = Some(
            "use a function for the whole list, or a variable for what stays the same in the loop".into(),
        );
        if steps.declared > limit {
            let message = format!("this can take {} steps, {limit} are allowed", steps.declared);
            self.error(codes::OVER_BUDGET, span, message, help);
        } else if steps.assumed > limit {
            let message = format!(
                "this can take {} steps, {limit} are allowed, if each list of unknown length has {ASSUMED_ITEMS} items",
                steps.assumed
            );
            self.report(Severity::Warning, codes::MAYBE_OVER_BUDGET, span, message, help);
        }
    }

    // Nodes.

    /// What to go on with after an error.
    fn unknown(span: Span) -> Checked {
        let error = Error::new(ErrorKind::NoSuchOverload, "the check finds this wrong");
        let node = Node::new(span, Op::Fail(error));
        Known::new(Type::Dyn, node, Shape::of(&Type::Dyn), Amount::ONE)
    }

    /// A value read from a variable, field or item of the static type `ty`: if JSON writes that type as another, a
    /// step is added that reads it. The spans are those of the whole and of the part to blame.
    fn read(&self, (span, at): (Span, Span), op: Op, ty: Type, shape: Shape, steps: Amount) -> Checked {
        let node = Node { span, at, op };
        let scalar = match self.types.resolve(&ty) {
            Type::Double => Scalar::Double,
            Type::Timestamp => Scalar::Timestamp,
            Type::Duration => Scalar::Duration,
            Type::Quantity => Scalar::Quantity,
            _ => return Known::new(ty, node, shape, steps),
        };
        let node = Node::new(span, Op::Conform(scalar, Box::new(node)));
        Known::new(ty, node, shape, steps + Amount::ONE)
    }

    /// Declares a local variable and gives its slot.
    fn declare_local(&mut self, name: String, ty: Type, shape: Shape) -> usize {
        let (slot, id) = (self.locals.len(), self.next_local);
        self.next_local += 1;
        self.locals.push(Local { name, ty, shape, slot, id });
        self.most_locals = self.most_locals.max(self.locals.len());
        slot
    }

    /// Ends the scope of the local variables from `slot` on.
    fn drop_locals(&mut self, slot: usize) {
        self.locals.truncate(slot);
    }
}

/// "did you mean …" if one of `names` is near to `wrong`.
fn did_you_mean<'n>(wrong: &str, names: impl IntoIterator<Item = &'n str>) -> Option<String> {
    nearest(wrong, names).map(|name| format!("did you mean `{name}`?"))
}
