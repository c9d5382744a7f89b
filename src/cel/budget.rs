//! What an evaluation may cost: [`Budget`].
//!
//! One unit is one step of the evaluator, about ten nanoseconds: a node, an iteration, ten bytes or items that are
//! traversed. Created data is counted in bytes too. Functions charge before they allocate, and nothing absorbs the
//! error of a spent budget, so that no input makes an evaluation longer or larger than this by more than one step.

use super::error::{Error, ErrorKind};

/// Units and bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Steps; see [`Budget`].
    pub cost: u64,
    /// Bytes of created data.
    pub bytes: u64,
}

/// What one expression may spend: Kubernetes' own limit for a call, and data enough for the hostfile of 100,000 pods.
pub const PER_EXPRESSION: Limits = Limits { cost: 1_000_000, bytes: 16 << 20 };

/// What all expressions for one object may spend together.
pub const PER_OBJECT: Limits = Limits { cost: 10_000_000, bytes: 64 << 20 };

/// Bytes that one item of a list takes.
const ITEM_BYTES: u64 = size_of::<super::Val>() as u64;

/// What is left to spend: for the expression that is being evaluated, and for all that are still to come. A step of a
/// variable that is computed on the way counts for that variable's expression and for all.
#[derive(Clone, Debug)]
pub struct Budget {
    per_expression: Limits,
    /// What all expressions may still spend, without what the present one was allowed.
    reserve: Limits,
    /// What is left of that.
    left: Limits,
}

impl Default for Budget {
    /// [`PER_EXPRESSION`] and [`PER_OBJECT`].
    fn default() -> Self {
        Budget::new(PER_EXPRESSION, PER_OBJECT)
    }
}

impl Budget {
    /// A budget of `all`, of which each expression may spend `per_expression`.
    pub fn new(per_expression: Limits, all: Limits) -> Self {
        Budget { per_expression, reserve: all, left: Limits { cost: 0, bytes: 0 } }
    }

    /// What is left for all expressions still to come.
    pub fn left(&self) -> Limits {
        let Budget { per_expression: _, reserve, left } = self;
        Limits {
            cost: reserve.cost.saturating_add(left.cost),
            bytes: reserve.bytes.saturating_add(left.bytes),
        }
    }

    /// Runs `evaluate` with the allowance of a fresh expression, then goes on with what is left of the present one.
    pub(super) fn expression<T>(&mut self, evaluate: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.left;
        self.allow(self.per_expression);
        let result = evaluate(self);
        self.allow(outer);
        result
    }

    /// Allows the present expression `wanted`, or what is there.
    fn allow(&mut self, wanted: Limits) {
        let all = self.left();
        self.left = Limits { cost: wanted.cost.min(all.cost), bytes: wanted.bytes.min(all.bytes) };
        self.reserve = Limits { cost: all.cost - self.left.cost, bytes: all.bytes - self.left.bytes };
    }

    /// Pays for `cost` steps, or takes what is left and fails.
    #[inline]
    pub(super) fn charge(&mut self, cost: u64) -> Result<(), Error> {
        match self.left.cost.checked_sub(cost) {
            Some(left) => {
                self.left.cost = left;
                Ok(())
            }
            None => Err(self.spent()),
        }
    }

    /// Gives back what has just been charged.
    pub(super) fn refund(&mut self, cost: u64) {
        self.left.cost += cost;
    }

    /// Pays for going over `length` bytes or items.
    #[inline]
    pub(super) fn traverse(&mut self, length: usize) -> Result<(), Error> {
        self.charge(length as u64 / 10)
    }

    /// Pays for creating `bytes` of data, before they are created.
    pub(super) fn create(&mut self, bytes: usize) -> Result<(), Error> {
        self.traverse(bytes)?;
        self.allocate(bytes as u64)
    }

    /// Pays for creating a list or map of `items`, before it is created.
    pub(super) fn create_items(&mut self, items: usize) -> Result<(), Error> {
        self.charge(items as u64)?;
        self.allocate((items as u64).saturating_mul(ITEM_BYTES))
    }

    fn allocate(&mut self, bytes: u64) -> Result<(), Error> {
        match self.left.bytes.checked_sub(bytes) {
            Some(left) => {
                self.left.bytes = left;
                Ok(())
            }
            None => Err(self.too_much_data()),
        }
    }

    #[cold]
    fn spent(&mut self) -> Error {
        self.left.cost = 0;
        let message = if self.reserve.cost > 0 {
            format!("this expression takes more than {} steps", self.per_expression.cost)
        } else {
            "the expressions for this object take more steps than all together may".to_owned()
        };
        Error::new(ErrorKind::Budget, message)
    }

    #[cold]
    fn too_much_data(&mut self) -> Error {
        self.left.bytes = 0;
        let message = if self.reserve.bytes > 0 {
            format!("this expression makes more than {} bytes of data", self.per_expression.bytes)
        } else {
            "the expressions for this object make more data than all together may".to_owned()
        };
        Error::new(ErrorKind::Budget, message)
    }
}
