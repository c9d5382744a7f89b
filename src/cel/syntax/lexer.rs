//! From text to tokens. Total: whatever is no token is an error at its bytes.

use super::{Span, SyntaxError, literal};

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Ident(String),
    /// A field name in backticks, without them.
    Escaped(String),
    /// Digits with an optional `0x` in front; the sign is an operator.
    Int(String),
    UInt(String),
    Double(String),
    String(String),
    Bytes(Vec<u8>),
    /// A word of the language: `true`, `false`, `null`, `in`.
    Keyword(&'static str),
    /// Punctuation and operators, as written.
    Symbol(&'static str),
    End,
}

const KEYWORDS: [&str; 4] = ["true", "false", "null", "in"];

/// Longer ones first, so that the first that fits is the right one.
const SYMBOLS: [&str; 24] = [
    "&&", "||", "==", "!=", "<=", ">=", "{", "}", "(", ")", "[", "]", ".", ",", ":", "?", "+", "-", "*", "/",
    "%", "<", ">", "!",
];

pub(super) struct Lexer<'s> {
    source: &'s str,
    at: usize,
}

type Lexed<T> = Result<T, SyntaxError>;

impl<'s> Lexer<'s> {
    pub(super) fn new(source: &'s str) -> Self {
        Lexer { source, at: 0 }
    }

    /// The next token and its bytes; at the end of the text, [`Token::End`] for ever.
    pub(super) fn next(&mut self) -> Lexed<(Token, Span)> {
        self.skip_blank();
        let start = self.at;
        let token = match self.rest().as_bytes() {
            [] => Token::End,
            [b'0'..=b'9', ..] | [b'.', b'0'..=b'9', ..] => self.number(),
            [b'\'' | b'"', ..] => self.string("", start)?,
            [b'`', ..] => self.escaped()?,
            [b'_' | b'a'..=b'z' | b'A'..=b'Z', ..] => self.word()?,
            _ => self.symbol()?,
        };
        Ok((token, (start..self.at).into()))
    }

