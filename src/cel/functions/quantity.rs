//! Kubernetes' quantities. Beyond Kubernetes: from numbers, as text, times a number, and summed.

use super::{
    call::{Arguments, Cost, Size, Work, invalid},
    library,
};
use crate::{
    cel::{
        error::{Error, ErrorKind},
        value::Val,
    },
    quantity::{Format, Quantity},
};
use serde_json::Value;
use std::{cmp::Ordering, sync::Arc};

type Result<T> = std::result::Result<T, Error>;

const MAKE: Cost = Cost::new(Work::Read, Size::AtMost(1));
const FLAT: Cost = Cost::FLAT;

library! {
    Quantity;
    "quantity": "The quantity that a text says, as in `1.5Gi` or `250m`, or that a number is.", "when the text is no quantity" {
        "quantity(string) -> quantity" => |a| make(a.str(0)?), MAKE;
        "quantity(int) -> quantity" => |a| Ok(value(Quantity::from_int(a.int(0)?, Format::DecimalSi))), FLAT;
        "quantity(double) -> quantity" => |a| from_json(&Value::from(a.double(0)?)), FLAT;
        "quantity(quantity) -> quantity" => |a| a.value(0), FLAT;
    }
    "isQuantity": "Whether `quantity` would not fail for this text.", "" {
        "isQuantity(string) -> bool" => |a| Ok(Val::Bool(Quantity::parse(a.str(0)?).is_ok())), MAKE;
    }
    "sign": "-1, 0 or 1.", "" {
        "sign(quantity) -> int" => |a| Ok(Val::Int(a.quantity(0)?.sign().into())), FLAT;
        "quantity.sign() -> int" => |a| Ok(Val::Int(a.quantity(0)?.sign().into())), FLAT;
    }
    "isGreaterThan": "Whether the quantity is greater than the other.", "" {
        "quantity.isGreaterThan(quantity) -> bool" => |a| Ok(Val::Bool(order(a)?.is_gt())), FLAT;
    }
    "isLessThan": "Whether the quantity is less than the other.", "" {
        "quantity.isLessThan(quantity) -> bool" => |a| Ok(Val::Bool(order(a)?.is_lt())), FLAT;
    }
    "compareTo": "-1 if the quantity is less than the other, 1 if it is greater, else 0.", "" {
        "quantity.compareTo(quantity) -> int" => |a| Ok(Val::Int(order(a)? as i64)), FLAT;
    }
    "asApproximateFloat": "The nearest double, infinite beyond its range.", "" {
        "quantity.asApproximateFloat() -> double" => |a| Ok(Val::Double(a.quantity(0)?.as_approximate_float())), FLAT;
    }
    "isInteger": "Whether `asInteger` would not fail.", "" {
        "quantity.isInteger() -> bool" => |a| Ok(Val::Bool(a.quantity(0)?.as_int64().is_some())), FLAT;
    }
    "asInteger": "The quantity as an integer.", "when it has a fraction, is written with one, or does not fit" {
        "quantity.asInteger() -> int" => as_integer, FLAT;
    }
    "add": "The sum of both.", "" {
        "quantity.add(quantity) -> quantity" => |a| Ok(value(&*a.quantity(0)? + &*a.quantity(1)?)), FLAT;
        "quantity.add(int) -> quantity" => |a| Ok(value(&*a.quantity(0)? + &number(a)?)), FLAT;
    }
    "sub": "The difference of both.", "" {
        "quantity.sub(quantity) -> quantity" => |a| Ok(value(&*a.quantity(0)? - &*a.quantity(1)?)), FLAT;
        "quantity.sub(int) -> quantity" => |a| Ok(value(&*a.quantity(0)? - &number(a)?)), FLAT;
    }
    "mul": "The quantity so many times.", "when it becomes absurdly large" {
        "quantity.mul(int) -> quantity" => |a| times(&*a.quantity(0)?, a.int(1)?), FLAT;
    }
    "sum": "The sum of the quantities; zero if there are none.", "" {
        "list(quantity).sum() -> quantity" => sum, Cost::VISIT;
    }
    "string": "The quantity as Kubernetes writes it.", "" {
        "string(quantity) -> string" => |a| { let text = a.quantity(0)?.to_string(); a.make_text(text) }, Cost::new(Work::Steps(1), Size::AtMost(64));
    }
}

/// A quantity as a value.
pub(super) fn value<'a>(quantity: Quantity) -> Val<'a> {
    Val::Quantity(Arc::new(quantity))
}

/// The quantity that a text says.
pub(in crate::cel) fn make<'a>(text: &str) -> Result<Val<'a>> {
    Quantity::parse(text).map(value).map_err(|error| invalid(0, error.to_string()))
}

/// The quantity that a JSON text or number says.
pub(in crate::cel) fn from_json<'a>(json: &Value) -> Result<Val<'a>> {
    Quantity::from_json(json).map(value).map_err(|error| invalid(0, error.to_string()))
}

/// The second argument, an int, in the notation that Kubernetes gives it.
fn number(a: &Arguments) -> Result<Quantity> {
    Ok(Quantity::from_int(a.int(1)?, Format::DecimalExponent))
}

fn order(a: &Arguments) -> Result<Ordering> {
    Ok(a.quantity(0)?.cmp(&a.quantity(1)?))
}

fn as_integer<'a>(a: &mut Arguments<'_, 'a>) -> Result<Val<'a>> {
    let quantity = a.quantity(0)?;
    quantity.as_int64().map(Val::Int).ok_or_else(|| {
        Error::new(ErrorKind::Overflow, format!("the quantity {quantity} is no integer of 64 bits"))
            .in_argument(0)
    })
}

/// The quantity so many times.
pub(super) fn times<'a>(quantity: &Quantity, factor: i64) -> Result<Val<'a>> {
    let product = quantity.checked_mul(factor);
    product.map(value).ok_or_else(|| Error::new(ErrorKind::Overflow, "the quantity becomes too large"))
}

fn sum<'a>(a: &mut Arguments<'_, 'a>) -> Result<Val<'a>> {
    let mut total = Quantity::ZERO;
    for item in a.list(0)?.iter() {
        match item {
            Val::Quantity(quantity) => total = &total + &quantity,
            other => {
                let message =
                    format!("an item of type {} cannot be part of a sum of quantities", other.kind());
                return Err(Error::new(ErrorKind::NoSuchOverload, message).in_argument(0));
            }
        }
    }
    Ok(value(total))
}
