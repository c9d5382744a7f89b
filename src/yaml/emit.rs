//! JSON trees as YAML, in the form of `kubectl get -o yaml`: block style, two spaces, keys in the tree's order.

use serde_json::Value;
use std::fmt::Write;

use super::{Kind, resolve};

/// Longest key, in bytes with its quotes, that readers look for a colon after (in characters, by the specification).
const LONGEST_KEY: usize = 1024;

/// `value` as YAML text ending in a line break; read back by `kubectl` it is the same value.
pub fn emit(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Array(items) if !items.is_empty() => list(&mut out, items, 0),
        Value::Object(map) if !map.is_empty() => entries(&mut out, map, 0),
        _ => {
            scalar(&mut out, value, 0);
            out.push('\n');
        }
    }
    out
}

fn list(out: &mut String, items: &[Value], indent: usize) {
    for item in items {
        pad(out, indent);
        out.push('-');
        match item {
            Value::Array(items) if !items.is_empty() => {
                let start = out.len() + 1;
                list(out, items, indent + 2);
                join_first_line(out, start, indent + 2);
            }
            Value::Object(map) if !map.is_empty() => {
                let start = out.len() + 1;
                entries(out, map, indent + 2);
                join_first_line(out, start, indent + 2);
            }
            _ => {
                out.push(' ');
                scalar(out, item, indent);
                out.push('\n');
            }
        }
    }
}

/// The first line of what was just written continues the `-`: one of its spaces separates, the others go.
fn join_first_line(out: &mut String, start: usize, indent: usize) {
    if indent > 1 {
        out.replace_range(start..start + indent - 1, "");
    }
}

fn entries(out: &mut String, map: &serde_json::Map<String, Value>, indent: usize) {
    for (key, value) in map {
        pad(out, indent);
        self::key(out, key, indent);
        match value {
            Value::Array(items) if !items.is_empty() => {
                out.push('\n');
                list(out, items, indent);
            }
            Value::Object(map) if !map.is_empty() => {
                out.push('\n');
                entries(out, map, indent + 2);
            }
            _ => {
                out.push(' ');
                scalar(out, value, indent);
                out.push('\n');
            }
        }
    }
}

/// A key and its colon. One too long to be known as a key by its colon is marked as one.
fn key(out: &mut String, key: &str, indent: usize) {
    let start = out.len();
    string(out, key, None);
    if out.len() - start > LONGEST_KEY {
        out.insert_str(start, "? ");
        out.push('\n');
        pad(out, indent);
    }
    out.push(':');
}

fn scalar(out: &mut String, value: &Value, indent: usize) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Value::Number(value) => _ = write!(out, "{value}"),
        Value::String(text) => string(out, text, Some(indent)),
        Value::Array(_) => out.push_str("[]"),
        Value::Object(_) => out.push_str("{}"),
    }
}

/// A string: plain where nothing else could be read, as a block if it has lines and may be one, else in quotes.
fn string(out: &mut String, text: &str, block: Option<usize>) {
    if is_plain(text) {
        out.push_str(text);
    } else if let Some(indent) = block.filter(|_| is_block(text)) {
        literal(out, text, indent + 2);
    } else {
        quoted(out, text);
    }
}

fn is_plain(text: &str) -> bool {
    let first =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '_' | '.' | '(' | '$' | '+' | '^' | ';');
    let rest = |c: char| c.is_ascii_graphic() || c == ' ';
    text.starts_with(first)
        && text.chars().all(rest)
        && !text.ends_with([' ', ':'])
        && !text.contains(": ")
        && !text.contains(" #")
        && !matches!(text, "=" | "..." | "---")
        && !looks_like_date(text)
        && matches!(resolve::plain(text), Some(Kind::String(_)))
}

/// Dates are strings to `kubectl`, but not to every reader of YAML 1.1; so are numbers with a colon.
fn looks_like_date(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_digit() || "-:.TtZz+ ".contains(c))
}

/// Text of several lines whose block form reads back the same in every reader: no line of white space only, no
/// control characters, nothing that needs an indentation indicator.
fn is_block(text: &str) -> bool {
    let lines = || text.trim_end_matches('\n').split('\n');
    text.contains('\n')
        && !text.starts_with([' ', '\n', '\t'])
        && !text.contains(|c: char| {
            (c.is_control() && c != '\n' && c != '\t')
                || matches!(c, '\u{feff}' | '\u{2028}' | '\u{2029}' | '\u{85}')
        })
        && !text.trim_end_matches('\n').is_empty()
        && lines().all(|line| !line.ends_with([' ', '\t']))
}

fn literal(out: &mut String, text: &str, indent: usize) {
    let body = text.trim_end_matches('\n');
    out.push('|');
    match text.len() - body.len() {
        0 => out.push('-'),
        1 => {}
        _ => out.push('+'),
    }
    let kept = text.strip_suffix('\n').unwrap_or(text);
    for line in kept.split('\n') {
        out.push('\n');
        if !line.is_empty() {
            pad(out, indent);
            out.push_str(line);
        }
    }
}

fn quoted(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if c.is_control() || matches!(c, '\u{feff}' | '\u{2028}' | '\u{2029}') => {
                _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

fn pad(out: &mut String, indent: usize) {
    out.extend(std::iter::repeat_n(' ', indent));
}
