//! The limits of single values.

use base64::Engine as _;
use serde_json::{Map, Number, Value};

use super::error::{Errors, Reason};
use crate::object::path::At;
use crate::schema::{IntFormat, Integer, List, Pattern, Text, TextFormat};

pub(super) fn properties(
    errors: &mut Errors,
    least: Option<u64>,
    most: Option<u64>,
    map: &Map<String, Value>,
    at: &At<'_>,
) {
    let count = map.len() as u64;
    if let Some(least) = least.filter(|least| count < *least) {
        errors.limit(at, &count.into(), format_args!("have at least {least} properties"));
    }
    too_many(errors, count, most, at);
}

pub(super) fn items(errors: &mut Errors, list: &List, items: &[Value], at: &At<'_>) {
    let count = items.len() as u64;
    if let Some(least) = list.min_items.filter(|least| count < *least) {
        errors.limit(at, &count.into(), format_args!("have at least {least} items"));
    }
    too_many(errors, count, list.max_items, at);
}

fn too_many(errors: &mut Errors, count: u64, most: Option<u64>, at: &At<'_>) {
    let Some(most) = most.filter(|most| count > *most) else { return };
    let items = if most == 1 { "item" } else { "items" };
    errors.push(at, Reason::TooMany, Some(&count.into()), || format!("must have at most {most} {items}"));
}

pub(super) fn text(errors: &mut Errors, limit: &Text, text: &str, at: &At<'_>) {
    // Counting is for what is near a limit: a text has no more characters than bytes.
    let exceeds = |most: u64| text.len() as u64 > most && text.chars().count() as u64 > most;
    if let Some(most) = limit.max_length.filter(|most| exceeds(*most)) {
        let bytes = if most == 1 { "byte" } else { "bytes" };
        errors.push(at, Reason::TooLong, None, || format!("may not be more than {most} {bytes}"));
        return; // a text of any length is looked at no further
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
    }
    let misread = match limit.format {
        Some(TextFormat::Time | TextFormat::MicroTime) if !is_time(text) => "date-time",
        Some(TextFormat::Bytes) if !is_base64(text) => "byte",
        _ => return,
    };
    errors.wrong_type(at, misread, text);
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

/// The value of a whole number, whether or not it is written with a point. One beyond 64 bits, or with a point and
/// beyond what a float holds exactly, is none to the API server.
pub(super) fn whole(number: &Number) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_991.0;
    #[allow(clippy::cast_possible_truncation, reason = "it is whole and within the range of 64 bits")]
    let from_float = |float: f64| (float.fract() == 0.0 && float.abs() <= EXACT).then_some(float as i64);
    number.as_i64().or_else(|| from_float(number.as_f64()?))
}

pub(super) fn integer(errors: &mut Errors, limit: &Integer, whole: i64, at: &At<'_>) {
    let value = Value::from(whole);
    if limit.format == Some(IntFormat::Int32) && i32::try_from(whole).is_err() {
        errors.invalid(
            at,
            Some(&value),
            format!("Checked value must be of type integer with format int32 in {at}"),
        );
        return;
    }
    if let Some(most) = limit.maximum.filter(|most| whole > *most) {
        errors.limit(at, &value, format_args!("be less than or equal to {most}"));
    }
    if let Some(least) = limit.minimum.filter(|least| whole < *least) {
        errors.limit(at, &value, format_args!("be greater than or equal to {least}"));
    }
}

pub(super) fn quantity(errors: &mut Errors, text: &str, at: &At<'_>) {
    if !QUANTITY.matches(text) {
        errors.limit(at, &text.into(), format_args!("match '{}'", QUANTITY.source()));
    }
}

/// The pattern that every CRD has for a quantity.
pub(in crate::schema) static QUANTITY: Pattern = Pattern::literal(
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$",
);
static DATE: Pattern = Pattern::literal("^[0-9]{4}-[0-9]{2}-[0-9]{2}$");
static TIME_OF_DAY: Pattern =
    Pattern::literal(r"^[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?([zZ]|[+-][0-9]{2}:[0-9]{2})$");
