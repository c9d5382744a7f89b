//! Which ways an expression goes at its branches: [`Program::observe`].
//!
//! An observed program has a step more at each branch, which notes what it sees and costs nothing of a budget. One that
//! is not observed has none. Whoever asks which ways were never taken keeps the [`Branch`]es.

use super::{
    program::{Node, Op, Program},
    types::Type,
    value::{List, Map, Val},
};
use std::{
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
};

/// What an expression is for, which decides whether its value is a branch itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Its value is used.
    Value,
    /// It decides.
    Condition,
    /// Its items are gone through.
    Items,
}

/// The two ways of a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ways {
    /// True or false.
    Truth,
    /// An optional that is present or absent.
    Presence,
    /// A list or map that has items or is empty.
    Items,
}

impl Ways {
    /// What a value is on each way: `["false", "true"]`.
    pub fn names(self) -> [&'static str; 2] {
        match self {
            Ways::Truth => ["false", "true"],
            Ways::Presence => ["absent", "present"],
            Ways::Items => ["empty", "with items"],
        }
    }
}

/// A place in an expression from which there are two ways on.
#[derive(Clone, Debug)]
pub struct Branch {
    /// The bytes of what decides.
    pub span: Range<usize>,
    /// The two ways.
    pub ways: Ways,
    seen: Arc<Seen>,
}

impl Branch {
    /// Whether each way was taken since the program is observed, in the order of [`Ways::names`].
    pub fn taken(&self) -> [bool; 2] {
        let seen = self.seen.0.load(Ordering::Relaxed);
        [seen & 1 != 0, seen & 2 != 0]
    }
}

/// What was seen at a branch: a bit for each way.
#[derive(Debug, Default)]
pub(super) struct Seen(AtomicU8);

impl Seen {
    pub(super) fn note(&self, value: &Val) {
        let way = match value {
            Val::Bool(value) => *value,
            Val::Optional(value) => value.is_some(),
            Val::List(list) => List::len(list) > 0,
            Val::Map(map) => Map::len(map) > 0,
            _ => return,
        };
        self.0.fetch_or(1 << u8::from(way), Ordering::Relaxed);
    }
}

impl Program {
    /// Has the program note from now on which ways it goes. What is constant is no branch.
    #[must_use]
    pub fn observe(&mut self, purpose: Purpose) -> Vec<Branch> {
        let mut observer = Observer::default();
        match purpose {
            Purpose::Condition => observer.condition(&mut self.root),
            Purpose::Items => observer.items(&mut self.root),
            Purpose::Value if matches!(self.ty, Type::Optional(_)) => {
                observer.branch(&mut self.root, Ways::Presence);
            }
            Purpose::Value => observer.value(&mut self.root),
        }
        observer.branches.sort_by_key(|branch| branch.span.start);
        observer.branches
    }
}

#[derive(Default)]
struct Observer {
    branches: Vec<Branch>,
}

impl Observer {
    /// What decides: each operand of `&&`, `||` and `!` by itself.
    fn condition(&mut self, node: &mut Node) {
        match &mut node.op {
            Op::And(operands) | Op::Or(operands) => operands.iter_mut().for_each(|it| self.condition(it)),
            Op::Not(operand) => self.condition(operand),
            Op::Conditional(parts) => parts.iter_mut().for_each(|it| self.condition(it)),
            _ => self.branch(node, Ways::Truth),
        }
    }

    /// What is gone through: a list that is written out is no branch, unless all in it may be absent.
    fn items(&mut self, node: &mut Node) {
        match &node.op {
            Op::List(elements) if elements.iter().any(|element| !element.optional) => self.value(node),
            _ => self.branch(node, Ways::Items),
        }
    }

    /// What is used: the branches within.
    fn value(&mut self, node: &mut Node) {
        match &mut node.op {
            Op::And(operands) | Op::Or(operands) => operands.iter_mut().for_each(|it| self.condition(it)),
            Op::Conditional(parts) => {
                let [condition, yes, no] = &mut **parts;
                self.condition(condition);
                self.value(yes);
                self.value(no);
            }
            Op::OptionalOr(operands) | Op::OrValue(operands) => {
                let [optional, otherwise] = &mut **operands;
                self.branch(optional, Ways::Presence);
                self.value(otherwise);
            }
            op => parts(op).into_iter().for_each(|part| self.value(part)),
        }
    }

    fn branch(&mut self, node: &mut Node, ways: Ways) {
        if matches!(node.op, Op::Const(_) | Op::Observed(..)) {
            return;
        }
        self.value(node);
        let (span, at, seen) = (node.span, node.at, Arc::new(Seen::default()));
        let op = std::mem::replace(&mut node.op, Op::Const(Val::Null));
        node.op = Op::Observed(Box::new(Node { span, at, op }), Arc::clone(&seen));
        self.branches.push(Branch { span: span.range(), ways, seen });
    }
}

