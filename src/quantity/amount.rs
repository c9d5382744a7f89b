//! Amounts: a number times a power of ten, small while it fits.

use std::cmp::Ordering;

use num_bigint::{BigInt, Sign};

/// `value` × 10^`scale`, with a scale of at least −9. Which variant holds an amount is decided as Kubernetes decides it,
/// and never changes by itself.
#[derive(Clone, Debug)]
pub(super) enum Amount {
    Small { value: i64, scale: i32 },
    Big { value: BigInt, scale: i32 },
}

/// The size up to which products are computed. Texts have at most half as many, sums little more.
const MAX_BITS: u64 = 16_384;

impl Amount {
    pub(super) fn sign(&self) -> i8 {
        match self {
            Amount::Small { value: 0, .. } => 0,
            Amount::Small { value, .. } if *value < 0 => -1,
            Amount::Small { .. } => 1,
            Amount::Big { value, .. } => match value.sign() {
                Sign::Minus => -1,
                Sign::NoSign => 0,
                Sign::Plus => 1,
            },
        }
    }

    pub(super) fn scale(&self) -> i32 {
        match self {
            Amount::Small { scale, .. } | Amount::Big { scale, .. } => *scale,
        }
    }

    /// The number without its power of ten.
    pub(super) fn unscaled(&self) -> BigInt {
        match self {
            Amount::Small { value, .. } => BigInt::from(*value),
            Amount::Big { value, .. } => value.clone(),
        }
    }

    /// The number in units of 10^`scale`, which is not above the amount's own scale.
    pub(super) fn rescaled(&self, scale: i32) -> BigInt {
        self.unscaled() * pow10(self.scale().abs_diff(scale))
    }

    pub(super) fn neg(&self) -> Amount {
        match self {
            Amount::Small { value, scale } => match value.checked_neg() {
                Some(value) => Amount::Small { value, scale: *scale },
                None => Amount::Big { value: -BigInt::from(*value), scale: *scale },
            },
            Amount::Big { value, scale } => Amount::Big { value: -value, scale: *scale },
        }
    }

    pub(super) fn add(&self, other: &Amount) -> Amount {
        self.add_small(other).unwrap_or_else(|| {
            let scale = self.scale().min(other.scale());
            Amount::Big { value: self.rescaled(scale) + other.rescaled(scale), scale }
        })
    }

    /// The sum of two small amounts if it is small.
    fn add_small(&self, other: &Amount) -> Option<Amount> {
        let (&Amount::Small { value: a, scale: i }, &Amount::Small { value: b, scale: j }) = (self, other)
        else {
            return None;
        };
        if b == 0 {
            return Some(self.clone());
        }
        if a == 0 {
            return Some(other.clone());
        }
        let scale = i.min(j);
        let value = scale_up(a, i.abs_diff(scale))?.checked_add(scale_up(b, j.abs_diff(scale))?)?;
        Some(Amount::Small { value, scale })
    }

    pub(super) fn checked_mul(&self, factor: i64) -> Option<Amount> {
        if let Some(product) = self.mul_small(factor) {
            return Some(product);
        }
        let value = self.unscaled() * factor;
        (value.bits() <= MAX_BITS).then_some(Amount::Big { value, scale: self.scale() })
    }

    /// The product if Kubernetes keeps it small: if a whole number of 64 bits results, too.
    fn mul_small(&self, factor: i64) -> Option<Amount> {
        let &Amount::Small { value, scale } = self else { return None };
        if value == 0 {
            return Some(self.clone());
        }
        if factor == 0 {
            return Some(Amount::Small { value: 0, scale: 0 });
        }
        let value = value.checked_mul(factor)?;
        let shift = scale.unsigned_abs();
        let whole = match scale {
            0.. => scale_up(value, shift).is_some(),
            _ => 10_i64.checked_pow(shift).is_some_and(|unit| value % unit == 0),
        };
        whole.then_some(Amount::Small { value, scale })
    }

