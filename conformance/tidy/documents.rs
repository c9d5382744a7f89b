//! Pages: what they link to exists, what they tell to type works.

use crate::{files, none, read, root};
use std::path::Path;

/// Targets of `[text](target)` that are files, with the anchor cut off.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets
        .filter(|target| !target.contains("://") && !target.starts_with('#'))
        .filter_map(|target| target.split('#').next())
}

#[test]
fn links_lead_to_files() {
    let mut problems = Vec::new();
    for page in files(".md") {
        let folder = page.parent().unwrap_or(Path::new(""));
        let text = read(&page);
        let missing = links(&text).filter(|target| !root().join(folder).join(target).exists());
        problems.extend(missing.map(|target| format!("{}: {target}", page.display())));
    }
    none("links to nowhere", &problems);
}

#[test]
fn commands_of_pages_are_in_the_makefile() {
    let makefile = read("Makefile");
    let mut problems = Vec::new();
    for page in files(".md") {
        for rest in read(&page).split("`make ").skip(1) {
            let target: String =
                rest.chars().take_while(|char| char.is_ascii_lowercase() || *char == '-').collect();
            if !makefile.lines().any(|line| line.starts_with(&format!("{target}:"))) {
                problems.push(format!("{}: make {target}", page.display()));
            }
        }
    }
    none("no such target", &problems);
}
