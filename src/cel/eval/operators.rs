//! Arithmetic, equality and order.

use super::{Error, ErrorKind, Evaluator, Result};
use crate::cel::{
    program::{Arithmetic, Node, Order},
    value::{Comparison, List, Str, Val, compare, equal},
};
use std::{cmp::Ordering, sync::Arc};

impl<'a> Evaluator<'_, 'a> {
    pub(super) fn negate(&mut self, operand: &'a Node) -> Result<Val<'a>> {
        match self.eval(operand)? {
            Val::Int(value) => value.checked_neg().map(Val::Int).ok_or_else(|| overflow("-", "int")),
            Val::Double(value) => Ok(Val::Double(-value)),
            other => {
                Err(Error::new(ErrorKind::NoSuchOverload, format!("no such overload: -{}", other.kind())))
            }
        }
    }

    pub(super) fn equal(&mut self, operands: &'a [Node; 2], negated: bool) -> Result<Val<'a>> {
        let left = self.eval(&operands[0])?;
        let right = self.eval(&operands[1])?;
        Ok(Val::Bool(equal(&left, &right, self.budget)? != negated))
    }

    pub(super) fn order(&mut self, order: Order, operands: &'a [Node; 2]) -> Result<Val<'a>> {
        let left = self.eval(&operands[0])?;
        let right = self.eval(&operands[1])?;
        if let (Val::String(left), Val::String(right)) = (&left, &right) {
            self.budget.traverse(left.len().min(right.len()))?;
        }
        match compare(&left, &right) {
            Comparison::Ordered(found) => Ok(Val::Bool(order.holds(found))),
            Comparison::NotANumber => {
                Err(Error::new(ErrorKind::InvalidArgument, "what is not a number has no order"))
            }
            Comparison::Unsupported => Err(no_overload(order.symbol(), &left, &right)),
        }
    }

    pub(super) fn arithmetic(&mut self, operator: Arithmetic, operands: &'a [Node; 2]) -> Result<Val<'a>> {
        let left = self.eval(&operands[0])?;
        let right = self.eval(&operands[1])?;
        match (&left, &right) {
            (Val::Int(a), Val::Int(b)) => ints(operator, *a, *b),
            (Val::UInt(a), Val::UInt(b)) => uints(operator, *a, *b),
            (Val::Double(a), Val::Double(b)) if operator != Arithmetic::Modulo => {
                Ok(doubles(operator, *a, *b))
            }
            _ => match operator {
                Arithmetic::Add => self.add(&left, &right),
                Arithmetic::Subtract => subtract(&left, &right),
                _ => None,
            }
            .unwrap_or_else(|| Err(no_overload(operator.symbol(), &left, &right))),
        }
    }

    /// The sum of what is no number; `None` when there is none.
    fn add(&mut self, left: &Val<'a>, right: &Val<'a>) -> Option<Result<Val<'a>>> {
        Some(match (left, right) {
            (Val::String(a), Val::String(b)) => self.add_text(a, b),
            (Val::List(a), Val::List(b)) => self.add_lists(a, b),
            (Val::Bytes(a), Val::Bytes(b)) => {
                self.budget.create(a.len() + b.len()).map(|()| Val::Bytes([&a[..], &b[..]].concat().into()))
            }
            (Val::Duration(a), Val::Duration(b)) => a.checked_add(*b).map(Val::Duration),
            (Val::Timestamp(time), Val::Duration(span)) | (Val::Duration(span), Val::Timestamp(time)) => {
                time.checked_add(*span).map(Val::Timestamp)
            }
            _ => return None,
        })
    }

    fn add_text(&mut self, a: &Str<'a>, b: &Str<'a>) -> Result<Val<'a>> {
        self.budget.create(a.len() + b.len())?;
        let mut text = String::with_capacity(a.len() + b.len());
        text.push_str(a);
        text.push_str(b);
        Ok(Val::String(Str::Owned(Arc::from(text))))
    }

    fn add_lists(&mut self, a: &List<'a>, b: &List<'a>) -> Result<Val<'a>> {
        if a.is_empty() || b.is_empty() {
            return Ok(Val::List(if a.is_empty() { b } else { a }.clone()));
        }
        self.budget.create_items(a.len() + b.len())?;
        List::new(a.iter().chain(b.iter()).collect()).map(Val::List)
    }
}

