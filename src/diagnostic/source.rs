//! Texts that users wrote, and places in them.

use std::{fmt, ops::Range, sync::Arc};

/// A text with its name: a file as it was read. Cheap to clone.
#[derive(Clone)]
pub struct Source(Arc<Text>);

struct Text {
    name: String,
    body: String,
    /// Byte offset of the first byte of each line.
    lines: Vec<usize>,
}

impl Source {
    /// A text under the name that messages print for it: a path as the user gave it, or `<stdin>`.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        let text = text.into();
        let lines = std::iter::once(0).chain(text.match_indices('\n').map(|(i, _)| i + 1)).collect();
        Source(Arc::new(Text { name: name.into(), body: text, lines }))
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.0.body
    }

    /// A place in the text, in bytes. A range outside the text, or inside a character, is moved to the nearest place
    /// that exists, so that a message can never fail to print.
    pub fn span(&self, range: Range<usize>) -> Span {
        let start = self.boundary(range.start);
        Span { source: self.clone(), start, end: self.boundary(range.end).max(start) }
    }

    /// Line and column of a byte offset.
    pub fn position(&self, offset: usize) -> Position {
        let offset = self.boundary(offset);
        let line = self.0.lines.partition_point(|&start| start <= offset);
        let start = self.0.lines.get(line.wrapping_sub(1)).copied().unwrap_or(0);
        let column = self.0.body.get(start..offset).map_or(0, |s| s.chars().count()) + 1;
        Position { line, column }
    }

    /// Byte offset of a 1-based line's first byte; the end of the text for lines past the last.
    pub fn line_start(&self, line: usize) -> usize {
        self.0.lines.get(line.saturating_sub(1)).copied().unwrap_or(self.0.body.len())
    }

    fn boundary(&self, offset: usize) -> usize {
        let mut offset = offset.min(self.0.body.len());
        while !self.0.body.is_char_boundary(offset) {
            offset -= 1;
        }
        offset
    }
}

impl PartialEq for Source {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || (self.name() == other.name() && self.text() == other.text())
    }
}

impl Eq for Source {}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Source({})", self.name())
    }
}

/// A line and a column, both from 1; columns count characters, as editors do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// A place in a text: half-open, in bytes, always inside the text and on character boundaries.
#[derive(Clone, PartialEq, Eq)]
pub struct Span {
    source: Source,
    start: usize,
    end: usize,
}

impl Span {
    /// The text it is in.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// First byte.
    pub fn start(&self) -> usize {
        self.start
    }

    /// One past the last byte.
    pub fn end(&self) -> usize {
        self.end
    }

    /// The bytes.
    pub fn range(&self) -> Range<usize> {
        self.start..self.end
    }

    /// Line and column of its first byte.
    pub fn position(&self) -> Position {
        self.source.position(self.start)
    }

    /// What stands there.
    pub fn text(&self) -> &str {
        self.source.text().get(self.range()).unwrap_or_default()
    }

    /// From the first byte of `self` to the last of `other`, both in one text.
    #[must_use]
    pub fn to(&self, other: &Span) -> Span {
        self.source.span(self.start..other.end.max(self.end))
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.source.name(), self.position())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_characters_and_start_at_one() {
        let source = Source::new("a.yaml", "é: ü\nb: c");
        let at = |offset| source.position(offset).to_string();
        assert_eq!([at(0), at(2), at(4), at(7), at(99)], ["1:1", "1:2", "1:4", "2:1", "2:5"]);
    }

    #[test]
    fn a_span_outside_the_text_is_moved_into_it() {
        let source = Source::new("a.yaml", "é");
        assert_eq!(source.span(1..40).range(), 0..2);
        assert_eq!(source.span(Range { start: 5, end: 1 }).range(), 2..2);
    }

    #[test]
    fn an_empty_text_has_one_line() {
        let source = Source::new("empty", "");
        assert_eq!(source.span(0..0).to_string(), "empty:1:1");
        assert_eq!(source.line_start(7), 0);
    }
}
