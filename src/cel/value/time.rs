//! Points in time and spans of time, with the ranges and the text of Go's, which are those of Kubernetes.

use super::{Error, ErrorKind};
use jiff::{civil, tz};
use std::fmt;

const NANOS: i64 = 1_000_000_000;

/// The seconds since 1970 of the years 1 to 9999.
const SECONDS: std::ops::RangeInclusive<i64> = -62_135_596_800..=253_402_300_799;

/// When 1970 began.
const EPOCH: civil::DateTime = civil::DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

const OUT_OF_RANGE: &str = "the timestamp is outside the years 1 to 9999";

/// A point in time between the years 1 and 9999, to the nanosecond. It remembers the offset it was written with, which
/// shows in its text only.
#[derive(Clone, Copy)]
pub struct Time {
    seconds: i64,
    nanos: i32,
    offset: i32,
}

/// A span of time in nanoseconds: up to 292 years either way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Duration(i64);

fn overflow(what: &'static str) -> Error {
    Error::new(ErrorKind::Overflow, what)
}

impl Time {
    /// The point `seconds` after 1970 began, if it is in range.
    pub fn from_seconds(seconds: i64) -> Result<Time, Error> {
        Time::new(i128::from(seconds) * i128::from(NANOS), 0)
    }

    fn new(nanos: i128, offset: i32) -> Result<Time, Error> {
        let seconds = i64::try_from(nanos.div_euclid(i128::from(NANOS))).ok();
        let nanos = i32::try_from(nanos.rem_euclid(i128::from(NANOS))).ok();
        match (seconds.filter(|seconds| SECONDS.contains(seconds)), nanos) {
            (Some(seconds), Some(nanos)) => Ok(Time { seconds, nanos, offset }),
            _ => Err(overflow(OUT_OF_RANGE)),
        }
    }

    /// The time that `text` says in the form of RFC 3339: `2026-01-31T12:00:00.5+01:00`.
    pub fn parse(text: &str) -> Result<Time, Error> {
        let parsed = parse_time(text).ok_or_else(|| {
            let message = format!("`{text}` is no timestamp: it should look like 2026-01-31T12:00:00Z");
            Error::new(ErrorKind::InvalidArgument, message)
        })?;
        let (local, offset) = parsed;
        let since_1970 = local.duration_since(EPOCH).as_nanos();
        Time::new(since_1970 - i128::from(offset) * i128::from(NANOS), offset)
    }

    /// The same point, printed in UTC.
    #[must_use]
    pub fn in_utc(self) -> Time {
        Time { offset: 0, ..self }
    }

    /// Whole seconds since 1970 began.
    pub fn seconds(self) -> i64 {
        self.seconds
    }

    /// Nanoseconds within the second.
    pub fn subsecond_nanos(self) -> i32 {
        self.nanos
    }

    fn as_nanos(self) -> i128 {
        i128::from(self.seconds) * i128::from(NANOS) + i128::from(self.nanos)
    }

    /// The same later by `duration`.
    pub fn checked_add(self, duration: Duration) -> Result<Time, Error> {
        Time::new(self.as_nanos() + i128::from(duration.0), self.offset)
    }

    /// The same earlier by `duration`.
    pub fn checked_sub(self, duration: Duration) -> Result<Time, Error> {
        Time::new(self.as_nanos() - i128::from(duration.0), self.offset)
    }

    /// How much later it is than `earlier`.
    pub fn since(self, earlier: Time) -> Result<Duration, Error> {
        let nanos = i64::try_from(self.as_nanos() - earlier.as_nanos());
        nanos.map(Duration).map_err(|_| overflow("the duration is longer than 292 years"))
    }

    /// Date and time of day in `zone`.
    pub fn civil(self, zone: &tz::TimeZone) -> Result<civil::DateTime, Error> {
        // The last hours of the year 9999 are no timestamp for jiff; no time zone changes its offset there.
        let seconds = self.seconds.clamp(jiff::Timestamp::MIN.as_second(), jiff::Timestamp::MAX.as_second());
        let timestamp = jiff::Timestamp::from_second(seconds).map_err(|_| overflow(OUT_OF_RANGE))?;
        self.local(zone.to_offset(timestamp).seconds())
    }

    /// Date and time of day so many seconds ahead of UTC.
    fn local(self, offset: i32) -> Result<civil::DateTime, Error> {
        let since_1970 = jiff::SignedDuration::new(self.seconds + i64::from(offset), self.nanos);
        EPOCH.checked_add(since_1970).map_err(|_| overflow(OUT_OF_RANGE))
    }
}

/// The local time and the seconds that it is ahead of UTC.
fn parse_time(text: &str) -> Option<(civil::DateTime, i32)> {
    let (date, rest) = text.split_once('T')?;
    let mut date = date.split('-');
    let (year, month, day) = (number(date.next()?, 4)?, number(date.next()?, 2)?, number(date.next()?, 2)?);
    let (clock, offset) = match rest.strip_suffix('Z') {
        Some(clock) => (clock, 0),
        None => {
            let (clock, offset) = rest.split_at_checked(rest.len().checked_sub(6)?)?;
            (clock, parse_offset(offset)?)
        }
    };
    let (clock, nanos) = match clock.split_once('.') {
        Some((clock, fraction)) => (clock, parse_nanos(fraction)?),
        None => (clock, 0),
    };
    let mut clock = clock.split(':');
    let (hour, minute, second) =
        (number(clock.next()?, 2)?, number(clock.next()?, 2)?, number(clock.next()?, 2)?);
    if date.next().is_some() || clock.next().is_some() {
        return None;
    }
    let small = |number: i32| i8::try_from(number).ok();
    let year = i16::try_from(year).ok()?;
    let local = civil::DateTime::new(
        year,
        small(month)?,
        small(day)?,
        small(hour)?,
        small(minute)?,
        small(second)?,
        nanos,
    );
    Some((local.ok()?, offset))
}

