//! From a snapshot and the policies to the objects that shall exist: [`plan()`].
//!
//! A plan is total (every input has an answer), deterministic (same inputs, same bytes) and changes nothing it is
//! given. What policies decide is data; what stands here is what the API itself means: which TrainJobs are run at all,
//! what pins a runtime, that nothing of others is touched.
//!
//! Reading the cluster into a [`Snapshot`] and applying a [`Plan`] are left to the edges; what a plan means for the
//! TrainJob's status is told by `status`.

mod accepted;
mod children;
mod draft;
mod evaluate;
mod mutate;
mod params;
mod patches;
mod pin;
mod report;
mod scope;
mod snapshot;
mod trace;
mod validate;
mod watch;

pub use accepted::refused;
pub use draft::Target;
pub use params::config_map;
pub use pin::{PinError, pin_ref, pinned_runtime};
pub(crate) use report::reports;
pub use report::status_needs_runtime;
pub use snapshot::{
    Config, Runtime, RuntimeRef, Served, Snapshot, Standing, is_finished, is_suspended, standing,
};
pub use trace::{Trace, Written};
pub use watch::{concerns, is_read};

use crate::{
    cel::Budget,
    diagnostic::{self, Diagnostic, Place, Span, codes},
    object::{ObjectRef, find, metadata},
    policy::{
        Policy, PolicySet,
        document::{Phase, Slot},
    },
};
use children::Named;
use draft::Draft;
use mutate::Work;
use scope::{Fixed, Inputs, Live, Scope};
use serde_json::{Value, json};
use std::borrow::Cow;

/// What shall be done for a TrainJob.
#[derive(Debug, Default)]
pub struct Plan {
    /// The objects to write, in the order in which they are to be applied. What is not listed is left alone.
    pub children: Vec<Child>,
    /// What its author should know.
    pub warnings: Vec<Diagnostic>,
    /// Who set what.
    pub trace: Trace,
}

/// An object to write.
#[derive(Clone, Debug, PartialEq)]
pub struct Child {
    /// Which object.
    pub reference: ObjectRef,
    /// The whole of what the controller says about it: it is applied as it stands.
    pub object: Value,
    /// The policy that wants it; empty for what pins the runtime.
    pub policy: String,
    /// The policy's name for it.
    pub resource: String,
    /// Where the policy says so.
    pub span: Span,
    /// Whether it exists already.
    pub exists: bool,
    /// Whether its data must not be shown.
    pub sensitive: bool,
    /// Whether it is the object that runs the pods.
    pub workload: bool,
}

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// Something the TrainJob needs is not there yet.
    Waiting(Box<Diagnostic>),
    /// The TrainJob, its runtime or a policy is wrong.
    Refused(Vec<Diagnostic>),
    /// It refers to a kind of runtime that does not exist. This can never change.
    Unsupported(Box<Diagnostic>),
}

impl Refusal {
    /// What is wrong.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        match self {
            Refusal::Waiting(diagnostic) | Refusal::Unsupported(diagnostic) => {
                std::slice::from_ref(&**diagnostic)
            }
            Refusal::Refused(diagnostics) => diagnostics,
        }
    }
}

impl From<Box<Diagnostic>> for Refusal {
    fn from(diagnostic: Box<Diagnostic>) -> Self {
        Refusal::Refused(vec![*diagnostic])
    }
}

/// The plan for the TrainJob of `snapshot`. It is empty if nothing is to be written: because all is as it should be, or
/// because of how the TrainJob [stands](standing).
pub fn plan(snapshot: &Snapshot, policies: &PolicySet) -> Result<Plan, Refusal> {
    if standing(&snapshot.train_job) != Standing::Active {
        return Ok(Plan::default());
    }
    dry(snapshot, policies)
}

/// The same however the TrainJob stands. Of a snapshot in which nothing is live it is all that the policies would ever
/// make of the TrainJob: what admission asks.
pub fn dry(snapshot: &Snapshot, policies: &PolicySet) -> Result<Plan, Refusal> {
    let runtime = runtime(snapshot)?;
    let chosen = Chosen::new(snapshot, policies, runtime)?;
    let mut budget = Budget::default();
    let (active, named) = chosen.fixed(snapshot, &mut budget)?;
    let due = due(&active, &named, snapshot, &mut budget)?;
    let pin = pin_child(snapshot, runtime);
    if due.is_empty() {
        return Ok(Plan { children: pin.into_iter().collect(), ..Plan::default() });
    }

    let job = reference(&snapshot.train_job);
    let mut trace = Trace::default();
    let template = find(runtime, &["spec", "template"]).cloned().unwrap_or_else(|| json!({}));
    let template = patches::patched(template, &snapshot.train_job, &job, &mut trace)?;
    let mut work = Work { draft: Draft::new(template), trace, budget };
    let mut warnings = Vec::new();
    for phase in [Phase::Template, Phase::Ml, Phase::PodGroup, Phase::PodSpec, Phase::Override] {
        work.phase(phase, &active)?;
        warnings.extend(work.validate(phase, &active, &job)?);
        if diagnostic::has_errors(&warnings) {
            return Err(Refusal::Refused(warnings));
        }
    }
    let mut children: Vec<Child> = pin.into_iter().collect();
    let Work { draft, trace, mut budget } = work;
    children.extend(self::children(&active, due, draft, snapshot, &mut budget)?);
    Ok(Plan { children, warnings, trace })
}

