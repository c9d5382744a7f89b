//! Mutations: which PodSets and containers a rule selects, what it does to them, and who wrote what before.

use super::{
    draft::{Draft, Target},
    evaluate::{Failure, Result, holds, runs, text, tree},
    scope::{Fixed, Scope},
    trace::{By, Place, Trace, Written},
};
use crate::{
    cel::Budget,
    diagnostic::{self, Diagnostic, Span, codes},
    object::{FieldPath, json_patch, merge},
    policy::{
        compiled::{ContainerSelector, Fragment, Mutation, Piece, Selector, Verb},
        document::{ContainerType, OnConflict, OnNoMatch, Phase},
        scope::types,
    },
    schema::TypeId,
};
use serde_json::Value;
use std::{borrow::Cow, fmt, sync::Arc};

/// What a plan changes while rules run.
pub(crate) struct Work {
    pub(crate) draft: Draft,
    pub(crate) trace: Trace,
    pub(crate) budget: Budget,
}

impl Work {
    /// Runs the rules of `phase`, policy by policy.
    pub(crate) fn phase(&mut self, phase: Phase, active: &[Fixed<'_>]) -> Result<()> {
        for fixed in active {
            for rule in fixed.policy.mutations.iter().filter(|rule| rule.phase == phase) {
                for run in &*runs(&rule.loops, fixed, Some(&self.draft), &mut self.budget)? {
                    self.rule(rule, fixed, run)?;
                }
            }
        }
        Ok(())
    }

    fn rule(&mut self, rule: &Mutation, fixed: &Fixed<'_>, run: &[Value]) -> Result<()> {
        let scope = Scope::of(fixed).with_draft(&self.draft).with_loops(run);
        if !holds(rule.when.as_ref(), &scope, &mut self.budget)? {
            return Ok(());
        }
        let targets = targets(rule, &self.draft, &scope, &mut self.budget)?;
        if targets.is_empty() && rule.on_no_match == OnNoMatch::Fail {
            let message = format!("the mutation `{}` finds nothing to change", rule.name);
            return Err(Box::new(Diagnostic::error(codes::NO_MATCH, rule.span.clone(), message)));
        }
        for target in targets {
            self.change(rule, fixed, run, target)?;
        }
        Ok(())
    }

    /// Evaluates everything of a rule for one target, then applies it.
    fn change(&mut self, rule: &Mutation, fixed: &Fixed<'_>, run: &[Value], target: Target) -> Result<()> {
        let mut fragments = Vec::with_capacity(rule.fragments.len());
        let mut patch = None;
        {
            let scope =
                select(&Scope::of(fixed).with_draft(&self.draft).with_loops(run), &self.draft, target);
            for fragment in &rule.fragments {
                if let Some(value) = tree(&fragment.template, &scope, &mut self.budget)? {
                    fragments.push((fragment, value));
                }
            }
            if let Some(template) = &rule.json_patch {
                patch = tree(template, &scope, &mut self.budget)?;
            }
        }
        let Work { draft, trace, .. } = self;
        let Some(tree) = draft.get_mut(target) else { return Ok(()) };
        let mut writes =
            Writes { rule, policy: &fixed.policy.name, target, trace, failure: None, undo: Vec::new() };
        for path in &rule.remove {
            writes.removed(path, path.remove(tree));
        }
        for (fragment, value) in fragments {
            writes.apply(fragment, value, tree)?;
        }
        if let Some(patch) = patch {
            writes.patch(&patch, tree)?;
        }
        Ok(())
    }
}

/// What a rule changes, in order.
fn targets<'s, 'p: 's>(
    rule: &'s Mutation,
    draft: &'s Draft,
    scope: &Scope<'s, 'p>,
    budget: &mut Budget,
) -> Result<Vec<Target>> {
    let Some(selector) = &rule.pod_sets else { return Ok(vec![Target::Template]) };
    let mut targets = Vec::new();
    for index in pod_sets(selector, draft, scope, budget)? {
        match &rule.containers {
            None => targets.push(Target::PodSet(index)),
            Some(selector) => targets.extend(containers(selector, index, draft, scope, budget)?),
        }
    }
    Ok(targets)
}

fn pod_sets<'s, 'p: 's>(
    selector: &'s Selector,
    draft: &'s Draft,
    scope: &Scope<'s, 'p>,
    budget: &mut Budget,
) -> Result<Vec<usize>> {
    let name = maybe_text(selector.name.as_deref(), scope, budget)?;
    let ancestor = maybe_text(selector.ancestor.as_deref(), scope, budget)?;
    let mut found = Vec::new();
    for (index, pod_set) in draft.pod_sets().iter().enumerate() {
        let is = |field: &str, wanted: &Option<Cow<'_, str>>| {
            wanted.as_ref().is_none_or(|it| pod_set[field] == **it)
        };
        if is("name", &name)
            && is("ancestor", &ancestor)
            && holds(selector.condition.as_ref(), &scope.select(Some(pod_set), None), budget)?
        {
            found.push(index);
            if selector.first {
                break;
            }
        }
    }
    Ok(found)
}

