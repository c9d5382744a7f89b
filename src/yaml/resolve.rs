//! What an unquoted scalar is, to `kubectl`: YAML 1.1's words and octals as Go's `sigs.k8s.io/yaml` reads them.

use super::Kind;
use serde_json::Number;

/// What `text` is when it stands unquoted and untagged. `None` if it is a number that JSON cannot hold.
pub(super) fn plain(text: &str) -> Option<Kind> {
    match meaning(text) {
        Meaning::Itself => Some(Kind::String(text.to_owned())),
        Meaning::Value(kind) => Some(kind),
        Meaning::NoJson => None,
    }
}

/// Whether `text` is a string when it stands unquoted and untagged.
pub(super) fn is_string(text: &str) -> bool {
    matches!(meaning(text), Meaning::Itself)
}

enum Meaning {
    /// A string.
    Itself,
    Value(Kind),
    /// A number that JSON cannot hold.
    NoJson,
}

fn meaning(text: &str) -> Meaning {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Meaning::Value(Kind::Null),
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            return Meaning::Value(Kind::Bool(true));
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            return Meaning::Value(Kind::Bool(false));
        }
        ".nan" | ".NaN" | ".NAN" | ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" | "-.inf"
        | "-.Inf" | "-.INF" => return Meaning::NoJson,
        _ => {}
    }
    if !text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.')) {
        return Meaning::Itself;
    }
    let digits: String = text.chars().filter(|c| *c != '_').collect();
    let number = match integer(&digits) {
        Some(number) => Some(number),
        None if is_float(&digits) => digits.parse().ok().and_then(json_number),
        None => return Meaning::Itself,
    };
    number.map_or(Meaning::NoJson, |number| Meaning::Value(Kind::Number(number)))
}

/// A whole float below 2⁵³ is written as an integer, as Go's JSON writes it.
fn json_number(value: f64) -> Option<Number> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() < EXACT {
        #[allow(clippy::cast_possible_truncation, reason = "whole and below 2⁵³")]
        return Some(Number::from(value as i64));
    }
    Number::from_f64(value)
}

fn integer(text: &str) -> Option<Number> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (radix, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
        [b'0', b'o' | b'O', ..] => (8, &digits[2..]),
        [b'0', b'b' | b'B', ..] => (2, &digits[2..]),
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, digits),
    };
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    let magnitude = u64::from_str_radix(digits, radix).ok()?;
    if negative {
        0i64.checked_sub_unsigned(magnitude).map(Number::from)
    } else {
        Some(Number::from(magnitude))
    }
}

/// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`
fn is_float(text: &str) -> bool {
    let text = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent.strip_prefix(['-', '+']).unwrap_or(exponent))),
        None => (text, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
    let all_digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    all_digits(whole)
        && all_digits(fraction)
        && !(whole.is_empty() && fraction.is_empty())
        && exponent.is_none_or(|digits| !digits.is_empty() && all_digits(digits))
}
