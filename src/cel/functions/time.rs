//! Parts of dates, times of day and durations.

use super::{
    call::{Arguments, Cost, Size, Work, invalid},
    library,
};
use crate::cel::{error::Error, value::Val};
use jiff::{civil::DateTime, tz};

type Result<T> = std::result::Result<T, Error>;

/// A getter of a part of a timestamp, in UTC or in the time zone of the second argument.
macro_rules! part {
    ($part:expr) => {
        |a| timestamp_part(a, $part)
    };
}

/// A getter of a duration in a unit of so many nanoseconds, cut off.
macro_rules! in_units {
    ($nanos:expr) => {
        |a| Ok(Val::Int(a.duration(0)?.as_nanos() / $nanos))
    };
}

/// A named time zone is looked up in the table of time zones.
const ZONE: Cost = Cost::new(Work::Steps(20), Size::AtMost(1));

library! {
    Core;
    "getFullYear": "The year, in UTC or in a time zone such as `Europe/Berlin` or `+02:00`.", "for an unknown time zone" {
        "timestamp.getFullYear() -> int" => part!(|t| t.year().into()), Cost::FLAT;
        "timestamp.getFullYear(string) -> int" => part!(|t| t.year().into()), ZONE;
    }
    "getMonth": "The month, from 0, in UTC or in a time zone.", "for an unknown time zone" {
        "timestamp.getMonth() -> int" => part!(|t| i64::from(t.month()) - 1), Cost::FLAT;
        "timestamp.getMonth(string) -> int" => part!(|t| i64::from(t.month()) - 1), ZONE;
    }
    "getDate": "The day of the month, from 1, in UTC or in a time zone.", "for an unknown time zone" {
        "timestamp.getDate() -> int" => part!(|t| t.day().into()), Cost::FLAT;
        "timestamp.getDate(string) -> int" => part!(|t| t.day().into()), ZONE;
    }
    "getDayOfMonth": "The day of the month, from 0, in UTC or in a time zone.", "for an unknown time zone" {
        "timestamp.getDayOfMonth() -> int" => part!(|t| i64::from(t.day()) - 1), Cost::FLAT;
        "timestamp.getDayOfMonth(string) -> int" => part!(|t| i64::from(t.day()) - 1), ZONE;
    }
    "getDayOfWeek": "The day of the week, from 0 for Sunday, in UTC or in a time zone.", "for an unknown time zone" {
        "timestamp.getDayOfWeek() -> int" => part!(|t| t.weekday().to_sunday_zero_offset().into()), Cost::FLAT;
        "timestamp.getDayOfWeek(string) -> int" => part!(|t| t.weekday().to_sunday_zero_offset().into()), ZONE;
    }
    "getDayOfYear": "The day of the year, from 0, in UTC or in a time zone.", "for an unknown time zone" {
        "timestamp.getDayOfYear() -> int" => part!(|t| i64::from(t.day_of_year()) - 1), Cost::FLAT;
        "timestamp.getDayOfYear(string) -> int" => part!(|t| i64::from(t.day_of_year()) - 1), ZONE;
    }
    "getHours": "The hour of the day in UTC or in a time zone; of a duration, all of its whole hours.", "for an unknown time zone" {
        "timestamp.getHours() -> int" => part!(|t| t.hour().into()), Cost::FLAT;
        "timestamp.getHours(string) -> int" => part!(|t| t.hour().into()), ZONE;
        "duration.getHours() -> int" => in_units!(3_600_000_000_000), Cost::FLAT;
    }
    "getMinutes": "The minute of the hour in UTC or in a time zone; of a duration, all of its whole minutes.", "for an unknown time zone" {
        "timestamp.getMinutes() -> int" => part!(|t| t.minute().into()), Cost::FLAT;
        "timestamp.getMinutes(string) -> int" => part!(|t| t.minute().into()), ZONE;
        "duration.getMinutes() -> int" => in_units!(60_000_000_000), Cost::FLAT;
    }
    "getSeconds": "The second of the minute in UTC or in a time zone; of a duration, all of its whole seconds.", "for an unknown time zone" {
        "timestamp.getSeconds() -> int" => part!(|t| t.second().into()), Cost::FLAT;
        "timestamp.getSeconds(string) -> int" => part!(|t| t.second().into()), ZONE;
        "duration.getSeconds() -> int" => in_units!(1_000_000_000), Cost::FLAT;
    }
    "getMilliseconds": "The millisecond of the second in UTC or in a time zone; of a duration, all of its whole milliseconds.", "for an unknown time zone" {
        "timestamp.getMilliseconds() -> int" => part!(|t| t.millisecond().into()), Cost::FLAT;
        "timestamp.getMilliseconds(string) -> int" => part!(|t| t.millisecond().into()), ZONE;
        "duration.getMilliseconds() -> int" => in_units!(1_000_000), Cost::FLAT;
    }
}

fn timestamp_part<'a>(a: &mut Arguments<'_, 'a>, part: impl Fn(DateTime) -> i64) -> Result<Val<'a>> {
    let zone = if a.values.len() > 1 { time_zone(a.str(1)?)? } else { tz::TimeZone::UTC };
    Ok(Val::Int(part(a.timestamp(0)?.civil(&zone)?)))
}

/// The time zone of this name, or that far ahead of UTC: `02:00`, `-08:30`.
fn time_zone(name: &str) -> Result<tz::TimeZone> {
    let unknown =
        || invalid(1, format!("`{name}` is no time zone: it should look like Europe/Berlin or +02:00"));
    let Some((hours, minutes)) = name.split_once(':') else {
        return match name {
            "" | "UTC" => Ok(tz::TimeZone::UTC),
            name => tz::TimeZone::get(name).map_err(|_| unknown()),
        };
    };
    let (hours, minutes) = (hours.parse::<i32>().ok(), minutes.parse::<i32>().ok());
    let minutes = hours.zip(minutes).and_then(|(hours, minutes)| {
        let minutes = if name.starts_with('-') { -minutes } else { minutes };
        hours.checked_mul(60)?.checked_add(minutes)
    });
    let offset = minutes.and_then(|minutes| tz::Offset::from_seconds(minutes.checked_mul(60)?).ok());
    offset.map(tz::TimeZone::fixed).ok_or_else(unknown)
}
