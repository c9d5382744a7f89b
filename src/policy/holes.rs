//! Strings with `${…}` holes: where each expression begins and ends.

use std::ops::Range;

/// A stretch of a string. Ranges are bytes of the string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Text that stays, `$${` already written as `${`.
    Text(String),
    /// An expression, without `${` and `}`.
    Hole(Range<usize>),
}

/// A hole that does not end; the position of its `${`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unclosed(pub(super) usize);

/// Splits `text` at its holes. `$${` is a `${` that is no hole; a `$` before anything else is a `$`.
pub(super) fn split(text: &str) -> Result<Vec<Part>, Unclosed> {
    let mut parts = Vec::new();
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, from)) = rest.find('$').map(|dollar| rest.split_at(dollar)) {
        plain.push_str(before);
        let at = text.len() - from.len();
        if let Some(after) = from.strip_prefix("$${") {
            plain.push_str("${");
            rest = after;
        } else if let Some(expression) = from.strip_prefix("${") {
            let length = closing(expression).ok_or(Unclosed(at))?;
            flush(&mut plain, &mut parts);
            parts.push(Part::Hole(at + 2..at + 2 + length));
            rest = expression.get(length + 1..).unwrap_or_default();
        } else {
            plain.push('$');
            rest = from.get(1..).unwrap_or_default();
        }
    }
    plain.push_str(rest);
    flush(&mut plain, &mut parts);
    Ok(parts)
}

fn flush(plain: &mut String, parts: &mut Vec<Part>) {
    if !plain.is_empty() {
        parts.push(Part::Text(std::mem::take(plain)));
    }
}

/// The length of the expression that `text` begins with, up to the `}` after it: braces may nest, and those in string
/// literals and comments do not count.
fn closing(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let (mut at, mut depth) = (0, 0usize);
    loop {
        match bytes.get(at)? {
            b'{' => depth += 1,
            b'}' if depth == 0 => return Some(at),
            b'}' => depth -= 1,
            b'"' | b'\'' => {
                at = end_of_literal(bytes, at)?;
                continue;
            }
            b'/' if bytes.get(at + 1) == Some(&b'/') => {
                at += bytes.get(at..)?.iter().position(|b| *b == b'\n')?;
            }
            _ => {}
        }
        at += 1;
    }
}

/// One past the end of the string literal whose quote stands at `at`.
fn end_of_literal(bytes: &[u8], at: usize) -> Option<usize> {
    let quote = *bytes.get(at)?;
    let length = if bytes.get(at..at + 3) == Some(&[quote; 3]) { 3 } else { 1 };
    let raw = is_raw(bytes.get(..at)?);
    let mut at = at + length;
    loop {
        match bytes.get(at)? {
            b'\\' if !raw => at += 2,
            b if *b == quote && bytes.get(at..at + length)?.iter().all(|b| *b == quote) => {
                return Some(at + length);
            }
            _ => at += 1,
        }
    }
}

/// Whether the literal that follows `before` is raw: its prefix is `r`, with a `b` on either side of it or without.
fn is_raw(before: &[u8]) -> bool {
    let word = before.iter().rev().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
    let prefix = before.get(before.len() - word..).unwrap_or_default().to_ascii_lowercase();
    matches!(prefix.as_slice(), b"r" | b"br" | b"rb")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(text: &str, want: &[&str]) {
        let parts = split(text).unwrap();
        let got: Vec<String> = parts
            .into_iter()
            .map(|part| match part {
                Part::Text(text) => text,
                Part::Hole(range) => format!("<{}>", &text[range]),
            })
            .collect();
        assert_eq!(got, want, "{text}");
    }

    #[test]
    fn holes_end_where_their_expression_ends() {
        check("", &[]);
        check("plain $HOME $", &["plain $HOME $"]);
        check("${a}", &["<a>"]);
        check("x${a}y${b}z", &["x", "<a>", "y", "<b>", "z"]);
        check("$${a} ${b}", &["${a} ", "<b>"]);
        check("$$${a}", &["$${a}"]);
        check("${{'a': {1: 2}}.size()}!", &["<{'a': {1: 2}}.size()>", "!"]);
        check(r#"${'}' + "}"}"#, &[r#"<'}' + "}">"#]);
        check(r"${'it\'s }'}", &[r"<'it\'s }'>"]);
        check(r"${r'\'}", &[r"<r'\'>"]);
        check(r"${br'\'}", &[r"<br'\'>"]);
        check(r"${for_r'\'}'}", &[r"<for_r'\'}'>"]);
        check("${'''a'}''b'''}", &["<'''a'}''b'''>"]);
        check("${a // }\n}", &["<a // }\n>"]);
        check("ü${a}ü", &["ü", "<a>", "ü"]);
    }

    #[test]
    fn a_hole_that_does_not_end_is_found_at_its_beginning() {
        for (text, at) in
            [("a ${", 2), ("${'}", 0), ("${ {} ", 0), ("${a} ${b", 5), ("${\"\\", 0), ("${ // }", 0)]
        {
            assert_eq!(split(text), Err(Unclosed(at)), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_answered_and_text_without_dollars_stays(text in "[a-c${}'\"\\\\r/\nü ]{0,40}") {
            if let Ok(parts) = split(&text) && !text.contains('$') {
                prop_assert_eq!(parts, if text.is_empty() { vec![] } else { vec![Part::Text(text)] });
            }
        }
    }
}
