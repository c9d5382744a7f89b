//! What the cases reach of the built-in policies. Every rule must do something in a case, and every condition and loop must
//! go both ways, but for those in `unreached.txt`: whoever writes a case for one takes its line out
//! (`UPDATE_GOLDENS=1` does it).
//!
//! That an optional value is never absent is not held: most have a default that an API server fills in. `trainmaster test
//! --coverage` lists those, too.

use crate::support::{cases, root};
use std::{collections::BTreeSet, fs};
use trainmaster::{
    cel::Ways,
    policy::{Coverage, PolicySet, coverage::Branch},
};

/// What the cases of all kinds reach.
fn covered() -> Coverage {
    let (policies, mut coverage, _) = PolicySet::observed(&[]);
    for kind in ["render", "status", "watch"] {
        for case in cases(kind) {
            if let Ok(outcome) = case.run(&policies) {
                outcome.cover(&mut coverage);
            }
        }
    }
    coverage
}

#[test]
fn every_rule_does_something_and_every_branch_goes_both_ways_but_for_those_listed() {
    let coverage = covered();
    let rules = || coverage.policies.iter().flat_map(|policy| &policy.rules);
    let idle = rules().filter(|rule| !rule.reached);
    let idle: Vec<String> =
        idle.map(|rule| format!("{}: {} `{}`", rule.span, rule.sort.name(), rule.name)).collect();
    assert!(idle.is_empty(), "does nothing in any case:\n{}", idle.join("\n"));
    assert!(rules().count() > 100, "{}", rules().count());
    branches(&coverage);
}

/// Holds the branches with ways that no case takes against the list of those that may be.
fn branches(coverage: &Coverage) {
    let mut found = BTreeSet::new();
    for policy in &coverage.policies {
        let held = policy.branches.iter().filter(|branch| branch.ways() != Ways::Presence);
        for place in held.filter_map(Branch::unreached) {
            // Without the line, which changes with every other one.
            found.insert(format!("{}: {}", place.span.source().name(), place.text));
        }
    }
    let path = root("unreached.txt");
    let text = found.into_iter().map(|line| line + "\n").collect::<String>();
    if std::env::var_os("UPDATE_GOLDENS").is_some() {
        fs::write(path, text).unwrap();
        return;
    }
    let listed = fs::read_to_string(path).unwrap();
    let without = |text: &str, other: &str| {
        let other: BTreeSet<&str> = other.lines().collect();
        text.lines().filter(|line| !other.contains(line)).collect::<Vec<_>>().join("\n")
    };
    assert!(
        text == listed,
        "reached by no case, and not in conformance/unreached.txt:\n{}\nin the list, and reached by a case:\n{}",
        without(&text, &listed),
        without(&listed, &text)
    );
}
