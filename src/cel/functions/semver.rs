//! Semantic versions.

use super::{
    call::{Arguments, Cost, Size, Work, invalid},
    library,
};
use crate::cel::{
    error::{Error, ErrorKind},
    value::Val,
};
use semver::Version;
use std::{cmp::Ordering, sync::Arc};

type Result<T> = std::result::Result<T, Error>;

const MAKE: Cost = Cost::new(Work::Read, Size::AtMost(1));

library! {
    Semver;
    "semver": "The version that a text says, as in `1.2.3`. With `true`, a `v` in front, missing parts and leading zeros are put right before.",
        "when the text is no version" {
        "semver(string) -> semver" => |a| make(a.str(0)?, false), MAKE;
        "semver(string, bool) -> semver" => |a| make(a.str(0)?, a.bool(1)?), MAKE;
    }
    "isSemver": "Whether `semver` would not fail for these arguments.", "" {
        "isSemver(string) -> bool" => |a| Ok(Val::Bool(make(a.str(0)?, false).is_ok())), MAKE;
        "isSemver(string, bool) -> bool" => |a| Ok(Val::Bool(make(a.str(0)?, a.bool(1)?).is_ok())), MAKE;
    }
    "major": "The first number of the version.", "" {
        "semver.major() -> int" => |a| number(a.semver(0)?.major), Cost::FLAT;
    }
    "minor": "The second number of the version.", "" {
        "semver.minor() -> int" => |a| number(a.semver(0)?.minor), Cost::FLAT;
    }
    "patch": "The third number of the version.", "" {
        "semver.patch() -> int" => |a| number(a.semver(0)?.patch), Cost::FLAT;
    }
    "isGreaterThan": "Whether the version comes after the other.", "" {
        "semver.isGreaterThan(semver) -> bool" => |a| Ok(Val::Bool(order(a)?.is_gt())), Cost::FLAT;
    }
    "isLessThan": "Whether the version comes before the other.", "" {
        "semver.isLessThan(semver) -> bool" => |a| Ok(Val::Bool(order(a)?.is_lt())), Cost::FLAT;
    }
    "compareTo": "-1 if the version comes before the other, 1 if it comes after it, else 0; build metadata does not count.", "" {
        "semver.compareTo(semver) -> int" => |a| Ok(Val::Int(order(a)? as i64)), Cost::FLAT;
    }
}

fn make<'a>(text: &str, normalize: bool) -> Result<Val<'a>> {
    let wrong = || invalid(0, format!("`{text}` is no semantic version: it should look like 1.2.3"));
    let normalized = if normalize { normalized(text).ok_or_else(wrong)? } else { text.to_owned() };
    Version::parse(&normalized).map(|version| Val::Semver(Arc::new(version))).map_err(|_| wrong())
}

/// Three parts without a `v` in front and without leading zeros.
fn normalized(text: &str) -> Option<String> {
    let text = text.strip_prefix('v').unwrap_or(text);
    let mut parts: Vec<String> = text.splitn(3, '.').map(without_zeros).collect();
    if parts.len() < 3 && parts.last()?.contains(['+', '-']) {
        return None;
    }
    parts.resize(3, "0".into());
    Some(parts.join("."))
}

fn without_zeros(part: &str) -> String {
    if part.len() < 2 {
        return part.to_owned();
    }
    let rest = part.trim_start_matches('0');
    let zero = if rest.starts_with(|c: char| c.is_ascii_digit()) { "" } else { "0" };
    format!("{zero}{rest}")
}

fn number<'a>(number: u64) -> Result<Val<'a>> {
    i64::try_from(number)
        .map(Val::Int)
        .map_err(|_| Error::new(ErrorKind::Overflow, "the number does not fit in int").in_argument(0))
}

fn order(a: &Arguments) -> Result<Ordering> {
    Ok(a.semver(0)?.cmp_precedence(&*a.semver(1)?))
}
