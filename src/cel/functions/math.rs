//! Mathematics, as cel-go's extension has it. Kubernetes does not enable it.

use super::{
    call::{Arguments, Cost, no_overload},
    library,
};
use crate::cel::{
    error::{Error, ErrorKind},
    value::{Comparison, Val, compare},
};
use std::cmp::Ordering;

type Result<T> = std::result::Result<T, Error>;

const FLAT: Cost = Cost::FLAT;

/// A function of a double that gives a double.
macro_rules! double {
    ($function:expr) => {
        |a| Ok(Val::Double($function(a.double(0)?)))
    };
}

/// A question to a double.
macro_rules! asks {
    ($question:expr) => {
        |a| Ok(Val::Bool($question(a.double(0)?)))
    };
}

/// A function of two ints.
macro_rules! ints {
    ($function:expr) => {
        |a| Ok(Val::Int($function(a.int(0)?, a.int(1)?)))
    };
}

/// A function of two uints.
macro_rules! uints {
    ($function:expr) => {
        |a| Ok(Val::UInt($function(a.uint(0)?, a.uint(1)?)))
    };
}

library! {
    Math;
    "math.greatest": "The greatest of the numbers, or of the numbers of a list; any number of arguments.", "when the list is empty" {
        "math.greatest(int) -> int" => |a| a.value(0), FLAT;
        "math.greatest(uint) -> uint" => |a| a.value(0), FLAT;
        "math.greatest(double) -> double" => |a| a.value(0), FLAT;
        "math.greatest(int, int) -> int" => |a| pair(a, Ordering::Greater), FLAT;
        "math.greatest(uint, uint) -> uint" => |a| pair(a, Ordering::Greater), FLAT;
        "math.greatest(double, double) -> double" => |a| pair(a, Ordering::Greater), FLAT;
        "math.greatest(int, uint) -> dyn" => |a| pair(a, Ordering::Greater), FLAT;
        "math.greatest(int, double) -> dyn" => |a| pair(a, Ordering::Greater), FLAT;
        "math.greatest(uint, int) -> dyn" => |a| pair(a, Ordering::Greater), FLAT;
        "math.greatest(uint, double) -> dyn" => |a| pair(a, Ordering::Greater), FLAT;
        "math.greatest(double, int) -> dyn" => |a| pair(a, Ordering::Greater), FLAT;
        "math.greatest(double, uint) -> dyn" => |a| pair(a, Ordering::Greater), FLAT;
        "math.greatest(list(int)) -> int" => |a| of_list(a, Ordering::Greater), Cost::VISIT;
        "math.greatest(list(uint)) -> uint" => |a| of_list(a, Ordering::Greater), Cost::VISIT;
        "math.greatest(list(double)) -> double" => |a| of_list(a, Ordering::Greater), Cost::VISIT;
    }
    "math.least": "The least of the numbers, or of the numbers of a list; any number of arguments.", "when the list is empty" {
        "math.least(int) -> int" => |a| a.value(0), FLAT;
        "math.least(uint) -> uint" => |a| a.value(0), FLAT;
        "math.least(double) -> double" => |a| a.value(0), FLAT;
        "math.least(int, int) -> int" => |a| pair(a, Ordering::Less), FLAT;
        "math.least(uint, uint) -> uint" => |a| pair(a, Ordering::Less), FLAT;
        "math.least(double, double) -> double" => |a| pair(a, Ordering::Less), FLAT;
        "math.least(int, uint) -> dyn" => |a| pair(a, Ordering::Less), FLAT;
        "math.least(int, double) -> dyn" => |a| pair(a, Ordering::Less), FLAT;
        "math.least(uint, int) -> dyn" => |a| pair(a, Ordering::Less), FLAT;
        "math.least(uint, double) -> dyn" => |a| pair(a, Ordering::Less), FLAT;
        "math.least(double, int) -> dyn" => |a| pair(a, Ordering::Less), FLAT;
        "math.least(double, uint) -> dyn" => |a| pair(a, Ordering::Less), FLAT;
        "math.least(list(int)) -> int" => |a| of_list(a, Ordering::Less), Cost::VISIT;
        "math.least(list(uint)) -> uint" => |a| of_list(a, Ordering::Less), Cost::VISIT;
        "math.least(list(double)) -> double" => |a| of_list(a, Ordering::Less), Cost::VISIT;
    }
    "math.ceil": "The least whole number that is not less.", "" {
        "math.ceil(double) -> double" => double!(f64::ceil), FLAT;
    }
    "math.floor": "The greatest whole number that is not greater.", "" {
        "math.floor(double) -> double" => double!(f64::floor), FLAT;
    }
    "math.round": "The nearest whole number; a half goes away from zero.", "" {
        "math.round(double) -> double" => double!(f64::round), FLAT;
    }
    "math.trunc": "The number without its fraction.", "" {
        "math.trunc(double) -> double" => double!(f64::trunc), FLAT;
    }
    "math.isInf": "Whether the number is infinite.", "" {
        "math.isInf(double) -> bool" => asks!(f64::is_infinite), FLAT;
    }
    "math.isNaN": "Whether it is not a number.", "" {
        "math.isNaN(double) -> bool" => asks!(f64::is_nan), FLAT;
    }
    "math.isFinite": "Whether it is a number and not infinite.", "" {
        "math.isFinite(double) -> bool" => asks!(f64::is_finite), FLAT;
    }
    "math.abs": "The number without its sign.", "for the least int" {
        "math.abs(double) -> double" => double!(f64::abs), FLAT;
        "math.abs(int) -> int" => abs, FLAT;
        "math.abs(uint) -> uint" => |a| a.value(0), FLAT;
    }
    "math.sign": "-1, 0 or 1, in the type of the number.", "" {
        "math.sign(double) -> double" => double!(|value: f64| if value == 0.0 || value.is_nan() { value.abs() } else { value.signum() }), FLAT;
        "math.sign(int) -> int" => |a| Ok(Val::Int(a.int(0)?.signum())), FLAT;
        "math.sign(uint) -> uint" => |a| Ok(Val::UInt(a.uint(0)?.min(1))), FLAT;
    }
    "math.sqrt": "The square root; not a number for a negative number.", "" {
        "math.sqrt(double) -> double" => double!(f64::sqrt), FLAT;
        "math.sqrt(int) -> double" => |a| Ok(Val::Double(as_double(&a.value(0)?).sqrt())), FLAT;
        "math.sqrt(uint) -> double" => |a| Ok(Val::Double(as_double(&a.value(0)?).sqrt())), FLAT;
    }
    "math.bitAnd": "The bits that both have.", "" {
        "math.bitAnd(int, int) -> int" => ints!(|a, b| a & b), FLAT;
        "math.bitAnd(uint, uint) -> uint" => uints!(|a, b| a & b), FLAT;
    }
    "math.bitOr": "The bits that either has.", "" {
        "math.bitOr(int, int) -> int" => ints!(|a, b| a | b), FLAT;
        "math.bitOr(uint, uint) -> uint" => uints!(|a, b| a | b), FLAT;
    }
    "math.bitXor": "The bits that one of both has.", "" {
        "math.bitXor(int, int) -> int" => ints!(|a, b| a ^ b), FLAT;
        "math.bitXor(uint, uint) -> uint" => uints!(|a, b| a ^ b), FLAT;
    }
    "math.bitNot": "The bits that it has not.", "" {
        "math.bitNot(int) -> int" => |a| Ok(Val::Int(!a.int(0)?)), FLAT;
        "math.bitNot(uint) -> uint" => |a| Ok(Val::UInt(!a.uint(0)?)), FLAT;
    }
    "math.bitShiftLeft": "The bits moved up by so many places.", "for a negative number of places" {
        "math.bitShiftLeft(int, int) -> int" => |a| Ok(Val::Int(places(a)?.map_or(Ok(0), |by| a.int(0).map(|value| value << by))?)), FLAT;
        "math.bitShiftLeft(uint, int) -> uint" => |a| Ok(Val::UInt(places(a)?.map_or(Ok(0), |by| a.uint(0).map(|value| value << by))?)), FLAT;
    }
    "math.bitShiftRight": "The bits moved down by so many places, with zeros from above.", "for a negative number of places" {
        "math.bitShiftRight(int, int) -> int" => |a| Ok(Val::Int(places(a)?.map_or(Ok(0), |by| a.int(0).map(|value| (value.cast_unsigned() >> by).cast_signed()))?)), FLAT;
        "math.bitShiftRight(uint, int) -> uint" => |a| Ok(Val::UInt(places(a)?.map_or(Ok(0), |by| a.uint(0).map(|value| value >> by))?)), FLAT;
    }
}

