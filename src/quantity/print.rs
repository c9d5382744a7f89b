//! Quantity to text.

use std::fmt::{self, Write};

use num_bigint::BigInt;

use super::amount::{Amount, divide_away};
use super::{Format, Quantity};

/// A quantity's canonical form, as its `Display`: no fraction, and the largest suffix that needs none.
#[derive(Clone, Copy, Debug)]
pub struct Canonical<'a>(pub(super) &'a Quantity);

impl fmt::Display for Quantity {
    /// The text that Kubernetes writes after reading this quantity.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.written {
            Some(text) => f.write_str(text),
            None => self.canonical().fmt(f),
        }
    }
}

impl fmt::Display for Canonical<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Canonical(quantity) = self;
        if quantity.is_zero() {
            return f.write_str("0");
        }
        if let Some(whole) = quantity.binary_number() {
            let (mantissa, exponent) = without_factors_of_1024(whole);
            return write!(f, "{mantissa}{}", binary_suffix(exponent));
        }
        let (mantissa, exponent) = quantity.amount.in_thousands();
        match (quantity.format, exponent) {
            (Format::DecimalExponent, 0) => write!(f, "{mantissa}"),
            (Format::DecimalExponent, _) => write!(f, "{mantissa}e{exponent}"),
            _ => write!(f, "{mantissa}{}", decimal_suffix(exponent)),
        }
    }
}

/// Whether `text` is the canonical form, without building that.
pub(super) fn prints_as(quantity: &Quantity, text: &str) -> bool {
    let mut rest = Rest(text);
    write!(rest, "{}", quantity.canonical()).is_ok() && rest.0.is_empty()
}

/// What is left of a text when what is written is taken from its front.
struct Rest<'a>(&'a str);

impl Write for Rest<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 = self.0.strip_prefix(text).ok_or(fmt::Error)?;
        Ok(())
    }
}

impl Quantity {
    /// The whole number to print in powers of 1024, if it is to be printed so.
    fn binary_number(&self) -> Option<Mantissa> {
        if self.format != Format::BinarySi {
            return None;
        }
        let whole = match &self.amount {
            Amount::Small { value, scale: 0 } => Mantissa::Small((*value).into()),
            amount => Mantissa::Big(amount.whole()?),
        };
        (!whole.is_within(1024)).then_some(whole)
    }
}

enum Mantissa {
    Small(i128),
    Big(BigInt),
    Text(String),
}

impl fmt::Display for Mantissa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mantissa::Small(value) => value.fmt(f),
            Mantissa::Big(value) => value.fmt(f),
            Mantissa::Text(text) => f.write_str(text),
        }
    }
}

impl Mantissa {
    fn is_within(&self, limit: u16) -> bool {
        match self {
            Mantissa::Small(value) => value.unsigned_abs() < limit.into(),
            Mantissa::Big(value) => value.magnitude() < &limit.into(),
            Mantissa::Text(_) => false,
        }
    }
}

impl Amount {
    /// The amount if it is whole.
    fn whole(&self) -> Option<BigInt> {
        let scale = self.scale();
        if scale >= 0 {
            return Some(self.rescaled(0));
        }
        let whole = divide_away(&self.unscaled(), scale.unsigned_abs());
        let exact = Amount::Big { value: whole.clone(), scale: 0 }.cmp(self).is_eq();
        exact.then_some(whole)
    }

    /// A whole number and the largest power of ten, of those that are powers of 1000, whose product is the amount. The
    /// amount is not zero.
    fn in_thousands(&self) -> (Mantissa, i32) {
        match self {
            Amount::Small { value, scale } => {
                let (mut mantissa, mut exponent) = (i128::from(*value), *scale);
                while mantissa % 10 == 0 && mantissa != 0 {
                    mantissa /= 10;
                    exponent += 1;
                }
                let excess = exponent.rem_euclid(3);
                (Mantissa::Small(mantissa * 10_i128.pow(excess.unsigned_abs())), exponent - excess)
            }
            Amount::Big { value, scale } => {
                let mut digits = value.to_string();
                let mut exponent = *scale;
                while digits.len() > 1 && digits.ends_with('0') {
                    digits.pop();
                    exponent += 1;
                }
                while exponent.rem_euclid(3) != 0 {
                    digits.push('0');
                    exponent -= 1;
                }
                (Mantissa::Text(digits), exponent)
            }
        }
    }
}

fn without_factors_of_1024(whole: Mantissa) -> (Mantissa, u64) {
    match whole {
        Mantissa::Small(value) => {
            let exponent = value.trailing_zeros() / 10;
            (Mantissa::Small(value >> (10 * exponent)), exponent.into())
        }
        Mantissa::Big(value) => {
            let exponent = value.trailing_zeros().unwrap_or(0) / 10;
            (Mantissa::Big(value >> (10 * exponent)), exponent)
        }
        Mantissa::Text(_) => (whole, 0),
    }
}

/// The suffix for 10^`exponent`; none where there is none.
fn decimal_suffix(exponent: i32) -> &'static str {
    match exponent {
        -9 => "n",
        -6 => "u",
        -3 => "m",
        3 => "k",
        6 => "M",
        9 => "G",
        12 => "T",
        15 => "P",
        18 => "E",
        _ => "",
    }
}

/// The suffix for 1024^`exponent`; none where there is none.
fn binary_suffix(exponent: u64) -> &'static str {
    match exponent {
        1 => "Ki",
        2 => "Mi",
        3 => "Gi",
        4 => "Ti",
        5 => "Pi",
        6 => "Ei",
        _ => "",
    }
}
