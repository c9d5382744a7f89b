//! Quantity to text.

use std::fmt::{self, Write};

use num_bigint::BigInt;

use super::amount::{Amount, divide_away};
use super::suffix::suffix;
use super::{Format, MAX_EXPONENT, Quantity};

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
        if let Some((mantissa, exponent)) = quantity.in_binary() {
            return write!(f, "{mantissa}{}", suffix(Format::BinarySi, exponent));
        }
        let (mantissa, exponent) = quantity.amount.in_thousands();
        match (quantity.format, exponent) {
            (Format::DecimalExponent, 0) => write!(f, "{mantissa}"),
            (Format::DecimalExponent, _) => write!(f, "{mantissa}e{exponent}"),
            _ => write!(f, "{mantissa}{}", suffix(Format::DecimalSi, exponent)),
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

enum Mantissa {
    Small(i128),
    Big(String),
}

impl fmt::Display for Mantissa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mantissa::Small(value) => value.fmt(f),
            Mantissa::Big(digits) => f.write_str(digits),
        }
    }
}

impl Quantity {
    /// Whether its text has an exponent beyond [`MAX_EXPONENT`].
    pub(super) fn prints_large_exponent(&self) -> bool {
        self.format == Format::DecimalExponent
            && !self.is_zero()
            && self.amount.in_thousands().1 > MAX_EXPONENT
    }

    /// A whole number and the largest power of two, of those that are powers of 1024, whose product is the quantity, if
    /// it is to be printed so: if it is whole and at least 1024.
    fn in_binary(&self) -> Option<(Mantissa, i32)> {
        const LEAST: u64 = 1024;
        if self.format != Format::BinarySi {
            return None;
        }
        if let Amount::Small { value, scale: 0 } = self.amount {
            let exponent = value.trailing_zeros() / 10 * 10;
            let mantissa = Mantissa::Small((value >> exponent).into());
            return (value.unsigned_abs() >= LEAST).then_some((mantissa, exponent.try_into().ok()?));
        }
        let value = self.amount.whole()?;
        let exponent = value.trailing_zeros()? / 10 * 10;
        let mantissa = Mantissa::Big((&value >> exponent).to_string());
        (value.magnitude() >= &LEAST.into()).then_some((mantissa, exponent.try_into().ok()?))
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
                let (mut mantissa, mut exponent) = (*value, *scale);
                while mantissa % 10 == 0 && mantissa != 0 {
                    mantissa /= 10;
                    exponent += 1;
                }
                let excess = exponent.rem_euclid(3);
                let factor = 10_i128.pow(excess.unsigned_abs());
                (Mantissa::Small(i128::from(mantissa) * factor), exponent - excess)
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
                (Mantissa::Big(digits), exponent)
            }
        }
    }
}
