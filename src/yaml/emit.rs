//! JSON trees as YAML, in the form of `kubectl get -o yaml`: block style, two spaces, keys in the tree's order.

use serde_json::Value;
use std::fmt::Write;

use super::resolve;

/// Longest key, in bytes with its quotes, that readers look for a colon after (in characters, by the specification).
const LONGEST_KEY: usize = 1024;

/// `value` as YAML text ending in a line break; read back by `kubectl` it is the same value.
pub fn emit(value: &Value) -> String {
    let mut out = String::new();
    block(&mut out, value, 0);
    out
}

/// The map of these entries, of which there is at least one, as [`emit`] writes it.
pub fn emit_map<'v>(entries: impl IntoIterator<Item = (&'v str, &'v Value)>) -> String {
    let mut out = String::new();
    for (key, value) in entries {
        entry(&mut out, key, value, 0);
    }
    out
}

/// A value on lines of its own, of which the first is indented already.
fn block(out: &mut String, value: &Value, indent: usize) {
    match value {
        Value::Array(items) if !items.is_empty() => list(out, items, indent),
        Value::Object(map) if !map.is_empty() => {
            for (position, (key, value)) in map.iter().enumerate() {
                if position > 0 {
                    pad(out, indent);
                }
                entry(out, key, value, indent);
            }
        }
        _ => {
            // A scalar stands on the line of its `-`, and is indented less.
            scalar(out, value, indent.saturating_sub(2));
            out.push('\n');
        }
    }
}

fn list(out: &mut String, items: &[Value], indent: usize) {
    for (position, item) in items.iter().enumerate() {
        if position > 0 {
            pad(out, indent);
        }
        out.push_str("- ");
        block(out, item, indent + 2);
    }
}

fn entry(out: &mut String, key: &str, value: &Value, indent: usize) {
    self::key(out, key, indent);
    match value {
        Value::Array(items) if !items.is_empty() => {
            out.push('\n');
            pad(out, indent);
            list(out, items, indent);
        }
        Value::Object(map) if !map.is_empty() => {
            out.push('\n');
            pad(out, indent + 2);
            block(out, value, indent + 2);
        }
        _ => {
            out.push(' ');
            scalar(out, value, indent);
            out.push('\n');
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
    let bytes = text.as_bytes();
    text.starts_with(first)
        && bytes.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ')
        && !text.ends_with([' ', ':'])
        && !bytes.windows(2).any(|pair| matches!(pair, b": " | b" #"))
        && !matches!(text, "=" | "..." | "---")
        && !looks_like_date(text)
        && resolve::is_string(text)
}

/// Dates are strings to `kubectl`, but not to every reader of YAML 1.1; so are numbers with a colon.
fn looks_like_date(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
        && text.bytes().all(|byte| byte.is_ascii_digit() || b"-:.TtZz+ ".contains(&byte))
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
    const SPACES: &str = "                                ";
    let mut missing = indent;
    while missing > 0 {
        let spaces = SPACES.get(..missing).unwrap_or(SPACES);
        out.push_str(spaces);
        missing -= spaces.len();
    }
}
