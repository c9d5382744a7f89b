//! The limits of single values. Each function reports what is beyond them and says whether the value is within those
//! that rules rely on: its type, and how large it can be.

use base64::Engine as _;
use serde_json::{Map, Number, Value};

use super::error::{Errors, Reason};
use crate::schema::path::At;
use crate::schema::{IntFormat, Integer, List, Pattern, Text, TextFormat};

pub(super) fn properties(
    errors: &mut Errors,
    least: Option<u64>,
    most: Option<u64>,
    map: &Map<String, Value>,
    at: &At<'_>,
) -> bool {
    let count = map.len() as u64;
    if let Some(least) = least.filter(|least| count < *least) {
        errors.limit(at, &count.into(), format_args!("have at least {least} properties"));
    }
    too_many(errors, count, most, at)
}

pub(super) fn items(errors: &mut Errors, list: &List, items: &[Value], at: &At<'_>) -> bool {
    let count = items.len() as u64;
    if let Some(least) = list.min_items.filter(|least| count < *least) {
        errors.limit(at, &count.into(), format_args!("have at least {least} items"));
    }
    too_many(errors, count, list.max_items, at)
}

fn too_many(errors: &mut Errors, count: u64, most: Option<u64>, at: &At<'_>) -> bool {
    let Some(most) = most.filter(|most| count > *most) else { return true };
    let items = if most == 1 { "item" } else { "items" };
    errors.push(at, Reason::TooMany, Some(&count.into()), || format!("must have at most {most} {items}"));
    false
}

pub(super) fn text(errors: &mut Errors, limit: &Text, text: &str, at: &At<'_>) -> bool {
    // Counting is for what is near a limit: a text has no more characters than bytes.
    let exceeds = |most: u64| text.len() as u64 > most && text.chars().count() as u64 > most;
    if let Some(most) = limit.max_length.filter(|most| exceeds(*most)) {
        let bytes = if most == 1 { "byte" } else { "bytes" };
        errors.push(at, Reason::TooLong, None, || format!("may not be more than {most} {bytes}"));
        return false;
    }
    let value = || Value::from(text);
    if let Some(least) = limit.min_length.filter(|least| (text.chars().count() as u64) < *least) {
        errors.limit(at, &value(), format_args!("be at least {least} chars long"));
    }
    if let Some(pattern) = limit.pattern.as_ref().filter(|pattern| !pattern.matches(text)) {
        errors.limit(at, &value(), format_args!("match '{}'", pattern.source()));
    }
    if !limit.values.is_empty() && !limit.values.iter().any(|known| known.as_ref() == text) {
        let known: Vec<_> = limit.values.iter().map(|value| format!("{value:?}")).collect();
        let detail = || format!("supported values: {}", known.join(", "));
        errors.push(at, Reason::NotSupported, Some(&value()), detail);
        return false;
    }
    let misread = match limit.format {
        Some(TextFormat::Time | TextFormat::MicroTime) if !is_time(text) => "date-time",
        Some(TextFormat::Bytes) if !is_base64(text) => "byte",
        _ => return true,
    };
    errors.wrong_type(at, misread, text);
    false
}

/// Whether a text is a date and time as RFC 3339 has them, with a time zone.
fn is_time(text: &str) -> bool {
    let Some((date, time)) = text.split_once(['T', 't']) else { return false };
    let number = |range| time.get(range).and_then(|digits: &str| digits.parse::<u8>().ok());
    let below = |range, limit| number(range).is_some_and(|number| number < limit);
    DATE.matches(date)
        && date.parse::<jiff::civil::Date>().is_ok()
        && TIME_OF_DAY.matches(time)
        && below(0..2, 24)
        && below(3..5, 60)
        && below(6..8, 60)
}

fn is_base64(text: &str) -> bool {
    let padded: String = text.chars().filter(|c| !matches!(c, '\r' | '\n')).collect();
    base64::engine::general_purpose::STANDARD.decode(padded).is_ok()
}

/// Whether a number is whole, whether or not it is written with a point.
pub(super) fn is_whole(number: &Number) -> bool {
    number.as_f64().is_some_and(|value| value.fract() == 0.0)
}

pub(super) fn integer(errors: &mut Errors, limit: &Integer, number: &Number, at: &At<'_>) -> bool {
    let (format, range) = match limit.format {
        Some(IntFormat::Int32) => ("with format int32", i64::from(i32::MIN)..=i64::from(i32::MAX)),
        Some(IntFormat::Int64) => ("with format int64", i64::MIN..=i64::MAX),
        None => ("(default format)", i64::MIN..=i64::MAX),
    };
    let value = Value::Number(number.clone());
    let Some(whole) = whole(number).filter(|whole| range.contains(whole)) else {
        errors.invalid(at, Some(&value), format!("Checked value must be of type integer {format} in {at}"));
        return false;
    };
    if let Some(most) = limit.maximum.filter(|most| whole > *most) {
        errors.limit(at, &value, format_args!("be less than or equal to {most}"));
    }
    if let Some(least) = limit.minimum.filter(|least| whole < *least) {
        errors.limit(at, &value, format_args!("be greater than or equal to {least}"));
    }
    true
}

/// The value of a whole number within 64 bits.
fn whole(number: &Number) -> Option<i64> {
    let float = || number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() < 9.2e18);
    #[allow(clippy::cast_possible_truncation, reason = "it is whole and within the range of 64 bits")]
    number.as_i64().or_else(|| float().map(|float| float as i64))
}

pub(super) fn quantity(errors: &mut Errors, text: &str, at: &At<'_>) -> bool {
    let matches = QUANTITY.matches(text);
    if !matches {
        errors.limit(at, &text.into(), format_args!("match '{}'", QUANTITY.source()));
    }
    matches
}

/// The pattern that every CRD has for a quantity.
pub(crate) static QUANTITY: Pattern = Pattern::literal(
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$",
);
static DATE: Pattern = Pattern::literal("^[0-9]{4}-[0-9]{2}-[0-9]{2}$");
static TIME_OF_DAY: Pattern =
    Pattern::literal(r"^[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?([zZ]|[+-][0-9]{2}:[0-9]{2})$");
