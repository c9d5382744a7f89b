//! Two rules that always write one field: one of them has no effect, and which one is an accident of order.

use crate::{
    diagnostic::{Diagnostic, Span, codes},
    policy::{
        compiled::{Mutation, Operation, Policy, Template},
        document::OnConflict,
    },
};
use std::collections::BTreeMap;

/// A field that a policy always writes.
struct Always<'p> {
    /// Which field of what, as text.
    field: String,
    span: &'p Span,
    rule: &'p Mutation,
    policy: &'p Policy,
}

/// Reports rules of `policy` that write one field.
pub(super) fn within(policy: &Policy, diagnostics: &mut Vec<Diagnostic>) {
    report(policy.mutations.iter().flat_map(|rule| always(policy, rule)), diagnostics);
}

/// Reports rules of different policies, each of which is always active, that write one field.
pub(crate) fn between<'p>(policies: impl Iterator<Item = &'p Policy>, diagnostics: &mut Vec<Diagnostic>) {
    let unconditional = policies.filter(|policy| policy.activation.is_none() && policy.requires.is_empty());
    let mut writes: Vec<Always> =
        unconditional.flat_map(|policy| policy.mutations.iter().flat_map(|rule| always(policy, rule))).collect();
    // As plans run them: what is written within one policy is reported there.
    writes.sort_by_key(|write| write.rule.phase);
    report(writes.into_iter(), diagnostics);
}

fn report<'p>(writes: impl Iterator<Item = Always<'p>>, diagnostics: &mut Vec<Diagnostic>) {
    let mut seen: BTreeMap<String, Always> = BTreeMap::new();
    for write in writes {
        let Some(first) = seen.get(&write.field) else {
            seen.insert(write.field.clone(), write);
            continue;
        };
        if write.rule.on_conflict != OnConflict::Fail || std::ptr::eq(first.rule, write.rule) {
            continue;
        }
        let other = match first.policy.name == write.policy.name {
            true => format!("`{}`", first.rule.name),
            false => format!("`{}` of policy `{}`", first.rule.name, first.policy.name),
        };
        let message = format!("the mutation `{}` always writes what {other} always writes", write.rule.name);
        let help = "drop one, give them conditions that exclude each other, or say `onConflict: Override`";
        let diagnostic = Diagnostic::error(codes::TWO_WRITERS, write.span.clone(), message).help(help);
        diagnostics.push(diagnostic.label(first.span.clone(), "written here first"));
    }
}

/// The fields that a rule always writes.
fn always<'p>(policy: &'p Policy, rule: &'p Mutation) -> Vec<Always<'p>> {
    if rule.when.is_some() || !rule.loops.is_empty() {
        return Vec::new();
    }
    let writes = rule.writes.iter().filter(|write| write.when.is_empty());
    let fields = writes.flat_map(|write| {
        let path = format!("{} {}", rule.selects, write.path.join("."));
        keys(&write.operation).into_iter().map(move |key| (format!("{path}{key}"), &write.span))
    });
    fields.map(|(field, span)| Always { field, span, rule, policy }).collect()
}

/// What within a field an operation always writes: all of it, or list items by name.
fn keys(operation: &Operation) -> Vec<String> {
    match operation {
        Operation::Set(template) | Operation::Upsert(template, _) if is_certain(template) => vec![String::new()],
        Operation::Upsert(Template::List(items), _) => items.iter().filter_map(item_key).collect(),
        Operation::Upsert(Template::Literal(serde_json::Value::Array(items)), _) => {
            items.iter().filter_map(|item| Some(format!("[{}]", item.get("name")?))).collect()
        }
        Operation::Remove { .. } | Operation::Append(_) | Operation::Set(_) | Operation::Upsert(..) => Vec::new(),
    }
}

/// Whether the value is always there: a hole may turn out absent.
fn is_certain(template: &Template) -> bool {
    match template {
        Template::Literal(value) => !value.is_array(),
        Template::Text(_) => true,
        Template::Hole(hole) => !matches!(hole.expr.program.ty(), crate::cel::Type::Optional(_) | crate::cel::Type::Dyn | crate::cel::Type::List(_)),
        Template::Map { .. } | Template::List(_) => false,
    }
}

fn item_key(item: &Template) -> Option<String> {
    let Template::Map { when: None, entries } = item else { return None };
    let (_, name) = entries.iter().find(|(key, _)| key == "name")?;
    match name {
        Template::Literal(value) => Some(format!("[{value}]")),
        _ => None,
    }
}
