//! Plans without a cluster: from the texts of manifests to what would be applied.
//!
//! [`read`] takes every object of the texts through what an API server does before it stores one, with a diagnostic at
//! the very field for whatever it would refuse or drop. [`Manifests`] then stand in for the cluster: they give each
//! TrainJob its [`Snapshot`](crate::plan::Snapshot) and its [`Plan`](crate::plan::Plan), by the policies among them, too.
//! An object that is wrong fails alone. [`case`] holds what comes of them against what is expected.
//!
//! Reading files and printing are left to the edges.

pub mod case;
mod locate;
mod manifest;
mod plan;
mod read;
#[cfg(test)]
mod tests;

pub use manifest::Manifest;
pub use read::read;

use crate::{
    diagnostic::{Diagnostic, Source, Span},
    object::ObjectRef,
    policy::{self, Document, PolicySet},
};
use std::collections::BTreeMap;

/// The objects of some texts, in place of those of a cluster.
#[derive(Debug, Default)]
pub struct Manifests {
    accepted: BTreeMap<ObjectRef, Manifest>,
    /// The objects that an API server would refuse, with their place.
    refused: BTreeMap<ObjectRef, Span>,
    /// The objects by the name that messages have for them.
    by_display: BTreeMap<String, ObjectRef>,
    /// The policies among the objects: as they were parsed, with what is wrong with them.
    policies: Vec<(Option<Document>, Vec<Diagnostic>)>,
    /// The TrainJobs, in the order of the texts.
    train_jobs: Vec<ObjectRef>,
    found_train_jobs: usize,
}

impl Manifests {
    /// The TrainJobs that are in order, in the order of the texts.
    pub fn train_jobs(&self) -> impl Iterator<Item = &Manifest> {
        self.train_jobs.iter().filter_map(|reference| self.accepted.get(reference))
    }

    /// The policies of `base` with those among these objects and those of `sources`, and everything that is wrong with
    /// these, as [`PolicySet::with`] has it.
    pub fn policies(&self, base: &PolicySet, sources: &[Source]) -> (PolicySet, Vec<Diagnostic>) {
        let own = self
            .policies
            .iter()
            .map(|(document, problems)| (document.iter().cloned().collect(), problems.clone()));
        base.extended(own.chain(sources.iter().map(policy::parse)))
    }

    /// How many TrainJobs there are in the texts, those that are wrong among them.
    pub fn found_train_jobs(&self) -> usize {
        self.found_train_jobs
    }

    /// The object, if it is there and in order.
    pub fn get(&self, reference: &ObjectRef) -> Option<&Manifest> {
        self.accepted.get(reference)
    }

    /// Every object that is in order, ordered by kind, namespace and name.
    pub fn iter(&self) -> impl Iterator<Item = &Manifest> {
        self.accepted.values()
    }
}
