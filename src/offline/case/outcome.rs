//! What comes of a case, and how it differs from what is expected.

use super::{Case, EXPECTED_OBJECTS, writer::writers};
use crate::{
    diagnostic::{Color, Diagnostic, Source, render},
    object::{
        ObjectRef, Untyped,
        diff::{self, Quantities},
    },
    plan::{Child, Plan},
    policy::Coverage,
    yaml,
};
use serde_json::Value;

/// What became of a case.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The files that came out. One without a text did not, and must not be there.
    pub files: Vec<(&'static str, Option<String>)>,
    /// The plans that were made.
    pub plans: Vec<Plan>,
    /// What was said.
    pub said: Vec<Diagnostic>,
}

/// A file that is not what came out.
#[derive(Debug)]
pub struct Difference {
    /// Its name.
    pub file: &'static str,
    /// What is expected with `-`, what came out with `+`.
    pub text: String,
    /// For each field that differs, who has set it.
    pub writers: Vec<String>,
}

impl Outcome {
    /// Each file of the case that is not what came out.
    pub fn differences(&self, case: &Case) -> Vec<Difference> {
        let differing = self.files.iter().filter_map(|(file, found)| {
            let expected = case.file(file).map(Source::text);
            (expected != found.as_deref()).then(|| self.difference(file, expected, found.as_deref()))
        });
        differing.collect()
    }

    fn difference(&self, file: &'static str, expected: Option<&str>, found: Option<&str>) -> Difference {
        let text = match (expected, found) {
            (Some(expected), Some(found)) => {
                let (before, after) = (Value::from(expected), Value::from(found));
                diff::text(&diff::diff(&before, &after, Untyped, Quantities::AsWritten))
            }
            (None, found) => signed("+", found.unwrap_or_default()),
            (expected, None) => signed("-", expected.unwrap_or_default()),
        };
        let writers = writers(expected.unwrap_or_default(), found.unwrap_or_default(), &self.plans);
        Difference { file, text, writers }
    }

    /// Notes in `coverage` the rules that did something.
    pub fn cover(&self, coverage: &mut Coverage) {
        for plan in &self.plans {
            for write in plan.trace.writes() {
                if let Some(span) = write.span() {
                    coverage.wrote(write.policy(), write.rule(), span.source());
                }
            }
            plan.children.iter().for_each(|child| coverage.acted(&child.span));
        }
        let labels = self.said.iter().flat_map(|it| &it.labels);
        labels.for_each(|label| coverage.acted(&label.span));
    }

    /// The objects to apply, one document each. The ConfigMap that pins the runtime is in every plan and so left out,
    /// unless it is all there is or the case expects it.
    pub(super) fn objects(&self, case: &Case) -> Option<String> {
        let expected = case.file(EXPECTED_OBJECTS).map(|file| yaml::parse(file).0).unwrap_or_default();
        let expected: Vec<_> = expected.iter().filter_map(|it| ObjectRef::of(&it.to_json())).collect();
        let children = self.plans.iter().flat_map(|plan| {
            let only = plan.children.len() == 1;
            let is_wanted =
                |child: &&Child| only || !child.policy.is_empty() || expected.contains(&child.reference);
            plan.children.iter().filter(is_wanted).collect::<Vec<_>>()
        });
        let documents: Vec<String> = children.map(document).collect();
        (!documents.is_empty()).then(|| documents.join("---\n"))
    }

    pub(super) fn words(&self) -> Option<String> {
        let nothing = self.plans.iter().all(|plan| plan.children.is_empty());
        match (self.said.is_empty(), nothing) {
            (true, false) => None,
            (true, true) => Some("nothing to apply\n".to_owned()),
            (false, _) => Some(shown(&self.said)),
        }
    }
}

/// The lines of a text that is there only before, or only after.
fn signed(sign: &str, text: &str) -> String {
    text.lines().flat_map(|line| [sign, " ", line, "\n"]).collect()
}

/// `diagnostics` as a user reads them.
pub(super) fn shown(diagnostics: &[Diagnostic]) -> String {
    let texts: Vec<String> = diagnostics.iter().map(|it| render::text(it, Color::Never)).collect();
    texts.join("\n")
}

fn document(child: &Child) -> String {
    let mut object = child.object.clone();
    if child.sensitive {
        mask(&mut object);
    }
    yaml::emit(&object)
}

/// Says of secret values only how long they are: a key in a file looks like one that somebody uses.
fn mask(object: &mut Value) {
    for field in ["data", "stringData"] {
        for (_, value) in object.get_mut(field).and_then(Value::as_object_mut).into_iter().flatten() {
            let length = value.as_str().map_or(0, |text| text.chars().count());
            *value = format!("({length} secret characters)").into();
        }
    }
}
