//! Evaluation: one walk over the program.
//!
//! Each step costs one unit before it is taken. An error is absorbed where CEL absorbs it (`&&`, `||`, `all`, `exists`
//! when another operand decides, a bound value that is never used), except that of a spent budget.
//!
//! The steps are small functions on purpose: what recurses is [`Evaluator::eval`] and one of them, and their frames
//! decide how deep an expression a small stack can take.

mod access;
mod call;
mod fold;
mod operators;

use super::{
    budget::Budget,
    error::{Error, ErrorKind},
    functions,
    observe::Seen,
    program::{Bind, Bindings, Element, Entry, Node, Op, Scalar},
    value::{Duration, Key, List, Map, Time, Val},
};
use std::sync::Arc;

type Result<T> = std::result::Result<T, Error>;

/// The value of `root`, which keeps at most `locals` local variables at once.
pub(super) fn evaluate<'a>(
    root: &'a Node,
    locals: usize,
    bindings: &dyn Bindings<'a>,
    budget: &mut Budget,
) -> Result<Val<'a>> {
    Evaluator { bindings, budget, locals: (0..locals).map(|_| Ok(Val::Null)).collect() }.eval(root)
}

/// The same, with an optional replaced by what is in it.
pub(super) fn evaluate_present<'a>(
    root: &'a Node,
    locals: usize,
    bindings: &dyn Bindings<'a>,
    budget: &mut Budget,
) -> Result<Option<Val<'a>>> {
    Evaluator { bindings, budget, locals: (0..locals).map(|_| Ok(Val::Null)).collect() }.present(root)
}

struct Evaluator<'e, 'a> {
    bindings: &'e dyn Bindings<'a>,
    budget: &'e mut Budget,
    /// Local variables; one that is bound to a failed value fails where it is used.
    locals: Vec<Result<Val<'a>>>,
}

