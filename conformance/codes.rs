//! The pages of codes: each example produces its code, and each code is produced by some case.

use crate::support::cases;
use std::collections::BTreeSet;
use trainmaster::{
    diagnostic::{Code, Diagnostic, Source, codes},
    policy::PolicySet,
};

/// Pages without an example, and why they have none.
const WITHOUT_EXAMPLE: &[(&str, &str)] = &[
    ("TM0001", "a file that is no text cannot be shown"),
    ("TM0202", "251 brackets are no example; a case has them"),
    ("TM0313", "129 rules are no example; a case has them"),
];

/// Codes of policies that no case produces, and why.
const WITHOUT_CASE: &[(&str, &str)] = &[("TM0001", "the file is read by the program, not by the library")];

/// The first part of a code that says who produces it.
fn is_of_check(code: &Code) -> bool {
    code.id < "TM0500" && !matches!(code.id, "TM0220" | "TM0221")
}

#[test]
fn every_code_of_policies_is_produced_by_a_case() {
    let sources = cases("check").into_iter().filter_map(|case| case.file("policy.yaml").cloned());
    let produced: BTreeSet<_> = sources.flat_map(|source| said(&source)).map(|it| it.code.id).collect();
    let missing = codes::ALL.iter().filter(|it| is_of_check(it) && !produced.contains(it.id));
    let missing: Vec<_> = missing.map(|it| it.id).collect();
    let listed: Vec<_> = WITHOUT_CASE.iter().map(|(id, _)| *id).collect();
    assert_eq!(missing, listed, "codes that no case of conformance/check produces");
}

#[test]
fn the_example_of_each_page_produces_its_code() {
    let mut without = Vec::new();
    for code in codes::ALL.iter().filter(|it| is_of_check(it)) {
        let examples = examples(code.page);
        if examples.is_empty() {
            without.push(code.id);
        }
        for (language, text) in examples {
            let produced = produced(language, &text);
            assert!(produced.contains(code.id), "{}.md: {text}\nproduces {produced:?}", code.id);
        }
    }
    let listed: Vec<_> = WITHOUT_EXAMPLE.iter().map(|(id, _)| *id).collect();
    assert_eq!(without, listed, "pages without an example");
}

/// What is said about policies.
fn said(source: &Source) -> Vec<Diagnostic> {
    PolicySet::with(std::slice::from_ref(source)).1
}

/// The blocks of code of a page, each with its language.
fn examples(page: &str) -> Vec<(&str, String)> {
    let blocks = page.split("\n```").skip(1).step_by(2);
    blocks
        .filter_map(|block| block.split_once('\n'))
        .map(|(language, text)| (language, text.to_owned()))
        .collect()
}

/// The codes of what is said about an example: a policy, or an expression in one.
fn produced(language: &str, text: &str) -> BTreeSet<&'static str> {
    let policy = match language {
        "cel" => format!(
            "apiVersion: policy.trainmaster.dev/v1alpha1\nkind: TrainingPolicy\nmetadata: {{name: example}}\nspec:\n  \
             version: 1.0.0\n  language: \"1\"\n  variables:\n  - name: example\n    expression: >-\n      {text}\n"
        ),
        _ => text.to_owned(),
    };
    said(&Source::new("example", policy)).iter().map(|it| it.code.id).collect()
}
