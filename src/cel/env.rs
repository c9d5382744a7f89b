//! Where expressions are compiled: [`Env`].

use super::{
    check,
    functions::Library,
    program::Program,
    syntax,
    types::{Bounds, Type},
};
use crate::diagnostic::{Code, Severity, codes};
use std::{collections::BTreeSet, ops::Range};

/// What an expression may use: declared variables and the libraries of functions. Built once, then shared.
#[derive(Clone, Debug, Default)]
pub struct Env {
    pub(super) variables: Vec<Variable>,
    without: BTreeSet<Library>,
    pub(super) mixed_literals: bool,
    pub(super) unchecked: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) ty: Type,
    pub(super) bounds: Bounds,
}

/// What became of a source.
#[derive(Debug)]
pub struct Compiled {
    /// The program, if there is no error among the issues.
    pub program: Option<Program>,
    /// The static type of the expression; [`Type::Dyn`] if it could not be told.
    pub ty: Type,
    /// How large its value can get, as far as that follows from declared sizes.
    pub bounds: Bounds,
    /// All that is wrong, in source order.
    pub issues: Vec<Issue>,
}

/// Something wrong with an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    /// The bytes of the very token or operand.
    pub span: Range<usize>,
    /// What kind of problem it is.
    pub code: Code,
    /// An error refuses the expression.
    pub severity: Severity,
    /// One sentence, lower case, no full stop, with names in backticks.
    pub message: String,
    /// What would be right.
    pub help: Option<String>,
}

impl Env {
    /// No variables, all libraries, literals of one type as in Kubernetes.
    pub fn new() -> Env {
        Env::default()
    }

    /// Declares a variable and returns its slot. A name may have dots: `variables.nodes` is a variable of its own and
    /// goes before a field `nodes` of `variables`. A later declaration of the same name hides the earlier one.
    pub fn declare(&mut self, name: impl Into<String>, ty: &Type, bounds: Bounds) -> usize {
        self.variables.push(Variable { name: name.into(), ty: ty.bounded(), bounds });
        self.variables.len() - 1
    }

    /// The slot of the variable that `name` means.
    pub fn slot(&self, name: &str) -> Option<usize> {
        self.variables.iter().rposition(|variable| variable.name == name)
    }

    /// The name of the variable in `slot`.
    pub fn name(&self, slot: usize) -> Option<&str> {
        self.variables.get(slot).map(|variable| variable.name.as_str())
    }

    /// The same without the functions of `library`.
    #[must_use]
    pub fn without(mut self, library: Library) -> Env {
        self.without.insert(library);
        self
    }

    /// The same with lists and maps that may mix types, as CEL has them by default and Kubernetes has not.
    #[must_use]
    pub fn with_mixed_literals(mut self) -> Env {
        self.mixed_literals = true;
        self
    }

    /// The same without the check: what it would find wrong fails when it is evaluated, which another operand of `||` may
    /// hide. The language definition knows such expressions, Kubernetes does not.
    #[must_use]
    pub fn unchecked(mut self) -> Env {
        self.unchecked = true;
        self
    }

    pub(super) fn has(&self, library: Library) -> bool {
        !self.without.contains(&library)
    }

    /// Checks `source` and makes a program of it. Finds all problems at once, except that a text that is no expression
    /// has one.
    pub fn compile(&self, source: &str) -> Compiled {
        match syntax::parse(source) {
            Ok(expr) => check::check(self, source, &expr),
            Err(error) => {
                let code =
                    if error.too_large { codes::EXPRESSION_TOO_LARGE } else { codes::EXPRESSION_SYNTAX };
                let syntax::SyntaxError { span, message, help, .. } = error;
                let issue = Issue { span: span.range(), code, severity: Severity::Error, message, help };
                Compiled { program: None, ty: Type::Dyn, bounds: Bounds::default(), issues: vec![issue] }
            }
        }
    }
}