/// The steps that a step is made of.
fn parts(op: &mut Op) -> Vec<&mut Node> {
    match op {
        Op::Const(_) | Op::Variable(_) | Op::Local(_) | Op::Fail(_) | Op::Observed(..) => Vec::new(),
        Op::Select { operand, .. }
        | Op::OptionalSelect { operand, .. }
        | Op::Has { operand, .. }
        | Op::Not(operand)
        | Op::Negate(operand)
        | Op::HasValue(operand)
        | Op::Conform(_, operand) => vec![operand],
        Op::Index(operands)
        | Op::OptionalIndex(operands)
        | Op::Arithmetic(_, operands)
        | Op::Equal { operands, .. }
        | Op::Order(_, operands)
        | Op::In(operands)
        | Op::OptionalOr(operands)
        | Op::OrValue(operands) => operands.iter_mut().collect(),
        Op::And(operands) | Op::Or(operands) => operands.iter_mut().collect(),
        Op::Conditional(parts) => parts.iter_mut().collect(),
        Op::List(elements) => elements.iter_mut().map(|element| &mut element.value).collect(),
        Op::Map(entries) => entries.iter_mut().flat_map(|entry| [&mut entry.key, &mut entry.value]).collect(),
        Op::Call(call) => call.args.iter_mut().collect(),
        Op::Bind(bind) | Op::OptionalMap { bind, .. } => vec![&mut bind.init, &mut bind.body],
        Op::Fold(fold) => {
            let filter = fold.filter.as_mut();
            [&mut fold.range].into_iter().chain(filter).chain([&mut fold.body]).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cel::{Bindings, Bounds, Budget, Env, Error};

    struct Input(i64);

    impl<'a> Bindings<'a> for Input {
        fn get(&self, _: usize, _: &mut Budget) -> Result<Val<'a>, Error> {
            Ok(Val::Int(self.0))
        }
    }

    /// Evaluates `source` for each `x` and lists the ways that were never taken. An observed program must make the same
    /// of the same budget.
    fn check(purpose: Purpose, source: &str, xs: &[i64], want: &[&str]) {
        let mut env = Env::new();
        env.declare("x", &Type::Int, Bounds::default());
        let plain = env.compile(source).program.unwrap();
        let mut program = env.compile(source).program.unwrap();
        let branches = program.observe(purpose);
        for &x in xs {
            let (mut before, mut after) = (Budget::default(), Budget::default());
            let outcome = |value: Result<Val, Error>| format!("{value:?}");
            assert_eq!(
                outcome(plain.eval(&Input(x), &mut before)),
                outcome(program.eval(&Input(x), &mut after))
            );
            assert_eq!(before.left(), after.left(), "{source}");
        }
        let never = branches.iter().flat_map(|branch| {
            let names = branch.ways.names().into_iter().zip(branch.taken());
            let never = names.filter(|(_, taken)| !taken);
            never.map(|(name, _)| format!("{}: {name}", &source[branch.span.clone()]))
        });
        assert_eq!(never.collect::<Vec<_>>(), want, "{source}");
    }

    #[test]
    fn each_operand_of_a_condition_is_a_branch() {
        let source = "x > 1 && (x > 2 || !(x > 3))";
        check(Purpose::Condition, source, &[3, 1], &["x > 2: false", "x > 3: false", "x > 3: true"]);
        check(Purpose::Condition, source, &[1, 2, 3], &["x > 3: true"]);
        check(Purpose::Condition, "x > 1", &[2], &["x > 1: false"]);
        check(Purpose::Condition, "x > 1 ? x > 2 : x > 3", &[3, 1], &["x > 2: false", "x > 3: true"]);
    }

    #[test]
    fn a_value_is_no_branch_but_what_is_chosen_within_is() {
        check(Purpose::Value, "x > 1", &[], &[]);
        check(
            Purpose::Value,
            "x > 1 ? 1 : x > 2 ? 2 : 3",
            &[5],
            &["x > 1: false", "x > 2: false", "x > 2: true"],
        );
        check(Purpose::Value, "[x].filter(y, y > 1 && y > 2)", &[2], &["y > 1: false", "y > 2: true"]);
        let present = "[x][?0].orValue(3) + [x][?1].orValue(4)";
        check(Purpose::Value, present, &[5], &["[x][?0]: absent", "[x][?1]: present"]);
    }

    #[test]
    fn an_optional_that_fills_a_hole_and_a_list_that_is_gone_through_are_branches() {
        check(Purpose::Value, "[x][?1]", &[1], &["[x][?1]: present"]);
        check(Purpose::Items, "[x].filter(y, y > 1)", &[2], &["[x].filter(y, y > 1): empty"]);
        check(Purpose::Items, "[x > 1 ? 1 : 2]", &[2], &["x > 1: false"]);
        check(Purpose::Items, "[?[x][?1]]", &[2], &["[?[x][?1]]: with items"]);
    }

    #[test]
    fn a_failure_is_the_same_and_takes_no_way() {
        let source = "1 / x > 0";
        check(Purpose::Condition, source, &[0], &["1 / x > 0: false", "1 / x > 0: true"]);
    }
}
