//! Validations: every failure of every active policy, each at the field it names.

use super::{
    evaluate::{Result, Steady, holds, json, text, truth, value},
    mutate::Work,
    scope::{Fixed, Scope},
};
use crate::{
    cel::{Budget, Val},
    diagnostic::{Diagnostic, Place, codes},
    object::ObjectRef,
    policy::{
        compiled::{Message, Validation},
        document::Phase,
    },
};

impl Work {
    /// What the validations of the active policies that follow `phase` say of the TrainJob, in the order of policies and
    /// documents.
    pub(crate) fn validate(
        &mut self,
        phase: Phase,
        active: &[Fixed<'_>],
        job: &ObjectRef,
    ) -> Result<Vec<Diagnostic>> {
        let Work { draft, budget, .. } = self;
        let draft = &*draft;
        let mut findings = Vec::new();
        for fixed in active {
            for rule in fixed.policy.validations.iter().filter(|rule| rule.phase == phase) {
                let found = &mut findings;
                Steady { fixed, draft }.each(&rule.loops, budget, &mut |run, budget| {
                    let scope = Scope::of(fixed).with_draft(draft).with_values(run);
                    found.extend(finding(rule, &scope, job, budget)?);
                    Ok(())
                })?;
            }
        }
        Ok(findings)
    }
}

fn finding<'s, 'p: 's>(
    rule: &'s Validation,
    scope: &Scope<'s, 'p>,
    job: &ObjectRef,
    budget: &mut Budget,
) -> Result<Option<Diagnostic>> {
    if !holds(rule.when.as_ref(), scope, budget)? || truth(&rule.expr, scope, budget)? {
        return Ok(None);
    }
    let path = text(&rule.path, scope, budget)?.into_owned();
    let message = match &rule.message {
        Message::Fixed(text) => text.clone(),
        Message::Expr(expr) => match value(expr, scope, budget)? {
            Val::String(text) => text.to_string(),
            other => {
                return Err(super::evaluate::wrong(
                    expr,
                    &format!("text is wanted here, not {}", other.type_name()),
                ));
            }
        },
    };
    let shown = match &rule.value {
        Some(expr) => json(expr, scope, budget)?.map(|value| format!("{value}: ")),
        None => None,
    };
    let message = format!("{}: {}{message}", rule.reason, shown.unwrap_or_default());
    let place = Place::Field { object: job.to_string(), path };
    let label = format!("`{}` of policy `{}`", rule.name, scope.fixed.policy.name);
    let diagnostic = if rule.warning {
        Diagnostic::warning(codes::VALIDATION_WARNING, place, message)
    } else {
        Diagnostic::error(codes::VALIDATION_FAILED, place, message)
    };
    Ok(Some(diagnostic.reason(rule.reason).label(rule.span.clone(), label)))
}