    /// The amount in units of 10^`scale`, rounded away from zero, if that fits.
    pub(super) fn rounded(&self, scale: i32) -> Option<i64> {
        let shift = self.scale().abs_diff(scale);
        match self {
            Amount::Small { value, scale: own } if *own >= scale => scale_up(*value, shift),
            Amount::Small { value, .. } => Some(match 10_i64.checked_pow(shift) {
                Some(unit) => value / unit + (value % unit).signum(),
                None => value.signum(),
            }),
            Amount::Big { scale: own, .. } if *own >= scale => i64::try_from(&self.rescaled(scale)).ok(),
            Amount::Big { value, .. } => i64::try_from(&divide_away(value, shift)).ok(),
        }
    }

    pub(super) fn as_int64(&self) -> Option<i64> {
        match self {
            Amount::Small { value, scale } => scale_up(*value, u32::try_from(*scale).ok()?),
            Amount::Big { .. } => None,
        }
    }

    pub(super) fn as_approximate_float(&self) -> f64 {
        #[allow(clippy::cast_precision_loss, reason = "the precision of a float is what was asked for")]
        let base = match self {
            Amount::Small { value, .. } => *value as f64,
            // Parsing rounds correctly and gives infinity where nothing else is left.
            Amount::Big { value, .. } => value.to_string().parse().unwrap_or(f64::NAN),
        };
        match self.scale() {
            0 => base,
            scale => base * float_pow10(scale),
        }
    }

    pub(super) fn cmp(&self, other: &Amount) -> Ordering {
        self.sign().cmp(&other.sign()).then_with(|| self.cmp_small(other)).then_with(|| match (self, other) {
            (Amount::Small { .. }, Amount::Small { .. }) => Ordering::Equal,
            _ => {
                let scale = self.scale().min(other.scale());
                self.rescaled(scale).cmp(&other.rescaled(scale))
            }
        })
    }

    /// The order of two small amounts of one sign; `Equal` for others.
    fn cmp_small(&self, other: &Amount) -> Ordering {
        let (&Amount::Small { value: a, scale: i }, &Amount::Small { value: b, scale: j }) = (self, other)
        else {
            return Ordering::Equal;
        };
        // Two 64-bit numbers that are not zero cannot make up for a factor of 10^19.
        let wide =
            |value: i64, shift: i32| i128::from(value) * 10_i128.pow(shift.clamp(0, 19).unsigned_abs());
        wide(a, i - j).cmp(&wide(b, j - i))
    }
}

/// `value` × 10^`shift`, if that fits.
fn scale_up(value: i64, shift: u32) -> Option<i64> {
    match value {
        0 => Some(0),
        _ => value.checked_mul(10_i64.checked_pow(shift)?),
    }
}

/// `value` ÷ 10^`shift`, rounded away from zero.
pub(super) fn divide_away(value: &BigInt, shift: u32) -> BigInt {
    let unit = pow10(shift);
    let (quotient, remainder) = (value / &unit, value % &unit);
    match remainder.sign() {
        Sign::Minus => quotient - 1,
        Sign::NoSign => quotient,
        Sign::Plus => quotient + 1,
    }
}

pub(super) fn pow10(exponent: u32) -> BigInt {
    BigInt::from(10).pow(exponent)
}

/// 10^`exponent` as Go's `math.Pow10` has it, which is not always the nearest float; no amount goes below 10^-9.
fn float_pow10(exponent: i32) -> f64 {
    const TENS: [f64; 32] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17,
        1e18, 1e19, 1e20, 1e21, 1e22, 1e23, 1e24, 1e25, 1e26, 1e27, 1e28, 1e29, 1e30, 1e31,
    ];
    const FAR: [f64; 10] = [1e0, 1e32, 1e64, 1e96, 1e128, 1e160, 1e192, 1e224, 1e256, 1e288];
    let size = exponent.unsigned_abs() as usize;
    match (FAR.get(size / 32), TENS.get(size % 32)) {
        (Some(_), Some(ten)) if exponent < 0 => 1.0 / ten,
        (Some(far), Some(ten)) if exponent <= 308 => far * ten,
        _ => f64::INFINITY,
    }
}
