//! The cases that differ, each with what differs and why.

use crate::drive::Found;
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    path::Path,
};

/// Why a case differs.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    /// What upstream does there is wrong.
    Deliberate,
    /// Something is missing here.
    ToCome,
}

struct Entry {
    kind: Kind,
    /// The subjects that differ, at whichever steps; nothing else may.
    subjects: BTreeSet<String>,
    /// Those of them that differ only if a machine is slow or fast enough.
    maybe: BTreeSet<String>,
}

/// A list of differences.
pub(crate) struct List(BTreeMap<String, Entry>);

impl List {
    pub(crate) fn read(path: &Path) -> List {
        let text =
            std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let entry = |line: &str| {
            let [id, kind, subjects, why] = line.split('\t').collect::<Vec<_>>()[..] else {
                panic!("{line:?} is not case, kind, subjects and reason")
            };
            let kind = match kind {
                "deliberate" => Kind::Deliberate,
                "to come" => Kind::ToCome,
                other => panic!("{other:?} is no kind of difference"),
            };
            assert!(!why.is_empty(), "{id} has no reason");
            let bare = |subject: &str| subject.trim_end_matches('?').to_owned();
            let maybe = subjects.split(' ').filter(|it| it.ends_with('?')).map(bare).collect();
            (id.to_owned(), Entry { kind, subjects: subjects.split(' ').map(bare).collect(), maybe })
        };
        List(text.lines().filter(|line| !line.starts_with('#')).map(entry).collect())
    }

    /// What may differ in a case.
    pub(crate) fn subjects(&self, id: &str) -> BTreeSet<String> {
        self.0.get(id).map(|entry| entry.subjects.clone()).unwrap_or_default()
    }

    /// Whether what was found is what the list says; what is wrong otherwise.
    pub(crate) fn judge(&self, id: &str, found: &Found) -> Result<Option<Kind>, String> {
        let subjects: BTreeSet<String> = found.values().flat_map(|it| it.keys().cloned()).collect();
        let words = |subjects: &BTreeSet<String>| subjects.iter().cloned().collect::<Vec<_>>().join(" ");
        match self.0.get(id) {
            None if found.is_empty() => Ok(None),
            None => Err(format!("  differs in {}\n{}", words(&subjects), text(found))),
            Some(_) if found.is_empty() => Err("  is listed and does not differ".to_owned()),
            Some(entry)
                if entry.subjects.symmetric_difference(&subjects).all(|it| entry.maybe.contains(it)) =>
            {
                Ok(Some(entry.kind))
            }
            Some(entry) => {
                let listed = words(&entry.subjects);
                Err(format!(
                    "  is listed to differ in {listed}, and does in {}\n{}",
                    words(&subjects),
                    text(found)
                ))
            }
        }
    }

    /// The listed cases that are none of `known`.
    pub(crate) fn unknown(&self, known: &[String]) -> Vec<String> {
        self.0.keys().filter(|id| !known.contains(id)).cloned().collect()
    }
}

fn text(found: &Found) -> String {
    let mut text = String::new();
    for (step, differences) in found {
        for (subject, difference) in differences {
            _ = writeln!(
                text,
                "  step {step}, {subject}:\n    {}",
                difference.trim_end().replace('\n', "\n    ")
            );
        }
    }
    text
}
