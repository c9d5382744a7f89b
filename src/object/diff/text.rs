//! Changes as text.

use std::fmt::Write;

use serde_json::Value;

use super::{Change, ChangeKind};
use crate::yaml;

/// The most lines of a value that are shown.
const MOST_LINES: usize = 100;

/// `changes` for people, in the manner of a unified diff: what was with `-`, what is with `+`, each with its path, and
/// larger values as YAML. Of texts with several lines only those around the difference are shown.
pub fn text(changes: &[Change<'_>]) -> String {
    let mut out = String::new();
    for Change { path, kind } in changes {
        let path = path.to_string();
        match kind {
            ChangeKind::Added(value) => side(&mut out, '+', &path, value),
            ChangeKind::Removed(value) => side(&mut out, '-', &path, value),
            ChangeKind::Replaced(Value::String(before), Value::String(after)) if has_lines(before, after) => {
                lines(&mut out, &path, before, after);
            }
            ChangeKind::Replaced(before, after) => {
                side(&mut out, '-', &path, before);
                side(&mut out, '+', &path, after);
            }
            ChangeKind::Reordered(before, after) => {
                side(&mut out, '-', &path, &order(before));
                side(&mut out, '+', &path, &order(after));
            }
        }
    }
    out
}

/// One value: behind its path if it fits on the line, else below it.
fn side(out: &mut String, sign: char, path: &str, value: &Value) {
    let yaml = yaml::emit(value);
    let separator = if path.is_empty() { "" } else { ":" };
    let nested = matches!(value, Value::Object(map) if !map.is_empty())
        || matches!(value, Value::Array(items) if !items.is_empty());
    if !nested && yaml.lines().count() == 1 {
        let space = if path.is_empty() { "" } else { " " };
        let _ = writeln!(out, "{sign} {path}{separator}{space}{}", yaml.trim_end());
        return;
    }
    let indent = if path.is_empty() { "" } else { "  " };
    if !path.is_empty() {
        let _ = writeln!(out, "{sign} {path}:");
    }
    for line in yaml.lines().take(MOST_LINES) {
        let _ = writeln!(out, "{sign} {indent}{line}");
    }
    more(out, sign, indent, yaml.lines().count());
}

fn more(out: &mut String, sign: char, indent: &str, count: usize) {
    if count > MOST_LINES {
        let _ = writeln!(out, "{sign} {indent}… {} more lines", count - MOST_LINES);
    }
}

fn has_lines(before: &str, after: &str) -> bool {
    before.lines().count() > 1 && after.lines().count() > 1
}

/// Two texts of several lines: what is between the lines they begin with and those they end with.
fn lines(out: &mut String, path: &str, before: &str, after: &str) {
    let (before, after): (Vec<_>, Vec<_>) = (before.split('\n').collect(), after.split('\n').collect());
    let start = before.iter().zip(&after).take_while(|(a, b)| a == b).count();
    let rest = before.len().min(after.len()) - start;
    let same = before.iter().rev().zip(after.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
    let separator = if path.is_empty() { "" } else { ": " };
    let _ = writeln!(out, "  {path}{separator}(from line {})", start + 1);
    for (sign, lines) in [('-', before), ('+', after)] {
        let changed = lines.get(start..lines.len() - same).unwrap_or_default();
        for line in changed.iter().take(MOST_LINES) {
            let _ = writeln!(out, "{sign}   {line}");
        }
        more(out, sign, "  ", changed.len());
    }
}

/// The items of a list as what tells them apart: a `name`, or else the whole of a plain value.
fn order(items: &[Value]) -> Value {
    let label = |item: &Value| match item {
        Value::Object(map) => {
            let plain = map.iter().filter(|(_, value)| !value.is_object() && !value.is_array());
            map.get("name")
                .cloned()
                .unwrap_or_else(|| Value::Object(plain.map(|(k, v)| (k.clone(), v.clone())).collect()))
        }
        plain => plain.clone(),
    };
    items.iter().map(label).collect()
}
