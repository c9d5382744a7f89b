//! What follows the number.

use super::{Format, MAX_EXPONENT};

/// A power of ten, or of two for [`Format::BinarySi`].
#[derive(Clone, Copy)]
pub(super) struct Suffix {
    pub(super) format: Format,
    pub(super) exponent: i32,
}

/// What is wrong with a suffix.
pub(super) enum WrongSuffix {
    Unknown,
    NotWhole,
    TooLarge,
}

const SUFFIXES: [(&str, Format, i32); 16] = [
    ("", Format::DecimalSi, 0),
    ("n", Format::DecimalSi, -9),
    ("u", Format::DecimalSi, -6),
    ("m", Format::DecimalSi, -3),
    ("k", Format::DecimalSi, 3),
    ("M", Format::DecimalSi, 6),
    ("G", Format::DecimalSi, 9),
    ("T", Format::DecimalSi, 12),
    ("P", Format::DecimalSi, 15),
    ("E", Format::DecimalSi, 18),
    ("Ki", Format::BinarySi, 10),
    ("Mi", Format::BinarySi, 20),
    ("Gi", Format::BinarySi, 30),
    ("Ti", Format::BinarySi, 40),
    ("Pi", Format::BinarySi, 50),
    ("Ei", Format::BinarySi, 60),
];

impl Suffix {
    pub(super) fn parse(text: &str) -> Result<Suffix, WrongSuffix> {
        if let Some(&(_, format, exponent)) = SUFFIXES.iter().find(|(suffix, ..)| *suffix == text) {
            return Ok(Suffix { format, exponent });
        }
        let exponent = text.strip_prefix(['e', 'E']).ok_or(WrongSuffix::Unknown)?;
        Ok(Suffix { format: Format::DecimalExponent, exponent: whole_exponent(exponent)? })
    }
}

fn whole_exponent(text: &str) -> Result<i32, WrongSuffix> {
    let number = text.strip_prefix(['-', '+']).unwrap_or(text);
    if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        let decimal =
            number.contains('.') && number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        return Err(if decimal { WrongSuffix::NotWhole } else { WrongSuffix::Unknown });
    }
    let size = match number.trim_start_matches('0') {
        "" => 0,
        number => number.parse().ok().filter(|size| *size <= MAX_EXPONENT).ok_or(WrongSuffix::TooLarge)?,
    };
    Ok(if text.starts_with('-') { -size } else { size })
}

/// The suffix of a format for a power of ten, or of two; none where there is none.
pub(super) fn suffix(format: Format, exponent: i32) -> &'static str {
    let found = SUFFIXES.iter().find(|(_, its_format, its)| *its_format == format && *its == exponent);
    found.map_or("", |(suffix, ..)| suffix)
}

/// The suffix above one that differs from `wrong` in case, or in the `B` of bytes.
pub(super) fn meant_by(wrong: &str) -> Option<&'static str> {
    let bare = wrong.trim_end_matches(['B', 'b']);
    let large = SUFFIXES.iter().filter(|(.., exponent)| *exponent > 0);
    large.map(|(suffix, ..)| *suffix).find(|suffix| suffix.eq_ignore_ascii_case(bare))
}
