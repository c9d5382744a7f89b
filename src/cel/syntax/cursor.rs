//! The tokens one at a time, and what to say about one that should not be there.

use super::{
    Span, SyntaxError,
    lexer::{Lexer, Token},
};

pub(super) struct Cursor<'s> {
    source: &'s str,
    lexer: Lexer<'s>,
    pub(super) token: Token,
    /// The bytes of `token`.
    pub(super) at: Span,
    /// The bytes of the token before it.
    pub(super) previous: Span,
}

type Parsed<T> = Result<T, SyntaxError>;

impl<'s> Cursor<'s> {
    pub(super) fn new(source: &'s str) -> Parsed<Self> {
        let mut lexer = Lexer::new(source);
        let (token, at) = lexer.next()?;
        Ok(Cursor { source, lexer, token, at, previous: Span::default() })
    }

    /// The current token, after moving to the next.
    pub(super) fn advance(&mut self) -> Parsed<Token> {
        let (token, at) = self.lexer.next()?;
        self.previous = std::mem::replace(&mut self.at, at);
        Ok(std::mem::replace(&mut self.token, token))
    }

    pub(super) fn is(&self, symbol: &str) -> bool {
        matches!(self.token, Token::Symbol(found) if found == symbol)
    }

    /// Moves over `symbol` if it is next.
    pub(super) fn eat(&mut self, symbol: &str) -> Parsed<bool> {
        let found = self.is(symbol);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    pub(super) fn text(&self, span: Span) -> &'s str {
        self.source.get(span.range()).unwrap_or_default()
    }

    /// The current token, in words.
    pub(super) fn found(&self) -> String {
        match self.token {
            Token::End => "the end of the expression".into(),
            _ => format!("`{}`", self.text(self.at)),
        }
    }

    pub(super) fn unexpected(&self, wanted: &str) -> SyntaxError {
        SyntaxError::new(self.at, format!("expected {wanted}, found {}", self.found()))
    }

    /// What to say where a value should begin and does not; `opened` is the innermost open bracket.
    pub(super) fn no_value(&self, opened: Option<Span>) -> SyntaxError {
        let at_end = self.token == Token::End;
        match opened {
            None if at_end && self.previous == Span::default() => {
                return SyntaxError::new(self.at, "the expression is empty");
            }
            Some(opened) if at_end && opened == self.previous => {
                return SyntaxError::new(opened, format!("unclosed `{}`", self.text(opened)));
            }
            _ => {}
        }
        let before = self.text(self.previous);
        let place = if before.is_empty() { String::new() } else { format!(" after `{before}`") };
        match self.token {
            Token::End => SyntaxError::new(self.previous, format!("expected a value{place}")),
            Token::Escaped(_) => {
                self.unexpected(&format!("a value{place}")).help("backticks are for field names after a dot")
            }
            _ => self.unexpected(&format!("a value{place}")),
        }
    }

    /// What to say where the whole expression should end and does not.
    pub(super) fn no_end(&self) -> SyntaxError {
        if let Token::Symbol(")" | "]" | "}") = self.token {
            return SyntaxError::new(self.at, format!("{} closes nothing", self.found()));
        }
        let error = self.unexpected("an operator or the end");
        match (self.text(self.previous), self.text(self.at)) {
            ("not" | "NOT", _) => error.help("for “not”, write `!`"),
            (_, "and" | "AND") => error.help("for “and”, write `&&`"),
            (_, "or" | "OR") => error.help("for “or”, write `||`"),
            ("if", _) | (_, "if" | "else" | "then") => error.help("write `condition ? a : b`"),
            (_, found) if found.starts_with('.') => error.help("an item of a list is read with `list[1]`"),
            _ => error,
        }
    }

    /// What to say where the bracket at `opened` should be closed by `symbol` and is not; `separators` could stand
    /// there too.
    pub(super) fn no_close(&self, opened: Span, symbol: &str, separators: &str) -> SyntaxError {
        let closes_another = matches!(self.token, Token::Symbol(")" | "]" | "}"));
        if self.token == Token::End || closes_another {
            let found = if closes_another {
                format!(": {} closes something else", self.found())
            } else {
                String::new()
            };
            return SyntaxError::new(opened, format!("unclosed `{}`{found}", self.text(opened)))
                .help(format!("a `{symbol}` is missing"));
        }
        self.unexpected(&format!("an operator, `{symbol}`{separators}"))
    }
}