    fn rest(&self) -> &'s str {
        self.source.get(self.at..).unwrap_or_default()
    }

    fn span_from(&self, start: usize) -> Span {
        (start..self.at).into()
    }

    /// Moves over the characters at the front that satisfy `part` and returns them.
    fn take_while(&mut self, part: impl Fn(char) -> bool) -> &'s str {
        let rest = self.rest();
        let taken = &rest[..rest.find(|c| !part(c)).unwrap_or(rest.len())];
        self.at += taken.len();
        taken
    }

    fn eat(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        if found {
            self.at += text.len();
        }
        found
    }

    fn skip_blank(&mut self) {
        loop {
            self.take_while(|c| matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{c}'));
            if !self.rest().starts_with("//") {
                return;
            }
            self.take_while(|c| c != '\n');
        }
    }

    fn word(&mut self) -> Lexed<Token> {
        let start = self.at;
        let word = self.take_while(|c| c == '_' || c.is_ascii_alphanumeric());
        let prefix = matches!(word, "r" | "R" | "b" | "B" | "br" | "bR" | "Br" | "BR");
        if prefix && self.rest().starts_with(['\'', '"']) {
            return self.string(word, start);
        }
        Ok(match KEYWORDS.iter().find(|keyword| **keyword == word) {
            Some(keyword) => Token::Keyword(keyword),
            None => Token::Ident(word.to_owned()),
        })
    }

    fn escaped(&mut self) -> Lexed<Token> {
        let start = self.at;
        self.at += 1;
        let name = self.take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '/' | ' '));
        if name.is_empty() || !self.eat("`") {
            let message = "a field name in backticks is not closed, or has a character that cannot be in one";
            return Err(SyntaxError::new(self.span_from(start), message).help(
                "letters, digits, `_`, `.`, `-`, `/` and blanks can; for any other name write x[\"name\"]",
            ));
        }
        Ok(Token::Escaped(name.to_owned()))
    }

    fn number(&mut self) -> Token {
        let start = self.at;
        if (self.eat("0x") || self.eat("0X")) && !self.take_while(|c| c.is_ascii_hexdigit()).is_empty() {
            return self.integer(start);
        }
        self.take_while(|c| c.is_ascii_digit());
        let fraction = self.fraction();
        if self.exponent() || fraction {
            return Token::Double(self.text_from(start));
        }
        self.integer(start)
    }

    /// `.` and digits; a `.` without digits begins a selection and is left alone.
    fn fraction(&mut self) -> bool {
        let found = matches!(self.rest().as_bytes(), [b'.', b'0'..=b'9', ..]);
        if found {
            self.at += 1;
            self.take_while(|c| c.is_ascii_digit());
        }
        found
    }

    fn exponent(&mut self) -> bool {
        let found = matches!(
            self.rest().as_bytes(),
            [b'e' | b'E', b'0'..=b'9', ..] | [b'e' | b'E', b'+' | b'-', b'0'..=b'9', ..]
        );
        if found {
            self.at += 2;
            self.take_while(|c| c.is_ascii_digit());
        }
        found
    }

    fn integer(&mut self, start: usize) -> Token {
        let digits = self.text_from(start);
        if self.eat("u") || self.eat("U") { Token::UInt(digits) } else { Token::Int(digits) }
    }

    fn text_from(&self, start: usize) -> String {
        self.source.get(start..self.at).unwrap_or_default().to_owned()
    }

    /// The string at the cursor; `prefix` stands before its quotes and `start` before the prefix.
    fn string(&mut self, prefix: &str, start: usize) -> Lexed<Token> {
        let raw = prefix.contains(['r', 'R']);
        let quote = ["\"\"\"", "'''", "\"", "'"].into_iter().find(|quote| self.eat(quote)).unwrap_or("\"");
        let body_start = self.at;
        let Some(body) = self.body(quote, raw) else {
            let span = Span::from(start..body_start);
            let error = SyntaxError::new(span, format!("this string is not closed: no {quote} follows"));
            let over_lines = "a string over several lines has three quotes at each end";
            return Err(if quote.len() == 1 { error.help(over_lines) } else { error });
        };
        let at = |(range, message): (std::ops::Range<usize>, String)| {
            SyntaxError::new((body_start + range.start..body_start + range.end).into(), message)
        };
        if prefix.contains(['b', 'B']) {
            literal::bytes(body, raw).map(Token::Bytes).map_err(at)
        } else {
            literal::string(body, raw).map(Token::String).map_err(at)
        }
    }

    /// What stands before the closing `quote`, which is passed over too.
    fn body(&mut self, quote: &str, raw: bool) -> Option<&'s str> {
        let start = self.at;
        loop {
            let rest = self.rest();
            if rest.starts_with(quote) {
                let body = self.source.get(start..self.at);
                self.at += quote.len();
                return body;
            }
            let mut chars = rest.chars();
            let next = chars.next()?;
            if quote.len() == 1 && matches!(next, '\n' | '\r') {
                return None;
            }
            self.at += next.len_utf8();
            if next == '\\' && !raw {
                self.at += chars.next()?.len_utf8();
            }
        }
    }

    fn symbol(&mut self) -> Lexed<Token> {
        if let Some(symbol) = SYMBOLS.iter().find(|symbol| self.eat(symbol)) {
            return Ok(Token::Symbol(symbol));
        }
        let start = self.at;
        let wrong = self.rest().chars().next().unwrap_or_default();
        self.at += wrong.len_utf8();
        let error = |message: String| SyntaxError::new(self.span_from(start), message);
        Err(match wrong {
            '=' => error("`=` is not an operator".into()).help("to compare, write `==`"),
            '&' => error("`&` is not an operator".into()).help("for “and”, write `&&`"),
            '|' => error("`|` is not an operator".into()).help("for “or”, write `||`"),
            '“' | '”' | '‘' | '’' => {
                error(format!("`{wrong}` is a typographic quote")).help("strings are written with ' or \"")
            }
            _ => error(format!("`{}` cannot stand in an expression", wrong.escape_debug())),
        })
    }
}
