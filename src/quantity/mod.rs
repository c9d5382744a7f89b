//! Resource quantities, exactly as Kubernetes computes and prints them: `1.5Gi`, `250m`, `2e3`.
//!
//! [`Quantity::parse`] and [`Quantity::from_json`] are the entry points. `Display` prints what Kubernetes' Go types
//! write after reading the same text, which is not always the canonical form: a spelling that their parser considers
//! good enough is kept (`01`, `1.500`), [`Quantity::canonical`] has the other. Comparison is by value: `1` equals `1000m`.
//!
//! Amounts are held in one of two ways, as there, because some answers depend on it ([`Quantity::as_int64`]): a 64-bit
//! number with a power of ten, which is what nearly every quantity needs and takes no memory besides, or a big one.
//! Texts and exponents are bounded before any arithmetic, so no quantity costs more than a few kilobytes.
//!
//! What quantities are for (requests, limits, volumes) and which fields hold them is left to others.

mod amount;
mod error;
mod parse;
mod print;
mod suffix;

pub use error::QuantityError;
pub use print::Canonical;

use std::cmp::Ordering;
use std::iter::Sum;
use std::ops::{Add, Neg, Sub};
use std::str::FromStr;

use serde_json::Value;

use amount::Amount;

/// The longest text of a quantity, in bytes.
pub const MAX_LENGTH: usize = 1024;

/// The largest exponent of a quantity, up and down: that of `1e1000`.
pub const MAX_EXPONENT: i32 = 1000;

/// A number with the notation it is written in.
#[derive(Clone, Debug)]
pub struct Quantity {
    amount: Amount,
    format: Format,
    /// The spelling, where Kubernetes keeps one that is not canonical.
    written: Option<Box<str>>,
}

/// The notation of a quantity. A sum has that of its first part that is not zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Powers of 1000: `12M`.
    DecimalSi,
    /// Powers of 1024: `12Mi`. Fractions, and amounts below 1024, are printed in powers of 1000.
    BinarySi,
    /// A decimal exponent: `12e6`.
    DecimalExponent,
}

impl Quantity {
    /// Nothing: `0`.
    pub const ZERO: Quantity = Quantity::from_int(0, Format::DecimalSi);

    /// Reads a quantity. What is smaller than one billionth is rounded away from zero; binary amounts above 2⁶³ − 1
    /// become that.
    pub fn parse(text: &str) -> Result<Quantity, QuantityError> {
        parse::parse(text)
    }

    /// Reads a quantity as it may stand in an object: text, with space around it, or a number.
    pub fn from_json(value: &Value) -> Result<Quantity, QuantityError> {
        parse::from_json(value)
    }

    /// A whole number.
    pub const fn from_int(value: i64, format: Format) -> Quantity {
        Quantity::new(Amount::Small { value, scale: 0 }, format)
    }

    /// So many thousandths.
    pub const fn from_milli(value: i64, format: Format) -> Quantity {
        Quantity::new(Amount::Small { value, scale: -3 }, format)
    }

    const fn new(amount: Amount, format: Format) -> Quantity {
        Quantity { amount, format, written: None }
    }

    /// The notation. Very small amounts and fractions may be printed in another.
    pub fn format(&self) -> Format {
        self.format
    }

    /// What Kubernetes prints for this amount once it has been computed with, whatever its spelling was.
    ///
    /// As there, an exponent without a suffix of its own prints none: 1000E prints `1`.
    pub fn canonical(&self) -> Canonical<'_> {
        Canonical(self)
    }

    /// Whether it is nothing.
    pub fn is_zero(&self) -> bool {
        self.sign() == 0
    }

    /// 1, 0 or −1.
    pub fn sign(&self) -> i8 {
        self.amount.sign()
    }

    /// The amount as a whole number, rounded away from zero; `None` beyond 64 bits.
    ///
    /// Go's `Value` answers 0 or a wrapped number where this is `None`, and rounds negative fractions up when it holds
    /// them as big numbers.
    pub fn value(&self) -> Option<i64> {
        self.amount.rounded(0)
    }

    /// The amount in thousandths, rounded away from zero; `None` beyond 64 bits.
    pub fn milli_value(&self) -> Option<i64> {
        self.amount.rounded(-3)
    }

    /// The amount if Kubernetes can tell without effort that it is a whole number; CEL's `isInteger` and `asInteger`.
    /// `None` also for whole numbers that are written with a fraction or a suffix below one (`1000m`), and for large
    /// binary ones (`100Ti`).
    pub fn as_int64(&self) -> Option<i64> {
        self.amount.as_int64()
    }

    /// The amount with a float's precision, infinite beyond its range: bit by bit what Go's `AsApproximateFloat64` gives.
    pub fn as_approximate_float(&self) -> f64 {
        self.amount.as_approximate_float()
    }

    /// `factor` times the amount; `None` if that is absurdly large (more than 16,384 bits).
    pub fn checked_mul(&self, factor: i64) -> Option<Quantity> {
        Some(Quantity::new(self.amount.checked_mul(factor)?, self.format))
    }

    fn sum_format(&self, other: &Quantity) -> Format {
        if self.is_zero() { other.format } else { self.format }
    }
}

impl Default for Quantity {
    fn default() -> Self {
        Quantity::ZERO
    }
}

impl FromStr for Quantity {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Quantity::parse(text)
    }
}

impl From<&Quantity> for Value {
    fn from(quantity: &Quantity) -> Self {
        Value::String(quantity.to_string())
    }
}

impl Add for &Quantity {
    type Output = Quantity;

    fn add(self, other: &Quantity) -> Quantity {
        Quantity::new(self.amount.add(&other.amount), self.sum_format(other))
    }
}

impl Sub for &Quantity {
    type Output = Quantity;

    fn sub(self, other: &Quantity) -> Quantity {
        Quantity::new(self.amount.add(&other.amount.neg()), self.sum_format(other))
    }
}

impl Neg for &Quantity {
    type Output = Quantity;

    fn neg(self) -> Quantity {
        Quantity::new(self.amount.neg(), self.format)
    }
}

impl<'a> Sum<&'a Quantity> for Quantity {
    fn sum<I: Iterator<Item = &'a Quantity>>(quantities: I) -> Quantity {
        quantities.fold(Quantity::ZERO, |sum, quantity| &sum + quantity)
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.amount.cmp(&other.amount)
    }
}

#[cfg(test)]
mod tests;
