//! Operands with operators between them, and choices between those: what stands between two brackets or commas.

use super::{Binary, Expr, Kind, Logic, MAX_DEPTH, Span, SyntaxError, Unary, lexer::Token};

type Parsed<T = Expr> = Result<T, SyntaxError>;

/// A node with these parts. Fails when it would be too deep.
pub(super) fn node(span: Span, deepest_part: u16, kind: Kind) -> Parsed {
    let depth = deepest_part + 1;
    if usize::from(depth) > MAX_DEPTH {
        return Err(too_deep(span));
    }
    Ok(Expr { span, depth, kind })
}

pub(super) fn too_deep(at: Span) -> SyntaxError {
    let message = format!("the expression is nested deeper than {MAX_DEPTH} levels");
    SyntaxError::too_large(at, message, "use variables for its parts")
}

/// An operator between two operands.
#[derive(Clone, Copy)]
pub(super) enum Infix {
    Logic(Logic),
    Binary(Binary),
}

impl Infix {
    /// The operator that the token is.
    pub(super) fn of(token: &Token) -> Option<Infix> {
        Some(match token {
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

    fn precedence(self) -> u8 {
        match self {
            Infix::Logic(Logic::Or) => 1,
            Infix::Logic(Logic::And) => 2,
            Infix::Binary(operator) => 2 + operator.precedence(),
        }
    }
}

/// What was read of an expression so far.
#[derive(Default)]
pub(super) struct Chain {
    /// Conditions with their value if true; what is still to come is the value otherwise.
    choices: Vec<(Expr, Expr)>,
    /// A condition and its `?`, until the `:` comes.
    condition: Option<(Expr, Span)>,
    operands: Vec<Expr>,
    operators: Vec<(Infix, Span)>,
    /// The prefixes of the operand that comes next.
    prefixes: Vec<(Unary, Span)>,
}

impl Chain {
    pub(super) fn prefix(&mut self, operator: Unary, at: Span) -> Parsed<()> {
        if self.prefixes.last().is_some_and(|(last, _)| *last != operator) {
            return Err(SyntaxError::new(at, "`!` and `-` before one value need parentheses")
                .help("write `!(-x)` or `-(!x)`"));
        }
        self.prefixes.push((operator, at));
        Ok(())
    }

    /// Whether anything was read.
    pub(super) fn has_begun(&self) -> bool {
        let Chain { choices, condition, operands, operators: _, prefixes } = self;
        !(choices.is_empty() && condition.is_none() && operands.is_empty() && prefixes.is_empty())
    }

    /// The `-` right before a number, which then belongs to the number.
    pub(super) fn take_sign(&mut self) -> Option<Span> {
        self.prefixes.pop_if(|(operator, _)| *operator == Unary::Negate).map(|(_, at)| at)
    }

    /// Adds the operand that the prefixes are for.
    pub(super) fn operand(&mut self, mut operand: Expr) -> Parsed<()> {
        while let Some((operator, at)) = self.prefixes.pop() {
            let (span, depth) = (at.to(operand.span), operand.depth);
            operand = node(span, depth, Kind::Unary { operator, at, operand: Box::new(operand) })?;
        }
        self.operands.push(operand);
        Ok(())
    }

    pub(super) fn operator(&mut self, operator: Infix, at: Span) -> Parsed<()> {
        while self.operators.last().is_some_and(|(top, _)| top.precedence() >= operator.precedence()) {
            self.reduce()?;
        }
        self.operators.push((operator, at));
        Ok(())
    }

    /// Joins the last two operands by the last operator.
    fn reduce(&mut self) -> Parsed<()> {
        if let (Some((operator, at)), Some(right), Some(left)) =
            (self.operators.pop(), self.operands.pop(), self.operands.pop())
        {
            self.operands.push(join(operator, at, left, right)?);
        }
        Ok(())
    }

    /// All operands joined.
    fn joined(&mut self, at: Span) -> Parsed {
        while !self.operators.is_empty() {
            self.reduce()?;
        }
        self.operands.pop().ok_or_else(|| SyntaxError::new(at, "expected a value"))
    }

    /// What was read so far is a condition.
    pub(super) fn question(&mut self, at: Span) -> Parsed<()> {
        if self.condition.is_some() {
            return Err(SyntaxError::new(at, "a choice between `?` and `:` needs parentheses")
                .help("write `a ? (b ? c : d) : e`"));
        }
        self.condition = Some((self.joined(at)?, at));
        Ok(())
    }

    /// Whether a `:` is to come, and where its `?` is.
    pub(super) fn open_question(&self) -> Option<Span> {
        self.condition.as_ref().map(|(_, at)| *at)
    }

    /// What was read since the `?` is the value if the condition is true.
    pub(super) fn colon(&mut self, at: Span) -> Parsed<()> {
        let yes = self.joined(at)?;
        if let Some((condition, _)) = self.condition.take() {
            self.choices.push((condition, yes));
        }
        Ok(())
    }

    /// The whole expression.
    pub(super) fn finish(&mut self, at: Span) -> Parsed {
        let mut no = self.joined(at)?;
        while let Some((condition, yes)) = self.choices.pop() {
            let depth = condition.depth.max(yes.depth).max(no.depth);
            let span = condition.span.to(no.span);
            no = node(span, depth, Kind::Conditional(Box::new([condition, yes, no])))?;
        }
        Ok(no)
    }
}

fn join(operator: Infix, at: Span, left: Expr, right: Expr) -> Parsed {
    let (span, depth) = (left.span.to(right.span), left.depth.max(right.depth));
    match (operator, left) {
        (Infix::Binary(operator), left) => {
            node(span, depth, Kind::Binary { operator, at, operands: Box::new([left, right]) })
        }
        (
            Infix::Logic(operator),
            Expr { kind: Kind::Logic { operator: chained, mut operands }, depth, .. },
        ) if operator == chained => {
            let deepest_part = (depth - 1).max(right.depth);
            operands.push(right);
            node(span, deepest_part, Kind::Logic { operator, operands })
        }
        (Infix::Logic(operator), left) => {
            node(span, depth, Kind::Logic { operator, operands: vec![left, right] })
        }
    }
}
