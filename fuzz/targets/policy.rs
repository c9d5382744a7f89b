//! A text as policies: parsing, checking, and plans by what passes the check.

#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use serde_json::{Value, json};
use std::{collections::BTreeMap, sync::LazyLock};
use trainmaster::{
    diagnostic::{Color, Diagnostic, Source, has_errors, render},
    plan::{Config, Runtime, Served, Snapshot, plan, wanted},
    policy::{self, PolicySet},
    status::status,
};

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    trainmaster_fuzz::mutate(data, size, max_size, seed, trainmaster_fuzz::trees::change_yaml)
});

fuzz_target!(|input: &[u8]| {
    let source = Source::new("input", String::from_utf8_lossy(input));
    let (documents, problems) = policy::parse(&source);
    show(&problems);
    let unreadable = has_errors(&problems);
    let mut usable = false;
    for document in &documents {
        let (policy, problems) = policy::check(document);
        show(&problems);
        assert!(policy.is_none() || !has_errors(&problems));
        assert!(policy.is_some() || has_errors(&problems) || unreadable, "refused without a reason");
        usable |= policy.is_some();
    }
    if usable && !unreadable {
        let (policies, problems) = PolicySet::with(&[source]);
        show(&problems);
        run(&policies);
    }
});

fn show(diagnostics: &[Diagnostic]) {
    for diagnostic in diagnostics {
        render::text(diagnostic, Color::Never);
        render::json(diagnostic);
    }
}

/// A policy that passes the check never makes a plan fail in another way than by a refusal.
fn run(policies: &PolicySet) {
    static SNAPSHOT: LazyLock<Snapshot> = LazyLock::new(snapshot);
    let snapshot = &*SNAPSHOT;
    match (plan(snapshot, policies), plan(snapshot, policies)) {
        (Ok(one), Ok(two)) => assert_eq!(one.children, two.children),
        (one, two) => assert_eq!(one.err(), two.err()),
    }
    let _ = wanted(snapshot, policies);
    let _ = status(snapshot, policies, None, jiff::Timestamp::UNIX_EPOCH);
}

fn snapshot() -> Snapshot {
    let documents: Vec<Value> = [
        include_str!("../../examples/torch/trainjob.yaml"),
        include_str!("../../examples/torch/runtime.yaml"),
    ]
    .iter()
    .flat_map(|text| trainmaster::yaml::parse(&Source::new("", *text)).0)
    .map(|node| node.to_json())
    .collect();
    let mut train_job = documents[0].clone();
    train_job["metadata"]["namespace"] = json!("ns");
    train_job["metadata"]["uid"] = json!("uid");
    Snapshot {
        train_job,
        old_train_job: None,
        runtime: Runtime::live(documents[1].clone()),
        live: BTreeMap::new(),
        others: BTreeMap::new(),
        served: Served::Everything,
        random: Some([7; 32]),
        config: Config::default(),
    }
}
