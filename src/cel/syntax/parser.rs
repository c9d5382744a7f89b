//! From tokens to the tree.
//!
//! Only brackets recurse (`expression` → `operand` → `expression`), and [`Parser::nesting`] bounds them; precedence is
//! kept on an explicit stack, chains and prefixes are loops. The depth of what a loop builds is bounded when each node
//! is made, so that dropping or walking a tree is as safe as building it.

use super::{
    Binary, Element, Entry, Expr, Kind, Literal, Logic, MAX_DEPTH, MAX_SOURCE, Name, Span, SyntaxError,
    Unary,
    lexer::{Lexer, Token},
};

type Parsed<T = Expr> = Result<T, SyntaxError>;

/// The tree of `source`, or the first thing that makes it none.
pub(in crate::cel) fn parse(source: &str) -> Parsed {
    if source.len() > MAX_SOURCE {
        let message = format!("the expression has {} bytes, {MAX_SOURCE} are allowed", source.len());
        return Err(SyntaxError::too_large((0..source.len()).into(), message, "use variables for its parts"));
    }
    let mut parser = Parser::new(source)?;
    let expr = parser.expression()?;
    parser.expect_end()?;
    Ok(expr)
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

struct Parser<'s> {
    source: &'s str,
    lexer: Lexer<'s>,
    token: Token,
    /// The bytes of `token`.
    at: Span,
    /// The bytes of the token before it.
    previous: Span,
    /// The brackets we are in, outermost first.
    open: Vec<Span>,
    nesting: usize,
}

/// An operator between two operands.
#[derive(Clone, Copy)]
enum Infix {
    Logic(Logic),
    Binary(Binary),
}

impl Infix {
    fn precedence(self) -> u8 {
        match self {
            Infix::Logic(Logic::Or) => 1,
            Infix::Logic(Logic::And) => 2,
            Infix::Binary(operator) => 2 + operator.precedence(),
        }
    }
}

impl<'s> Parser<'s> {
    fn new(source: &'s str) -> Parsed<Self> {
        let mut lexer = Lexer::new(source);
        let (token, at) = lexer.next()?;
        Ok(Parser { source, lexer, token, at, previous: Span::default(), open: Vec::new(), nesting: 0 })
    }

    // Tokens.

    /// The current token, after moving to the next.
    fn advance(&mut self) -> Parsed<Token> {
        let (token, at) = self.lexer.next()?;
        self.previous = std::mem::replace(&mut self.at, at);
        Ok(std::mem::replace(&mut self.token, token))
    }

    fn is(&self, symbol: &str) -> bool {
        matches!(self.token, Token::Symbol(found) if found == symbol)
    }

    /// Moves over `symbol` if it is next.
    fn eat(&mut self, symbol: &str) -> Parsed<bool> {
        let found = self.is(symbol);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    /// Moves over a `(`, `[` or `{` and remembers it.
    fn open(&mut self) -> Parsed<Span> {
        let at = self.at;
        self.open.push(at);
        self.advance()?;
        Ok(at)
    }

    /// Moves over the bracket that closes the innermost open one.
    fn close(&mut self, symbol: &str) -> Parsed<()> {
        if self.eat(symbol)? {
            self.open.pop();
            return Ok(());
        }
        let opened = self.open.last().copied().unwrap_or_default();
        let bracket = self.text(opened);
        let closing_another = matches!(self.token, Token::Symbol(")" | "]" | "}"));
        if self.token == Token::End || closing_another {
            let found = if closing_another {
                format!(": {} closes something else", self.found())
            } else {
                String::new()
            };
            return Err(SyntaxError::new(opened, format!("unclosed `{bracket}`{found}"))
                .help(format!("a `{symbol}` is missing")));
        }
        let separator =
            if bracket == "(" && !self.in_call(opened) { String::new() } else { " or `,`".into() };
        Err(self.unexpected(&format!("an operator, `{symbol}`{separator}")))
    }

    /// Whether the `(` at `opened` holds arguments.
    fn in_call(&self, opened: Span) -> bool {
        let before = self.source.get(..opened.start as usize).unwrap_or_default();
        before.ends_with(|c: char| c == '_' || c.is_ascii_alphanumeric())
    }

    fn text(&self, span: Span) -> &'s str {
        self.source.get(span.range()).unwrap_or_default()
    }

    /// The current token, in words.
    fn found(&self) -> String {
        match self.token {
            Token::End => "the end of the expression".into(),
            _ => format!("`{}`", self.text(self.at)),
        }
    }

    fn unexpected(&self, wanted: &str) -> SyntaxError {
        SyntaxError::new(self.at, format!("expected {wanted}, found {}", self.found()))
    }

