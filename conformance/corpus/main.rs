//! Plans against recorded runs of upstream's controller on a real API server.
//!
//! The records are found by `TRAINMASTER_TEST_DATA`, the folder that holds `corpus/`; without it the tests are skipped.
//! Each case creates objects and changes them step by step; after each step the objects that plans have written so far
//! must be those that upstream had applied, field for field, quantities by value. `differences.tsv` lists the cases
//! that differ on purpose and those that are still to come, each with its reason; one that does not differ fails the
//! test too.

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test reads files and fails by a panic"
)]
#![allow(unreachable_pub, reason = "nothing is reachable from outside a test")]

mod admission;
mod legacy;
mod recorded;
mod rendered;
mod replay;

use admission::Server;
use replay::Replay;
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    io::Write,
    path::{Path, PathBuf},
};
use trainmaster::policy::PolicySet;

/// The areas of `build.jsonl` that the shipped policies cover.
const AREAS: &[&str] = &[
    "coscheduling",
    "flux",
    "foreign",
    "initializer",
    "jax",
    "mpi",
    "pairs",
    "patches",
    "pipeline",
    "sdk",
    "shipped",
    "torchtune",
    "user",
    "volcano",
    "xgboost",
    "ancestor",
    "container",
    "init-container",
    "job-spec",
    "jobset",
    "managed-by",
    "meta",
    "names",
    "plainml",
    "pod-spec",
    "quantities",
    "refs",
    "resources",
    "suspend",
    "torch",
    "trainer",
    "trainer-env",
    "volume",
];

#[test]
fn plans_make_what_upstream_makes() {
    compare("build.jsonl", "differences.tsv", |id, _| AREAS.contains(&area(id)));
}

/// Of each field that a later version dropped or changed, the newest version that had it says what it means; all else is
/// as the newest version has it.
#[test]
fn fields_of_older_versions_mean_what_they_meant() {
    compare("legacy.jsonl", "legacy.tsv", legacy::is_of_its_version);
}

/// What upstream admits and refuses, for which fields and of which kind. Where the CRD refuses, any of its reasons will do.
#[test]
fn what_is_admitted_is_what_upstream_admits() {
    compare_answers("admission.jsonl", "admission.tsv", |_, _| true);
}

#[test]
fn what_older_versions_refuse_of_their_own_fields_is_refused() {
    compare_answers("legacy.jsonl", "legacy-admission.tsv", legacy::is_of_its_version);
}

fn area(id: &str) -> &str {
    id.split('/').next().unwrap()
}

/// Compares the plans for the recorded cases that `wanted` picks, but for those that `list` says differ.
fn compare(file: &str, list: &str, wanted: impl Fn(&str, &Value) -> bool) {
    let older = file == "legacy.jsonl";
    compare_by(file, list, wanted, |policies, case| Replay::new(policies, older).run(case));
}

/// The same of the answers to requests.
fn compare_answers(file: &str, list: &str, wanted: impl Fn(&str, &Value) -> bool) {
    compare_by(file, list, wanted, |policies, case| Server::new(policies).run(case));
}

fn compare_by(
    file: &str,
    list: &str,
    wanted: impl Fn(&str, &Value) -> bool,
    differences_of: impl Fn(&PolicySet, &Value) -> Vec<String>,
) {
    let Some(cases) = cases(file) else { return };
    let policies = PolicySet::builtin();
    let listed = differences(list);
    let mut areas: BTreeMap<String, Area> = BTreeMap::new();
    let mut report: Vec<String> = Vec::new();
    for case in cases.iter().filter(|case| case.get("unstable").is_none()) {
        let id = case["id"].as_str().unwrap();
        if !wanted(id, case) {
            continue;
        }
        let found = differences_of(&policies, case);
        let area = areas.entry(area(id).to_owned()).or_default();
        area.cases += 1;
        match (found.is_empty(), listed.get(id)) {
            (true, None) => area.agree += 1,
            (false, Some(Kind::Deliberate)) => area.deliberate += 1,
            (false, Some(Kind::ToCome)) => area.to_come += 1,
            (true, Some(_)) => report.push(format!("{id} is listed and does not differ")),
            (false, None) => report.push(format!("{id}: {}\n{}", case["why"], found.join("\n"))),
        }
    }
    for (name, Area { cases, agree, deliberate, to_come }) in &areas {
        say(&format!(
            "{name}: {agree} of {cases} agree, {deliberate} differ on purpose, {to_come} are to come"
        ));
    }
    assert!(report.is_empty(), "{}", report.join("\n"));
    let known: BTreeSet<&str> = cases.iter().filter_map(|case| case["id"].as_str()).collect();
    let unknown: Vec<_> = listed.keys().filter(|id| !known.contains(id.as_str())).collect();
    assert!(unknown.is_empty(), "{list} lists cases that do not exist: {unknown:?}");
}

#[test]
fn what_is_rendered_is_what_upstream_makes() {
    let Some(cases) = cases("build.jsonl") else { return };
    let Some(binary) = option_env!("CARGO_BIN_EXE_trainmaster") else {
        return say("SKIPPED: the command is not part of this build, so nothing is rendered");
    };
    let (policies, listed) = (PolicySet::builtin(), differences("differences.tsv"));
    let mut report: Vec<String> = Vec::new();
    let (mut count, mut compared) = (0, 0);
    for case in cases.iter().filter(|case| case.get("unstable").is_none()) {
        let id = case["id"].as_str().unwrap();
        if listed.contains_key(id) || !AREAS.contains(&area(id)) {
            continue;
        }
        let Some(objects) = rendered::objects(case) else { continue };
        count += 1;
        if count % rendered::EVERY != 0 {
            continue;
        }
        compared += 1;
        let children = rendered::children(binary, &objects);
        let found = Replay::new(&policies, false).compare_with(children, case);
        if !found.is_empty() {
            report.push(format!("{id}: {}\n{}", case["why"], found.join("\n")));
        }
    }
    say(&format!("{compared} of {count} cases rendered, {} differ", report.len()));
    assert!(report.is_empty(), "{}", report.join("\n"));
}

#[derive(Default)]
struct Area {
    cases: usize,
    agree: usize,
    deliberate: usize,
    to_come: usize,
}

/// The records of a file.
fn cases(file: &str) -> Option<Vec<Value>> {
    let Some(folder) = std::env::var_os("TRAINMASTER_TEST_DATA") else {
        say("SKIPPED: TRAINMASTER_TEST_DATA names no folder, so nothing is compared with recorded runs");
        return None;
    };
    let text = std::fs::read_to_string(PathBuf::from(folder).join("corpus").join(file)).unwrap();
    // The records write the namespace `NS`, which is none that exists.
    let text =
        text.replace("\"NS\"", "\"ns\"").replace("\"NS-", "\"ns-").replace("<time>", "2026-01-01T00:00:00Z");
    Some(text.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

/// Why a case differs.
enum Kind {
    Deliberate,
    ToCome,
}

/// The cases that are listed.
fn differences(list: &str) -> BTreeMap<String, Kind> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance/corpus").join(list);
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let entries = lines.map(|line| match line.split('\t').collect::<Vec<_>>()[..] {
        [id, "deliberate", why] if !why.is_empty() => (id.to_owned(), Kind::Deliberate),
        [id, "to come", why] if !why.is_empty() => (id.to_owned(), Kind::ToCome),
        _ => panic!("{list}: {line:?} is not case, kind and reason"),
    });
    entries.collect()
}

/// Prints where it is seen although the test passes.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
