//! From expressions and templates to values, and from failures to diagnostics at the very token.

use super::{
    draft::Draft,
    scope::{Fixed, Scope},
};
use crate::{
    cel::{Budget, Error, Val},
    diagnostic::{Code, Diagnostic, codes},
    policy::{
        compiled::{Expr, Hole, Loop, Piece, Policy, Template},
        scope::NAMES,
    },
};
use serde_json::{Map, Value};
use std::{borrow::Cow, sync::Arc};

/// A plan's failure; boxed, since it is large and rare.
pub(crate) type Failure = Box<Diagnostic>;
pub(crate) type Result<T> = std::result::Result<T, Failure>;

/// Most runs of one `forEach`.
const MAX_RUNS: usize = 1024;

/// The value of an expression.
pub(crate) fn value<'s, 'p: 's>(
    expr: &'s Expr,
    scope: &Scope<'s, 'p>,
    budget: &mut Budget,
) -> Result<Val<'s>> {
    expr.program.eval(scope, budget).map_err(|error| failed(expr, scope.fixed.policy, &error))
}

/// The value of an expression that is true or false.
pub(crate) fn truth<'s, 'p: 's>(expr: &'s Expr, scope: &Scope<'s, 'p>, budget: &mut Budget) -> Result<bool> {
    match value(expr, scope, budget)? {
        Val::Bool(value) => Ok(value),
        other => {
            Err(wrong(expr, &format!("this must be true or false, it is of type {}", other.type_name())))
        }
    }
}

/// Whether a condition holds; one that is not there does.
pub(crate) fn holds<'s, 'p: 's>(
    condition: Option<&'s Expr>,
    scope: &Scope<'s, 'p>,
    budget: &mut Budget,
) -> Result<bool> {
    condition.map_or(Ok(true), |expr| truth(expr, scope, budget))
}

/// The value of an expression, an optional replaced by what is in it.
fn present<'s, 'p: 's>(
    expr: &'s Expr,
    scope: &Scope<'s, 'p>,
    budget: &mut Budget,
) -> Result<Option<Val<'s>>> {
    expr.program.eval_present(scope, budget).map_err(|error| failed(expr, scope.fixed.policy, &error))
}

/// The value of an expression as JSON; nothing for an absent optional.
pub(crate) fn json<'s, 'p: 's>(
    expr: &'s Expr,
    scope: &Scope<'s, 'p>,
    budget: &mut Budget,
) -> Result<Option<Value>> {
    match present(expr, scope, budget)? {
        Some(value) => value.to_json(budget).map_err(|error| wrong_with(expr, error.code(), error.message())),
        None => Ok(None),
    }
}

/// Text with holes.
pub(crate) fn text<'s, 'p: 's>(
    pieces: &'s [Piece],
    scope: &Scope<'s, 'p>,
    budget: &mut Budget,
) -> Result<Cow<'s, str>> {
    if let [Piece::Text(text)] = pieces {
        return Ok(Cow::Borrowed(text));
    }
    let mut out = String::new();
    for piece in pieces {
        match piece {
            Piece::Text(text) => out.push_str(text),
            Piece::Hole(expr) => match value(expr, scope, budget)? {
                Val::String(text) => out.push_str(&text),
                other => out.push_str(&as_text(expr, &other, budget)?),
            },
        }
    }
    Ok(Cow::Owned(out))
}

/// The text of a number, a truth value, a quantity.
fn as_text(expr: &Expr, value: &Val, budget: &mut Budget) -> Result<String> {
    let json = value.to_json(budget).map_err(|error| wrong_with(expr, error.code(), error.message()))?;
    match json {
        Some(Value::String(text)) => Ok(text),
        Some(Value::Bool(value)) => Ok(value.to_string()),
        Some(Value::Number(number)) => Ok(number.to_string()),
        Some(Value::Null | Value::Array(_) | Value::Object(_)) | None => {
            Err(wrong(expr, &format!("text is wanted here, this is of type {}", value.type_name())))
        }
    }
}

/// The tree that a template makes; nothing if all of it is absent.
pub(crate) fn tree<'s, 'p: 's>(
    template: &'s Template,
    scope: &Scope<'s, 'p>,
    budget: &mut Budget,
) -> Result<Option<Value>> {
    Ok(Some(match template {
        Template::Literal(value) => value.clone(),
        Template::Hole(hole) => return self::hole(hole, scope, budget),
        Template::Text(pieces) => Value::String(text(pieces, scope, budget)?.into_owned()),
        Template::List(items) => {
            let mut list = Vec::with_capacity(items.len());
            for item in items {
                list.extend(tree(item, scope, budget)?);
            }
            Value::Array(list)
        }
        Template::Map { when, entries } => {
            if !holds(when.as_deref(), scope, budget)? {
                return Ok(None);
            }
            let mut map = Map::new();
            for (key, value) in entries {
                if let Some(value) = tree(value, scope, budget)? {
                    map.insert(key.clone(), value);
                }
            }
            // A map of which nothing is there is not there itself: no empty `labels` because no label applies.
            if map.is_empty() {
                return Ok(None);
            }
            Value::Object(map)
        }
    }))
}

