//! Validations: every failure of every active policy, each at the field it names.

use super::{
    evaluate::{Result, holds, json, runs, text, truth, value},
    mutate::Work,
    scope::{Fixed, Scope},
};
use crate::{
    cel::Val,
    diagnostic::{Diagnostic, Place, codes},
    object::ObjectRef,
    policy::{
        compiled::{Message, Validation},
        document::Phase,
    },
};
use serde_json::Value;

impl Work {
    /// What the validations of the active policies that follow `phase` say of the TrainJob, in the order of policies and
    /// documents.
    pub(crate) fn validate(
        &mut self,
        phase: Phase,
        active: &[Fixed<'_>],
        job: &ObjectRef,
    ) -> Result<Vec<Diagnostic>> {
        let mut findings = Vec::new();
        for fixed in active {
            for rule in fixed.policy.validations.iter().filter(|rule| rule.phase == phase) {
                for run in &*runs(&rule.loops, fixed, Some(&self.draft), &mut self.budget)? {
                    findings.extend(self.finding(rule, fixed, run, job)?);
                }
            }
        }
        Ok(findings)
    }

    fn finding(
        &mut self,
        rule: &Validation,
        fixed: &Fixed<'_>,
        run: &[Value],
        job: &ObjectRef,
    ) -> Result<Option<Diagnostic>> {
        let scope = Scope::of(fixed).with_draft(&self.draft).with_loops(run);
        let budget = &mut self.budget;
        if !holds(rule.when.as_ref(), &scope, budget)? || truth(&rule.expr, &scope, budget)? {
            return Ok(None);
        }
        let path = text(&rule.path, &scope, budget)?.into_owned();
        let message = match &rule.message {
            Message::Fixed(text) => text.clone(),
            Message::Expr(expr) => match value(expr, &scope, budget)? {
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
            Some(expr) => json(expr, &scope, budget)?.map(|value| format!("{value}: ")),
            None => None,
        };
        let message = format!("{}: {}{message}", rule.reason, shown.unwrap_or_default());
        let place = Place::Field { object: job.to_string(), path };
        let label = format!("`{}` of policy `{}`", rule.name, fixed.policy.name);
        let diagnostic = if rule.warning {
            Diagnostic::warning(codes::VALIDATION_WARNING, place, message)
        } else {
            Diagnostic::error(codes::VALIDATION_FAILED, place, message)
        };
        Ok(Some(diagnostic.reason(rule.reason).label(rule.span.clone(), label)))
    }
}
