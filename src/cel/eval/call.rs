//! Calls of functions from the tables.

use super::{Error, ErrorKind, Evaluator, Result};
use crate::cel::{
    functions::{Arguments, Declared, accepts, size_of},
    program::Call,
    value::Val,
};

impl<'a> Evaluator<'_, 'a> {
    pub(super) fn call(&mut self, call: &'a Call) -> Result<Val<'a>> {
        match &*call.args {
            [] => self.apply(call, &[]),
            [a] => {
                let values = [self.eval(a)?];
                self.apply(call, &values)
            }
            [a, b] => {
                let values = [self.eval(a)?, self.eval(b)?];
                self.apply(call, &values)
            }
            more => {
                let values = more.iter().map(|arg| self.eval(arg)).collect::<Result<Vec<_>>>()?;
                self.apply(call, &values)
            }
        }
    }

    /// Runs the first overload that takes values of these types.
    fn apply(&mut self, call: &'a Call, values: &[Val<'a>]) -> Result<Val<'a>> {
        let Some(declared) = call.overloads.iter().find(|declared| takes(declared, values)) else {
            return Err(no_overload(call.name, values));
        };
        let overload = declared.overload;
        self.budget.charge(overload.cost.work.charge(|index| values.get(index).map_or(0, size_of)))?;
        let mut arguments = Arguments { values, budget: self.budget, prepared: call.prepared.as_ref() };
        (overload.run)(&mut arguments).map_err(|error| blame(call, error, values))
    }
}

/// The same error at the argument it is about.
fn blame(call: &Call, error: Error, values: &[Val]) -> Error {
    if error.kind() == ErrorKind::NoSuchOverload && error.argument().is_none() {
        return no_overload(call.name, values);
    }
    match error.argument().and_then(|index| call.args.get(index)) {
        Some(node) => error.at(node.span),
        None => error,
    }
}

fn takes(declared: &Declared, values: &[Val]) -> bool {
    declared.signature.params.iter().zip(values).all(|(ty, value)| accepts(ty, value))
}

fn no_overload(name: &str, values: &[Val]) -> Error {
    let types: Vec<_> = values.iter().map(Val::kind).collect();
    Error::new(ErrorKind::NoSuchOverload, format!("no such overload: {name}({})", types.join(", ")))
}
