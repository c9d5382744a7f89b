//! Variables: declared in any order, checked in the order in which they need each other.

use super::{Checked, Checker, Reported, expression::Loops};
use crate::{
    cel,
    diagnostic::{Diagnostic, codes},
    policy::{
        compiled::Variable,
        document,
        scope::{self, Place},
    },
};

impl Checker<'_> {
    /// The variables, in the document's order. A cycle is reported once, at its first variable.
    pub(super) fn check_variables(&mut self) -> Vec<Variable> {
        let needs: Vec<Vec<usize>> =
            self.document.variables.iter().map(|variable| self.needs(variable)).collect();
        let order = match order(&needs) {
            Ok(order) => order,
            Err(cycle) => {
                self.cycle(&cycle);
                return Vec::new();
            }
        };
        let mut variables: Vec<Option<Variable>> = self.document.variables.iter().map(|_| None).collect();
        for index in order {
            let compiled = self.variable(index).ok();
            if let Some(place) = variables.get_mut(index) {
                *place = compiled;
            }
        }
        // One that is wrong is reported, and no policy is made of the rest.
        variables.into_iter().flatten().collect()
    }

    fn variable(&mut self, index: usize) -> Checked<Variable> {
        let variable = self.document.variables.get(index).ok_or(Reported)?;
        let text = std::sync::Arc::new(variable.expression.clone());
        let range = 0..text.as_str().len();
        let (expr, bounds) = self.compile(&text, range, Place::Variable, &Loops::none())?;
        if let Some(known) = self.variables.get_mut(index) {
            *known = (expr.program.ty().clone(), bounds);
        }
        let read = expr.program.variables();
        let reads_draft = read.iter().any(|slot| scope::is_draft(*slot) || self.drafty.contains(slot));
        if reads_draft {
            self.drafty.insert(scope::NAMES.len() + index);
        }
        Ok(Variable { name: variable.name.as_str().to_owned(), expr, reads_draft })
    }

    /// The variables that a variable names.
    fn needs(&self, variable: &document::Variable) -> Vec<usize> {
        let names = cel::names(variable.expression.as_str());
        let position =
            |name: &str| self.document.variables.iter().position(|other| other.name.as_str() == name);
        names
            .iter()
            .filter_map(|name| position(name.strip_prefix("variables.")?.split('.').next()?))
            .collect()
    }

    fn cycle(&mut self, cycle: &[usize]) {
        let document = self.document;
        let names: Vec<&document::Variable> =
            cycle.iter().filter_map(|index| document.variables.get(*index)).collect();
        let Some(first) = names.first() else { return };
        let path: Vec<&str> = names.iter().chain([first]).map(|it| it.name.as_str()).collect();
        let message =
            format!("the variable `{}` depends on itself: {}", first.name.as_str(), path.join(" → "));
        let mut diagnostic = Diagnostic::error(codes::CYCLE, first.expression.span().clone(), message);
        for (variable, next) in names.iter().zip(path.iter().skip(1)).skip(1) {
            let text = format!("needs `{next}`");
            diagnostic = diagnostic.label(variable.expression.span().clone(), text);
        }
        self.report(diagnostic);
    }
}

/// An order in which each comes after what it needs, or a cycle, beginning with its first in the document.
fn order(needs: &[Vec<usize>]) -> Result<Vec<usize>, Vec<usize>> {
    let mut order = Vec::new();
    let mut path = Vec::new();
    for start in 0..needs.len() {
        visit(start, needs, &mut order, &mut path)?;
    }
    Ok(order)
}

/// The recursion is as deep as the number of variables at most, which is limited.
fn visit(
    at: usize,
    needs: &[Vec<usize>],
    order: &mut Vec<usize>,
    path: &mut Vec<usize>,
) -> Result<(), Vec<usize>> {
    if order.contains(&at) {
        return Ok(());
    }
    if let Some(start) = path.iter().position(|it| *it == at) {
        let mut cycle = path.split_off(start);
        let first = cycle.iter().enumerate().min_by_key(|(_, index)| **index).map_or(0, |(place, _)| place);
        cycle.rotate_left(first);
        return Err(cycle);
    }
    path.push(at);
    for next in needs.get(at).into_iter().flatten() {
        visit(*next, needs, order, path)?;
    }
    path.pop();
    order.push(at);
    Ok(())
}
