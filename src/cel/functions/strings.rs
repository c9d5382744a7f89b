//! CEL's extended strings, in code points. `format` has a file of its own.

use super::{
    call::{Arguments, Cost, Size, Work},
    format, library,
};
use crate::cel::{
    error::{Error, ErrorKind},
    value::{List, Val},
};

type Result<T> = std::result::Result<T, Error>;

const SPLIT: Cost = Cost::new(Work::Read, Size::First);

library! {
    Strings;
    "charAt": "The code point at the position; empty at the end of the text.", "when there is no such position" {
        "string.charAt(int) -> string" => char_at, Cost::COPY;
    }
    "indexOf": "The first position of the other text, at or after a position if one is given; -1 if there is none.", "when the position is negative" {
        "string.indexOf(string) -> int" => index_of, Cost::READ;
        "string.indexOf(string, int) -> int" => index_of, Cost::READ;
    }
    "lastIndexOf": "The last position of the other text, at or before a position if one is given; -1 if there is none.", "when the position is negative" {
        "string.lastIndexOf(string) -> int" => last_index_of, Cost::READ;
        "string.lastIndexOf(string, int) -> int" => last_index_of, Cost::READ;
    }
    "lowerAscii": "The text with A to Z in lower case.", "" {
        "string.lowerAscii() -> string" => |a| { let text = a.str(0)?.to_ascii_lowercase(); a.make_text(text) }, Cost::COPY;
    }
    "upperAscii": "The text with a to z in upper case.", "" {
        "string.upperAscii() -> string" => |a| { let text = a.str(0)?.to_ascii_uppercase(); a.make_text(text) }, Cost::COPY;
    }
    "replace": "The text with the second text replaced by the third, everywhere or the first so many times.", "" {
        "string.replace(string, string) -> string" => |a| replace(a, -1), Cost::new(Work::Read, Size::Replace);
        "string.replace(string, string, int) -> string" => |a| { let limit = a.int(3)?; replace(a, limit) }, Cost::new(Work::Read, Size::Replace);
    }
    "split": "The parts of the text between the separators, at most so many if a number is given; between the code points if the separator is empty.", "" {
        "string.split(string) -> list(string)" => |a| split(a, -1), SPLIT;
        "string.split(string, int) -> list(string)" => |a| { let limit = a.int(2)?; split(a, limit) }, SPLIT;
    }
    "substring": "The text from a position to its end, or up to, but not with, another position.", "when the positions are not in order or not in the text" {
        "string.substring(int) -> string" => substring, Cost::COPY;
        "string.substring(int, int) -> string" => substring, Cost::COPY;
    }
    "trim": "The text without white space at its ends.", "" {
        "string.trim() -> string" => trim, Cost::COPY;
    }
    "reverse": "The code points in the opposite order.", "" {
        "string.reverse() -> string" => |a| { let text = a.str(0)?.chars().rev().collect(); a.make_text(text) }, Cost::COPY;
    }
    "join": "The texts of the list, one after the other, with the separator between them if one is given.", "when an item is no text" {
        "list(string).join() -> string" => |a| join(a, ""), Cost::new(Work::Visit, Size::Join);
        "list(string).join(string) -> string" => |a| { let separator = a.str(1)?; join(a, separator) }, Cost::new(Work::Visit, Size::Join);
    }
    "format": "The text with each `%s`, `%d`, `%f`, `%e`, `%b`, `%o`, `%x` and `%X` replaced by an item of the list; `%.3f` has three decimals.", "when the list has too few items, or an item is not what the verb takes" {
        "string.format(list(dyn)) -> string" => format::format, Cost::new(Work::Read, Size::Format);
    }
    "strings.quote": "The text in double quotes, with what has to be escaped escaped.", "" {
        "strings.quote(string) -> string" => quote, Cost::new(Work::Read, Size::Sum);
    }
}

fn position(index: usize) -> Val<'static> {
    Val::Int(i64::try_from(index).unwrap_or(i64::MAX))
}

fn no_position(position: i64, text: &str) -> Error {
    let message = format!("there is no position {position} in a text of {}", text.chars().count());
    Error::new(ErrorKind::OutOfRange, message)
}

/// The byte where the code point at `position` begins; the end of the text for the position after the last.
fn offset(text: &str, position: i64) -> Option<usize> {
    let position = usize::try_from(position).ok()?;
    if text.is_ascii() {
        return (position <= text.len()).then_some(position);
    }
    text.char_indices().map(|(offset, _)| offset).chain([text.len()]).nth(position)
}

