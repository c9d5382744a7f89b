//! The core of the language: sizes, types, conversions, simple questions to texts.

use super::{
    call::{Arguments, Cost, Size, Work, invalid, no_overload},
    library,
};
use crate::cel::{
    error::{Error, ErrorKind},
    value::{Duration, Time, Val, double_text, double_to_int, double_to_uint},
};

type Result<T> = std::result::Result<T, Error>;

library! {
    Core;
    "size": "How many code points a text, bytes a sequence, items a list or entries a map has.", "" {
        "size(string) -> int" => size, Cost::READ;
        "string.size() -> int" => size, Cost::READ;
        "size(bytes) -> int" => size, Cost::FLAT;
        "bytes.size() -> int" => size, Cost::FLAT;
        "size(list(T)) -> int" => size, Cost::FLAT;
        "list(T).size() -> int" => size, Cost::FLAT;
        "size(map(T, U)) -> int" => size, Cost::FLAT;
        "map(T, U).size() -> int" => size, Cost::FLAT;
    }
    "type": "The type of the value, to be compared with `int`, `list` and so on.", "" {
        "type(T) -> type" => |a| Ok(Val::Type(a.value(0)?.type_name())), Cost::FLAT;
    }
    "dyn": "The same value, of a type that the check knows nothing of.", "" {
        "dyn(T) -> dyn" => |a| a.value(0), Cost::new(Work::Steps(0), Size::First);
    }
    "bool": "The truth value that a text spells: `true`, `t`, `1`, `false`, `f`, `0`.", "for any other text" {
        "bool(bool) -> bool" => |a| a.value(0), Cost::FLAT;
        "bool(string) -> bool" => text_to_bool, Cost::READ;
    }
    "int": "The integer: of a double without its fraction, of a timestamp in seconds since 1970, of a duration in nanoseconds.",
        "when it does not fit in 64 bits, or the text is no integer" {
        "int(int) -> int" => |a| a.value(0), Cost::FLAT;
        "int(uint) -> int" => uint_to_int, Cost::FLAT;
        "int(double) -> int" => |a| double_to_int(a.double(0)?).map(Val::Int).ok_or_else(|| too_large("int")), Cost::FLAT;
        "int(string) -> int" => text_to_int, Cost::READ;
        "int(timestamp) -> int" => |a| Ok(Val::Int(a.timestamp(0)?.seconds())), Cost::FLAT;
        "int(duration) -> int" => |a| Ok(Val::Int(a.duration(0)?.as_nanos())), Cost::FLAT;
    }
    "uint": "The unsigned integer: of a double without its fraction.",
        "when it is negative or does not fit in 64 bits, or the text is no such integer" {
        "uint(uint) -> uint" => |a| a.value(0), Cost::FLAT;
        "uint(int) -> uint" => |a| u64::try_from(a.int(0)?).map(Val::UInt).map_err(|_| too_large("uint")), Cost::FLAT;
        "uint(double) -> uint" => |a| double_to_uint(a.double(0)?).map(Val::UInt).ok_or_else(|| too_large("uint")), Cost::FLAT;
        "uint(string) -> uint" => text_to_uint, Cost::READ;
    }
    "double": "The floating-point number nearest to it.", "when the text is no number" {
        "double(double) -> double" => |a| a.value(0), Cost::FLAT;
        "double(int) -> double" => int_to_double, Cost::FLAT;
        "double(uint) -> double" => uint_to_double, Cost::FLAT;
        "double(string) -> double" => text_to_double, Cost::READ;
    }
    "string": "The text of the value; bytes are read as UTF-8, a duration becomes seconds as in `90s`.",
        "when the bytes are no UTF-8" {
        "string(string) -> string" => |a| a.value(0), Cost::COPY;
        "string(bool) -> string" => |a| Ok(Val::borrowed(if a.bool(0)? { "true" } else { "false" })), TEXT;
        "string(int) -> string" => |a| { let text = a.int(0)?.to_string(); a.make_text(text) }, TEXT;
        "string(uint) -> string" => |a| { let text = a.uint(0)?.to_string(); a.make_text(text) }, TEXT;
        "string(double) -> string" => |a| { let text = double_text(a.double(0)?); a.make_text(text) }, TEXT;
        "string(bytes) -> string" => bytes_to_text, Cost::COPY;
        "string(timestamp) -> string" => |a| { let text = a.timestamp(0)?.to_string(); a.make_text(text) }, TEXT;
        "string(duration) -> string" => |a| { let text = a.duration(0)?.to_string(); a.make_text(text) }, TEXT;
    }
    "bytes": "The UTF-8 of the text.", "" {
        "bytes(bytes) -> bytes" => |a| a.value(0), Cost::COPY;
        "bytes(string) -> bytes" => text_to_bytes, Cost::COPY;
    }
    "timestamp": "The point in time: of a text as in `2026-01-31T12:00:00Z`, of an integer in seconds since 1970.",
        "when the text is no such time, or the year is not between 1 and 9999" {
        "timestamp(timestamp) -> timestamp" => |a| a.value(0), Cost::FLAT;
        "timestamp(string) -> timestamp" => text_to_timestamp, Cost::READ;
        "timestamp(int) -> timestamp" => |a| Time::from_seconds(a.int(0)?).map(Val::Timestamp), Cost::FLAT;
    }
    "duration": "The span of time that a text says, as in `1h30m` or `1.5s`.",
        "when the text is no duration, or it is longer than 292 years" {
        "duration(duration) -> duration" => |a| a.value(0), Cost::FLAT;
        "duration(string) -> duration" => text_to_duration, Cost::READ;
    }
    "contains": "Whether the text has the other in it.", "" {
        "string.contains(string) -> bool" => |a| Ok(Val::Bool(a.str(0)?.contains(a.str(1)?))), Cost::READ;
    }
    "startsWith": "Whether the text begins with the other.", "" {
        "string.startsWith(string) -> bool" => |a| Ok(Val::Bool(a.str(0)?.starts_with(a.str(1)?))), Cost::READ;
    }
    "endsWith": "Whether the text ends with the other.", "" {
        "string.endsWith(string) -> bool" => |a| Ok(Val::Bool(a.str(0)?.ends_with(a.str(1)?))), Cost::READ;
    }
}

