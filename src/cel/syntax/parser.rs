//! From tokens to the tree, without recursion: each open bracket is a [`Frame`] on a stack of our own.
//!
//! The depth of a node is bounded when it is made, and the number of open brackets when one is opened, so that dropping
//! or walking a tree is as safe as building it.

use super::{
    Element, Entry, Expr, Kind, Literal, MAX_DEPTH, MAX_SOURCE, Name, Span, SyntaxError, Unary,
    chain::{Chain, Infix, node, too_deep},
    cursor::Cursor,
    lexer::Token,
};

type Parsed<T = Expr> = Result<T, SyntaxError>;

/// The tree of `source`, or the first thing that makes it none.
pub(in crate::cel) fn parse(source: &str) -> Parsed {
    if source.len() > MAX_SOURCE {
        let message = format!("the expression has {} bytes, {MAX_SOURCE} are allowed", source.len());
        return Err(SyntaxError::too_large((0..source.len()).into(), message, "use variables for its parts"));
    }
    let whole = Frame { open: Open::Whole, at: Span::default(), chain: Chain::default() };
    Parser { cursor: Cursor::new(source)?, frames: Vec::new(), frame: whole }.run()
}

/// Names that the grammar keeps for languages CEL is embedded in; a field may have them, a variable may not.
const RESERVED: [&str; 17] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// Words that mean something else than a name.
const WORDS: [&str; 4] = ["true", "false", "null", "in"];

/// Whether an expression can use `name` as the name of a variable, or after a dot, as it is.
pub fn is_identifier(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && !WORDS.contains(&name)
        && !RESERVED.contains(&name)
}

struct Parser<'s> {
    cursor: Cursor<'s>,
    /// The brackets around the innermost one, outermost first.
    frames: Vec<Frame>,
    frame: Frame,
}

/// An open bracket, and what was read since it opened or since the last comma.
struct Frame {
    open: Open,
    /// The bracket's bytes.
    at: Span,
    chain: Chain,
}

/// What an open bracket will be, with the parts that are complete.
enum Open {
    /// No bracket: the whole expression.
    Whole,
    Parentheses,
    List {
        elements: Vec<Element>,
        /// Whether a `?` stands before the element that is read.
        optional: bool,
    },
    Map {
        entries: Vec<Entry>,
        /// The key, once its `:` was read.
        key: Option<Expr>,
        optional: bool,
    },
    Call {
        target: Option<Box<Expr>>,
        name: Name,
        args: Vec<Expr>,
    },
    Index {
        operand: Box<Expr>,
        optional: bool,
    },
}

impl Open {
    fn closing(&self) -> &'static str {
        match self {
            Open::Whole => "",
            Open::Parentheses | Open::Call { .. } => ")",
            Open::List { .. } | Open::Index { .. } => "]",
            Open::Map { .. } => "}",
        }
    }
}

/// What follows an expression.
enum Next {
    /// Another expression within the same bracket.
    Expression,
    /// The bracket was closed and is this operand, before its selections and indexes.
    Operand(Expr),
    /// Nothing.
    End(Expr),
}

