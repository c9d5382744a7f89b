//! From texts to objects.

use super::{
    Manifests,
    manifest::{Admission, Manifest, admit},
};
use crate::{
    api,
    diagnostic::{self, Diagnostic, Place, Source, Span, codes},
    object::ObjectRef,
    policy::{self, Document},
    yaml::{self, Node},
};

/// The objects of `sources`, and everything that is wrong with them, in the order of the texts. An object of a namespaced
/// kind that names no namespace is one of `namespace`.
pub fn read(sources: &[Source], namespace: &str) -> (Manifests, Vec<Diagnostic>) {
    let mut manifests = Manifests::default();
    let mut diagnostics = Vec::new();
    for source in sources {
        let mut found = Vec::new();
        manifests.read(source, namespace, &mut found);
        diagnostic::sort(&mut found);
        diagnostics.append(&mut found);
    }
    (manifests, diagnostics)
}

impl Manifests {
    fn read(&mut self, source: &Source, namespace: &str, diagnostics: &mut Vec<Diagnostic>) {
        let (documents, problems) = yaml::parse(source);
        let objects: Vec<&Node> = documents.iter().flat_map(expanded).collect();
        let starts: Vec<usize> = objects.iter().map(|node| node.span.start()).collect();
        for (index, node) in objects.iter().enumerate() {
            // What the parser leaves out of a value, as it does with a key that stands twice, lies outside its span.
            let end = starts.get(index + 1).copied().unwrap_or(usize::MAX);
            let inside = |span: &Span| (node.span.start()..end).contains(&span.start());
            let is_flawed = problems.iter().any(|it| it.is_error() && it.place.span().is_some_and(inside));
            let admission = admit(node, namespace, is_flawed, diagnostics);
            self.add(admission, node, is_flawed, diagnostics);
        }
        diagnostics.extend(problems);
    }

    fn add(&mut self, admission: Admission, node: &Node, is_flawed: bool, diagnostics: &mut Vec<Diagnostic>) {
        let is_train_job = node.get("kind").and_then(Node::as_str) == Some("TrainJob")
            && node.get("apiVersion").and_then(Node::as_str).is_some_and(is_ours);
        self.found_train_jobs += usize::from(is_train_job);
        match admission {
            Admission::Accepted(manifest) => {
                if self.is_new(&manifest.reference, &manifest.span(), diagnostics) {
                    self.accept(manifest, is_train_job);
                }
            }
            Admission::Refused(Some(reference)) => {
                let span = super::locate::head(node);
                if self.is_new(&reference, &span, diagnostics) {
                    self.refused.insert(reference, span);
                }
            }
            Admission::Policy => {
                let (document, found) = policy::parse_node(node);
                let document = document.map(|it| Document { flawed: it.flawed || is_flawed, ..it });
                self.policies.push((document, found));
            }
            Admission::Refused(None) | Admission::Ignored => {}
        }
    }

    fn accept(&mut self, manifest: Manifest, is_train_job: bool) {
        if is_train_job {
            self.train_jobs.push(manifest.reference.clone());
        }
        self.by_display.entry(manifest.reference.to_string()).or_insert_with(|| manifest.reference.clone());
        self.accepted.insert(manifest.reference.clone(), manifest);
    }

    /// Whether the object has not been there before; reports it if so.
    fn is_new(&self, reference: &ObjectRef, span: &Span, diagnostics: &mut Vec<Diagnostic>) -> bool {
        let accepted = self.accepted.get(reference).map(Manifest::span);
        let Some(first) = accepted.or_else(|| self.refused.get(reference).cloned()) else { return true };
        let place =
            Place::SourceField { span: span.clone(), object: reference.to_string(), path: String::new() };
        let diagnostic =
            Diagnostic::error(codes::DUPLICATE_OBJECT, place, "the object stands here a second time");
        diagnostics.push(diagnostic.label(first, "first here"));
        false
    }
}

fn is_ours(api_version: &str) -> bool {
    api_version.split_once('/') == Some((api::GROUP, api::VERSION))
}

/// The objects of a document: itself, or those of a `List`.
fn expanded(document: &Node) -> Vec<&Node> {
    let is_list = document.get("kind").and_then(Node::as_str).is_some_and(|kind| kind.ends_with("List"));
    match document.get("items").and_then(Node::as_list) {
        Some(items) if is_list => items.iter().flat_map(expanded).collect(),
        _ => vec![document],
    }
}
