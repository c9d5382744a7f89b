//! A checked expression, ready to be evaluated: [`Program`].

use super::{
    budget::Budget,
    error::Error,
    eval,
    functions::{Declared, Overload, Prepared},
    observe::Seen,
    syntax::Span,
    types::Type,
    value::Val,
};
use std::{fmt, sync::Arc};

/// Where an evaluation gets the values of variables. A variable is asked for when it is reached, each time anew; a
/// computed one should remember its value.
pub trait Bindings<'a> {
    /// The value of the variable in `slot`. What computing it costs is charged to `budget`.
    ///
    /// The error of a variable that is an expression itself keeps its place: the evaluation passes it on as it is,
    /// and [`Error::variable`] says whose it is.
    fn get(&self, slot: usize, budget: &mut Budget) -> Result<Val<'a>, Error>;
}

/// Most steps an evaluation can take, as far as it can be told beforehand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// Steps if everything is as large as declared, and what nobody declared a size of has one item.
    pub declared: u64,
    /// Steps if what nobody declared a size of is as large as [`ASSUMED_ITEMS`](super::ASSUMED_ITEMS) and
    /// [`ASSUMED_BYTES`](super::ASSUMED_BYTES) say.
    pub assumed: u64,
}

/// A checked expression. It can be shared between threads and evaluated any number of times.
pub struct Program {
    pub(super) source: String,
    pub(super) root: Node,
    pub(super) ty: Type,
    /// How many local variables are alive at once.
    pub(super) locals: usize,
    pub(super) variables: Vec<usize>,
    pub(super) overloads: Vec<&'static Overload>,
    pub(super) estimate: Estimate,
}

impl Program {
    /// The text it was compiled from.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The static type of its values.
    pub fn ty(&self) -> &Type {
        &self.ty
    }

    /// The slots of the variables it reads, in order, each once.
    pub fn variables(&self) -> &[usize] {
        &self.variables
    }

    /// The overloads of functions it may call, each once.
    pub fn overloads(&self) -> &[&'static Overload] {
        &self.overloads
    }

    /// The fields that lead from the variable in `slot` to the value, if the expression is `variable.?a.?b` and nothing else.
    pub fn optional_path(&self, slot: usize) -> Option<Vec<&str>> {
        let (mut fields, mut node) = (Vec::new(), &self.root);
        while let Op::OptionalSelect { operand, field } = &node.op {
            fields.push(&**field);
            node = operand;
        }
        fields.reverse();
        matches!(node.op, Op::Variable(found) if found == slot).then_some(fields)
    }

    /// Most steps an evaluation can take.
    pub fn estimate(&self) -> Estimate {
        self.estimate
    }

    /// The value of the expression.
    ///
    /// Fails as [`Error`] says, with the bytes at fault; in any case after no more than what `budget` allows.
    pub fn eval<'a>(&'a self, bindings: &dyn Bindings<'a>, budget: &mut Budget) -> Result<Val<'a>, Error> {
        budget.expression(|budget| eval::evaluate(&self.root, self.locals, bindings, budget))
    }

    /// The same, with an optional replaced by what is in it; nothing if it is absent. It takes less than unwrapping it.
    pub fn eval_present<'a>(
        &'a self,
        bindings: &dyn Bindings<'a>,
        budget: &mut Budget,
    ) -> Result<Option<Val<'a>>, Error> {
        budget.expression(|budget| eval::evaluate_present(&self.root, self.locals, bindings, budget))
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Program({:?}: {})", self.source, self.ty)
    }
}

/// One step of a program.
pub(super) struct Node {
    /// All of its bytes: the ones to blame when its value is not what another step wants.
    pub(super) span: Span,
    /// The bytes to blame when this step itself fails: an operator, the name of a function.
    pub(super) at: Span,
    pub(super) op: Op,
}

impl Node {
    pub(super) fn new(span: Span, op: Op) -> Node {
        Node { span, at: span, op }
    }
}

