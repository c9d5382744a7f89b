//! A text as YAML: every position lies in the text, and what is emitted reads back as the same value.

#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use trainmaster::{
    diagnostic::{Color, Source, render},
    yaml::{self, Kind, Node},
};

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    trainmaster_fuzz::mutate(data, size, max_size, seed, trainmaster_fuzz::trees::change_yaml)
});

fuzz_target!(|input: &[u8]| {
    let text = String::from_utf8_lossy(input);
    let source = Source::new("input", &*text);
    let (documents, problems) = yaml::parse(&source);
    for problem in &problems {
        render::text(problem, Color::Never);
        render::json(problem);
    }
    for document in &documents {
        places(document);
        let value = document.to_json();
        let emitted = yaml::emit(&value);
        let (again, problems) = yaml::parse(&Source::new("emitted", &*emitted));
        assert!(problems.is_empty(), "{emitted}{problems:?}");
        assert_eq!(again.iter().map(Node::to_json).collect::<Vec<_>>(), [value], "{emitted}");
    }
});

/// Every place inside a scalar is inside its text.
fn places(node: &Node) {
    match &node.kind {
        Kind::String(text) => {
            for start in (0..text.len()).step_by(1 + text.len() / 8) {
                let inside = node.inside(start..text.len());
                assert!(node.span.start() <= inside.start() && inside.end() <= node.span.end(), "{node:?}");
            }
        }
        Kind::List(items) => items.iter().for_each(places),
        Kind::Map(entries) => entries.iter().for_each(|entry| places(&entry.value)),
        Kind::Null | Kind::Bool(_) | Kind::Number(_) => {}
    }
}