impl Parser<'_> {
    fn run(mut self) -> Parsed {
        let mut closed = None;
        loop {
            let Some(primary) = closed.take().map_or_else(|| self.primary(), |expr| Ok(Some(expr)))? else {
                continue;
            };
            let Some(operand) = self.postfix(primary)? else { continue };
            let Some(expression) = self.operator(operand)? else { continue };
            match self.next(expression)? {
                Next::Expression => {}
                Next::Operand(expr) => closed = Some(expr),
                Next::End(expr) => return Ok(expr),
            }
        }
    }

    /// Moves over an opening bracket.
    fn open(&mut self, open: Open) -> Parsed<()> {
        let at = self.cursor.at;
        if self.frames.len() + 1 >= MAX_DEPTH {
            return Err(too_deep(at));
        }
        self.cursor.advance()?;
        let frame = Frame { open, at, chain: Chain::default() };
        self.frames.push(std::mem::replace(&mut self.frame, frame));
        self.eat_optional()
    }

    /// Moves over the `?` before an index, an element or a key.
    fn eat_optional(&mut self) -> Parsed<()> {
        let (Open::List { optional, .. }
        | Open::Map { optional, key: None, .. }
        | Open::Index { optional, .. }) = &mut self.frame.open
        else {
            return Ok(());
        };
        *optional = self.cursor.eat("?")?;
        Ok(())
    }

    /// Moves over the closing bracket of the innermost frame and makes its node.
    fn close(&mut self) -> Parsed {
        self.cursor.advance()?;
        let outer = self.frames.pop().unwrap_or(Frame {
            open: Open::Whole,
            at: Span::default(),
            chain: Chain::default(),
        });
        let Frame { open, at, .. } = std::mem::replace(&mut self.frame, outer);
        let span = at.to(self.cursor.previous);
        match open {
            Open::List { elements, .. } => {
                let depth = elements.iter().map(|element| element.value.depth).max().unwrap_or(0);
                node(span, depth, Kind::List(elements))
            }
            Open::Map { entries, .. } => {
                let depth =
                    entries.iter().map(|entry| entry.key.depth.max(entry.value.depth)).max().unwrap_or(0);
                node(span, depth, Kind::Map(entries))
            }
            Open::Call { target, name, args } => {
                let start = target.as_ref().map_or(name.at, |target| target.span);
                let depth = args.iter().chain(target.as_deref()).map(|part| part.depth).max().unwrap_or(0);
                node(start.to(span), depth, Kind::Call { target, name, args })
            }
            Open::Whole | Open::Parentheses | Open::Index { .. } => Err(self.cursor.no_value(Some(at))),
        }
    }

    /// Moves over prefixes and a value without its selections and indexes; `None` if that opens a bracket.
    fn primary(&mut self) -> Parsed<Option<Expr>> {
        while let Some(operator) = prefix(&self.cursor.token) {
            self.frame.chain.prefix(operator, self.cursor.at)?;
            self.cursor.advance()?;
        }
        let at = self.cursor.at;
        let literal = match &mut self.cursor.token {
            Token::Ident(_) => return self.name(at, false),
            Token::Symbol(".") => {
                self.cursor.advance()?;
                return self.name(at, true);
            }
            Token::Symbol("(") => return self.open(Open::Parentheses).map(|()| None),
            Token::Symbol("[") => {
                return self.open(Open::List { elements: Vec::new(), optional: false }).map(|()| None);
            }
            Token::Symbol("{") => {
                let map = Open::Map { entries: Vec::new(), key: None, optional: false };
                return self.open(map).map(|()| None);
            }
            Token::Int(_) | Token::UInt(_) | Token::Double(_) => return self.number().map(Some),
            Token::String(text) => Literal::String(std::mem::take(text)),
            Token::Bytes(bytes) => Literal::Bytes(std::mem::take(bytes)),
            Token::Keyword("null") => Literal::Null,
            Token::Keyword("true") => Literal::Bool(true),
            Token::Keyword("false") => Literal::Bool(false),
            Token::Keyword(_) | Token::Escaped(_) | Token::Symbol(_) | Token::End => return self.nothing(),
        };
        self.cursor.advance()?;
        node(at, 0, Kind::Literal(literal)).map(Some)
    }

    /// No value: the end of an empty list, map or call, or of one that ends with a comma.
    fn nothing(&mut self) -> Parsed<Option<Expr>> {
        let frame = &self.frame;
        let closes = self.cursor.is(frame.open.closing()) && !frame.chain.has_begun();
        match &frame.open {
            Open::List { optional: false, .. } | Open::Map { optional: false, key: None, .. } if closes => {
                self.close().map(Some)
            }
            Open::Call { args, .. } if closes && args.is_empty() => self.close().map(Some),
            Open::Call { .. } if closes => {
                Err(SyntaxError::new(self.cursor.previous, "a call cannot end with a comma"))
            }
            Open::Whole => Err(self.cursor.no_value(None)),
            _ => Err(self.cursor.no_value(Some(frame.at))),
        }
    }

    fn number(&mut self) -> Parsed {
        let signed = !matches!(self.cursor.token, Token::UInt(_));
        let sign = if signed { self.frame.chain.take_sign() } else { None };
        let span = sign.map_or(self.cursor.at, |sign| sign.to(self.cursor.at));
        let minus = if sign.is_some() { "-" } else { "" };
        let (literal, range) = match self.cursor.advance()? {
            Token::Int(digits) => (integer(minus, &digits).map(Literal::Int), "-2^63 to 2^63-1"),
            Token::UInt(digits) => (unsigned(&digits).map(Literal::UInt), "0 to 2^64-1"),
            Token::Double(digits) => (double(minus, &digits).map(Literal::Double), "-1.8e308 to 1.8e308"),
            _ => (None, ""),
        };
        let out_of_range = || SyntaxError::new(span, format!("this number is out of range: {range}"));
        node(span, 0, Kind::Literal(literal.ok_or_else(out_of_range)?))
    }

    /// A variable, or a function that stands alone; `start` is the dot before an absolute name, or the name.
    fn name(&mut self, start: Span, absolute: bool) -> Parsed<Option<Expr>> {
        let at = self.cursor.at;
        let Token::Ident(name) = &mut self.cursor.token else {
            return Err(self.cursor.unexpected("a name after `.`"));
        };
        let name = std::mem::take(name);
        if RESERVED.contains(&name.as_str()) {
            let message = format!("`{name}` is a reserved word, no variable can have that name");
            return Err(SyntaxError::new(at, message));
        }
        self.cursor.advance()?;
        if self.cursor.is("(") {
            let name = Name { text: name, at };
            return self.open(Open::Call { target: None, name, args: Vec::new() }).map(|()| None);
        }
        node(start.to(at), 0, Kind::Ident { name, absolute }).map(Some)
    }

    /// The value with the selections after it; `None` if an index or the arguments of a method begin.
    fn postfix(&mut self, mut value: Expr) -> Parsed<Option<Expr>> {
        loop {
            if self.cursor.is("[") {
                let index = Open::Index { operand: Box::new(value), optional: false };
                return self.open(index).map(|()| None);
            }
            if self.cursor.is("{") {
                let message = "messages cannot be made here, and `{` after a value makes one";
                return Err(SyntaxError::new(self.cursor.at, message)
                    .help("for an object, write a map: {\"field\": value}"));
            }
            if !self.cursor.eat(".")? {
                return Ok(Some(value));
            }
            let optional = self.cursor.eat("?")?;
            let escaped = matches!(self.cursor.token, Token::Escaped(_));
            let field = self.field()?;
            if self.cursor.is("(") && !optional && !escaped {
                let call = Open::Call { target: Some(Box::new(value)), name: field, args: Vec::new() };
                return self.open(call).map(|()| None);
            }
            let (span, depth) = (value.span.to(self.cursor.previous), value.depth);
            value = node(span, depth, Kind::Select { operand: Box::new(value), field, optional })?;
        }
    }

    fn field(&mut self) -> Parsed<Name> {
        let at = self.cursor.at;
        let text = match &mut self.cursor.token {
            Token::Ident(name) | Token::Escaped(name) => std::mem::take(name),
            Token::Keyword(word) => {
                let error = SyntaxError::new(at, format!("`{word}` cannot follow a dot"));
                return Err(error.help(format!("write x[\"{word}\"]")));
            }
            _ => return Err(self.cursor.unexpected("a field name after `.`")),
        };
        self.cursor.advance()?;
        Ok(Name { text, at })
    }

    /// Adds the operand, and the operator after it. The whole expression when none follows.
    fn operator(&mut self, operand: Expr) -> Parsed<Option<Expr>> {
        let (chain, at) = (&mut self.frame.chain, self.cursor.at);
        chain.operand(operand)?;
        if let Some(operator) = Infix::of(&self.cursor.token) {
            chain.operator(operator, at)?;
        } else if self.cursor.is("?") {
            chain.question(at)?;
        } else if let Some(question) = chain.open_question() {
            match self.cursor.token {
                Token::Symbol(":") => chain.colon(at)?,
                Token::End => {
                    return Err(
                        SyntaxError::new(question, "`?` without its `:`").help("write `condition ? a : b`")
                    );
                }
                _ => return Err(self.cursor.unexpected("an operator or the `:` of this choice")),
            }
        } else {
            return chain.finish(at).map(Some);
        }
        self.cursor.advance()?;
        Ok(None)
    }

    /// Gives the expression its place in the bracket it stands in.
    fn next(&mut self, expression: Expr) -> Parsed<Next> {
        let symbol = self.frame.open.closing();
        let closes = self.cursor.is(symbol);
        match &mut self.frame.open {
            Open::Whole if self.cursor.token == Token::End => return Ok(Next::End(expression)),
            Open::Whole => return Err(self.cursor.no_end()),
            Open::Parentheses if closes => return self.unwrap(expression).map(Next::Operand),
            Open::Index { .. } if closes => return self.close_index(expression).map(Next::Operand),
            Open::Parentheses | Open::Index { .. } => {
                return Err(self.cursor.no_close(self.frame.at, symbol, ""));
            }
            Open::Map { key: key @ None, .. } => {
                if !self.cursor.eat(":")? {
                    return Err(self.cursor.unexpected("an operator or the `:` after this key"));
                }
                *key = Some(expression);
                return Ok(Next::Expression);
            }
            Open::Map { entries, key, optional } => {
                entries.extend(key.take().map(|key| Entry { key, value: expression, optional: *optional }));
            }
            Open::List { elements, optional } => {
                elements.push(Element { value: expression, optional: *optional });
            }
            Open::Call { args, .. } => args.push(expression),
        }
        if closes {
            return self.close().map(Next::Operand);
        }
        if !self.cursor.eat(",")? {
            return Err(self.cursor.no_close(self.frame.at, symbol, " or `,`"));
        }
        self.eat_optional()?;
        Ok(Next::Expression)
    }

    /// The expression in parentheses: the same with their bytes.
    fn unwrap(&mut self, expression: Expr) -> Parsed {
        self.cursor.advance()?;
        let span = self.frame.at.to(self.cursor.previous);
        if let Some(outer) = self.frames.pop() {
            self.frame = outer;
        }
        Ok(Expr { span, ..expression })
    }

    fn close_index(&mut self, index: Expr) -> Parsed {
        self.cursor.advance()?;
        let outer = self.frames.pop();
        let inner = outer.map(|outer| std::mem::replace(&mut self.frame, outer));
        let Some(Frame { open: Open::Index { operand, optional }, .. }) = inner else {
            return Err(self.cursor.no_value(None));
        };
        let (span, depth) = (operand.span.to(self.cursor.previous), operand.depth.max(index.depth));
        node(span, depth, Kind::Index { operand, index: Box::new(index), optional })
    }
}

fn prefix(token: &Token) -> Option<Unary> {
    match token {
        Token::Symbol("!") => Some(Unary::Not),
        Token::Symbol("-") => Some(Unary::Negate),
        _ => None,
    }
}

/// The value of `digits`, which may be hexadecimal, with `minus` before it; `None` when it does not fit.
fn integer(minus: &str, digits: &str) -> Option<i64> {
    match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hex) => i64::from_str_radix(&format!("{minus}{hex}"), 16).ok(),
        None => format!("{minus}{digits}").parse().ok(),
    }
}

fn unsigned(digits: &str) -> Option<u64> {
    match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => digits.parse().ok(),
    }
}

fn double(minus: &str, digits: &str) -> Option<f64> {
    format!("{minus}{digits}").parse().ok().filter(|value: &f64| value.is_finite())
}
