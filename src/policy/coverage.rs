//! Which rules and branches of policies have been reached: [`Coverage`].
//!
//! The policies of an [observed set](super::PolicySet::observed) note which ways their expressions go, in whatever plans
//! and statuses they take part. Which rules did something is told by what a plan writes, makes and says; whoever has the
//! plan hands it in.

use crate::{
    cel::{self, Ways},
    diagnostic::{Source, Span},
};
use std::sync::Arc;

/// The rules and branches of policies, and what has been reached of them.
#[derive(Debug, Default)]
pub struct Coverage {
    /// Each policy, in the order in which they take their turn.
    pub policies: Vec<Covered>,
}

/// One policy.
#[derive(Debug)]
pub struct Covered {
    /// Its name.
    pub name: Arc<str>,
    /// Its document.
    pub span: Span,
    /// Its rules, in the order of the document.
    pub rules: Vec<Rule>,
    /// Its branches, in the order of the document.
    pub branches: Vec<Branch>,
}

/// A rule.
#[derive(Debug)]
pub struct Rule {
    /// What it is.
    pub sort: Sort,
    /// Its name.
    pub name: Arc<str>,
    /// Where its name stands.
    pub span: Span,
    /// Whether it has done something: written a field, made an object, refused or warned.
    pub reached: bool,
}

/// What kind of rule it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// It refuses or warns.
    Validation,
    /// It writes fields.
    Mutation,
    /// It makes objects.
    Resource,
}

impl Sort {
    /// As users call it.
    pub fn name(self) -> &'static str {
        match self {
            Sort::Validation => "validation",
            Sort::Mutation => "mutation",
            Sort::Resource => "resource",
        }
    }
}

/// A place from which there are two ways on.
#[derive(Debug)]
pub struct Branch {
    /// Where that stands which decides.
    pub span: Span,
    /// The rule or variable that it is in: ``mutation `env` ``.
    pub of: String,
    /// What decides.
    pub(super) text: String,
    pub(super) noted: cel::Branch,
}

impl Branch {
    /// The two ways.
    pub fn ways(&self) -> Ways {
        self.noted.ways
    }

    /// The ways that were never taken, as what decides would have been: `false`, `present`.
    pub fn never(&self) -> Vec<&'static str> {
        let ways = self.noted.ways.names().into_iter().zip(self.noted.taken());
        ways.filter(|(_, taken)| !taken).map(|(name, _)| name).collect()
    }
}

/// Something that has not been reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreached {
    /// Where it stands.
    pub span: Span,
    /// What it is, and what never happened there.
    pub text: String,
}

impl Covered {
    /// The rules that did nothing and the branches with a way that was never taken, in the order of the document.
    pub fn unreached(&self) -> Vec<Unreached> {
        let rules = self.rules.iter().filter(|rule| !rule.reached).map(|rule| Unreached {
            span: rule.span.clone(),
            text: format!("{} `{}`: does nothing", rule.sort.name(), rule.name),
        });
        let mut unreached: Vec<Unreached> =
            rules.chain(self.branches.iter().filter_map(Branch::unreached)).collect();
        unreached.sort_by_key(|it| it.span.start());
        unreached
    }
}

impl Branch {
    /// What never happened there, if a way was never taken.
    pub fn unreached(&self) -> Option<Unreached> {
        let what = match self.never().as_slice() {
            [] => return None,
            [way] => format!("never {way}"),
            _ => "never reached".to_owned(),
        };
        let text = format!("{}: {what}: {}", self.of, on_one_line(&self.text));
        Some(Unreached { span: self.span.clone(), text })
    }
}

/// A text without its line breaks, cut where it gets long.
fn on_one_line(text: &str) -> String {
    const LONGEST: usize = 80; // characters
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

impl Coverage {
    /// Notes that a mutation has written something; `source` is the text it stands in.
    pub fn wrote(&mut self, policy: &str, rule: &str, source: &Source) {
        let of_source =
            self.policies.iter_mut().filter(|it| *it.name == *policy && it.span.source() == source);
        let rules = of_source.flat_map(|it| &mut it.rules);
        for found in rules.filter(|it| it.sort == Sort::Mutation && *it.name == *rule) {
            found.reached = true;
        }
    }

    /// Notes that the rule whose name stands at `span`, if there is one, has made an object, refused or warned.
    pub fn acted(&mut self, span: &Span) {
        let rules = self.policies.iter_mut().flat_map(|it| &mut it.rules);
        for found in rules.filter(|it| it.span == *span) {
            found.reached = true;
        }
    }
}