    fn expect_end(&self) -> Parsed<()> {
        match self.token {
            Token::End => return Ok(()),
            Token::Symbol(")" | "]" | "}") => {
                return Err(SyntaxError::new(self.at, format!("{} closes nothing", self.found())));
            }
            _ => {}
        }
        let error = self.unexpected("an operator or the end");
        Err(match (self.text(self.previous), self.text(self.at)) {
            ("not" | "NOT", _) => error.help("for “not”, write `!`"),
            (_, "and" | "AND") => error.help("for “and”, write `&&`"),
            (_, "or" | "OR") => error.help("for “or”, write `||`"),
            ("if", _) | (_, "if" | "else" | "then") => error.help("write `condition ? a : b`"),
            (_, found) if found.starts_with('.') => error.help("an item of a list is read with `list[1]`"),
            _ => error,
        })
    }

    // Nodes.

    fn node(span: Span, deepest_part: u16, kind: Kind) -> Parsed {
        let depth = deepest_part + 1;
        if usize::from(depth) > MAX_DEPTH {
            return Err(too_deep(span));
        }
        Ok(Expr { span, depth, kind })
    }

    /// A whole expression: a chain of operators, or a conditional.
    fn expression(&mut self) -> Parsed {
        self.nesting += 1;
        if self.nesting > MAX_DEPTH {
            return Err(too_deep(self.at));
        }
        let mut choices = Vec::new();
        let last = loop {
            let operand = self.chain()?;
            if !self.is("?") {
                break operand;
            }
            choices.push(self.choice(operand)?);
        };
        self.nesting -= 1;
        choices.into_iter().rev().try_fold(last, |no, (condition, yes)| {
            let depth = condition.depth.max(yes.depth).max(no.depth);
            Self::node(condition.span.to(no.span), depth, Kind::Conditional(Box::new([condition, yes, no])))
        })
    }

    /// `? value :` after `condition`; what follows is the value otherwise.
    fn choice(&mut self, condition: Expr) -> Parsed<(Expr, Expr)> {
        let question = self.at;
        self.advance()?;
        let yes = self.chain()?;
        if self.is("?") {
            return Err(SyntaxError::new(self.at, "a choice between `?` and `:` needs parentheses")
                .help("write `a ? (b ? c : d) : e`"));
        }
        if self.eat(":")? {
            return Ok((condition, yes));
        }
        if self.token == Token::End {
            return Err(SyntaxError::new(question, "`?` without its `:`").help("write `condition ? a : b`"));
        }
        Err(self.unexpected("an operator or the `:` of this choice"))
    }

    /// Operands with operators between them.
    fn chain(&mut self) -> Parsed {
        let mut operands = vec![self.operand()?];
        let mut operators: Vec<(Infix, Span)> = Vec::new();
        while let Some(operator) = self.infix() {
            while operators.last().is_some_and(|(top, _)| top.precedence() >= operator.precedence()) {
                reduce(&mut operands, &mut operators)?;
            }
            operators.push((operator, self.at));
            self.advance()?;
            operands.push(self.operand()?);
        }
        while !operators.is_empty() {
            reduce(&mut operands, &mut operators)?;
        }
        operands.pop().ok_or_else(|| self.unexpected("a value"))
    }

    fn infix(&self) -> Option<Infix> {
        Some(match &self.token {
            Token::Keyword("in") => Infix::Binary(Binary::In),
            Token::Symbol(symbol) => match *symbol {
                "||" => Infix::Logic(Logic::Or),
                "&&" => Infix::Logic(Logic::And),
                "+" => Infix::Binary(Binary::Add),
                "-" => Infix::Binary(Binary::Subtract),
                "*" => Infix::Binary(Binary::Multiply),
                "/" => Infix::Binary(Binary::Divide),
                "%" => Infix::Binary(Binary::Modulo),
                "==" => Infix::Binary(Binary::Equal),
                "!=" => Infix::Binary(Binary::NotEqual),
                "<" => Infix::Binary(Binary::Less),
                "<=" => Infix::Binary(Binary::LessOrEqual),
                ">" => Infix::Binary(Binary::Greater),
                ">=" => Infix::Binary(Binary::GreaterOrEqual),
                _ => return None,
            },
            _ => return None,
        })
    }

