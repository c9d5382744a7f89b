//! Templates: YAML with holes, held against the schema of what they become.

use super::{
    Checked, Checker, Reported,
    expression::Loops,
    fit::{Fit, describe, fit},
};
use crate::{
    cel::Type,
    diagnostic::{Diagnostic, Span, codes},
    policy::{
        compiled::{Expr, Hole, Piece, Template},
        document::Text,
        fields::wrong_type,
        holes::Part,
        scope::Place,
    },
    schema::{ListKind, Shape, TypeId},
    yaml::{Entry, Kind, Node},
};
use serde_json::Value;
use std::sync::Arc;

/// The key of the condition under which a map is there.
pub(super) const WHEN: &str = "$when";
/// The key of a value without holes.
const RAW: &str = "$raw";

impl Checker<'_> {
    /// The template that `node` is, where a value of type `wanted` belongs; any type will do without one.
    pub(super) fn template(
        &mut self,
        node: &Node,
        wanted: Option<TypeId>,
        place: Place,
        loops: &Loops,
    ) -> Checked<Template> {
        match &node.kind {
            Kind::Null => {
                let diagnostic = Diagnostic::error(codes::NULL_VALUE, node.span.clone(), "null is no value");
                self.report(
                    diagnostic.help("leave the field out, or fill it with an optional that is absent"),
                );
                Err(Reported)
            }
            Kind::String(_) => self.string(node, wanted, place, loops),
            Kind::Bool(_) | Kind::Number(_) => self.literal(node, wanted),
            Kind::List(items) => self.list(node, items, wanted, place, loops),
            Kind::Map(entries) => self.map(node, entries, wanted, place, loops),
        }
    }

    fn string(
        &mut self,
        node: &Node,
        wanted: Option<TypeId>,
        place: Place,
        loops: &Loops,
    ) -> Checked<Template> {
        let text = Text::string(node).ok_or(Reported)?;
        let parts = self.split(&text)?;
        if let [Part::Hole(range)] = parts.as_slice() {
            let shared = Arc::new(text);
            let (expr, _) = self.compile(&shared, range.clone(), place, loops)?;
            let as_text = self.hole_fits(expr.program.ty(), wanted, &shared.inside(range.clone()))?;
            return Ok(Template::Hole(Hole { expr, as_text }));
        }
        self.must_take(&Type::String, wanted, &node.span)?;
        if let [] | [Part::Text(_)] = parts.as_slice() {
            let plain = parts.into_iter().next().map_or(String::new(), |part| match part {
                Part::Text(text) => text,
                Part::Hole(_) => String::new(),
            });
            return Ok(Template::Literal(Value::String(plain)));
        }
        let shared = Arc::new(text);
        let pieces: Vec<Checked<Piece>> =
            parts.into_iter().map(|part| self.piece(&shared, part, place, loops)).collect();
        pieces.into_iter().collect::<Checked<Vec<_>>>().map(Template::Text)
    }

    /// Whether the value becomes its text; reports and returns nothing if it does not fit.
    fn hole_fits(&mut self, ty: &Type, wanted: Option<TypeId>, span: &Span) -> Checked<bool> {
        let Some(wanted) = wanted else { return Ok(false) };
        match fit(&self.schemas, ty, wanted) {
            Fit::Yes => Ok(false),
            Fit::AsText => Ok(true),
            Fit::No => {
                let message =
                    format!("the field takes {}, the hole is {ty}", describe(&self.schemas, wanted));
                self.error(codes::WRONG_RESULT, span.clone(), message);
                Err(Reported)
            }
        }
    }

    fn must_take(&mut self, ty: &Type, wanted: Option<TypeId>, span: &Span) -> Checked<()> {
        match wanted {
            Some(wanted) if fit(&self.schemas, ty, wanted) != Fit::Yes => {
                let message =
                    format!("the field takes {}, not {}", describe(&self.schemas, wanted), named(ty));
                self.error(codes::WRONG_RESULT, span.clone(), message);
                Err(Reported)
            }
            _ => Ok(()),
        }
    }

    fn literal(&mut self, node: &Node, wanted: Option<TypeId>) -> Checked<Template> {
        self.must_take(&json_type(&node.kind), wanted, &node.span)?;
        Ok(Template::Literal(node.to_json()))
    }

    fn list(
        &mut self,
        node: &Node,
        items: &[Node],
        wanted: Option<TypeId>,
        place: Place,
        loops: &Loops,
    ) -> Checked<Template> {
        let (item, kind) = match wanted.map(|wanted| &self.schemas.get(wanted).shape) {
            None | Some(Shape::Any) => (None, None),
            Some(Shape::List(list)) => (Some(list.item), Some(list.kind.clone())),
            Some(_) => {
                self.must_take(&Type::list(Type::Dyn), wanted, &node.span)?;
                return Err(Reported);
            }
        };
        let mut valid = true;
        let mut templates = Vec::with_capacity(items.len());
        for node in items {
            let template = self.template(node, item, place, loops);
            if let (Some(ListKind::Map(keys)), Some(item)) = (&kind, item) {
                valid &= self.has_keys(node, keys, item);
            }
            valid &= template.is_ok();
            templates.extend(template);
        }
        valid.then(|| fold(Template::List(templates))).ok_or(Reported)
    }

    /// An item of a list that is merged by keys has those that have no default.
    fn has_keys(&mut self, node: &Node, keys: &[Box<str>], item: TypeId) -> bool {
        let Kind::Map(entries) = &node.kind else { return true };
        let missing = keys.iter().find(|key| {
            let has_default =
                self.schemas.object(item).and_then(|it| it.field(key)).is_some_and(|it| it.default.is_some());
            !has_default && !entries.iter().any(|entry| entry.key == ***key || entry.key == RAW)
        });
        let Some(missing) = missing else { return true };
        let message = format!("items of this list are told apart by `{missing}`, which this one lacks");
        self.error(codes::LIST_KEY, node.span.clone(), message);
        false
    }

    fn map(
        &mut self,
        node: &Node,
        entries: &[Entry],
        wanted: Option<TypeId>,
        place: Place,
        loops: &Loops,
    ) -> Checked<Template> {
        if let [Entry { key, value, .. }] = entries
            && key == RAW
        {
            self.must_take(&json_type(&value.kind), wanted, &value.span)?;
            return Ok(Template::Literal(value.to_json()));
        }
        self.must_take(&Type::map(Type::String, Type::Dyn), wanted, &node.span)?;
        let mut valid = true;
        let mut when = None;
        let mut templates = Vec::with_capacity(entries.len());
        for entry in entries {
            if entry.key == WHEN {
                let condition = self.when(&entry.value, place, loops);
                valid &= condition.is_ok();
                when = condition.ok().map(Box::new);
                continue;
            }
            if entry.key.starts_with('$') {
                self.directive(entry);
                valid = false;
                continue;
            }
            let (known, child) = self.child(entry, wanted);
            let template = self.template(&entry.value, child, place, loops);
            valid &= known && template.is_ok();
            templates.extend(template.map(|template| (entry.key.clone(), template)));
        }
        valid.then(|| fold(Template::Map { when, entries: templates })).ok_or(Reported)
    }

    /// The condition under a `$when`.
    pub(super) fn when(&mut self, node: &Node, place: Place, loops: &Loops) -> Checked<Expr> {
        match Text::expression(node) {
            Some(text) => self.condition(WHEN, &text, place, loops),
            None => {
                self.report(wrong_type(node, WHEN, "an expression"));
                Err(Reported)
            }
        }
    }

    /// Reports a key with `$` that means nothing where it stands.
    fn directive(&mut self, entry: &Entry) {
        let (message, help) = match entry.key.as_str() {
            RAW => ("`$raw` is the only key of its map".to_owned(), None),
            key => (format!("there is no `{key}`"), Some(format!("below `{RAW}` any key may stand"))),
        };
        let diagnostic = Diagnostic::error(codes::UNKNOWN_FIELD, entry.key_span.clone(), message);
        self.report(diagnostic.maybe_help(help).did_you_mean(&entry.key, [WHEN, RAW]));
    }

    /// Whether the field is one that the type has, and its type.
    pub(super) fn child(&mut self, entry: &Entry, wanted: Option<TypeId>) -> (bool, Option<TypeId>) {
        let Some(wanted) = wanted else { return (true, None) };
        if matches!(self.schemas.get(wanted).shape, Shape::Any) {
            return (true, None);
        }
        if let Some(child) = self.schemas.child(wanted, &entry.key) {
            return (true, Some(child));
        }
        let Some(object) = self.schemas.object(wanted) else { return (true, None) };
        if object.open {
            return (true, None);
        }
        let names: Vec<String> = object.fields.iter().map(|field| field.name.to_string()).collect();
        let message = format!("{} has no field `{}`", describe(&self.schemas, wanted), entry.key);
        let diagnostic = Diagnostic::error(codes::NO_SUCH_PATH, entry.key_span.clone(), message);
        self.report(diagnostic.did_you_mean(&entry.key, names.iter().map(String::as_str)));
        (false, None)
    }
}