/// The number that exactly `digits` digits spell.
fn number(text: &str, digits: usize) -> Option<i32> {
    (text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok())?
}

/// `.5` is half a second; digits beyond the nanosecond are dropped.
fn parse_nanos(fraction: &str) -> Option<i32> {
    let valid = !fraction.is_empty() && fraction.bytes().all(|byte| byte.is_ascii_digit());
    valid.then(|| format!("{fraction:0<9}").get(..9)?.parse().ok())?
}

/// Seconds east of UTC of `+01:30`.
fn parse_offset(text: &str) -> Option<i32> {
    let (sign, clock) = (text.get(..1)?, text.get(1..)?);
    let (hours, minutes) = clock.split_once(':')?;
    let (hours, minutes) = (number(hours, 2)?, number(minutes, 2)?);
    let seconds = hours * 3600 + minutes * 60;
    match sign {
        _ if hours > 24 || minutes > 59 => None,
        "+" => Some(seconds),
        "-" => Some(-seconds),
        _ => None,
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Ok(local) = self.local(self.offset) else { return f.write_str(OUT_OF_RANGE) };
        write!(f, "{:04}-{:02}-{:02}T", local.year(), local.month(), local.day())?;
        write!(f, "{:02}:{:02}:{:02}", local.hour(), local.minute(), local.second())?;
        if self.nanos > 0 {
            write!(f, ".{}", format!("{:09}", self.nanos).trim_end_matches('0'))?;
        }
        match self.offset {
            0 => f.write_str("Z"),
            offset => {
                let sign = if offset < 0 { '-' } else { '+' };
                let minutes = offset.abs() / 60;
                write!(f, "{sign}{:02}:{:02}", minutes / 60, minutes % 60)
            }
        }
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl PartialEq for Time {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Time {}

impl PartialOrd for Time {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Time {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.seconds, self.nanos).cmp(&(other.seconds, other.nanos))
    }
}

impl Duration {
    /// No time.
    pub const ZERO: Duration = Duration(0);

    /// A span of `nanos` nanoseconds.
    pub const fn from_nanos(nanos: i64) -> Duration {
        Duration(nanos)
    }

    /// Its nanoseconds.
    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// The sum of both.
    pub fn checked_add(self, other: Duration) -> Result<Duration, Error> {
        self.0
            .checked_add(other.0)
            .map(Duration)
            .ok_or_else(|| overflow("the duration is longer than 292 years"))
    }

    /// What is left of it without `other`.
    pub fn checked_sub(self, other: Duration) -> Result<Duration, Error> {
        self.0
            .checked_sub(other.0)
            .map(Duration)
            .ok_or_else(|| overflow("the duration is longer than 292 years"))
    }

    /// The span that `text` says: numbers with the units h, m, s, ms, us and ns, as in `-1h30m` or `1.5s`.
    pub fn parse(text: &str) -> Result<Duration, Error> {
        parse_duration(text).map(Duration).ok_or_else(|| {
            let message = format!("`{text}` is no duration: it should look like 1h30m, 90s or 1.5s");
            Error::new(ErrorKind::InvalidArgument, message)
        })
    }
}

fn parse_duration(text: &str) -> Option<i64> {
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total: i128 = 0;
    while !rest.is_empty() {
        let (nanos, after) = parse_part(rest)?;
        total = total.checked_add(nanos)?;
        rest = after;
    }
    i64::try_from(if negative { -total } else { total }).ok()
}

/// The nanoseconds of one number with its unit, and what follows it.
fn parse_part(text: &str) -> Option<(i128, &str)> {
    const UNITS: [(&str, i128); 8] = [
        ("ns", 1),
        ("us", 1_000),
        ("\u{b5}s", 1_000),  // micro sign
        ("\u{3bc}s", 1_000), // Greek mu
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("m", 60_000_000_000),
        ("h", 3_600_000_000_000),
    ];
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (digits, rest) = text.split_at(end);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if fraction.contains('.') || (whole.is_empty() && fraction.is_empty()) {
        return None;
    }
    let (unit, nanos) = UNITS.into_iter().find(|(unit, _)| rest.starts_with(unit))?;
    let whole: i128 = if whole.is_empty() { 0 } else { whole.parse::<i64>().ok()?.into() };
    // Eighteen digits are more than any unit has nanoseconds.
    let fraction = fraction.get(..18).unwrap_or(fraction);
    let part = match fraction {
        "" => 0,
        digits => {
            digits.parse::<i128>().ok()?.checked_mul(nanos)? / 10_i128.pow(u32::try_from(digits.len()).ok()?)
        }
    };
    Some((whole.checked_mul(nanos)?.checked_add(part)?, rest.get(unit.len()..)?))
}

impl fmt::Display for Duration {
    /// In seconds, as `string(duration)` has it: `5400s`, `-0.5s`.
    #[allow(clippy::cast_precision_loss, reason = "Go prints the seconds as a double")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = (self.0 / NANOS) as f64 + (self.0 % NANOS) as f64 / 1e9;
        write!(f, "{seconds}s")
    }
}