fn subtract<'a>(left: &Val<'a>, right: &Val<'a>) -> Option<Result<Val<'a>>> {
    Some(match (left, right) {
        (Val::Duration(a), Val::Duration(b)) => a.checked_sub(*b).map(Val::Duration),
        (Val::Timestamp(a), Val::Timestamp(b)) => a.since(*b).map(Val::Duration),
        (Val::Timestamp(time), Val::Duration(span)) => time.checked_sub(*span).map(Val::Timestamp),
        _ => return None,
    })
}

fn ints<'a>(operator: Arithmetic, a: i64, b: i64) -> Result<Val<'a>> {
    let result = match operator {
        Arithmetic::Add => a.checked_add(b),
        Arithmetic::Subtract => a.checked_sub(b),
        Arithmetic::Multiply => a.checked_mul(b),
        Arithmetic::Divide | Arithmetic::Modulo if b == 0 => return Err(by_zero(operator)),
        Arithmetic::Divide => a.checked_div(b),
        Arithmetic::Modulo => a.checked_rem(b),
    };
    result.map(Val::Int).ok_or_else(|| overflow(operator.symbol(), "int"))
}

fn uints<'a>(operator: Arithmetic, a: u64, b: u64) -> Result<Val<'a>> {
    let result = match operator {
        Arithmetic::Add => a.checked_add(b),
        Arithmetic::Subtract => a.checked_sub(b),
        Arithmetic::Multiply => a.checked_mul(b),
        Arithmetic::Divide | Arithmetic::Modulo if b == 0 => return Err(by_zero(operator)),
        Arithmetic::Divide => a.checked_div(b),
        Arithmetic::Modulo => a.checked_rem(b),
    };
    result.map(Val::UInt).ok_or_else(|| overflow(operator.symbol(), "uint"))
}

fn doubles<'a>(operator: Arithmetic, a: f64, b: f64) -> Val<'a> {
    Val::Double(match operator {
        Arithmetic::Add => a + b,
        Arithmetic::Subtract => a - b,
        Arithmetic::Multiply => a * b,
        Arithmetic::Divide => a / b,
        Arithmetic::Modulo => a % b,
    })
}

fn overflow(operator: &str, type_name: &str) -> Error {
    Error::new(ErrorKind::Overflow, format!("the result of `{operator}` does not fit in {type_name}"))
}

fn by_zero(operator: Arithmetic) -> Error {
    let what =
        if operator == Arithmetic::Divide { "division by zero" } else { "remainder of a division by zero" };
    Error::new(ErrorKind::DivideByZero, what)
}

fn no_overload(operator: &str, left: &Val, right: &Val) -> Error {
    let message = format!("no such overload: {} {operator} {}", left.kind(), right.kind());
    Error::new(ErrorKind::NoSuchOverload, message)
}

impl Arithmetic {
    fn symbol(self) -> &'static str {
        match self {
            Arithmetic::Add => "+",
            Arithmetic::Subtract => "-",
            Arithmetic::Multiply => "*",
            Arithmetic::Divide => "/",
            Arithmetic::Modulo => "%",
        }
    }
}

impl Order {
    fn symbol(self) -> &'static str {
        match self {
            Order::Less => "<",
            Order::LessOrEqual => "<=",
            Order::Greater => ">",
            Order::GreaterOrEqual => ">=",
        }
    }

    fn holds(self, found: Ordering) -> bool {
        match self {
            Order::Less => found.is_lt(),
            Order::LessOrEqual => found.is_le(),
            Order::Greater => found.is_gt(),
            Order::GreaterOrEqual => found.is_ge(),
        }
    }
}
