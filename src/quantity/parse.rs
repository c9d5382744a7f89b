//! Text to quantity, with Kubernetes' choice of what is held as a small number and which spelling is kept.

use num_bigint::BigInt;
use serde_json::{Number, Value};

use super::amount::{Amount, divide_away, pow10};
use super::error::{Excerpt, Hint};
use super::print::prints_as;
use super::suffix::{Suffix, WrongSuffix};
use super::{Format, MAX_EXPONENT, MAX_LENGTH, Quantity, QuantityError};

/// The smallest power of ten: one billionth.
const NANO: i32 = -9;

pub(super) fn from_json(value: &Value) -> Result<Quantity, QuantityError> {
    match value {
        Value::String(text) => parse(text.trim()),
        Value::Number(number) => parse(&spelling(number)),
        Value::Null => Err(QuantityError::Type("null")),
        Value::Bool(_) => Err(QuantityError::Type("true or false")),
        Value::Array(_) => Err(QuantityError::Type("a list")),
        Value::Object(_) => Err(QuantityError::Type("an object")),
    }
}

/// How Go writes a number that it has read from JSON: large and very small ones with an exponent.
fn spelling(number: &Number) -> String {
    match number.as_f64() {
        Some(float) if number.as_i64().is_none() => {
            if float != 0.0 && !(1e-6..1e21).contains(&float.abs()) {
                let text = format!("{float:e}");
                if float.abs() < 1.0 { text } else { text.replace('e', "e+") }
            } else {
                float.to_string()
            }
        }
        _ => number.to_string(),
    }
}

/// The parts of a quantity, the number still as text.
struct Parts<'a> {
    negative: bool,
    /// Digits before the point without leading zeros; `0` if there are none.
    whole: &'a str,
    /// Digits after the point.
    fraction: &'a str,
    /// Whether there is any digit.
    digits: bool,
    suffix: Suffix,
}

pub(super) fn parse(text: &str) -> Result<Quantity, QuantityError> {
    let parts = split(text)?;
    let quantity = read(&parts, text)?;
    if parts.may_be_unprintable() && quantity.prints_large_exponent() {
        return Err(QuantityError::ExponentTooLarge(Excerpt::new(text)));
    }
    // The canonical form may have two more zeros.
    if text.len() + 2 > MAX_LENGTH && quantity.to_string().len() > MAX_LENGTH {
        return Err(QuantityError::TooLong(quantity.to_string().len()));
    }
    Ok(quantity)
}

fn read(parts: &Parts<'_>, text: &str) -> Result<Quantity, QuantityError> {
    if let Some(mut quantity) = parts.small() {
        if parts.keeps_spelling(&quantity) && !prints_as(&quantity, text) {
            quantity.written = Some(text.into());
        }
        return Ok(quantity);
    }
    parts.big().ok_or_else(|| QuantityError::Number(Excerpt::new(text)))
}

fn split(text: &str) -> Result<Parts<'_>, QuantityError> {
    if text.is_empty() {
        return Err(QuantityError::Empty);
    }
    if text.len() > MAX_LENGTH {
        return Err(QuantityError::TooLong(text.len()));
    }
    let (negative, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, rest) = digits(unsigned);
    let (fraction, rest) = rest.strip_prefix('.').map_or(("", rest), digits);
    let suffix = Suffix::parse(rest).map_err(|wrong| suffix_error(&wrong, text, rest))?;
    let any = !whole.is_empty() || !fraction.is_empty();
    let whole = match whole.trim_start_matches('0') {
        "" => "0",
        whole => whole,
    };
    Ok(Parts { negative, whole, fraction, digits: any, suffix })
}

/// Splits after the leading digits.
fn digits(text: &str) -> (&str, &str) {
    let end = text.bytes().take_while(u8::is_ascii_digit).count();
    text.split_at_checked(end).unwrap_or((text, ""))
}

