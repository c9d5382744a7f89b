//! Validations and mutations.

use super::{Checked, Checker, expression::Loops};
use crate::{
    cel::Type,
    policy::{
        compiled::{ContainerSelector, Message, Mutation, Selector, Validation},
        document,
        scope::Place,
    },
};

impl Checker<'_> {
    pub(super) fn validation(&mut self, rule: &document::Validation) -> Checked<Validation> {
        let place = Place::Validation;
        let (compiled, loops) = self.loops(&rule.for_each, place)?;
        let when = self.maybe_condition("when", rule.when.as_ref(), place, &loops);
        let path = self.pieces(&rule.path, place, &loops);
        let value = rule.value.as_ref().map(|text| self.expression(text, place, &loops)).transpose();
        let expr = self.condition("expression", &rule.expression, place, &loops);
        let message = self.message(rule, &loops);
        Ok(Validation {
            name: rule.name.as_str().to_owned(),
            span: rule.name.span().clone(),
            phase: rule.phase,
            when: when?,
            loops: compiled,
            path: path?,
            value: value?,
            expr: expr?,
            message: message?,
            reason: rule.reason,
            warning: rule.warning,
        })
    }

    fn message(&mut self, rule: &document::Validation, loops: &Loops) -> Checked<Message> {
        match &rule.message {
            document::Message::Fixed(text) => Ok(Message::Fixed(text.as_str().to_owned())),
            document::Message::None => {
                let expression: Vec<&str> = rule.expression.as_str().split_whitespace().collect();
                Ok(Message::Fixed(format!("failed rule: {}", expression.join(" "))))
            }
            document::Message::Expression(text) => {
                let is_text = |ty: &Type| matches!(ty, Type::String);
                self.typed("messageExpression", "text", text, Place::Validation, loops, is_text)
                    .map(Message::Expr)
            }
        }
    }

    /// The mutations in the order in which they run.
    pub(super) fn mutations(&mut self) -> Vec<Mutation> {
        let mut mutations: Vec<Mutation> =
            self.document.mutations.iter().filter_map(|rule| self.mutation(rule).ok()).collect();
        mutations.sort_by_key(|rule| rule.phase);
        mutations
    }

    fn mutation(&mut self, rule: &document::Mutation) -> Checked<Mutation> {
        let place = match (&rule.pod_sets, &rule.containers) {
            (_, Some(_)) => Place::Container,
            (Some(_), None) => Place::PodSet,
            (None, None) => Place::Mutation,
        };
        let (compiled, loops) = self.loops(&rule.for_each, Place::Mutation)?;
        let when = self.maybe_condition("when", rule.when.as_ref(), Place::Mutation, &loops);
        let pod_sets = rule.pod_sets.as_ref().map(|it| self.selector(it, &loops)).transpose();
        let containers = rule.containers.as_ref().map(|it| self.container_selector(it, &loops)).transpose();
        let remove = self.removals(&rule.remove, place);
        let fragments = self.fragments(rule, place, &loops);
        let json_patch =
            rule.json_patch.as_ref().map(|node| self.json_patch(node, place, &loops)).transpose();
        Ok(Mutation {
            name: rule.name.as_str().into(),
            span: rule.name.span().clone(),
            phase: rule.phase,
            when: when?,
            loops: compiled,
            pod_sets: pod_sets?,
            containers: containers?,
            selects: selects(rule),
            on_no_match: rule.on_no_match,
            on_conflict: rule.on_conflict,
            remove: remove?,
            fragments: fragments?,
            json_patch: json_patch?,
        })
    }

    fn selector(&mut self, selector: &document::Selector, loops: &Loops) -> Checked<Selector> {
        let text = |checker: &mut Self, text: Option<&document::Text>| {
            text.map(|text| checker.pieces(text, Place::Mutation, loops)).transpose()
        };
        let name = text(self, selector.name.as_ref());
        let ancestor = text(self, selector.ancestor.as_ref());
        let condition = self.maybe_condition("where", selector.condition.as_ref(), Place::PodSet, loops);
        Ok(Selector { name: name?, ancestor: ancestor?, condition: condition?, first: selector.first })
    }

    fn container_selector(
        &mut self,
        selector: &document::ContainerSelector,
        loops: &Loops,
    ) -> Checked<ContainerSelector> {
        let name = selector.name.as_ref().map(|text| self.pieces(text, Place::PodSet, loops)).transpose();
        let condition = self.maybe_condition("where", selector.condition.as_ref(), Place::Container, loops);
        Ok(ContainerSelector { name: name?, condition: condition?, of: selector.of, first: selector.first })
    }
}

/// What a rule selects, as text: equal for rules that always select the same.
fn selects(rule: &document::Mutation) -> String {
    let text = |text: &Option<document::Text>| text.as_ref().map_or("", document::Text::as_str).to_owned();
    let pod_sets = rule.pod_sets.as_ref().map(|it| [text(&it.name), text(&it.ancestor), text(&it.condition)]);
    let containers = rule.containers.as_ref().map(|it| (text(&it.name), text(&it.condition), it.of));
    format!("{pod_sets:?} {containers:?}")
}
