//! `policies/FUNCTIONS.md`, which is written from the tables that checker and evaluator read.

use crate::{read, root};
use std::fmt::Write;
use trainmaster::cel::{Function, Library, functions, macros, operators};

const INTRODUCTION: &str = "\
# Functions of the expression language

Expressions are [CEL](https://github.com/google/cel-spec) as Kubernetes has it, with a few functions more. This page is
written from the tables that the checker reads (`UPDATE_GOLDENS=1 cargo test --test tidy`). `string.trim() -> string` is
called as `x.trim()`; `T`, `K` and `V` stand for any type, `dyn` for one that is known only when the expression runs.
";

const PAGE: &str = "policies/FUNCTIONS.md";

fn title(library: Library) -> &'static str {
    match library {
        Library::Core => "Language",
        Library::Optional => "Optional values",
        Library::Strings => "Strings",
        Library::Lists => "Lists",
        Library::Sets => "Sets",
        Library::Math => "Mathematics",
        Library::Encoders => "Base64",
        Library::Regex => "Regular expressions",
        Library::Quantity => "Quantities",
        Library::Semver => "Semantic versions",
        Library::Url => "URLs",
        Library::Network => "IP addresses",
        Library::Format => "Named formats",
        Library::JsonPatch => "JSON Patch",
        Library::JobSet => "Trainmaster: names of what a JobSet makes",
        Library::Resources => "Trainmaster: resources and environment",
        Library::Hash => "Trainmaster: hashes",
        Library::Keys => "Trainmaster: keys",
        Library::Shell => "Trainmaster: words for a shell",
    }
}

fn page() -> String {
    let mut page = INTRODUCTION.to_owned();
    section(&mut page, "Operators");
    for operator in operators() {
        entry(&mut page, operator.symbol, operator.doc, "", operator.signatures.iter().copied());
    }
    section(&mut page, "Macros");
    for makro in macros() {
        entry(&mut page, makro.name, makro.doc, "", makro.forms.iter().copied());
    }
    let mut all: Vec<&Function> = functions().collect();
    all.sort_by_key(|function| function.library);
    for library in all.chunk_by(|one, next| one.library == next.library) {
        let Some(first) = library.first() else { continue };
        section(&mut page, title(first.library));
        for function in library {
            let signatures = function.overloads.iter().map(|overload| overload.signature);
            entry(&mut page, function.name, function.doc, function.errors, signatures);
        }
    }
    page
}

fn section(page: &mut String, title: &str) {
    write!(page, "\n## {title}\n").unwrap();
}

fn entry<'s>(
    page: &mut String,
    name: &str,
    doc: &str,
    errors: &str,
    signatures: impl Iterator<Item = &'s str>,
) {
    write!(page, "\n### `{name}`\n{doc}").unwrap();
    if !errors.is_empty() {
        write!(page, " Fails {errors}.").unwrap();
    }
    page.push_str("\n\n```text\n");
    for signature in signatures {
        writeln!(page, "{signature}").unwrap();
    }
    page.push_str("```\n");
}

#[test]
fn the_page_lists_what_there_is() {
    let page = page();
    if std::env::var_os("UPDATE_GOLDENS").is_some() {
        std::fs::write(root().join(PAGE), &page).unwrap();
    }
    assert!(read(PAGE) == page, "{PAGE} is out of date: UPDATE_GOLDENS=1 cargo test --test tidy");
}
