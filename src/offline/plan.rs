//! Snapshots and plans of TrainJobs whose cluster is a set of manifests.

use super::{Manifest, Manifests, locate::located};
use crate::{
    api,
    diagnostic::{Diagnostic, Place, Severity, codes},
    object::{ObjectRef, metadata},
    plan::{
        self, Child, Config, Plan, Refusal, Runtime, RuntimeRef, Served, Snapshot, pin_ref, pinned_runtime,
    },
    policy::PolicySet,
    schema,
};
use std::collections::BTreeMap;

impl Manifests {
    /// What the controller would do for `train_job` in a cluster with these objects. Keys are made of `random`, as in
    /// [`Snapshot::random`]. Diagnostics have their places in the texts; among the warnings is what the API server would
    /// refuse of what is to be applied.
    pub fn plan(
        &self,
        train_job: &Manifest,
        policies: &PolicySet,
        config: &Config,
        random: Option<[u8; 32]>,
    ) -> Result<Plan, Vec<Diagnostic>> {
        let snapshot = self.snapshot(train_job, policies, config, random)?;
        let mut plan = match plan::plan(&snapshot, policies) {
            Ok(plan) => plan,
            Err(Refusal::Waiting(_)) if snapshot.runtime == Runtime::Missing => {
                return Err(vec![self.no_runtime(train_job)]);
            }
            Err(refusal) => return Err(self.located(refusal.diagnostics().to_vec(), train_job)),
        };
        plan.warnings = self.located(plan.warnings, train_job);
        plan.warnings.extend(plan.children.iter().flat_map(refused_child));
        Ok(plan)
    }

    /// What a plan for `train_job` may know of these objects.
    pub fn snapshot(
        &self,
        train_job: &Manifest,
        policies: &PolicySet,
        config: &Config,
        random: Option<[u8; 32]>,
    ) -> Result<Snapshot, Vec<Diagnostic>> {
        let mut snapshot = Snapshot {
            train_job: train_job.object.clone(),
            old_train_job: None,
            runtime: self.runtime(train_job)?,
            live: BTreeMap::new(),
            others: BTreeMap::new(),
            served: Served::Everything,
            config: config.clone(),
            random,
        };
        let namespace = metadata(&train_job.object).namespace();
        for (reference, found) in &self.accepted {
            if plan::is_read(reference, namespace, policies, config) {
                snapshot.others.insert(reference.clone(), found.object.clone());
            }
        }
        // If it cannot be told what is wanted there is no plan either, and the plan says why.
        for reference in plan::wanted(&snapshot, policies).unwrap_or_default() {
            if let Some(found) = self.accepted.get(&reference) {
                snapshot.live.insert(reference, found.object.clone());
            }
        }
        Ok(snapshot)
    }

    fn runtime(&self, train_job: &Manifest) -> Result<Runtime, Vec<Diagnostic>> {
        if let Some(pin) = self.accepted.get(&pin_ref(&train_job.object)) {
            return match pinned_runtime(&pin.object, &train_job.object) {
                Ok(runtime) => Ok(Runtime::Pinned(runtime)),
                Err(error) => Err(vec![
                    located(error.diagnostic(&train_job.reference), &train_job.node)
                        .label(pin.span(), "this one"),
                ]),
            };
        }
        let namespace = metadata(&train_job.object).namespace();
        let Some(reference) = RuntimeRef::of(&train_job.object).object(namespace) else {
            return Ok(Runtime::Missing);
        };
        if let Some(span) = self.refused.get(&reference) {
            let message = format!("{reference} has errors of its own");
            let diagnostic = missing(train_job, message).label(span.clone(), "an API server refuses this");
            return Err(vec![diagnostic]);
        }
        let found = self.accepted.get(&reference).map(|found| found.object.clone());
        Ok(found.map_or(Runtime::Missing, Runtime::live))
    }

    /// That the runtime of `train_job` is not among the objects, and which of them may be meant.
    fn no_runtime(&self, train_job: &Manifest) -> Diagnostic {
        let wanted = RuntimeRef::of(&train_job.object);
        let namespace = metadata(&train_job.object).namespace();
        let reference = wanted.object(namespace);
        let shown = reference.as_ref().map_or_else(|| wanted.name.clone(), ToString::to_string);
        let diagnostic = missing(train_job, format!("{shown} is not among the objects given"));
        let is_runtime = |it: &&ObjectRef| it.gvk.group() == api::GROUP && it.gvk.kind != "TrainJob";
        let meant = wanted.meant(namespace, self.accepted.keys().filter(is_runtime));
        diagnostic.help("give its file too").maybe_help(meant)
    }

    /// `diagnostics` of the plan for `train_job` with the places of fields in the texts.
    fn located(&self, diagnostics: Vec<Diagnostic>, train_job: &Manifest) -> Vec<Diagnostic> {
        diagnostics.into_iter().map(|it| self.locate(it, train_job)).collect()
    }

    /// Every diagnostic shows which TrainJob it is about.
    fn locate(&self, diagnostic: Diagnostic, train_job: &Manifest) -> Diagnostic {
        let name = &train_job.reference;
        match &diagnostic.place {
            Place::Field { object, .. } => {
                let found = self.by_display.get(object).and_then(|reference| self.accepted.get(reference));
                match found {
                    Some(manifest) => located(diagnostic, &manifest.node),
                    None => diagnostic,
                }
            }
            Place::Nowhere => {
                let place = Place::SourceField {
                    span: train_job.span(),
                    object: name.to_string(),
                    path: String::new(),
                };
                Diagnostic { place, ..diagnostic }
            }
            Place::Source(_) => diagnostic.label(train_job.span(), format!("in the plan for {name}")),
            Place::SourceField { .. } => diagnostic,
        }
    }
}

/// That an object which `train_job` refers to is not there.
fn missing(train_job: &Manifest, message: String) -> Diagnostic {
    let path = "spec.runtimeRef.name";
    let place = Place::SourceField {
        span: train_job.locate(path),
        object: train_job.reference.to_string(),
        path: path.to_owned(),
    };
    Diagnostic::error(codes::MISSING_OBJECT, place, message)
}

/// Why an API server would not take the child.
fn refused_child(child: &Child) -> Vec<Diagnostic> {
    let name = child.reference.to_string();
    let warning = |error| {
        let error = schema::diagnostics::refused(&name, error);
        let warning = Diagnostic { severity: Severity::Warning, ..error };
        let warning = warning.help("an API server refuses the object for this");
        match child.policy.as_str() {
            "" => warning,
            _ => warning.label(child.span.clone(), "the object is made here"),
        }
    };
    plan::refused(child).iter().map(warning).collect()
}