fn containers<'s, 'p: 's>(
    selector: &'s ContainerSelector,
    pod_set: usize,
    draft: &'s Draft,
    scope: &Scope<'s, 'p>,
    budget: &mut Budget,
) -> Result<Vec<Target>> {
    let name =
        maybe_text(selector.name.as_deref(), &scope.select(draft.pod_sets().get(pod_set), None), budget)?;
    let kinds: &[bool] = match selector.of {
        ContainerType::Main => &[false],
        ContainerType::Init => &[true],
        ContainerType::Any => &[false, true],
    };
    let mut found = Vec::new();
    for &init in kinds {
        for (index, container) in draft.containers(pod_set, init).iter().enumerate() {
            let scope = scope.select(draft.pod_sets().get(pod_set), Some(container));
            if name.as_ref().is_none_or(|name| container["name"] == **name)
                && holds(selector.condition.as_ref(), &scope, budget)?
            {
                found.push(Target::Container { pod_set, init, index });
                if selector.first {
                    return Ok(found);
                }
            }
        }
    }
    Ok(found)
}

fn maybe_text<'s, 'p: 's>(
    pieces: Option<&'s [Piece]>,
    scope: &Scope<'s, 'p>,
    budget: &mut Budget,
) -> Result<Option<Cow<'s, str>>> {
    pieces.map(|pieces| text(pieces, scope, budget)).transpose()
}

/// The scope with a target as `podSet` and `container`.
fn select<'s, 'p: 's>(scope: &Scope<'s, 'p>, draft: &'s Draft, target: Target) -> Scope<'s, 'p> {
    match target {
        Target::Template => scope.select(None, None),
        Target::PodSet(index) => scope.select(draft.pod_sets().get(index), None),
        Target::Container { pod_set, .. } => scope.select(draft.pod_sets().get(pod_set), draft.get(target)),
    }
}

/// The type of a target.
fn type_of(target: Target) -> TypeId {
    match target {
        Target::Template => types().template,
        Target::PodSet(_) => types().pod_set,
        Target::Container { .. } => types().container,
    }
}

/// The writes of one rule to one target: recorded, and held against those of other policies.
struct Writes<'w> {
    rule: &'w Mutation,
    policy: &'w Arc<str>,
    target: Target,
    trace: &'w mut Trace,
    failure: Option<Failure>,
    /// What another policy wrote and this rule leaves in place.
    undo: Vec<(FieldPath, Option<Value>)>,
}

impl Writes<'_> {
    fn apply(&mut self, fragment: &Fragment, value: Value, tree: &mut Value) -> Result<()> {
        let shape = types().schemas.typed(type_of(self.target));
        let mut on_write = |write: merge::Write<'_>| {
            let place = Place::Fragment(Arc::clone(&fragment.node));
            self.wrote(write.at, place, write.before, write.after);
        };
        let merged = match fragment.verb {
            Verb::Set => merge::set(tree, value, shape, &mut on_write),
            Verb::Upsert => merge::upsert(tree, value, shape, &mut on_write),
            Verb::Append => merge::append(tree, value, &mut on_write),
        };
        merged.map_err(|error| self.bad(&fragment.node.span, &error.to_string()))?;
        self.settle(tree)
    }

    fn patch(&mut self, patch: &Value, tree: &mut Value) -> Result<()> {
        let before = tree.clone();
        json_patch::apply(tree, patch).map_err(|error| self.bad(&self.rule.span, &error.to_string()))?;
        if before != *tree {
            let place = Place::Span(self.rule.span.clone());
            self.wrote(&FieldPath::root(), place, Some(before), Some(tree));
        }
        self.settle(tree)
    }

    fn removed(&mut self, path: &FieldPath, before: Option<Value>) {
        if before.is_some() {
            self.wrote(path, Place::Span(self.rule.span.clone()), before, None);
        }
    }

    fn wrote<P>(&mut self, path: P, place: Place, before: Option<Value>, after: Option<&Value>)
    where
        P: Copy + fmt::Display + Into<FieldPath>,
    {
        let changes = before.as_ref() != after;
        let by = By { policy: Arc::clone(self.policy), rule: Arc::clone(&self.rule.name), place };
        self.trace.record(by, self.target, path, before);
        if !changes || self.rule.on_conflict == OnConflict::Override {
            return;
        }
        let Some((write, other)) = self.trace.conflict() else { return };
        if self.rule.on_conflict == OnConflict::Keep {
            self.undo.push((path.into(), self.trace.take_back()));
        } else {
            self.failure.get_or_insert_with(|| conflict(write, other));
        }
    }

    /// Puts back what is to be kept; fails if there was a conflict.
    fn settle(&mut self, tree: &mut Value) -> Result<()> {
        for (path, before) in self.undo.drain(..) {
            match before {
                Some(before) => _ = path.set(tree, before),
                None => _ = path.remove(tree),
            }
        }
        self.failure.take().map_or(Ok(()), Err)
    }

    fn bad(&self, span: &Span, message: &str) -> Failure {
        let message = format!("the mutation `{}` cannot be applied: {message}", self.rule.name);
        Box::new(Diagnostic::error(codes::NOT_APPLICABLE, span.clone(), message))
    }
}

fn conflict(write: Written<'_>, other: Written<'_>) -> Failure {
    let message = format!(
        "`{}` of policy `{}` and `{}` of policy `{}` write different values to `{}`",
        write.rule(),
        write.policy(),
        other.rule(),
        other.policy(),
        write.path(),
    );
    let place = write.span().map_or(diagnostic::Place::Nowhere, diagnostic::Place::Source);
    let help = "the later rule may say `onConflict: Override` or `onConflict: Keep`";
    let diagnostic = Diagnostic::error(codes::CONFLICT, place, message).help(help);
    Box::new(match other.span() {
        Some(span) => diagnostic.label(span, "written here first"),
        None => diagnostic,
    })
}