impl<'a> Evaluator<'_, 'a> {
    fn eval(&mut self, node: &'a Node) -> Result<Val<'a>> {
        let mut value = self.step(node);
        if let Err(error) = &mut value {
            error.place(node.at);
        }
        value
    }

    /// Never inlined: its result is then written where the caller wants it, and not moved once more for each step.
    #[inline(never)]
    fn step(&mut self, node: &'a Node) -> Result<Val<'a>> {
        self.budget.charge(1)?;
        match &node.op {
            Op::Const(value) => Ok(value.borrow()),
            Op::Variable(slot) => self.variable(*slot),
            Op::Local(slot) => self.local(*slot),
            Op::Select { operand, field } => self.select(operand, field),
            Op::OptionalSelect { operand, field } => self.optional_select(operand, field),
            Op::Has { operand, field } => self.has(operand, field),
            Op::Index(operands) => self.index(operands),
            Op::OptionalIndex(operands) => self.optional_index(operands),
            Op::Not(operand) => self.bool(operand).map(|value| Val::Bool(!value)),
            Op::Negate(operand) => self.negate(operand),
            Op::Arithmetic(operator, operands) => self.arithmetic(*operator, operands),
            Op::Equal { operands, negated } => self.equal(operands, *negated),
            Op::Order(order, operands) => self.order(*order, operands),
            Op::In(operands) => self.contains(operands),
            Op::And(operands) => self.decide(operands, false),
            Op::Or(operands) => self.decide(operands, true),
            Op::Conditional(parts) => self.conditional(parts),
            Op::List(elements) => self.list(elements),
            Op::Map(entries) => self.map(entries),
            Op::Call(call) => self.call(call),
            Op::HasValue(operand) => self.optional(operand).map(|value| Val::Bool(value.is_some())),
            Op::OptionalOr(operands) => self.optional_or(operands).and_then(wrapped),
            Op::OrValue(operands) => self.or_value(operands),
            Op::Bind(bind) => self.bind(bind),
            Op::OptionalMap { bind, flat } => self.optional_map(bind, *flat).and_then(wrapped),
            Op::Fold(fold) => self.fold(fold),
            Op::Fail(error) => Err(error.clone()),
            Op::Conform(scalar, operand) => self.conform(*scalar, operand),
            Op::Observed(node, seen) => self.observed(node, seen),
        }
    }

    fn variable(&mut self, slot: usize) -> Result<Val<'a>> {
        let mut value = self.bindings.get(slot, self.budget);
        if let Err(error) = &mut value {
            error.name_variable(slot);
        }
        value
    }

    fn local(&self, slot: usize) -> Result<Val<'a>> {
        match self.locals.get(slot) {
            Some(value) => value.clone(),
            None => Ok(Val::Null),
        }
    }

    fn set(&mut self, slot: usize, value: Result<Val<'a>>) {
        if let Some(local) = self.locals.get_mut(slot) {
            *local = value;
        }
    }

    fn bool(&mut self, node: &'a Node) -> Result<bool> {
        match self.eval(node)? {
            Val::Bool(value) => Ok(value),
            other => Err(wanted("bool", &other).at(node.span)),
        }
    }

    /// The disjunction of `operands` if `deciding` is true, else the conjunction: a deciding operand wins over errors.
    fn decide(&mut self, operands: &'a [Node], deciding: bool) -> Result<Val<'a>> {
        let mut failure = None;
        for operand in operands {
            match self.bool(operand) {
                Ok(value) if value == deciding => return Ok(Val::Bool(deciding)),
                Ok(_) => {}
                Err(error) if error.is_budget() => return Err(error),
                Err(error) => {
                    failure.get_or_insert(error);
                }
            }
        }
        failure.map_or(Ok(Val::Bool(!deciding)), Err)
    }

    fn conditional(&mut self, parts: &'a [Node; 3]) -> Result<Val<'a>> {
        let [condition, yes, no] = parts;
        if self.bool(condition)? { self.eval(yes) } else { self.eval(no) }
    }

    fn list(&mut self, elements: &'a [Element]) -> Result<Val<'a>> {
        self.budget.create_items(elements.len())?;
        let mut items = Vec::with_capacity(elements.len());
        for element in elements {
            items.extend(self.element(&element.value, element.optional)?);
        }
        List::new(items).map(Val::List)
    }

    fn map(&mut self, entries: &'a [Entry]) -> Result<Val<'a>> {
        self.budget.create_items(entries.len())?;
        let mut pairs = Vec::with_capacity(entries.len());
        let mut written = Vec::new();
        for entry in entries {
            let key = self.eval(&entry.key)?;
            let key = match &key {
                Val::Double(_) => None,
                key => Key::from_val(key),
            }
            .ok_or_else(|| wanted("a string, an int, a uint or a bool as key", &key).at(entry.key.span))?;
            if let Some(value) = self.element(&entry.value, entry.optional)? {
                pairs.push((key, value));
                written.push(entry.key.span);
            }
        }
        Map::new(pairs).map(Val::Map).map_err(|error| match error.argument().and_then(|at| written.get(at)) {
            Some(span) => error.at(*span),
            None => error,
        })
    }

    /// The value of an element or entry; `None` for an optional one that is absent.
    fn element(&mut self, node: &'a Node, optional: bool) -> Result<Option<Val<'a>>> {
        let value = self.eval(node)?;
        match value {
            value if !optional => Ok(Some(value)),
            Val::Optional(value) => Ok(value.map(Arc::unwrap_or_clone)),
            other => Err(wanted("an optional after `?`", &other).at(node.span)),
        }
    }

    fn optional_or(&mut self, operands: &'a [Node; 2]) -> Result<Option<Val<'a>>> {
        let [first, second] = operands;
        match self.optional(first)? {
            None => self.optional(second),
            value => Ok(value),
        }
    }

    fn or_value(&mut self, operands: &'a [Node; 2]) -> Result<Val<'a>> {
        let [optional, otherwise] = operands;
        match self.optional(optional)? {
            Some(value) => Ok(value),
            None => self.eval(otherwise),
        }
    }

    /// A failed value fails where it is used, as if it stood there.
    fn bind(&mut self, bind: &'a Bind) -> Result<Val<'a>> {
        let value = self.eval(&bind.init);
        if let Err(error) = &value
            && error.is_budget()
        {
            return value;
        }
        self.set(bind.slot, value);
        self.eval(&bind.body)
    }

    fn optional_map(&mut self, bind: &'a Bind, flat: bool) -> Result<Option<Val<'a>>> {
        let Some(value) = self.optional(&bind.init)? else { return Ok(None) };
        self.set(bind.slot, Ok(value));
        if flat { self.optional(&bind.body) } else { self.eval(&bind.body).map(Some) }
    }

    /// What is noted costs nothing: a budget lasts as long as without.
    #[cold]
    fn observed(&mut self, node: &'a Node, seen: &Seen) -> Result<Val<'a>> {
        self.budget.refund(1);
        let value = self.step(node);
        if let Ok(value) = &value {
            seen.note(value);
        }
        value
    }

    /// Reads a JSON value as the declared type wants it. Anything else passes: it is of that type, or it fails where
    /// it is used.
    fn conform(&mut self, scalar: Scalar, operand: &'a Node) -> Result<Val<'a>> {
        let value = self.eval(operand)?;
        Ok(match (scalar, &value) {
            #[allow(clippy::cast_precision_loss, reason = "the field is declared as a double")]
            (Scalar::Double, Val::Int(int)) => Val::Double(*int as f64),
            (Scalar::Timestamp, Val::String(text)) => Val::Timestamp(Time::parse(text)?),
            (Scalar::Duration, Val::String(text)) => Val::Duration(Duration::parse(text)?),
            (Scalar::Quantity, Val::String(text)) => functions::quantity(text)?,
            (Scalar::Quantity, Val::Int(number)) => functions::quantity_from_json(&(*number).into())?,
            (Scalar::Quantity, Val::Double(number)) => functions::quantity_from_json(&(*number).into())?,
            _ => value,
        })
    }
}

/// What may be absent as a value.
fn wrapped(value: Option<Val>) -> Result<Val> {
    value.map_or(Ok(Val::Optional(None)), Val::present)
}

/// The error of a value of another type than is wanted.
fn wanted(type_name: &str, found: &Val) -> Error {
    Error::new(ErrorKind::NoSuchOverload, format!("expected {type_name}, found {}", found.kind()))
}