/// The value that goes into a hole; nothing if it is absent.
pub(crate) fn hole<'s, 'p: 's>(
    hole: &'s Hole,
    scope: &Scope<'s, 'p>,
    budget: &mut Budget,
) -> Result<Option<Value>> {
    let json = json(&hole.expr, scope, budget)?;
    Ok(match json {
        Some(Value::Null) => {
            let diagnostic = wrong(&hole.expr, "the value is null");
            return Err(Box::new(diagnostic.help("an optional that is absent leaves the field out")));
        }
        Some(Value::Bool(value)) if hole.as_text => Some(Value::String(value.to_string())),
        Some(Value::Number(number)) if hole.as_text => Some(Value::String(number.to_string())),
        other => other,
    })
}

/// Loops over what does not change while they run.
#[derive(Clone, Copy)]
pub(crate) struct Steady<'s, 'p> {
    pub(crate) fixed: &'s Fixed<'p>,
    pub(crate) draft: &'s Draft,
}

/// What is done in one run of loops, with the values of their variables, outermost first.
type OnRun<'f> = &'f mut dyn FnMut(&[Val<'_>], &mut Budget) -> Result<()>;

impl Steady<'_, '_> {
    /// Calls `on_run` for each run of `loops`: once for none.
    pub(crate) fn each(&self, loops: &[Loop], budget: &mut Budget, on_run: OnRun<'_>) -> Result<()> {
        self.within(loops, &[], &mut vec![MAX_RUNS; loops.len()], budget, on_run)
    }

    /// The same within the run of outer loops; each loop may run as often as `left` says.
    fn within(
        &self,
        loops: &[Loop],
        outer: &[Val<'_>],
        left: &mut [usize],
        budget: &mut Budget,
        on_run: OnRun<'_>,
    ) -> Result<()> {
        let (Some((each, loops)), Some((left, left_within))) = (loops.split_first(), left.split_first_mut())
        else {
            return on_run(outer, budget);
        };
        let scope = Scope::of(self.fixed).with_draft(self.draft).with_values(outer);
        let Some(Val::List(list)) = present(&each.items, &scope, budget)? else {
            return Err(wrong(&each.items, "this must be a list"));
        };
        let there = |item| match item {
            Val::Optional(item) => item.map(Arc::unwrap_or_clone),
            item => Some(item),
        };
        for (index, item) in list.iter().filter_map(there).enumerate() {
            *left = left.checked_sub(1).ok_or_else(|| too_often(each))?;
            let index = each.index.then(|| Val::Int(i64::try_from(index).unwrap_or(i64::MAX)));
            let run: Vec<Val> = outer.iter().cloned().chain([item]).chain(index).collect();
            self.within(loops, &run, left_within, budget, on_run)?;
        }
        Ok(())
    }
}

fn too_often(each: &Loop) -> Failure {
    wrong(&each.items, &format!("the loop would run more than {MAX_RUNS} times"))
}

/// The values of loop variables, run by run, outermost first: one run without any for no loops.
pub(crate) fn runs(
    loops: &[Loop],
    fixed: &Fixed<'_>,
    draft: Option<&Draft>,
    budget: &mut Budget,
) -> Result<Cow<'static, [Vec<Value>]>> {
    const ONE: &[Vec<Value>] = &[Vec::new()];
    let mut runs = Cow::Borrowed(ONE);
    for each in loops {
        let mut next = Vec::new();
        for run in &*runs {
            let scope = Scope::of(fixed).with_loops(run);
            let scope = if let Some(draft) = draft { scope.with_draft(draft) } else { scope };
            for (index, item) in items(each, &scope, budget)?.into_iter().enumerate() {
                if next.len() == MAX_RUNS {
                    return Err(too_often(each));
                }
                let mut values: Vec<Value> = run.clone();
                values.push(item);
                values.extend(each.index.then(|| Value::from(index)));
                next.push(values);
            }
        }
        runs = Cow::Owned(next);
    }
    Ok(runs)
}

fn items<'s, 'p: 's>(each: &'s Loop, scope: &Scope<'s, 'p>, budget: &mut Budget) -> Result<Vec<Value>> {
    match json(&each.items, scope, budget)? {
        Some(Value::Array(items)) => Ok(items),
        _ => Err(wrong(&each.items, "this must be a list")),
    }
}

/// A failed evaluation, blamed on the expression whose own it is: a variable's, or the one that was asked for.
fn failed(expr: &Expr, policy: &Policy, error: &Error) -> Failure {
    let variable = error.variable().and_then(|slot| policy.variables.get(slot.checked_sub(NAMES.len())?));
    let diagnostic = match variable {
        Some(variable) => {
            let diagnostic = Diagnostic::error(error.code(), variable.expr.blame(error), error.message());
            diagnostic.label(expr.span(), format!("which needs `variables.{}`", variable.name))
        }
        None => Diagnostic::error(error.code(), expr.blame(error), error.message()),
    };
    Box::new(diagnostic)
}

/// A value that its place does not take.
pub(crate) fn wrong(expr: &Expr, message: &str) -> Failure {
    wrong_with(expr, codes::EVALUATION_FAILED, message)
}

fn wrong_with(expr: &Expr, code: Code, message: &str) -> Failure {
    Box::new(Diagnostic::error(code, expr.span(), message))
}