/// Why no TrainJob with this runtime could ever be planned: two policies are for it, or its parameters are wrong.
pub(crate) fn prospects(snapshot: &Snapshot, policies: &PolicySet) -> Result<(), Refusal> {
    Chosen::new(snapshot, policies, runtime(snapshot)?).map(drop)
}

/// The objects whose present state the plan for the TrainJob of `snapshot` depends on: those that its policies name, and
/// the ConfigMap that pins its runtime. `snapshot.live` and a pinned runtime are not looked at.
pub fn wanted(snapshot: &Snapshot, policies: &PolicySet) -> Result<Vec<ObjectRef>, Refusal> {
    if standing(&snapshot.train_job) != Standing::Active {
        return Ok(Vec::new());
    }
    let chosen = Chosen::new(snapshot, policies, runtime(snapshot)?)?;
    let mut wanted = vec![pin_ref(&snapshot.train_job)];
    let (_, named) = chosen.fixed(snapshot, &mut Budget::default())?;
    wanted.extend(named.into_iter().flatten().map(|named| named.reference));
    Ok(wanted)
}

/// The TrainJob, as messages name it.
fn reference(train_job: &Value) -> ObjectRef {
    ObjectRef::of(train_job).unwrap_or_else(|| ObjectRef {
        gvk: crate::object::Gvk::new("", "TrainJob"),
        namespace: None,
        name: String::new(),
    })
}

/// The TrainJob's choice of a runtime, which most refusals are about.
fn runtime_ref_of(train_job: &Value) -> Place {
    Place::Field { object: reference(train_job).to_string(), path: "spec.runtimeRef".to_owned() }
}

fn runtime(snapshot: &Snapshot) -> Result<&Value, Refusal> {
    let wanted = RuntimeRef::of(&snapshot.train_job);
    let place = || runtime_ref_of(&snapshot.train_job);
    if !wanted.is_supported() {
        let message = format!("unsupported runtime: {}.{}", wanted.kind, wanted.group);
        let help = "TrainingRuntime and ClusterTrainingRuntime of trainer.kubeflow.org are supported";
        let diagnostic = Diagnostic::error(codes::UNSUPPORTED_RUNTIME, place(), message).help(help);
        return Err(Refusal::Unsupported(Box::new(diagnostic)));
    }
    let object = || {
        let object = wanted.object(metadata(&snapshot.train_job).namespace());
        object.map_or_else(|| wanted.name.clone(), |object| object.to_string())
    };
    match &snapshot.runtime {
        Runtime::Pinned(runtime) | Runtime::Live(runtime)
            if runtime.get("spec").is_some_and(Value::is_object) =>
        {
            Ok(runtime)
        }
        Runtime::Pinned(_) | Runtime::Live(_) => {
            let message = format!("{} has no spec", object());
            Err(Refusal::Refused(vec![Diagnostic::error(codes::MISSING_OBJECT, place(), message)]))
        }
        Runtime::Missing => {
            let message = format!("{} is not there", object());
            let help = "it must be created before the TrainJob can run";
            let diagnostic = Diagnostic::error(codes::MISSING_OBJECT, place(), message).help(help);
            Err(Refusal::Waiting(Box::new(diagnostic)))
        }
    }
}

/// The policies that are active for a TrainJob, with their parameters.
struct Chosen<'p> {
    runtime: &'p Value,
    config: Value,
    policies: Vec<(&'p Policy, Cow<'p, Value>)>,
}

impl<'p> Chosen<'p> {
    fn new(snapshot: &'p Snapshot, policies: &'p PolicySet, runtime: &'p Value) -> Result<Self, Refusal> {
        let mut chosen = Chosen { runtime, config: snapshot.config.tree(), policies: Vec::new() };
        let (none, mut budget) = (json!({}), Budget::default());
        for policy in policies.iter() {
            let params = params::params(policy, snapshot, runtime);
            // Wrong parameters are of no matter to a TrainJob that the policy is not for.
            let known = params.as_deref().unwrap_or(&none);
            let fixed = Fixed::new(policy, chosen.inputs(snapshot, known), Live::default());
            if !evaluate::holds(policy.activation.as_ref(), &Scope::of(&fixed), &mut budget)? {
                continue;
            }
            available(policy, snapshot)?;
            chosen.free_slot(policy, snapshot)?;
            chosen.policies.push((policy, params?));
        }
        Ok(chosen)
    }

