//! What the policies make of the children that exist, for `status`.

use super::{
    Inputs, Refusal, children,
    evaluate::{Result, holds, json, tree},
    params,
    scope::{Fixed, Live, Scope},
    snapshot::{Runtime, Snapshot},
};
use crate::{
    cel::Budget,
    policy::{
        Policy, PolicySet,
        compiled::{Expr, Status},
        document::OnMissing,
    },
};
use serde_json::{Value, json};

/// What a policy makes of the child it observes.
#[derive(Debug)]
pub(crate) struct Report {
    /// Condition types, each with the conditions of the child that say it.
    pub(crate) conditions: Vec<(String, Vec<Value>)>,
    /// Counters per job, if the policy counts any and the child is there.
    pub(crate) jobs: Option<Vec<Value>>,
    /// Whether the counters go because the child is gone.
    pub(crate) clears: bool,
}

/// What each policy that is active for the TrainJob of `snapshot` and observes a child makes of it. A policy that is always
/// active needs no runtime for that; any other is left out while the runtime is missing.
pub(crate) fn reports(
    snapshot: &Snapshot,
    policies: &PolicySet,
) -> std::result::Result<Vec<Report>, Refusal> {
    let mut budget = Budget::default();
    let mut reports = Vec::new();
    for policy in policies.iter() {
        if let Some(status) = &policy.status {
            reports.extend(report(policy, status, snapshot, &mut budget)?);
        }
    }
    Ok(reports)
}

/// Whether `reports` looks at the runtime of any TrainJob.
pub fn status_needs_runtime(policies: &PolicySet) -> bool {
    policies
        .iter()
        .any(|policy| policy.status.is_some() && (policy.activation.is_some() || policy.params.is_some()))
}

fn report(
    policy: &Policy,
    status: &Status,
    snapshot: &Snapshot,
    budget: &mut Budget,
) -> std::result::Result<Option<Report>, Refusal> {
    let missing = json!({ "metadata": {}, "spec": {} });
    let runtime = match &snapshot.runtime {
        Runtime::Pinned(runtime) | Runtime::Live(runtime) => runtime,
        Runtime::Missing if policy.activation.is_none() && policy.params.is_none() => &missing,
        Runtime::Missing => return Ok(None),
    };
    let config = snapshot.config.tree();
    let params = params::params(policy, snapshot, runtime)?;
    let inputs = Inputs {
        train_job: &snapshot.train_job,
        old_train_job: None,
        runtime,
        config: &config,
        params: &params,
        event: None,
    };
    let before = Fixed::new(policy, inputs, Live::default());
    if !holds(policy.activation.as_ref(), &Scope::of(&before), budget)? {
        return Ok(None);
    }
    let named = children::named(&before, budget)?;
    let fixed = Fixed::new(policy, inputs, Live::of(policy, &named, snapshot));
    let is_there = named.iter().filter(|it| it.resource == status.resource).any(|it| {
        snapshot.live.get(&it.reference).is_some_and(|object| children::is_ours(object, &snapshot.train_job))
    });
    let scope = Scope::of(&fixed);
    let mut conditions = Vec::new();
    for (kind, from) in &status.conditions {
        conditions.push((kind.clone(), list(from, &scope, budget)?));
    }
    let jobs = match &status.jobs {
        Some(template) if is_there => match tree(template, &scope, budget)? {
            Some(Value::Array(jobs)) => Some(jobs),
            _ => Some(Vec::new()),
        },
        _ => None,
    };
    let clears = !is_there && status.on_missing == OnMissing::Clear;
    Ok(Some(Report { conditions, jobs, clears }))
}

fn list<'s, 'p: 's>(expr: &'s Expr, scope: &Scope<'s, 'p>, budget: &mut Budget) -> Result<Vec<Value>> {
    match json(expr, scope, budget)? {
        Some(Value::Array(items)) => Ok(items),
        _ => Err(super::evaluate::wrong(expr, "this must be a list of conditions")),
    }
}
