//! What a mutation writes: paths to remove, and fragments held against the type of what they go into.

use super::{Checked, Checker, Reported, expression::Loops, fit::describe};
use crate::{
    diagnostic::{Diagnostic, codes},
    object::{FieldPath, path::Step},
    policy::{
        compiled::{Fragment, Verb},
        document::{self, Text},
        fields::wrong_type,
        scope::{Place, types},
    },
    schema::{ListKind, Shape, TypeId},
    yaml::{Entry, Kind, Node},
};
use std::sync::Arc;

/// The type of what a mutation changes.
pub(crate) fn target_type(place: Place) -> TypeId {
    match place {
        Place::Container => types().container,
        Place::PodSet => types().pod_set,
        _ => types().template,
    }
}

impl Checker<'_> {
    /// The paths of `remove`.
    pub(super) fn removals(&mut self, texts: &[Text], place: Place) -> Checked<Vec<FieldPath>> {
        let paths: Vec<Checked<FieldPath>> = texts.iter().map(|text| self.removal(text, place)).collect();
        paths.into_iter().collect()
    }

    fn removal(&mut self, text: &Text, place: Place) -> Checked<FieldPath> {
        let path = match FieldPath::parse(text.as_str()) {
            Ok(path) => path,
            Err(error) => {
                self.error(codes::NO_SUCH_PATH, text.span().clone(), error.to_string());
                return Err(Reported);
            }
        };
        let mut ty = Some(target_type(place));
        for step in path.steps() {
            ty = self.step(ty, step, text)?;
        }
        // One spelling for one place: what a plan has written is looked up by its text.
        let one_spelling = |step: &Step| match step {
            Step::Key(name) => Step::Field(name.clone()),
            other => other.clone(),
        };
        Ok(path.steps().iter().map(one_spelling).collect())
    }

    /// The type one step further, if it is known.
    fn step(&mut self, ty: Option<TypeId>, step: &Step, text: &Text) -> Checked<Option<TypeId>> {
        let Some(ty) = ty else { return Ok(None) };
        let (name, item) = match step {
            Step::Field(name) | Step::Key(name) => (name, None),
            Step::Index(_) => return Ok(self.schemas.item(ty)),
            Step::Item(values) => match values.first() {
                Some((name, _)) => (name, self.schemas.item(ty)),
                None => return Ok(self.schemas.item(ty)),
            },
        };
        let entry = Entry {
            key: name.to_string(),
            key_span: text.span().clone(),
            value: Node::null(text.span().clone()),
        };
        let (known, child) = self.child(&entry, Some(item.unwrap_or(ty)));
        known.then_some(if item.is_some() { item } else { child }).ok_or(Reported)
    }

    /// The fragments of `set`, `append` and `upsert`, in the order in which they take effect.
    pub(super) fn fragments(
        &mut self,
        rule: &document::Mutation,
        place: Place,
        loops: &Loops,
    ) -> Checked<Vec<Fragment>> {
        let written = [(&rule.set, Verb::Set), (&rule.append, Verb::Append), (&rule.upsert, Verb::Upsert)];
        let fragments: Vec<Checked<Fragment>> = written
            .into_iter()
            .filter_map(|(node, verb)| Some((node.as_ref()?, verb)))
            .map(|(node, verb)| self.fragment(node, verb, place, loops))
            .collect();
        fragments.into_iter().collect()
    }

    fn fragment(&mut self, node: &Node, verb: Verb, place: Place, loops: &Loops) -> Checked<Fragment> {
        let ty = target_type(place);
        let Some(entries) = node.as_map() else {
            self.report(wrong_type(node, "the fragment", "a map of fields"));
            return Err(Reported);
        };
        let fits = entries.iter().fold(true, |fits, entry| self.takes(entry, Some(ty), verb) & fits);
        let template = self.template(node, Some(ty), place, loops)?;
        fits.then(|| Fragment { verb, template, node: Arc::new(node.clone()) }).ok_or(Reported)
    }

    /// Whether the verb makes sense for the field and what stands below it; reports where not.
    fn takes(&mut self, entry: &Entry, parent: Option<TypeId>, verb: Verb) -> bool {
        let ty = parent.and_then(|parent| self.schemas.child(parent, &entry.key));
        let kind = match ty.map(|ty| &self.schemas.get(ty).shape) {
            Some(Shape::List(list)) => Some(&list.kind),
            _ => None,
        };
        let map = match &entry.value.kind {
            Kind::Map(entries) if !entries.is_empty() => Some(entries),
            _ => None,
        };
        let problem = match (verb, kind) {
            (Verb::Append, None) if map.is_none() && ty.is_some() => {
                let what = ty.map_or_else(String::new, |ty| describe(&self.schemas, ty));
                Some((format!("`append` adds to lists, this is {what}"), "`set` replaces a value"))
            }
            (Verb::Append, Some(ListKind::Map(_))) => Some((
                "items of this list are told apart by keys: appending could repeat one".to_owned(),
                "`upsert` replaces the item with an equal key and adds any other",
            )),
            (Verb::Upsert, Some(ListKind::Atomic)) => Some((
                "items of this list have no keys to merge them by".to_owned(),
                "`append` adds to its end, `set` replaces it",
            )),
            _ => None,
        };
        if let Some((message, help)) = problem {
            self.report(
                Diagnostic::error(codes::WRONG_OPERATION, entry.key_span.clone(), message).help(help),
            );
            return false;
        }
        map.into_iter().flatten().fold(true, |fits, entry| self.takes(entry, ty, verb) & fits)
    }
}
