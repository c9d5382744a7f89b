//! Operators: their overloads, and what they become.

use super::{Amount, Checked, Checker, Known, Node, Op, Shape};
use crate::{
    cel::{
        program::{Arithmetic, Order},
        syntax::{Binary, Expr, Logic, Span, Unary},
        types::Type,
    },
    diagnostic::codes,
};

/// An operator, for the documentation and the check.
#[derive(Debug)]
pub struct Operator {
    /// As it is written.
    pub symbol: &'static str,
    /// The operands it takes, with what it gives.
    pub signatures: &'static [&'static str],
    /// What it gives, in one sentence.
    pub doc: &'static str,
}

/// The operators with overloads; `!`, `&&`, `||`, `? :` and access to fields and items have none.
pub fn operators() -> &'static [Operator] {
    OPERATORS
}

const OPERATORS: &[Operator] = &[
    Operator {
        symbol: "+",
        signatures: &[
            "int, int -> int",
            "uint, uint -> uint",
            "double, double -> double",
            "string, string -> string",
            "bytes, bytes -> bytes",
            "list(T), list(T) -> list(T)",
            "timestamp, duration -> timestamp",
            "duration, timestamp -> timestamp",
            "duration, duration -> duration",
        ],
        doc: "the sum, or both one after the other; an error when a number does not fit its type",
    },
    Operator {
        symbol: "-",
        signatures: &[
            "int, int -> int",
            "uint, uint -> uint",
            "double, double -> double",
            "timestamp, timestamp -> duration",
            "timestamp, duration -> timestamp",
            "duration, duration -> duration",
        ],
        doc: "the difference; an error when a number does not fit its type",
    },
    Operator {
        symbol: "*",
        signatures: &["int, int -> int", "uint, uint -> uint", "double, double -> double"],
        doc: "the product; an error when a number does not fit its type",
    },
    Operator {
        symbol: "/",
        signatures: &["int, int -> int", "uint, uint -> uint", "double, double -> double"],
        doc: "the quotient, cut off towards zero for integers; an error for a division of integers by zero",
    },
    Operator {
        symbol: "%",
        signatures: &["int, int -> int", "uint, uint -> uint"],
        doc: "the remainder, with the sign of the left operand; an error for a division by zero",
    },
    Operator { symbol: "==", signatures: &["T, T -> bool"], doc: "whether both are equal, part by part" },
    Operator { symbol: "!=", signatures: &["T, T -> bool"], doc: "whether both differ" },
    Operator { symbol: "<", signatures: ORDERED, doc: "whether the left comes before the right" },
    Operator { symbol: "<=", signatures: ORDERED, doc: "whether the left does not come after the right" },
    Operator { symbol: ">", signatures: ORDERED, doc: "whether the left comes after the right" },
    Operator { symbol: ">=", signatures: ORDERED, doc: "whether the left does not come before the right" },
    Operator {
        symbol: "in",
        signatures: &["T, list(T) -> bool", "T, map(T, U) -> bool"],
        doc: "whether the left is an item of the list or a key of the map",
    },
];

const ORDERED: &[&str] = &[
    "bool, bool -> bool",
    "int, int -> bool",
    "int, uint -> bool",
    "int, double -> bool",
    "uint, uint -> bool",
    "uint, int -> bool",
    "uint, double -> bool",
    "double, double -> bool",
    "double, int -> bool",
    "double, uint -> bool",
    "string, string -> bool",
    "bytes, bytes -> bool",
    "timestamp, timestamp -> bool",
    "duration, duration -> bool",
];