fn suffix_error(wrong: &WrongSuffix, text: &str, suffix: &str) -> QuantityError {
    let (text, excerpt) = (Excerpt::new(text), Excerpt::new(suffix));
    match wrong {
        WrongSuffix::Unknown if text == excerpt => QuantityError::Number(text),
        WrongSuffix::Unknown => QuantityError::Suffix { text, suffix: excerpt, hint: Hint::new(suffix) },
        WrongSuffix::NotWhole => QuantityError::Exponent(text),
        WrongSuffix::TooLarge => QuantityError::ExponentTooLarge(text),
    }
}

impl Parts<'_> {
    /// The quantity if Kubernetes holds it as a small number.
    fn small(&self) -> Option<Quantity> {
        let (whole, fraction) =
            (i32::try_from(self.whole.len()).ok()?, i32::try_from(self.fraction.len()).ok()?);
        let Suffix { format, exponent } = self.suffix;
        let (unit, scale, room) = match format {
            Format::BinarySi => {
                (1_i64.checked_shl(exponent.unsigned_abs())?, 0, 14 - whole - exponent * 3 / 10)
            }
            Format::DecimalSi | Format::DecimalExponent => (1, exponent - fraction, 18 - whole - fraction),
        };
        let binary_fraction = format == Format::BinarySi && fraction > 0;
        if room < 0 || scale < NANO || binary_fraction {
            return None;
        }
        let value = self.small_number()?.checked_mul(unit)?;
        let value = if self.negative { -value } else { value };
        Some(Quantity::new(Amount::Small { value, scale }, format))
    }

    /// Whether zeros at its end could be printed as an exponent that is refused when it is read. Cheap to tell.
    fn may_be_unprintable(&self) -> bool {
        let digits = i32::try_from(self.whole.len()).unwrap_or(i32::MAX);
        self.suffix.exponent.saturating_add(digits) > MAX_EXPONENT
    }

    /// All digits as one number.
    fn small_number(&self) -> Option<i64> {
        self.whole.bytes().chain(self.fraction.bytes()).try_fold(0_i64, |number, digit| {
            number.checked_mul(10)?.checked_add(i64::from(digit.wrapping_sub(b'0')))
        })
    }

    /// Whether Kubernetes writes a quantity held as a small number as it was written.
    fn keeps_spelling(&self, quantity: &Quantity) -> bool {
        let Some(number) = self.small_number() else { return false };
        match quantity.format {
            Format::BinarySi => number % 8 != 0,
            Format::DecimalSi | Format::DecimalExponent => {
                quantity.amount.scale() % 3 == 0 && number % 1000 != 0 && self.whole != "0"
            }
        }
    }

    /// The quantity as a big number in billionths; `None` without any digit.
    fn big(&self) -> Option<Quantity> {
        if !self.digits {
            return None;
        }
        let digits: BigInt = format!("{}{}", self.whole, self.fraction).parse().ok()?;
        let places = i32::try_from(self.fraction.len()).ok()?;
        let Suffix { format, exponent } = self.suffix;
        let nanos = match format {
            Format::BinarySi => in_nanos(&(digits << exponent), -places),
            Format::DecimalSi | Format::DecimalExponent => in_nanos(&digits, exponent - places),
        };
        let one = pow10(9);
        let (value, scale, format) = match format {
            Format::BinarySi if nanos > &one * i64::MAX => (i64::MAX.into(), 0, format),
            Format::BinarySi if nanos > BigInt::ZERO && nanos < one => (nanos, NANO, Format::DecimalSi),
            _ => (nanos, NANO, format),
        };
        let value = if self.negative { -value } else { value };
        Some(Quantity::new(Amount::Big { value, scale }, format))
    }
}

/// `value` × 10^`scale` in billionths, rounded up.
fn in_nanos(value: &BigInt, scale: i32) -> BigInt {
    let shift = scale.abs_diff(NANO);
    match scale {
        NANO.. => value * pow10(shift),
        _ => divide_away(value, shift),
    }
}
