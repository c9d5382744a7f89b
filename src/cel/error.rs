//! Why an evaluation gave no value.

use super::syntax::Span;
use crate::diagnostic::{Code, codes};
use std::{borrow::Cow, fmt, ops::Range};

/// Why an evaluation gave no value: what kind of failure, which bytes of the expression, and a sentence.
///
/// It is one pointer wide, so that results of evaluation stay small.
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Box<Inner>);

#[derive(Clone, PartialEq, Eq)]
struct Inner {
    kind: ErrorKind,
    span: Option<Span>,
    /// The argument at fault, until the evaluator knows its bytes; the receiver of a method is the first.
    argument: Option<usize>,
    variable: Option<usize>,
    message: Cow<'static, str>,
}

/// The kinds of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// A number, time or size left the range of its type.
    Overflow,
    /// Division or remainder by zero.
    DivideByZero,
    /// A map has no such key, an object no such field.
    NoSuchKey,
    /// A list or string has no such position.
    OutOfRange,
    /// No operation of this name takes values of these types.
    NoSuchOverload,
    /// A text is not what a function wanted: no number, no time, no regular expression.
    InvalidArgument,
    /// An absent optional was asked for its value.
    Absent,
    /// A value that has no form in JSON, or is nested too deeply.
    NotRepresentable,
    /// The budget is spent. Nothing absorbs this one.
    Budget,
    /// What a caller's [`Bindings`](super::Bindings) reported.
    Variable,
}

impl Error {
    /// A failure of `kind`, without a place yet.
    pub fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        let message = message.into();
        Error(Box::new(Inner { kind, span: None, argument: None, variable: None, message }))
    }

    /// What kind of failure it is.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The bytes at fault: of the expression that was evaluated, or of the one that [`Error::variable`] names.
    pub fn span(&self) -> Range<usize> {
        self.0.span.unwrap_or_default().range()
    }

    /// What happened, in a sentence that starts in lower case and has no full stop.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The slot of the variable whose own expression failed, when it is not the evaluated expression itself.
    pub fn variable(&self) -> Option<usize> {
        self.0.variable
    }

    /// The code under which users read about it.
    pub fn code(&self) -> Code {
        match self.0.kind {
            ErrorKind::Budget => codes::BUDGET_SPENT,
            _ => codes::EVALUATION_FAILED,
        }
    }

    pub(super) fn is_budget(&self) -> bool {
        self.0.kind == ErrorKind::Budget
    }

    /// The same, blaming the argument with this number; the receiver of a method is the first.
    pub(super) fn in_argument(mut self, argument: usize) -> Self {
        self.0.argument.get_or_insert(argument);
        self
    }

    pub(super) fn argument(&self) -> Option<usize> {
        self.0.argument
    }

    /// The same at `span`, unless it has a place.
    pub(super) fn at(mut self, span: Span) -> Self {
        self.place(span);
        self
    }

    /// Says where it is, unless it has a place.
    pub(super) fn place(&mut self, span: Span) {
        self.0.span.get_or_insert(span);
    }

    /// Says that it is the failure of the variable in `slot`, unless it is already one of another variable.
    pub(super) fn name_variable(&mut self, slot: usize) {
        self.0.variable.get_or_insert(slot);
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} at {:?}: {}", self.0.kind, self.span(), self.0.message)
    }
}

impl std::error::Error for Error {}