fn char_at<'a>(a: &mut Arguments<'_, 'a>) -> Result<Val<'a>> {
    let (text, at) = (a.text(0)?, a.int(1)?);
    let start = offset(&text, at).ok_or_else(|| no_position(at, &text).in_argument(1))?;
    let length = text.get(start..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
    a.part(&text, start, start + length)
}

fn index_of<'a>(a: &mut Arguments<'_, 'a>) -> Result<Val<'a>> {
    let (text, wanted) = (a.str(0)?, a.str(1)?);
    let from = if a.values.len() > 2 { a.int(2)? } else { 0 };
    if wanted.is_empty() {
        return Ok(Val::Int(from));
    }
    if from < 0 {
        return Err(no_position(from, text).in_argument(2));
    }
    let start = offset(text, from);
    let found = start.and_then(|start| text.get(start..)?.find(wanted).map(|at| start + at));
    Ok(found.and_then(|at| text.get(..at)).map_or(Val::Int(-1), |before| position(before.chars().count())))
}

fn last_index_of<'a>(a: &mut Arguments<'_, 'a>) -> Result<Val<'a>> {
    let (text, wanted) = (a.str(0)?, a.str(1)?);
    let to = if a.values.len() > 2 { Some(a.int(2)?) } else { None };
    if wanted.is_empty() {
        return Ok(to.map_or_else(|| position(text.chars().count()), Val::Int));
    }
    let end = match to {
        None => text.len(),
        Some(to) if to < 0 => return Err(no_position(to, text).in_argument(2)),
        // A position at or after the end finds nothing, as in Go.
        Some(to) => match offset(text, to) {
            Some(start) if start < text.len() => (start + wanted.len()).min(text.len()),
            _ => return Ok(Val::Int(-1)),
        },
    };
    let end = text.floor_char_boundary(end);
    let found = text.get(..end).and_then(|text| text.rfind(wanted));
    Ok(found.and_then(|at| text.get(..at)).map_or(Val::Int(-1), |before| position(before.chars().count())))
}

/// Replaces the first `limit` times, everywhere if that is negative.
fn replace<'a>(a: &mut Arguments<'_, 'a>, limit: i64) -> Result<Val<'a>> {
    let (text, from, to) = (a.str(0)?, a.str(1)?, a.str(2)?);
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let found = text.match_indices(from).take(limit).count();
    let length = (text.len() - found * from.len()).saturating_add(found.saturating_mul(to.len()));
    a.budget.create(length)?;
    Ok(Val::text(text.replacen(from, to, limit)))
}

/// At most `limit` parts, as many as there are if that is negative.
fn split<'a>(a: &mut Arguments<'_, 'a>, limit: i64) -> Result<Val<'a>> {
    let (text, separator) = (a.text(0)?, a.str(1)?);
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut parts = Vec::new();
    let mut start = 0;
    if limit > 0 && !(text.is_empty() && separator.is_empty()) {
        let boundaries = text.match_indices(separator).map(|(at, _)| at);
        // Between code points an empty separator stands, but not before the first and after the last.
        let boundaries = boundaries.filter(|at| !separator.is_empty() || (*at > 0 && *at < text.len()));
        for at in boundaries.take(limit - 1) {
            a.budget.create_items(1)?;
            parts.push(a.part(&text, start, at)?);
            start = at + separator.len();
        }
        a.budget.create_items(1)?;
        parts.push(a.part(&text, start, text.len())?);
    }
    List::new(parts).map(Val::List)
}

fn substring<'a>(a: &mut Arguments<'_, 'a>) -> Result<Val<'a>> {
    let (text, from) = (a.text(0)?, a.int(1)?);
    let start = offset(&text, from).ok_or_else(|| no_position(from, &text).in_argument(1))?;
    if a.values.len() < 3 {
        return a.part(&text, start, text.len());
    }
    let to = a.int(2)?;
    let end = offset(&text, to).ok_or_else(|| no_position(to, &text).in_argument(2))?;
    if start > end {
        let message = format!("the part of the text from {from} to {to} ends before it begins");
        return Err(Error::new(ErrorKind::OutOfRange, message).in_argument(2));
    }
    a.part(&text, start, end)
}

fn trim<'a>(a: &mut Arguments<'_, 'a>) -> Result<Val<'a>> {
    let text = a.text(0)?;
    let start = text.len() - text.trim_start().len();
    let end = start + text.trim().len();
    a.part(&text, start, end)
}

fn join<'a>(a: &mut Arguments<'_, 'a>, separator: &str) -> Result<Val<'a>> {
    let list = a.list(0)?;
    let items = match &list {
        List::Lazy(lazy) => lazy.len().saturating_mul(lazy.item_bytes()),
        list => text_length(list)?,
    };
    let length = items.saturating_add(list.len().saturating_mul(separator.len()));
    a.budget.create(length)?;
    let mut text = String::with_capacity(length);
    match &list {
        List::Lazy(lazy) if lazy.join(separator, &mut text) => {}
        list => join_texts(list, separator, &mut text)?,
    }
    Ok(Val::text(text))
}

fn join_texts(list: &List, separator: &str, text: &mut String) -> Result<()> {
    for index in 0..list.len() {
        text.push_str(if index == 0 { "" } else { separator });
        text.push_str(text_at(list, index)?);
    }
    Ok(())
}

/// Bytes of all texts of the list together.
fn text_length(list: &List) -> Result<usize> {
    let mut length = 0;
    for index in 0..list.len() {
        length += text_at(list, index)?.len();
    }
    Ok(length)
}

fn text_at<'l>(list: &'l List, index: usize) -> Result<&'l str> {
    list.text(index).ok_or_else(|| {
        let kind = list.get(index).map_or("missing", |item| item.kind());
        let message = format!("the item at position {index} is of type {kind}, not a string");
        Error::new(ErrorKind::NoSuchOverload, message).in_argument(0)
    })
}

fn quote<'a>(a: &mut Arguments<'_, 'a>) -> Result<Val<'a>> {
    let text = a.str(0)?;
    a.budget.create(text.len())?;
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '\u{7}' => quoted.push_str("\\a"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{c}' => quoted.push_str("\\f"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\u{b}' => quoted.push_str("\\v"),
            '\\' => quoted.push_str("\\\\"),
            '"' => quoted.push_str("\\\""),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    let escapes = quoted.len() - text.len();
    a.budget.create(escapes)?;
    Ok(Val::text(quoted))
}