/// A list or map without holes is a literal.
fn fold(template: Template) -> Template {
    let literal = |template: &Template| matches!(template, Template::Literal(_));
    match template {
        Template::List(items) if items.iter().all(literal) => {
            Template::Literal(items.into_iter().filter_map(into_literal).collect())
        }
        Template::Map { when: None, entries } if entries.iter().all(|(_, value)| literal(value)) => {
            let entries = entries.into_iter().filter_map(|(key, value)| Some((key, into_literal(value)?)));
            Template::Literal(Value::Object(entries.collect()))
        }
        other => other,
    }
}

fn into_literal(template: Template) -> Option<Value> {
    match template {
        Template::Literal(value) => Some(value),
        Template::Hole(_) | Template::Text(_) | Template::Map { .. } | Template::List(_) => None,
    }
}

/// The type of a value without holes, its items aside.
fn json_type(kind: &Kind) -> Type {
    match kind {
        Kind::Null => Type::Null,
        Kind::Bool(_) => Type::Bool,
        Kind::Number(number) if number.is_f64() => Type::Double,
        Kind::Number(_) => Type::Int,
        Kind::String(_) => Type::String,
        Kind::List(_) => Type::list(Type::Dyn),
        Kind::Map(_) => Type::map(Type::String, Type::Dyn),
    }
}

/// A type as a noun.
fn named(ty: &Type) -> &'static str {
    match ty {
        Type::Bool => "a truth value",
        Type::Int => "a whole number",
        Type::Double => "a number",
        Type::String => "text",
        Type::List(_) => "a list",
        Type::Null => "null",
        _ => "a map",
    }
}
