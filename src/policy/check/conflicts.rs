//! Two rules that always write one field: one of them has no effect, and which one is an accident of order.

use crate::{
    cel::Type,
    diagnostic::{Diagnostic, Span, codes},
    policy::{
        compiled::{Fragment, Mutation, Policy, Template, Verb},
        document::OnConflict,
    },
    yaml::Node,
};
use serde_json::Value;
use std::collections::BTreeMap;

/// A field that a policy always writes.
struct Always<'p> {
    /// Which field of what, as text.
    field: String,
    span: Span,
    rule: &'p Mutation,
    policy: &'p Policy,
}

/// Reports rules of `policy` that write one field.
pub(super) fn within(policy: &Policy, diagnostics: &mut Vec<Diagnostic>) {
    report(policy.mutations.iter().flat_map(|rule| always(policy, rule)), diagnostics);
}

/// Reports rules of different policies, each of which is always active, that write one field.
pub(crate) fn between<'p>(policies: impl Iterator<Item = &'p Policy>, diagnostics: &mut Vec<Diagnostic>) {
    let active = policies.filter(|policy| policy.activation.is_none() && policy.requires.is_empty());
    let mut writes: Vec<Always> =
        active.flat_map(|policy| policy.mutations.iter().flat_map(|rule| always(policy, rule))).collect();
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
        let other = if first.policy.name == write.policy.name {
            format!("`{}`", first.rule.name)
        } else {
            format!("`{}` of policy `{}`", first.rule.name, first.policy.name)
        };
        let message = format!("the mutation `{}` always writes what {other} always writes", write.rule.name);
        let help = "drop one, give them conditions that exclude each other, or say `onConflict: Override`";
        let diagnostic = Diagnostic::error(codes::TWO_WRITERS, write.span, message).help(help);
        diagnostics.push(diagnostic.label(first.span.clone(), "written here first"));
    }
}

/// The fields that a rule always writes.
fn always<'p>(policy: &'p Policy, rule: &'p Mutation) -> Vec<Always<'p>> {
    let mut fields = Vec::new();
    if rule.when.is_none() && rule.loops.is_empty() {
        for Fragment { verb, template, node } in &rule.fragments {
            if *verb != Verb::Append {
                leaves(*verb, template, node, &rule.selects, &mut fields);
            }
        }
    }
    fields.into_iter().map(|(field, span)| Always { field, span, rule, policy }).collect()
}

/// Adds the fields that a template always fills, named from `path` on, with their places.
fn leaves(verb: Verb, template: &Template, node: &Node, path: &str, out: &mut Vec<(String, Span)>) {
    let below = |key: &str| (format!("{path}.{key}"), node.get(key).unwrap_or(node));
    match template {
        Template::Map { when: Some(_), .. } => {}
        Template::Map { when: None, entries } => {
            for (key, value) in entries {
                let (path, node) = below(key);
                leaves(verb, value, node, &path, out);
            }
        }
        Template::Literal(Value::Object(map)) if !map.is_empty() => {
            for (key, value) in map {
                let (path, node) = below(key);
                leaves(verb, &Template::Literal(value.clone()), node, &path, out);
            }
        }
        Template::List(items) if verb == Verb::Upsert => {
            let names = items.iter().map(|item| match item {
                Template::Map { when: None, entries } => entries.iter().find_map(|(key, value)| match value {
                    Template::Literal(value) if key == "name" => Some(value),
                    _ => None,
                }),
                _ => None,
            });
            items_named(names, node, path, out);
        }
        Template::Literal(Value::Array(items)) if verb == Verb::Upsert => {
            items_named(items.iter().map(|item| item.get("name")), node, path, out);
        }
        Template::Hole(hole)
            if matches!(hole.expr.program.ty(), Type::Dyn | Type::Optional(_) | Type::List(_) | Type::Map(..)) => {}
        Template::Literal(_) | Template::Text(_) | Template::List(_) | Template::Hole(_) => {
            out.push((path.to_owned(), node.span.clone()));
        }
    }
}

fn items_named<'v>(
    names: impl Iterator<Item = Option<&'v Value>>,
    node: &Node,
    path: &str,
    out: &mut Vec<(String, Span)>,
) {
    for (index, name) in names.enumerate() {
        if let Some(name) = name {
            let item = node.as_list().and_then(|items| items.get(index)).unwrap_or(node);
            out.push((format!("{path}[{name}]"), item.span.clone()));
        }
    }
}
