//! Reading a map of known fields, so that whatever is missing, unknown or of the wrong type is reported.

use super::document::Text;
use crate::{
    diagnostic::{Diagnostic, Span, codes},
    yaml::{Entry, Node},
};

/// The fields of one map. Each is asked for by name; [`Fields::finish`] reports those that nobody asked for.
pub(super) struct Fields<'n, 'd> {
    entries: &'n [Entry],
    span: &'n Span,
    /// What the map is, for messages: `spec.activation`.
    what: &'static str,
    asked: Vec<&'static str>,
    diagnostics: &'d mut Vec<Diagnostic>,
}

impl<'n, 'd> Fields<'n, 'd> {
    /// The fields of `node`; reports and returns nothing if it is no map.
    pub(super) fn of(
        node: &'n Node,
        what: &'static str,
        diagnostics: &'d mut Vec<Diagnostic>,
    ) -> Option<Self> {
        match node.as_map() {
            Some(entries) => Some(Fields { entries, span: &node.span, what, asked: Vec::new(), diagnostics }),
            None => {
                diagnostics.push(wrong_type(node, what, "a map"));
                None
            }
        }
    }

    /// The value of a field that may be absent; null counts as absent.
    pub(super) fn get(&mut self, name: &'static str) -> Option<&'n Node> {
        self.asked.push(name);
        let entry = self.entries.iter().find(|entry| entry.key == name)?;
        (!entry.value.is_null()).then_some(&entry.value)
    }

    /// The value of a field that must be there.
    pub(super) fn required(&mut self, name: &'static str) -> Option<&'n Node> {
        let found = self.get(name);
        if found.is_none() {
            let message = format!("`{}` needs the field `{name}`", self.what);
            self.report(Diagnostic::error(codes::MISSING_FIELD, self.span.clone(), message));
        }
        found
    }

    /// A string that may be absent.
    pub(super) fn text(&mut self, name: &'static str) -> Option<Text> {
        let node = self.get(name)?;
        self.string(node, name)
    }

    /// A string that must be there.
    pub(super) fn required_text(&mut self, name: &'static str) -> Option<Text> {
        let node = self.required(name)?;
        self.string(node, name)
    }

    fn string(&mut self, node: &'n Node, name: &'static str) -> Option<Text> {
        let text = Text::string(node);
        if text.is_none() {
            let scalar = node.as_list().is_none() && node.as_map().is_none();
            let diagnostic = wrong_type(node, name, "a string");
            self.report(if scalar { diagnostic.help("put it in quotes") } else { diagnostic });
        }
        text
    }

    /// An expression that may be absent.
    pub(super) fn expression(&mut self, name: &'static str) -> Option<Text> {
        let node = self.get(name)?;
        self.as_expression(node, name)
    }

    /// An expression that must be there.
    pub(super) fn required_expression(&mut self, name: &'static str) -> Option<Text> {
        let node = self.required(name)?;
        self.as_expression(node, name)
    }

    fn as_expression(&mut self, node: &'n Node, name: &'static str) -> Option<Text> {
        let text = Text::expression(node);
        if text.is_none() {
            self.report(wrong_type(node, name, "an expression in a string"));
        }
        text
    }

    /// A truth value; false if absent.
    pub(super) fn flag(&mut self, name: &'static str) -> bool {
        let Some(node) = self.get(name) else { return false };
        node.as_bool().unwrap_or_else(|| {
            self.report(wrong_type(node, name, "true or false"));
            false
        })
    }

    /// A whole number; zero if absent.
    pub(super) fn integer(&mut self, name: &'static str) -> i64 {
        let Some(node) = self.get(name) else { return 0 };
        node.as_i64().unwrap_or_else(|| {
            self.report(wrong_type(node, name, "a whole number"));
            0
        })
    }

    /// One of a few words; none if absent or wrong.
    pub(super) fn word<T: Clone>(
        &mut self,
        name: &'static str,
        words: &[(&'static str, T)],
    ) -> Option<(T, Span)> {
        let node = self.get(name)?;
        let found = node.as_str().and_then(|text| words.iter().find(|(word, _)| *word == text));
        if let Some((_, value)) = found {
            return Some((value.clone(), node.span.clone()));
        }
        let list: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let message = format!("`{name}` is one of {}", list.join(", "));
        let diagnostic = Diagnostic::error(codes::UNKNOWN_WORD, node.span.clone(), message);
        self.report(diagnostic.did_you_mean(node.as_str().unwrap_or_default(), list));
        None
    }

    /// The items of a list; none if absent or wrong.
    pub(super) fn list(&mut self, name: &'static str) -> &'n [Node] {
        let Some(node) = self.get(name) else { return &[] };
        node.as_list().unwrap_or_else(|| {
            self.report(wrong_type(node, name, "a list"));
            &[]
        })
    }

    /// Each item of a list, read by `read`; those that cannot be read are reported by it and left out.
    pub(super) fn items<T>(
        &mut self,
        name: &'static str,
        mut read: impl FnMut(&'n Node, &mut Vec<Diagnostic>) -> Option<T>,
    ) -> Vec<T> {
        self.list(name).iter().filter_map(|node| read(node, self.diagnostics)).collect()
    }

    /// A list of strings.
    pub(super) fn texts(&mut self, name: &'static str) -> Vec<Text> {
        self.list(name).iter().filter_map(|node| self.string(node, name)).collect()
    }

    /// Where further problems of this map go.
    pub(super) fn diagnostics(&mut self) -> &mut Vec<Diagnostic> {
        self.diagnostics
    }

    /// Reports a problem.
    pub(super) fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// Reports the fields that nobody asked for.
    pub(super) fn finish(self) {
        for entry in self.entries.iter().filter(|entry| !self.asked.contains(&entry.key.as_str())) {
            let message = format!("`{}` has no field `{}`", self.what, entry.key);
            let diagnostic = Diagnostic::error(codes::UNKNOWN_FIELD, entry.key_span.clone(), message);
            let mut names = self.asked.clone();
            names.sort_unstable();
            names.dedup();
            let known = format!("known fields: {}", names.join(", "));
            self.diagnostics.push(diagnostic.help(known).did_you_mean(&entry.key, names));
        }
    }
}

/// `what` should be `wanted`.
pub(super) fn wrong_type(node: &Node, what: &str, wanted: &str) -> Diagnostic {
    let message = format!("`{what}` must be {wanted}, not {}", node.type_name());
    Diagnostic::error(codes::WRONG_TYPE, node.span.clone(), message)
}