/// The first of both unless the second is on the `wanted` side of it.
fn better<'a>(first: Val<'a>, second: Val<'a>, wanted: Ordering) -> Result<Val<'a>> {
    let number = |value: &Val| matches!(value, Val::Int(_) | Val::UInt(_) | Val::Double(_));
    if !number(&first) || !number(&second) {
        return Err(no_overload());
    }
    match compare(&second, &first) {
        Comparison::Ordered(order) => Ok(if order == wanted { second } else { first }),
        Comparison::NotANumber => {
            Err(Error::new(ErrorKind::InvalidArgument, "what is not a number has no order"))
        }
        Comparison::Unsupported => Err(no_overload()),
    }
}

fn pair<'a>(a: &mut Arguments<'_, 'a>, wanted: Ordering) -> Result<Val<'a>> {
    better(a.value(0)?, a.value(1)?, wanted)
}

fn of_list<'a>(a: &mut Arguments<'_, 'a>, wanted: Ordering) -> Result<Val<'a>> {
    let list = a.list(0)?;
    let first =
        list.get(0).ok_or_else(|| Error::new(ErrorKind::OutOfRange, "the list is empty").in_argument(0))?;
    let found = list.iter().skip(1).try_fold(first, |found, item| better(found, item, wanted))?;
    if matches!(found, Val::Int(_) | Val::UInt(_) | Val::Double(_)) { Ok(found) } else { Err(no_overload()) }
}

fn abs<'a>(a: &mut Arguments<'_, 'a>) -> Result<Val<'a>> {
    let value = a.int(0)?.checked_abs();
    value
        .map(Val::Int)
        .ok_or_else(|| Error::new(ErrorKind::Overflow, "its absolute value does not fit in int"))
}

#[allow(clippy::cast_precision_loss, reason = "the root of the nearest double is what is asked for")]
fn as_double(value: &Val) -> f64 {
    match value {
        Val::Int(value) => *value as f64,
        Val::UInt(value) => *value as f64,
        _ => f64::NAN,
    }
}

/// How far to shift; `None` for further than there are bits.
fn places(a: &Arguments) -> Result<Option<u32>> {
    let by = a.int(1)?;
    if by < 0 {
        let message = "bits cannot be moved by a negative number of places";
        return Err(Error::new(ErrorKind::OutOfRange, message).in_argument(1));
    }
    Ok(u32::try_from(by).ok().filter(|by| *by < u64::BITS))
}