/// The text of a scalar is short.
const TEXT: Cost = Cost::new(Work::Steps(1), Size::AtMost(40));

fn size<'a>(a: &mut Arguments<'_, 'a>) -> Result<Val<'a>> {
    let size = match a.value(0)? {
        Val::String(text) => text.chars().count(),
        Val::Bytes(bytes) => bytes.len(),
        Val::List(list) => list.len(),
        Val::Map(map) => map.len(),
        _ => return Err(no_overload()),
    };
    i64::try_from(size).map(Val::Int).map_err(|_| too_large("int"))
}

fn too_large(type_name: &'static str) -> Error {
    Error::new(ErrorKind::Overflow, format!("the value does not fit in {type_name}")).in_argument(0)
}

fn text_to_bool<'a>(a: &mut Arguments<'_, 'a>) -> Result<Val<'a>> {
    match a.str(0)? {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Val::Bool(true)),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Val::Bool(false)),
        other => Err(invalid(0, format!("`{other}` is no bool"))),
    }
}

fn uint_to_int<'a>(a: &mut Arguments<'_, 'a>) -> Result<Val<'a>> {
    i64::try_from(a.uint(0)?).map(Val::Int).map_err(|_| too_large("int"))
}

fn text_to_int<'a>(a: &mut Arguments<'_, 'a>) -> Result<Val<'a>> {
    let text = a.str(0)?;
    text.parse().map(Val::Int).map_err(|_| invalid(0, format!("`{text}` is no integer of 64 bits")))
}

fn text_to_uint<'a>(a: &mut Arguments<'_, 'a>) -> Result<Val<'a>> {
    let text = a.str(0)?;
    let number = text.parse().ok().filter(|_| !text.starts_with('+'));
    number.map(Val::UInt).ok_or_else(|| invalid(0, format!("`{text}` is no unsigned integer of 64 bits")))
}

#[allow(clippy::cast_precision_loss, reason = "the nearest double is what is asked for")]
fn int_to_double<'a>(a: &mut Arguments<'_, 'a>) -> Result<Val<'a>> {
    Ok(Val::Double(a.int(0)? as f64))
}

#[allow(clippy::cast_precision_loss, reason = "the nearest double is what is asked for")]
fn uint_to_double<'a>(a: &mut Arguments<'_, 'a>) -> Result<Val<'a>> {
    Ok(Val::Double(a.uint(0)? as f64))
}

fn text_to_double<'a>(a: &mut Arguments<'_, 'a>) -> Result<Val<'a>> {
    let text = a.str(0)?;
    // A number that is too large reads as infinity, which only the words for it may do.
    let number: Option<f64> = text.parse().ok();
    let number = number.filter(|number| number.is_finite() || !text.contains(|c: char| c.is_ascii_digit()));
    number.map(Val::Double).ok_or_else(|| invalid(0, format!("`{text}` is no number")))
}

fn bytes_to_text<'a>(a: &mut Arguments<'_, 'a>) -> Result<Val<'a>> {
    let bytes = a.bytes(0)?;
    let text = std::str::from_utf8(&bytes).map_err(|_| invalid(0, "the bytes are no UTF-8"))?.to_owned();
    a.make_text(text)
}

fn text_to_bytes<'a>(a: &mut Arguments<'_, 'a>) -> Result<Val<'a>> {
    let text = a.str(0)?;
    a.budget.create(text.len())?;
    Ok(Val::Bytes(text.as_bytes().into()))
}

fn text_to_timestamp<'a>(a: &mut Arguments<'_, 'a>) -> Result<Val<'a>> {
    Time::parse(a.str(0)?).map(Val::Timestamp).map_err(|error| error.in_argument(0))
}

fn text_to_duration<'a>(a: &mut Arguments<'_, 'a>) -> Result<Val<'a>> {
    Duration::parse(a.str(0)?).map(Val::Duration).map_err(|error| error.in_argument(0))
}