    fn inputs<'a>(&'a self, snapshot: &'a Snapshot, params: &'a Value) -> Inputs<'a> {
        Inputs {
            train_job: &snapshot.train_job,
            old_train_job: snapshot.old_train_job.as_ref(),
            runtime: self.runtime,
            config: &self.config,
            params,
            event: None,
        }
    }

    /// Refuses a second policy in a slot.
    fn free_slot(&self, policy: &Policy, snapshot: &Snapshot) -> Result<(), Refusal> {
        let taken =
            self.policies.iter().find(|(other, _)| policy.slot.is_some() && other.slot == policy.slot);
        let Some((other, _)) = taken else { return Ok(()) };
        let message =
            format!("the policies `{}` and `{}` are both for this TrainJob", other.name, policy.name);
        let place = runtime_ref_of(&snapshot.train_job);
        let diagnostic = Diagnostic::error(codes::SLOT_TAKEN, place, message);
        Err(Refusal::Refused(vec![
            diagnostic.label(other.span.clone(), "this one").label(policy.span.clone(), "and this one"),
        ]))
    }

    /// What expressions of each policy see, and the objects that each names.
    fn fixed<'a>(
        &'a self,
        snapshot: &'a Snapshot,
        budget: &mut Budget,
    ) -> Result<ActiveAndNamed<'a>, Refusal> {
        let (mut active, mut all) = (Vec::new(), Vec::new());
        for (policy, params) in &self.policies {
            let inputs = self.inputs(snapshot, params);
            let named = children::named(&Fixed::new(policy, inputs, Live::default()), budget)?;
            active.push(Fixed::new(policy, inputs, Live::of(policy, &named, snapshot)));
            all.push(named);
        }
        children::distinct(&active, &all, &snapshot.train_job)?;
        Ok((active, all))
    }
}

type ActiveAndNamed<'a> = (Vec<Fixed<'a>>, Vec<Vec<Named>>);

/// Refuses to go on while a kind that the policy needs is not served.
fn available(policy: &Policy, snapshot: &Snapshot) -> Result<(), Refusal> {
    match policy.requires.iter().find(|kind| !snapshot.served.has(kind)) {
        None => Ok(()),
        Some(kind) => {
            let message =
                format!("the policy `{}` is unavailable: the cluster does not serve {kind}", policy.name);
            let help = "it becomes available as soon as the kind's CRD is installed";
            let place = runtime_ref_of(&snapshot.train_job);
            let diagnostic = Diagnostic::error(codes::KIND_NOT_SERVED, place, message).help(help);
            Err(Refusal::Waiting(Box::new(diagnostic.label(policy.span.clone(), "this policy"))))
        }
    }
}

/// What is to be written now: which policy, which object.
fn due<'n>(
    active: &[Fixed<'_>],
    named: &'n [Vec<Named>],
    snapshot: &Snapshot,
    budget: &mut Budget,
) -> Result<Vec<(usize, &'n Named)>, Refusal> {
    let mut due = Vec::new();
    for (policy, (fixed, named)) in active.iter().zip(named).enumerate() {
        for named in named {
            if children::is_due(named, fixed, snapshot, budget)? {
                due.push((policy, named));
            }
        }
    }
    Ok(due)
}

fn pin_child(snapshot: &Snapshot, runtime: &Value) -> Option<Child> {
    let Runtime::Live(_) = &snapshot.runtime else { return None };
    let mut object = pin::pin(&snapshot.train_job, runtime);
    children::own(&mut object, &snapshot.train_job);
    Some(Child {
        reference: pin_ref(&snapshot.train_job),
        object,
        policy: String::new(),
        resource: String::new(),
        span: diagnostic::Source::new("", "").span(0..0),
        exists: false,
        sensitive: false,
        workload: false,
    })
}

/// The objects that are due, made of what the rules have left of the draft. What pods mount or wait for comes before what
/// runs the pods.
fn children(
    active: &[Fixed<'_>],
    due: Vec<(usize, &Named)>,
    draft: Draft,
    snapshot: &Snapshot,
    budget: &mut Budget,
) -> Result<Vec<Child>, Refusal> {
    let mut due: Vec<_> = due
        .into_iter()
        .filter_map(|(policy, named)| {
            let fixed = active.get(policy)?;
            Some((fixed, fixed.policy.resources.get(named.resource)?, named))
        })
        .collect();
    due.sort_by_key(|(fixed, ..)| fixed.policy.slot == Some(Slot::Workload));
    let last = due.pop();
    let mut children = Vec::with_capacity(due.len() + 1);
    for (fixed, resource, named) in due {
        let scope = Scope::of(fixed).with_draft(&draft).with_whole().with_loops(&named.run);
        children.extend(children::child(named, resource, scope, snapshot, budget)?);
    }
    if let Some((fixed, resource, named)) = last {
        children.extend(children::last_child(named, resource, fixed, draft, snapshot, budget)?);
    }
    Ok(children)
}
