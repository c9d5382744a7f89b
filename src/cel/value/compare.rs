//! Equality and order.

use super::{Error, List, Map, Val, walk};
use crate::cel::budget::Budget;
use std::cmp::Ordering;

/// Whether two values are equal: numbers by value across their types, lists and maps part by part; values of different
/// kinds are not equal. Each part that is compared is paid for.
pub(in crate::cel) fn equal(a: &Val, b: &Val, budget: &mut Budget) -> Result<bool, Error> {
    parts_equal(a, b, 0, budget)
}

fn parts_equal(a: &Val, b: &Val, depth: usize, budget: &mut Budget) -> Result<bool, Error> {
    Ok(match (a, b) {
        (Val::List(a), Val::List(b)) => return lists_equal(a, b, walk(depth + 1)?, budget),
        (Val::Map(a), Val::Map(b)) => return maps_equal(a, b, walk(depth + 1)?, budget),
        (Val::Optional(Some(a)), Val::Optional(Some(b))) => {
            return parts_equal(a, b, walk(depth + 1)?, budget);
        }
        (Val::String(a), Val::String(b)) => {
            budget.traverse(a.len().min(b.len()))?;
            **a == **b
        }
        (Val::Bytes(a), Val::Bytes(b)) => {
            budget.traverse(a.len().min(b.len()))?;
            a == b
        }
        (Val::Null, Val::Null) | (Val::Optional(None), Val::Optional(None)) => true,
        (Val::Bool(a), Val::Bool(b)) => a == b,
        (Val::Timestamp(a), Val::Timestamp(b)) => a == b,
        (Val::Duration(a), Val::Duration(b)) => a == b,
        (Val::Type(a), Val::Type(b)) => a == b,
        (Val::Quantity(a), Val::Quantity(b)) => a == b,
        (Val::Semver(a), Val::Semver(b)) => a.cmp_precedence(b).is_eq(),
        (Val::Url(a), Val::Url(b)) => a == b,
        (Val::Ip(a), Val::Ip(b)) => a == b,
        (Val::Cidr(a), Val::Cidr(b)) => a == b,
        (Val::Format(a), Val::Format(b)) => std::ptr::eq(*a, *b),
        _ => numbers(a, b) == Comparison::Ordered(Ordering::Equal),
    })
}

fn lists_equal(a: &List, b: &List, depth: usize, budget: &mut Budget) -> Result<bool, Error> {
    if a.len() != b.len() {
        return Ok(false);
    }
    for (a, b) in a.iter().zip(b.iter()) {
        budget.charge(1)?;
        if !parts_equal(&a, &b, depth, budget)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn maps_equal(a: &Map, b: &Map, depth: usize, budget: &mut Budget) -> Result<bool, Error> {
    if a.len() != b.len() {
        return Ok(false);
    }
    for (key, value) in a {
        budget.charge(1)?;
        let Some(other) = b.get(&key) else { return Ok(false) };
        if !parts_equal(&value, &other, depth, budget)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// How two values compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cel) enum Comparison {
    Ordered(Ordering),
    /// One is not a number, which comes neither before nor after anything.
    NotANumber,
    /// Values of these kinds have no order between them.
    Unsupported,
}

impl Comparison {
    /// The order, if there is one.
    pub(in crate::cel) fn order(self) -> Option<Ordering> {
        match self {
            Comparison::Ordered(order) => Some(order),
            Comparison::NotANumber | Comparison::Unsupported => None,
        }
    }
}

/// How two values of one ordered kind compare; numbers by value, whatever their types.
pub(in crate::cel) fn compare(a: &Val, b: &Val) -> Comparison {
    Comparison::Ordered(match (a, b) {
        (Val::String(a), Val::String(b)) => (**a).cmp(&**b),
        (Val::Bool(a), Val::Bool(b)) => a.cmp(b),
        (Val::Bytes(a), Val::Bytes(b)) => a.cmp(b),
        (Val::Timestamp(a), Val::Timestamp(b)) => a.cmp(b),
        (Val::Duration(a), Val::Duration(b)) => a.cmp(b),
        _ => return numbers(a, b),
    })
}

#[allow(clippy::cast_precision_loss, reason = "CEL compares an integer with a double as doubles")]
fn numbers(a: &Val, b: &Val) -> Comparison {
    let order = match (a, b) {
        (Val::Int(a), Val::Int(b)) => Some(a.cmp(b)),
        (Val::UInt(a), Val::UInt(b)) => Some(a.cmp(b)),
        (Val::Double(a), Val::Double(b)) => a.partial_cmp(b),
        (Val::Int(a), Val::UInt(b)) => Some(i128::from(*a).cmp(&i128::from(*b))),
        (Val::UInt(a), Val::Int(b)) => Some(i128::from(*a).cmp(&i128::from(*b))),
        (Val::Int(a), Val::Double(b)) => (*a as f64).partial_cmp(b),
        (Val::UInt(a), Val::Double(b)) => (*a as f64).partial_cmp(b),
        (Val::Double(a), Val::Int(b)) => a.partial_cmp(&(*b as f64)),
        (Val::Double(a), Val::UInt(b)) => a.partial_cmp(&(*b as f64)),
        _ => return Comparison::Unsupported,
    };
    order.map_or(Comparison::NotANumber, Comparison::Ordered)
}
