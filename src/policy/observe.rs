//! From policies to their rules and branches: every expression of a policy is visited once, and observed from then on.

use super::{
    compiled::{
        ContainerSelector, Expr, Loop, Message, Mutation, Piece, Policy, Resource, Selector, Template,
        Update, Validation,
    },
    coverage::{Branch, Covered, Rule, Sort},
};
use crate::{cel::Purpose, diagnostic::Span};
use std::sync::Arc;

/// Has the expressions of `policy` note from now on which ways they go.
pub(super) fn observe(policy: &mut Policy) -> Covered {
    let mut rules = rules(policy);
    let mut observer = Observer::default();
    observer.policy(policy);
    let mut branches = observer.branches;
    rules.sort_by_key(|rule| rule.span.start());
    branches.sort_by_key(|branch| branch.span.start());
    Covered { name: Arc::clone(&policy.name), span: policy.span.clone(), rules, branches }
}

fn rules(policy: &Policy) -> Vec<Rule> {
    let rule =
        |sort, name: &str, span: &Span| Rule { sort, name: name.into(), span: span.clone(), reached: false };
    let validations = policy.validations.iter().map(|it| rule(Sort::Validation, &it.name, &it.span));
    let mutations = policy.mutations.iter().map(|it| rule(Sort::Mutation, &it.name, &it.span));
    let resources = policy.resources.iter().map(|it| rule(Sort::Resource, &it.id, &it.span));
    validations.chain(mutations).chain(resources).collect()
}

#[derive(Default)]
struct Observer {
    /// What is being visited.
    of: String,
    branches: Vec<Branch>,
}

impl Observer {
    fn policy(&mut self, policy: &mut Policy) {
        "activation".clone_into(&mut self.of);
        self.maybe(policy.activation.as_mut(), Purpose::Condition);
        for variable in &mut policy.variables {
            self.of = format!("variable `{}`", variable.name);
            self.expr(&mut variable.expr, Purpose::Value);
        }
        for rule in &mut policy.validations {
            self.of = format!("validation `{}`", rule.name);
            self.validation(rule);
        }
        for rule in &mut policy.mutations {
            self.of = format!("mutation `{}`", rule.name);
            self.mutation(rule);
        }
        for resource in &mut policy.resources {
            self.of = format!("resource `{}`", resource.id);
            self.resource(resource);
        }
        if let Some(status) = &mut policy.status {
            "status".clone_into(&mut self.of);
            status.conditions.iter_mut().for_each(|(_, from)| self.expr(from, Purpose::Value));
            status.jobs.iter_mut().for_each(|it| self.template(it));
        }
        for watch in &mut policy.watches {
            self.of = format!("watch of {}", watch.kind);
            self.maybe(watch.filter.as_mut(), Purpose::Condition);
        }
    }

    fn validation(&mut self, rule: &mut Validation) {
        self.maybe(rule.when.as_mut(), Purpose::Condition);
        self.loops(&mut rule.loops);
        self.expr(&mut rule.expr, Purpose::Condition);
        self.pieces(&mut rule.path);
        self.maybe(rule.value.as_mut(), Purpose::Value);
        if let Message::Expr(expr) = &mut rule.message {
            self.expr(expr, Purpose::Value);
        }
    }

    fn mutation(&mut self, rule: &mut Mutation) {
        self.maybe(rule.when.as_mut(), Purpose::Condition);
        self.loops(&mut rule.loops);
        if let Some(Selector { name, ancestor, condition, first: _ }) = &mut rule.pod_sets {
            [name, ancestor].into_iter().flatten().for_each(|it| self.pieces(it));
            self.maybe(condition.as_mut(), Purpose::Condition);
        }
        if let Some(ContainerSelector { name, condition, of: _, first: _ }) = &mut rule.containers {
            if let Some(name) = name {
                self.pieces(name);
            }
            self.maybe(condition.as_mut(), Purpose::Condition);
        }
        rule.fragments.iter_mut().for_each(|it| self.template(&mut it.template));
        rule.json_patch.iter_mut().for_each(|it| self.template(it));
    }

    fn resource(&mut self, resource: &mut Resource) {
        self.maybe(resource.include_when.as_mut(), Purpose::Condition);
        self.loops(&mut resource.loops);
        if let Update::When(expr) = &mut resource.update {
            self.expr(expr, Purpose::Condition);
        }
        self.pieces(&mut resource.name);
        self.template(&mut resource.template);
    }

    fn template(&mut self, template: &mut Template) {
        match template {
            Template::Literal(_) => {}
            Template::Hole(hole) => self.expr(&mut hole.expr, Purpose::Value),
            Template::Text(pieces) => self.pieces(pieces),
            Template::Map { when, entries } => {
                self.maybe(when.as_deref_mut(), Purpose::Condition);
                for (_, value) in entries {
                    self.template(value);
                }
            }
            Template::List(items) => items.iter_mut().for_each(|item| self.template(item)),
        }
    }

    fn loops(&mut self, loops: &mut [Loop]) {
        for each in loops {
            self.expr(&mut each.items, Purpose::Items);
        }
    }

    fn pieces(&mut self, pieces: &mut [Piece]) {
        for piece in pieces {
            if let Piece::Hole(expr) = piece {
                self.expr(expr, Purpose::Value);
            }
        }
    }

    fn maybe(&mut self, expr: Option<&mut Expr>, purpose: Purpose) {
        if let Some(expr) = expr {
            self.expr(expr, purpose);
        }
    }

    fn expr(&mut self, expr: &mut Expr, purpose: Purpose) {
        for branch in expr.program.observe(purpose) {
            let span = expr.inside(branch.span.clone());
            let text = expr.program.source().get(branch.span.clone()).unwrap_or_default().to_owned();
            self.branches.push(Branch { span, of: self.of.clone(), text, noted: branch });
        }
    }
}