    /// A value with the prefixes before it and the selections, indexes and calls after it.
    fn operand(&mut self) -> Parsed {
        let mut prefixes = Vec::new();
        while let Some(operator) = self.prefix() {
            if prefixes.last().is_some_and(|(last, _)| *last != operator) {
                return Err(SyntaxError::new(self.at, "`!` and `-` before one value need parentheses")
                    .help("write `!(-x)` or `-(!x)`"));
            }
            prefixes.push((operator, self.at));
            self.advance()?;
        }
        let number = matches!(self.token, Token::Int(_) | Token::Double(_));
        let sign = if number { prefixes.pop_if(|(operator, _)| *operator == Unary::Negate) } else { None };
        let mut operand = match sign {
            Some((_, at)) => self.number(Some(at))?,
            None => self.primary()?,
        };
        while let Token::Symbol("." | "[" | "{") = self.token {
            operand = self.postfix(operand)?;
        }
        prefixes.into_iter().rev().try_fold(operand, |operand, (operator, at)| {
            let depth = operand.depth;
            Self::node(at.to(operand.span), depth, Kind::Unary { operator, at, operand: Box::new(operand) })
        })
    }

    fn prefix(&self) -> Option<Unary> {
        match self.token {
            Token::Symbol("!") => Some(Unary::Not),
            Token::Symbol("-") => Some(Unary::Negate),
            _ => None,
        }
    }

    fn primary(&mut self) -> Parsed {
        let at = self.at;
        let literal = match &mut self.token {
            Token::Ident(_) => return self.name(false),
            Token::Symbol(".") => {
                self.advance()?;
                return self.name(true).map(|name| Expr { span: at.to(name.span), ..name });
            }
            Token::Symbol("(") => return self.parentheses(),
            Token::Symbol("[") => return self.list(),
            Token::Symbol("{") => return self.map(),
            Token::Int(_) | Token::UInt(_) | Token::Double(_) => return self.number(None),
            Token::String(text) => Literal::String(std::mem::take(text)),
            Token::Bytes(bytes) => Literal::Bytes(std::mem::take(bytes)),
            Token::Keyword("null") => Literal::Null,
            Token::Keyword("true") => Literal::Bool(true),
            Token::Keyword("false") => Literal::Bool(false),
            Token::Keyword(_) | Token::Escaped(_) | Token::Symbol(_) | Token::End => {
                return Err(self.no_value());
            }
        };
        self.advance()?;
        Self::node(at, 0, Kind::Literal(literal))
    }

    /// What to say where a value should begin and does not.
    fn no_value(&self) -> SyntaxError {
        if self.previous == Span::default() && self.token == Token::End {
            return SyntaxError::new(self.at, "the expression is empty");
        }
        if let (Some(opened), Token::End) = (self.open.last(), &self.token)
            && *opened == self.previous
        {
            return SyntaxError::new(*opened, format!("unclosed `{}`", self.text(*opened)));
        }
        let before = self.text(self.previous);
        let place = if before.is_empty() { String::new() } else { format!(" after `{before}`") };
        let error = self.unexpected(&format!("a value{place}"));
        match self.token {
            Token::End => SyntaxError::new(self.previous, format!("expected a value{place}")),
            Token::Escaped(_) => error.help("backticks are for field names after a dot"),
            _ => error,
        }
    }

    fn number(&mut self, sign: Option<Span>) -> Parsed {
        let span = sign.map_or(self.at, |sign| sign.to(self.at));
        let minus = if sign.is_some() { "-" } else { "" };
        let (literal, range) = match self.advance()? {
            Token::Int(digits) => (integer(minus, &digits).map(Literal::Int), "-2^63 to 2^63-1"),
            Token::UInt(digits) => (unsigned(&digits).map(Literal::UInt), "0 to 2^64-1"),
            Token::Double(digits) => (double(minus, &digits).map(Literal::Double), "-1.8e308 to 1.8e308"),
            _ => (None, ""),
        };
        let literal =
            literal.ok_or_else(|| SyntaxError::new(span, format!("this number is out of range: {range}")))?;
        Self::node(span, 0, Kind::Literal(literal))
    }

    /// A variable, or a call of a function that stands alone.
    fn name(&mut self, absolute: bool) -> Parsed {
        let at = self.at;
        let Token::Ident(name) = &self.token else { return Err(self.unexpected("a name after `.`")) };
        if RESERVED.contains(&name.as_str()) {
            return Err(SyntaxError::new(
                at,
                format!("`{name}` is a reserved word, no variable can have that name"),
            ));
        }
        let name = name.clone();
        self.advance()?;
        if self.is("(") {
            return self.call(None, Name { text: name, at });
        }
        Self::node(at, 0, Kind::Ident { name, absolute })
    }

    fn parentheses(&mut self) -> Parsed {
        let opened = self.open()?;
        let inner = self.expression()?;
        self.close(")")?;
        Ok(Expr { span: opened.to(self.previous), ..inner })
    }