/// What a step does. Names are resolved: variables and locals are slots, functions are pointers.
pub(super) enum Op {
    Const(Val<'static>),
    Variable(usize),
    Local(usize),
    /// `operand.field`.
    Select {
        operand: Box<Node>,
        field: Box<str>,
    },
    /// `operand.?field`.
    OptionalSelect {
        operand: Box<Node>,
        field: Box<str>,
    },
    /// `has(operand.field)`.
    Has {
        operand: Box<Node>,
        field: Box<str>,
    },
    /// `operands[0][operands[1]]`.
    Index(Box<[Node; 2]>),
    /// `operands[0][?operands[1]]`.
    OptionalIndex(Box<[Node; 2]>),
    Not(Box<Node>),
    Negate(Box<Node>),
    /// Arithmetic.
    Arithmetic(Arithmetic, Box<[Node; 2]>),
    /// `==`, or with `negated` `!=`.
    Equal {
        operands: Box<[Node; 2]>,
        negated: bool,
    },
    Order(Order, Box<[Node; 2]>),
    In(Box<[Node; 2]>),
    And(Box<[Node]>),
    Or(Box<[Node]>),
    /// Condition, value if true, value if false.
    Conditional(Box<[Node; 3]>),
    List(Box<[Element]>),
    Map(Box<[Entry]>),
    Call(Box<Call>),
    /// `optional.hasValue()`.
    HasValue(Box<Node>),
    /// `optional.or(optional)`.
    OptionalOr(Box<[Node; 2]>),
    /// `optional.orValue(value)`.
    OrValue(Box<[Node; 2]>),
    Bind(Box<Bind>),
    /// `optional.optMap(x, value)`, or with `flat` `optional.optFlatMap(x, optional)`.
    OptionalMap {
        bind: Box<Bind>,
        flat: bool,
    },
    Fold(Box<Fold>),
    /// Fails: what the check found wrong, in a program that is not checked.
    Fail(Error),
    /// The operand's value, as the declared scalar type wants it.
    Conform(Scalar, Box<Node>),
    /// The operand's value, which is noted; only in programs that are observed.
    Observed(Box<Node>, Arc<Seen>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// Scalar types that JSON writes as something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scalar {
    Double,
    Timestamp,
    Duration,
    Quantity,
}

/// An element of a list; an `optional` one is left out when it is absent.
pub(super) struct Element {
    pub(super) value: Node,
    pub(super) optional: bool,
}

/// An entry of a map; an `optional` one is left out when its value is absent.
pub(super) struct Entry {
    pub(super) key: Node,
    pub(super) value: Node,
    pub(super) optional: bool,
}

pub(super) struct Call {
    /// As it is written, for messages.
    pub(super) name: &'static str,
    /// The overloads that the static types allow; the types at run time choose among them.
    pub(super) overloads: Vec<&'static Declared>,
    /// The receiver of a method is the first.
    pub(super) args: Box<[Node]>,
    /// What could be made of constant arguments beforehand.
    pub(super) prepared: Option<Prepared>,
}

/// `init` under a name in `body`.
pub(super) struct Bind {
    pub(super) slot: usize,
    pub(super) init: Node,
    pub(super) body: Node,
}

/// A loop over a list or map.
pub(super) struct Fold {
    pub(super) kind: FoldKind,
    pub(super) range: Node,
    /// The slot of the first loop variable; the second, if there are two, has the next.
    pub(super) slot: usize,
    /// Whether there are two: index and item, or key and value.
    pub(super) two: bool,
    /// Only items for which it holds are taken.
    pub(super) filter: Option<Node>,
    pub(super) body: Node,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FoldKind {
    All,
    Exists,
    ExistsOne,
    Filter,
    /// A list of the body's values.
    List,
    /// A map from the first variable to the body's values.
    Map,
    /// A map of the entries of the maps that are the body's values.
    MapEntry,
    /// The items in the order of the body's values.
    SortBy,
}
