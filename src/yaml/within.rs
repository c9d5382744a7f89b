//! Places inside a scalar: from a byte of its value to the byte of the text it was written as.

use saphyr_parser::ScalarStyle;
use std::{iter::Peekable, ops::Range, str::CharIndices};

/// Where bytes `wanted` of `value` stand in `raw`, the scalar's own text. `None` if the two cannot be aligned.
///
/// Both are walked side by side. White space may differ (indentation, folding), everything else must be equal after
/// escapes; so each character that is no white space is found exactly.
pub(super) fn locate(
    raw: &str,
    style: ScalarStyle,
    value: &str,
    wanted: &Range<usize>,
) -> Option<Range<usize>> {
    let mut walk = Walk { raw: raw.char_indices().peekable(), style, len: raw.len() };
    walk.skip_opening();
    let (mut start, mut end) = (None, None);
    for (offset, wants) in value.char_indices() {
        if offset >= wanted.end && start.is_some() {
            break;
        }
        let place = walk.find(wants)?;
        if offset >= wanted.start && start.is_none() {
            start = Some(place.start);
        }
        end = Some(place.end);
    }
    let here = walk.here();
    let start = start.unwrap_or(here);
    let end = if wanted.is_empty() { start } else { end.unwrap_or(here) };
    Some(start..end.max(start))
}

struct Walk<'a> {
    raw: Peekable<CharIndices<'a>>,
    style: ScalarStyle,
    len: usize,
}

impl Walk<'_> {
    /// Past a quote. The text of a block begins below its indicator.
    fn skip_opening(&mut self) {
        if matches!(self.style, ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted) {
            self.raw.next();
        }
    }

    fn here(&mut self) -> usize {
        self.raw.peek().map_or(self.len, |(offset, _)| *offset)
    }

    /// The bytes that stand for the next character of the value.
    fn find(&mut self, wants: char) -> Option<Range<usize>> {
        loop {
            let Some(&(start, found)) = self.raw.peek() else {
                return wants.is_whitespace().then_some(self.len..self.len);
            };
            if self.style == ScalarStyle::DoubleQuoted && found == '\\' {
                match self.escape() {
                    Some(c) if c == wants => return Some(start..self.here()),
                    Some(_) => return None,
                    None => continue, // an escaped line break: joins two lines
                }
            }
            if found == wants {
                self.raw.next();
                if self.style == ScalarStyle::SingleQuoted && found == '\'' {
                    self.raw.next(); // written twice
                }
                return Some(start..self.here());
            }
            match (wants.is_whitespace(), found.is_whitespace()) {
                (true, _) => return Some(start..start), // folded away: stands for the break before
                (false, true) => {
                    self.raw.next();
                }
                (false, false) => return None,
            }
        }
    }

    /// The character an escape stands for.
    fn escape(&mut self) -> Option<char> {
        self.raw.next();
        let (_, letter) = self.raw.next()?;
        Some(match letter {
            '\n' | '\r' => return None,
            'x' => self.hex(2)?,
            'u' => self.hex(4)?,
            'U' => self.hex(8)?,
            '0' => '\0',
            'a' => '\x07',
            'b' => '\x08',
            't' | '\t' => '\t',
            'n' => '\n',
            'v' => '\x0b',
            'f' => '\x0c',
            'r' => '\r',
            'e' => '\x1b',
            'N' => '\u{85}',
            '_' => '\u{a0}',
            'L' => '\u{2028}',
            'P' => '\u{2029}',
            other => other,
        })
    }

    fn hex(&mut self, digits: usize) -> Option<char> {
        let digits: String = self.raw.by_ref().take(digits).map(|(_, c)| c).collect();
        char::from_u32(u32::from_str_radix(&digits, 16).ok()?)
    }
}