impl Checker<'_> {
    pub(super) fn unary(&mut self, operator: Unary, at: Span, operand: &Expr) -> Checked {
        let operand = self.check(operand);
        self.prefixed(operator, at, operand)
    }

    fn prefixed(&mut self, operator: Unary, at: Span, operand: Checked) -> Checked {
        let operand_span = operand.node.span;
        let ty = match operator {
            Unary::Not => {
                self.expect(&operand.ty, &Type::Bool, operand_span, "the operand of `!`");
                Type::Bool
            }
            Unary::Negate => self.negated(&operand.ty, operand_span),
        };
        let steps = operand.steps + Amount::ONE;
        let node = Box::new(operand.node);
        let op = match operator {
            Unary::Not => Op::Not(node),
            Unary::Negate => Op::Negate(node),
        };
        Known::new(ty, Node::new(at.to(operand_span), op), Shape::SCALAR, steps)
    }

    fn negated(&mut self, ty: &Type, span: Span) -> Type {
        match self.types.resolve(ty) {
            ty @ (Type::Int | Type::Double | Type::Dyn) => ty,
            other => {
                let message = format!("the operand of `-` must be int or double, this is {other}");
                self.error(codes::TYPE_MISMATCH, span, message, None);
                Type::Dyn
            }
        }
    }

    pub(super) fn binary(&mut self, operator: Binary, at: Span, operands: &[Expr; 2]) -> Checked {
        let [left, right] = operands;
        let (left, right) = (self.check(left), self.check(right));
        self.joined(operator, at, left, right)
    }

    fn joined(&mut self, operator: Binary, at: Span, left: Checked, right: Checked) -> Checked {
        let span = left.node.span.to(right.node.span);
        let types = [left.ty.clone(), right.ty.clone()];
        let ty = self.operator_type(operator, at, &types);
        let (shape, work) = self.operator_cost(operator, &left, &right, &ty);
        let steps = left.steps + right.steps + work + Amount::ONE;
        let operands = Box::new([left.node, right.node]);
        let op = match operator {
            Binary::Add => Op::Arithmetic(Arithmetic::Add, operands),
            Binary::Subtract => Op::Arithmetic(Arithmetic::Subtract, operands),
            Binary::Multiply => Op::Arithmetic(Arithmetic::Multiply, operands),
            Binary::Divide => Op::Arithmetic(Arithmetic::Divide, operands),
            Binary::Modulo => Op::Arithmetic(Arithmetic::Modulo, operands),
            Binary::Equal => Op::Equal { operands, negated: false },
            Binary::NotEqual => Op::Equal { operands, negated: true },
            Binary::Less => Op::Order(Order::Less, operands),
            Binary::LessOrEqual => Op::Order(Order::LessOrEqual, operands),
            Binary::Greater => Op::Order(Order::Greater, operands),
            Binary::GreaterOrEqual => Op::Order(Order::GreaterOrEqual, operands),
            Binary::In => Op::In(operands),
        };
        Known::new(ty, Node { span, at, op }, shape, steps)
    }

    /// What the operator gives for operands of these types.
    fn operator_type(&mut self, operator: Binary, at: Span, types: &[Type; 2]) -> Type {
        let symbol = operator.symbol();
        let signatures =
            OPERATORS.iter().find(|known| known.symbol == symbol).map_or(&[][..], |known| known.signatures);
        let candidates = signatures.iter().filter_map(|text| super::calls::signature(symbol, text));
        let candidates: Vec<_> = candidates.map(|signature| (signature, ())).collect();
        if let Some((ty, _)) = self.choose(candidates, types) {
            return ty;
        }
        let [left, right] = [self.shown(&types[0]), self.shown(&types[1])];
        let mut message = format!("`{symbol}` does not take {left} and {right}");
        if matches!(operator, Binary::Equal | Binary::NotEqual) {
            message = format!("{left} and {right} cannot be equal");
        }
        let help = operator_help(operator, &left, &right);
        self.error(codes::NO_OVERLOAD, at, message, help);
        match operator {
            Binary::Add | Binary::Subtract | Binary::Multiply | Binary::Divide | Binary::Modulo => Type::Dyn,
            _ => Type::Bool,
        }
    }

    fn operator_cost(&self, operator: Binary, left: &Known, right: &Known, ty: &Type) -> (Shape, Amount) {
        let (left_type, right_type) = (self.types.resolve(&left.ty), self.types.resolve(&right.ty));
        match operator {
            Binary::Add => {
                let shape = match self.types.resolve(ty) {
                    Type::String | Type::Bytes | Type::List(_) | Type::Dyn => left.shape.and(&right.shape),
                    _ => Shape::SCALAR,
                };
                let created = if matches!(ty, Type::List(_)) { shape.size } else { shape.size.tenth() };
                (shape, created)
            }
            Binary::In => {
                let item = match &right_type {
                    Type::List(item) => right.shape.item(item).walk(item),
                    Type::Map(..) => return (Shape::SCALAR, Amount::ONE),
                    _ => Amount::ONE,
                };
                (Shape::SCALAR, right.shape.size * (Amount::ONE + item.min(left.shape.walk(&left_type))))
            }
            Binary::Subtract | Binary::Multiply | Binary::Divide | Binary::Modulo => {
                (Shape::SCALAR, Amount::ONE)
            }
            _ => (Shape::SCALAR, left.shape.walk(&left_type).min(right.shape.walk(&right_type))),
        }
    }

    /// A chain of `&&` or `||`. What an operand being decided makes certain is known to those after it.
    pub(super) fn logic(&mut self, operator: Logic, span: Span, operands: &[Expr]) -> Checked {
        let mut checked = Vec::with_capacity(operands.len());
        let before = self.known_present();
        for operand in operands {
            checked.push(self.check(operand));
            self.learn(operand, operator == Logic::And);
        }
        self.forget(before);
        self.chained(operator, span, checked)
    }

    fn chained(&mut self, operator: Logic, span: Span, operands: Vec<Checked>) -> Checked {
        let (mut steps, mut nodes) = (Amount::ONE, Vec::with_capacity(operands.len()));
        for operand in operands {
            let place = format!("an operand of `{}`", operator.symbol());
            self.expect(&operand.ty, &Type::Bool, operand.node.span, &place);
            steps = steps + operand.steps;
            nodes.push(operand.node);
        }
        let op = match operator {
            Logic::And => Op::And(nodes.into()),
            Logic::Or => Op::Or(nodes.into()),
        };
        Known::new(Type::Bool, Node::new(span, op), Shape::SCALAR, steps)
    }

    pub(super) fn conditional(&mut self, span: Span, parts: &[Expr; 3]) -> Checked {
        let [condition, yes, no] = parts;
        let checked = self.check(condition);
        let yes = self.knowing(condition, true, yes);
        let no = self.knowing(condition, false, no);
        self.chosen(span, checked, yes, no)
    }

    fn chosen(&mut self, span: Span, condition: Checked, yes: Checked, no: Checked) -> Checked {
        self.expect(&condition.ty, &Type::Bool, condition.node.span, "the condition");
        let ty = self.types.join(&yes.ty, &no.ty).unwrap_or_else(|| {
            let (yes, found) = (self.shown(&yes.ty), self.shown(&no.ty));
            let message = format!("both results must be of one type: {yes} before the `:`, this is {found}");
            let help = Some("wrap both in dyn(…) to mix types".into());
            self.error(codes::TYPE_MISMATCH, no.node.span, message, help);
            Type::Dyn
        });
        let steps = condition.steps + yes.steps.max(no.steps) + Amount::ONE;
        let shape = yes.shape.or(&no.shape);
        let op = Op::Conditional(Box::new([condition.node, yes.node, no.node]));
        Known::new(ty, Node::new(span, op), shape, steps)
    }
}

/// What most likely was meant.
fn operator_help(operator: Binary, left: &Type, right: &Type) -> Option<String> {
    match (operator, left, right) {
        (Binary::Add, Type::String, other) | (Binary::Add, other, Type::String)
            if !matches!(other, Type::List(_)) =>
        {
            Some("text is joined with text: string(…) converts a number".into())
        }
        (_, Type::Quantity, _) | (_, _, Type::Quantity) => {
            Some("quantities have methods: a.add(b), a.sub(b), a.isLessThan(b), a.compareTo(b)".into())
        }
        (_, Type::Optional(_), _) | (_, _, Type::Optional(_)) => {
            Some("an optional has its value in it: .orValue(…) gives it with a default".into())
        }
        (_, Type::Null, _) | (_, _, Type::Null) => {
            Some("a field that may be missing is tested with has(…)".into())
        }
        (_, left, right) if is_number(left) && is_number(right) => {
            Some(format!("convert one of them, with {left}(…) or {right}(…)"))
        }
        _ => None,
    }
}

fn is_number(ty: &Type) -> bool {
    matches!(ty, Type::Int | Type::UInt | Type::Double)
}
