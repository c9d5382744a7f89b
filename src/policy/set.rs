//! The policies that serve, in the order in which they take their turn.

use super::{
    builtin, check,
    check::conflicts,
    compiled::{ConfigMapRef, Policy, Update},
    coverage::Coverage,
    document::{Document, Slot},
    observe::observe,
    parse,
};
use crate::{
    diagnostic::{self, Diagnostic, Source, codes},
    object::Gvk,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, LazyLock},
};

/// Policies with unique names, ordered by `order` and name. Cheap to clone; never changed, only replaced.
#[derive(Clone, Debug, Default)]
pub struct PolicySet {
    policies: Arc<[Arc<Policy>]>,
}

impl PolicySet {
    /// The policies that are part of the program.
    pub fn builtin() -> PolicySet {
        static BUILTIN: LazyLock<PolicySet> = LazyLock::new(PolicySet::compile_builtin);
        BUILTIN.clone()
    }

    fn compile_builtin() -> PolicySet {
        let documents = builtin::sources().flat_map(|source| parse(&source).0);
        // A test holds that each of them passes every check.
        let policies = documents.filter_map(|document| check(&document).0);
        PolicySet::ordered(policies.map(Arc::new).collect())
    }

    /// As [`PolicySet::with`], of policies that note which ways their expressions go.
    pub fn observed(sources: &[Source]) -> (PolicySet, Coverage, Vec<Diagnostic>) {
        // Nobody else has these policies yet, so that they can still be changed.
        let (mut set, diagnostics) = PolicySet::compile_builtin().extended(sources.iter().map(parse));
        let policies = Arc::get_mut(&mut set.policies).into_iter().flatten();
        let covered = policies.filter_map(|policy| Arc::get_mut(policy).map(observe)).collect();
        (set, Coverage { policies: covered }, diagnostics)
    }

    /// The built-in policies, and those of `sources` added or put in the place of one with the same name.
    ///
    /// A policy that does not pass its checks is left out, and the one it was to replace serves on. All problems are
    /// returned, those of a policy that conflicts with another among them.
    pub fn with(sources: &[Source]) -> (PolicySet, Vec<Diagnostic>) {
        PolicySet::builtin().extended(sources.iter().map(parse))
    }

    /// These policies, and those of documents that are parsed already added or put in the place of one with the same name,
    /// as [`PolicySet::with`] has it. Each text's documents come with the problems that were found in it.
    pub fn extended(
        &self,
        parsed: impl IntoIterator<Item = (Vec<Document>, Vec<Diagnostic>)>,
    ) -> (PolicySet, Vec<Diagnostic>) {
        let mut policies: BTreeMap<String, Arc<Policy>> =
            self.policies.iter().map(|it| (it.name.to_string(), Arc::clone(it))).collect();
        let mut diagnostics = Vec::new();
        let mut from: BTreeMap<String, Arc<Policy>> = BTreeMap::new();
        for (documents, problems) in parsed {
            diagnostics.extend(problems);
            for document in documents {
                let (policy, problems) = check(&document);
                diagnostics.extend(problems);
                let Some(policy) = policy.map(Arc::new) else { continue };
                if let Some(first) = from.get(&*policy.name) {
                    diagnostics.push(twice(&policy, first));
                    continue;
                }
                from.insert(policy.name.to_string(), Arc::clone(&policy));
                policies.insert(policy.name.to_string(), policy);
            }
        }
        let set = PolicySet::ordered(policies.into_values().collect());
        conflicts::between(set.policies.iter().map(AsRef::as_ref), &mut diagnostics);
        diagnostic::sort(&mut diagnostics);
        (set, diagnostics)
    }

    fn ordered(mut policies: Vec<Arc<Policy>>) -> PolicySet {
        policies.sort_by(|a, b| (a.order, &a.name).cmp(&(b.order, &b.name)));
        PolicySet { policies: policies.into() }
    }

    /// The policies, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Policy> {
        self.policies.iter().map(AsRef::as_ref)
    }

    /// The policy of that name.
    pub fn get(&self, name: &str) -> Option<&Policy> {
        self.iter().find(|policy| *policy.name == *name)
    }

    /// The kinds of objects that the policies have to do with.
    pub fn kinds(&self) -> Kinds {
        let mut kinds = Kinds::default();
        for policy in self.iter() {
            kinds.required.extend(policy.requires.iter().cloned());
            kinds.watched.extend(policy.watched_kinds().cloned());
            kinds.referenced.extend(policy.references.iter().map(|(_, kind)| kind.clone()));
            let observed = policy.status.as_ref().and_then(|it| policy.resources.get(it.resource));
            kinds.observed.extend(observed.map(|it| it.kind.clone()));
            for resource in &policy.resources {
                kinds.made.insert(resource.kind.clone());
                if policy.slot == Some(Slot::Workload) {
                    kinds.workloads.insert(resource.kind.clone());
                } else if matches!(resource.update, Update::Always | Update::When(_)) {
                    kinds.updated.insert(resource.kind.clone());
                }
            }
        }
        kinds
    }

    /// The ConfigMaps that hold parameters of policies.
    pub fn config_maps(&self) -> impl Iterator<Item = &ConfigMapRef> {
        self.iter().filter_map(|policy| policy.params.as_ref()?.config_map.as_ref())
    }

    /// The kinds of objects that the policies make, each once.
    pub fn resource_kinds(&self) -> Vec<Gvk> {
        let mut kinds: Vec<Gvk> = self.iter().flat_map(Policy::resource_kinds).cloned().collect();
        kinds.sort();
        kinds.dedup();
        kinds
    }
}

/// Kinds of objects, by what policies have to do with them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kinds {
    /// Without these a policy is unavailable.
    pub required: BTreeSet<Gvk>,
    /// Objects of these are made.
    pub made: BTreeSet<Gvk>,
    /// Those of them that run the pods.
    pub workloads: BTreeSet<Gvk>,
    /// Those of them, workloads aside, that may be written again while a TrainJob runs.
    pub updated: BTreeSet<Gvk>,
    /// Those of them whose status is looked at.
    pub observed: BTreeSet<Gvk>,
    /// Their changes plan TrainJobs again.
    pub watched: BTreeSet<Gvk>,
    /// Expressions look their objects up.
    pub referenced: BTreeSet<Gvk>,
}

impl Kinds {
    /// All of them.
    pub fn all(&self) -> BTreeSet<Gvk> {
        let Kinds { required, made, workloads: _, updated: _, observed: _, watched, referenced } = self;
        required.iter().chain(made).chain(watched).chain(referenced).cloned().collect()
    }
}

fn twice(policy: &Policy, first: &Policy) -> Diagnostic {
    let message = format!("the policy `{}` is defined a second time", policy.name);
    let diagnostic = Diagnostic::error(codes::DUPLICATE_NAME, policy.span.clone(), message);
    diagnostic.label(first.span.clone(), "first here")
}
