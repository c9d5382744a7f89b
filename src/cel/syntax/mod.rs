//! From the text of an expression to its tree: [`parse`].
//!
//! The grammar is CEL's, with optional syntax (`a.?b`, `a[?k]`, `[?x]`, `{?k: v}`) and escaped field names
//! (``a.`b-c` ``). Macros are left as the calls they look like; the checker knows them.
//!
//! The parser is ours because the grammar is small and what is asked of it is not: an input of any depth gives an
//! issue and never exhausts the stack, every node knows its exact bytes, and a message says what was expected in the
//! words of someone who has never seen the grammar. Each tree is at most [`MAX_DEPTH`] deep, which is what lets every
//! later pass recurse over it.

mod chain;
mod cursor;
mod lexer;
mod literal;
mod parser;

pub use parser::is_identifier;
pub(super) use parser::parse;

use std::ops::Range;

/// Longest source of an expression, in bytes.
pub const MAX_SOURCE: usize = 16 * 1024;

/// Deepest nesting of an expression. Chains of `&&` and of `||` count once, whatever their length.
pub const MAX_DEPTH: usize = 250;

/// Bytes of the source; an expression is short enough for 32 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: u32,
    pub(super) end: u32,
}

impl Span {
    /// From the first byte of `self` to the last of `other`.
    pub(super) fn to(self, other: Span) -> Span {
        Span { start: self.start, end: other.end.max(self.end) }
    }

    pub(super) fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

impl From<Range<usize>> for Span {
    fn from(range: Range<usize>) -> Self {
        let clamp = |offset: usize| u32::try_from(offset).unwrap_or(u32::MAX);
        Span { start: clamp(range.start), end: clamp(range.end) }
    }
}

/// One node of the tree.
#[derive(Debug, PartialEq)]
pub(super) struct Expr {
    /// All of its bytes, with the parentheses around it.
    pub(super) span: Span,
    /// One more than the deepest of its parts.
    pub(super) depth: u16,
    pub(super) kind: Kind,
}

#[derive(Debug, PartialEq)]
pub(super) enum Kind {
    Literal(Literal),
    /// A name; absolute names are written with a leading dot.
    Ident {
        name: String,
        absolute: bool,
    },
    Select {
        operand: Box<Expr>,
        field: Name,
        optional: bool,
    },
    Index {
        operand: Box<Expr>,
        index: Box<Expr>,
        optional: bool,
    },
    /// `name(args)` or `target.name(args)`.
    Call {
        target: Option<Box<Expr>>,
        name: Name,
        args: Vec<Expr>,
    },
    Unary {
        operator: Unary,
        /// The operator's bytes.
        at: Span,
        operand: Box<Expr>,
    },
    Binary {
        operator: Binary,
        at: Span,
        /// Left and right.
        operands: Box<[Expr; 2]>,
    },
    /// A whole chain of `&&` or of `||`.
    Logic {
        operator: Logic,
        operands: Vec<Expr>,
    },
    /// Condition, value if true, value if false.
    Conditional(Box<[Expr; 3]>),
    List(Vec<Element>),
    Map(Vec<Entry>),
}

/// A name as it stands in the source.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Name {
    pub(super) text: String,
    pub(super) at: Span,
}

/// `value` or `?value` in a list.
#[derive(Debug, PartialEq)]
pub(super) struct Element {
    pub(super) value: Expr,
    pub(super) optional: bool,
}

/// `key: value` or `?key: value` in a map.
#[derive(Debug, PartialEq)]
pub(super) struct Entry {
    pub(super) key: Expr,
    pub(super) value: Expr,
    pub(super) optional: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Literal {
    Null,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Double(f64),
    String(String),
    Bytes(Vec<u8>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unary {
    Not,
    Negate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Logic {
    And,
    Or,
}

/// The operators with two operands, both always evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binary {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
}

impl Binary {
    /// As it is written.
    pub(super) fn symbol(self) -> &'static str {
        match self {
            Binary::Add => "+",
            Binary::Subtract => "-",
            Binary::Multiply => "*",
            Binary::Divide => "/",
            Binary::Modulo => "%",
            Binary::Equal => "==",
            Binary::NotEqual => "!=",
            Binary::Less => "<",
            Binary::LessOrEqual => "<=",
            Binary::Greater => ">",
            Binary::GreaterOrEqual => ">=",
            Binary::In => "in",
        }
    }

    /// How tightly it binds: relations, then sums, then products.
    fn precedence(self) -> u8 {
        match self {
            Binary::Multiply | Binary::Divide | Binary::Modulo => 3,
            Binary::Add | Binary::Subtract => 2,
            Binary::Equal
            | Binary::NotEqual
            | Binary::Less
            | Binary::LessOrEqual
            | Binary::Greater
            | Binary::GreaterOrEqual
            | Binary::In => 1,
        }
    }
}

impl Logic {
    /// As it is written.
    pub(super) fn symbol(self) -> &'static str {
        match self {
            Logic::And => "&&",
            Logic::Or => "||",
        }
    }
}

/// Why a text is no expression.
#[derive(Debug, PartialEq)]
pub(super) struct SyntaxError {
    pub(super) span: Span,
    pub(super) message: String,
    pub(super) help: Option<String>,
    /// The text may well be an expression, but it is longer or deeper than the limits.
    pub(super) too_large: bool,
}

impl SyntaxError {
    fn new(span: Span, message: impl Into<String>) -> Self {
        SyntaxError { span, message: message.into(), help: None, too_large: false }
    }

    fn too_large(span: Span, message: impl Into<String>, help: &str) -> Self {
        SyntaxError { span, message: message.into(), help: Some(help.into()), too_large: true }
    }

    fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}
