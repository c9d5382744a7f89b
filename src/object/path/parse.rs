//! Text to path.

use super::print::{is_plain_value, read_plain};
use super::{FieldPath, MAX_DEPTH, Scalar, Step};

/// Why a text is no path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct PathError {
    /// What is wrong.
    pub problem: Problem,
    /// Where in the text, in bytes.
    pub offset: usize,
}

/// What is wrong with a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// Nothing after a dot, or a sign in its place.
    #[error("a path has the name of a field here, like `spec.replicas`")]
    Name,
    /// Nothing, or a sign, between brackets.
    #[error(
        "brackets hold a position `[0]`, a key `[example.com/key]` or the values of an item `[name=node]`"
    )]
    Bracket,
    /// A bracket or a quote without its counterpart.
    #[error("`{0}` is missing")]
    Missing(char),
    /// Text after a closing bracket.
    #[error("`.` or `[` follows a bracket")]
    AfterBracket,
    /// More than [`MAX_DEPTH`] steps.
    #[error("a path has at most {MAX_DEPTH} steps")]
    TooDeep,
}

pub(super) fn parse(text: &str) -> Result<FieldPath, PathError> {
    let mut reader = Reader { text, offset: 0 };
    let mut path = FieldPath::root();
    while !reader.rest().is_empty() {
        let step = if reader.eat('[') { reader.bracket()? } else { reader.field(path.is_root())? };
        if path.steps().len() == MAX_DEPTH {
            return Err(reader.error(Problem::TooDeep));
        }
        path.0.push(step);
    }
    Ok(path)
}

struct Reader<'a> {
    text: &'a str,
    offset: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.offset..).unwrap_or_default()
    }

    fn error(&self, problem: Problem) -> PathError {
        PathError { problem, offset: self.offset }
    }

    fn eat(&mut self, sign: char) -> bool {
        let found = self.rest().starts_with(sign);
        if found {
            self.offset += sign.len_utf8();
        }
        found
    }

    fn expect(&mut self, sign: char) -> Result<(), PathError> {
        if self.eat(sign) { Ok(()) } else { Err(self.error(Problem::Missing(sign))) }
    }

    /// Everything up to one of `ends`.
    fn until(&mut self, ends: &[char]) -> &'a str {
        let rest = self.rest();
        let text = rest.split(ends).next().unwrap_or(rest);
        self.offset += text.len();
        text
    }

    fn field(&mut self, first: bool) -> Result<Step, PathError> {
        if !self.eat('.') && !first {
            return Err(self.error(Problem::AfterBracket));
        }
        let start = self.offset;
        let name = self.until(&['.', '[']);
        if is_plain_value(name) {
            return Ok(Step::Field(name.into()));
        }
        Err(PathError { problem: Problem::Name, offset: start })
    }

    /// What stands between brackets, of which the first is read.
    fn bracket(&mut self) -> Result<Step, PathError> {
        let start = self.offset;
        let Some(first) = self.quoted()? else {
            let text = self.until(&['=', ']']);
            if self.eat(']') {
                return plain_bracket(text).ok_or(PathError { problem: Problem::Bracket, offset: start });
            }
            return self.item(text.into(), start);
        };
        if self.eat(']') { Ok(Step::Key(first)) } else { self.item(first, start) }
    }

    /// The values of an item, of which the first key is read.
    fn item(&mut self, first: Box<str>, start: usize) -> Result<Step, PathError> {
        let mut values = Vec::new();
        let mut key = first;
        loop {
            if !self.eat('=') {
                return Err(self.error(Problem::Missing(']')));
            }
            values.push((key, self.value()?));
            if values.len() > MAX_DEPTH {
                return Err(PathError { problem: Problem::TooDeep, offset: start });
            }
            if !self.eat(',') {
                break;
            }
            key = match self.quoted()? {
                Some(key) => key,
                None => self.until(&['=', ']']).into(),
            };
        }
        self.expect(']')?;
        Ok(Step::Item(values.into()))
    }

    fn value(&mut self) -> Result<Scalar, PathError> {
        let start = self.offset;
        if let Some(text) = self.quoted()? {
            return Ok(Scalar::Text(text));
        }
        let text = self.until(&[',', ']']);
        if is_plain_value(text) {
            return Ok(read_plain(text));
        }
        Err(PathError { problem: Problem::Bracket, offset: start })
    }

    /// Text in quotes, if there is some here.
    fn quoted(&mut self) -> Result<Option<Box<str>>, PathError> {
        let start = self.offset;
        let missing = |quote| PathError { problem: Problem::Missing(quote), offset: start };
        if self.rest().starts_with('"') {
            let mut texts = serde_json::Deserializer::from_str(self.rest()).into_iter::<String>();
            let text = texts.next().and_then(Result::ok).ok_or_else(|| missing('"'))?;
            self.offset += texts.byte_offset();
            return Ok(Some(text.into()));
        }
        if !self.eat('\'') {
            return Ok(None);
        }
        let text = self.until(&['\'']);
        if self.eat('\'') { Ok(Some(text.into())) } else { Err(missing('\'')) }
    }
}

fn plain_bracket(text: &str) -> Option<Step> {
    if !is_plain_value(text) {
        return None;
    }
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse().ok().map(Step::Index);
    }
    Some(Step::Key(text.into()))
}