    /// `.field`, `.?field`, `.method(…)`, `[index]` or `[?index]` after `operand`.
    fn postfix(&mut self, operand: Expr) -> Parsed {
        if self.is("[") {
            return self.index(operand);
        }
        if self.is("{") {
            return Err(SyntaxError::new(
                self.at,
                "messages cannot be made here, and `{` after a value makes one",
            )
            .help("for an object, write a map: {\"field\": value}"));
        }
        self.advance()?;
        let optional = self.eat("?")?;
        let at = self.at;
        let field = match &mut self.token {
            Token::Ident(name) | Token::Escaped(name) => Name { text: std::mem::take(name), at },
            Token::Keyword(word) => {
                let help = format!("write x[\"{word}\"]");
                return Err(SyntaxError::new(at, format!("`{word}` cannot follow a dot")).help(help));
            }
            _ => return Err(self.unexpected("a field name after `.`")),
        };
        let escaped = matches!(self.token, Token::Escaped(_));
        self.advance()?;
        if self.is("(") && !optional && !escaped {
            return self.call(Some(Box::new(operand)), field);
        }
        let (span, depth) = (operand.span.to(self.previous), operand.depth);
        Self::node(span, depth, Kind::Select { operand: Box::new(operand), field, optional })
    }

    fn index(&mut self, operand: Expr) -> Parsed {
        self.open()?;
        let optional = self.eat("?")?;
        let index = self.expression()?;
        self.close("]")?;
        let (span, depth) = (operand.span.to(self.previous), operand.depth.max(index.depth));
        Self::node(span, depth, Kind::Index { operand: Box::new(operand), index: Box::new(index), optional })
    }

    fn call(&mut self, target: Option<Box<Expr>>, name: Name) -> Parsed {
        self.open()?;
        let mut args = Vec::new();
        while !self.is(")") {
            args.push(self.expression()?);
            if !self.eat(",")? {
                break;
            }
            if self.is(")") {
                return Err(SyntaxError::new(self.previous, "a call cannot end with a comma"));
            }
        }
        self.close(")")?;
        let start = target.as_ref().map_or(name.at, |target| target.span);
        let depth = args.iter().chain(target.as_deref()).map(|part| part.depth).max().unwrap_or(0);
        Self::node(start.to(self.previous), depth, Kind::Call { target, name, args })
    }

    fn list(&mut self) -> Parsed {
        let opened = self.open()?;
        let mut elements = Vec::new();
        while !self.is("]") {
            let optional = self.eat("?")?;
            elements.push(Element { value: self.expression()?, optional });
            if !self.eat(",")? {
                break;
            }
        }
        self.close("]")?;
        let depth = elements.iter().map(|element| element.value.depth).max().unwrap_or(0);
        Self::node(opened.to(self.previous), depth, Kind::List(elements))
    }

    fn map(&mut self) -> Parsed {
        let opened = self.open()?;
        let mut entries = Vec::new();
        while !self.is("}") {
            let optional = self.eat("?")?;
            let key = self.expression()?;
            if !self.eat(":")? {
                return Err(self.unexpected("an operator or the `:` after this key"));
            }
            entries.push(Entry { key, value: self.expression()?, optional });
            if !self.eat(",")? {
                break;
            }
        }
        self.close("}")?;
        let depth = entries.iter().map(|entry| entry.key.depth.max(entry.value.depth)).max().unwrap_or(0);
        Self::node(opened.to(self.previous), depth, Kind::Map(entries))
    }
}

fn too_deep(at: Span) -> SyntaxError {
    let message = format!("the expression is nested deeper than {MAX_DEPTH} levels");
    SyntaxError::too_large(at, message, "use variables for its parts")
}

/// Joins the last two operands by the last operator.
fn reduce(operands: &mut Vec<Expr>, operators: &mut Vec<(Infix, Span)>) -> Parsed<()> {
    if let (Some((operator, at)), Some(right), Some(left)) = (operators.pop(), operands.pop(), operands.pop())
    {
        operands.push(join(operator, at, left, right)?);
    }
    Ok(())
}

fn join(operator: Infix, at: Span, left: Expr, right: Expr) -> Parsed {
    let (span, depth) = (left.span.to(right.span), left.depth.max(right.depth));
    match (operator, left) {
        (Infix::Binary(operator), left) => {
            Parser::node(span, depth, Kind::Binary { operator, at, operands: Box::new([left, right]) })
        }
        (
            Infix::Logic(operator),
            Expr { kind: Kind::Logic { operator: chained, mut operands }, depth, .. },
        ) if operator == chained => {
            let depth = depth.max(right.depth + 1);
            operands.push(right);
            Parser::node(span, depth - 1, Kind::Logic { operator, operands })
        }
        (Infix::Logic(operator), left) => {
            Parser::node(span, depth, Kind::Logic { operator, operands: vec![left, right] })
        }
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
