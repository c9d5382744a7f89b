//! One TrainJob, from what is known of it to what shall be: [`reconcile`].
//!
//! Read, plan, apply, status, in this order. What is known comes from the [cache](super::cache); a request is made
//! only for what is not kept there, and for what has to change.

use super::{
    apply::apply,
    cache::{From, TRAIN_JOBS, Trouble, uid},
    cluster::At,
    error::Chain,
    events,
    failure::Failure,
    metrics::{
        CONTROLLER, Metrics, PLAN_TIME, PLANS, RECONCILE_ERRORS, RECONCILE_TIME, RECONCILES, REFUSALS,
    },
    shared::Shared,
    snapshot::Attempt,
    store::{self, Key},
};
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use std::time::{Duration, Instant};
use trainmaster::{
    object::metadata,
    plan::{Plan, Refusal, Snapshot, Standing, is_finished, plan, standing},
    policy::PolicySet,
    status::{BLOCKED, Decision, FAILED, Problem, status},
};

/// Brings a TrainJob a step nearer to what it should be; returns when to look at it again though nothing has changed.
pub(super) async fn reconcile(shared: &Shared, key: &Key) -> Option<Duration> {
    let began = Instant::now();
    let (is_fine, again) = look(shared, key).await;
    let result = match (is_fine, again) {
        (false, _) => "error",
        (true, Some(_)) => "requeue_after",
        (true, None) => "success",
    };
    shared.metrics.count(&RECONCILES, &[CONTROLLER, result]);
    shared.metrics.observe(&RECONCILE_TIME, &[CONTROLLER], began.elapsed());
    if !is_fine {
        shared.metrics.count(&RECONCILE_ERRORS, &[CONTROLLER]);
    }
    again
}

/// Whether all went well, and when to look again.
async fn look(shared: &Shared, key: &Key) -> (bool, Option<Duration>) {
    let Some(mut attempt) = Attempt::begin(shared, key) else { return (true, None) };
    let outcome = match standing(&attempt.snapshot.train_job) {
        Standing::Foreign | Standing::Deleted => return (true, None),
        Standing::Finished => {
            attempt.forget_gone();
            Ok(())
        }
        Standing::Active if is_over(&mut attempt) || attempt.is_settled() => Ok(()),
        Standing::Active => carry_out(&mut attempt).await,
    };
    let (problem, again) = attempt.judge(&outcome);
    let written = write_status(&attempt, problem.as_ref()).await;
    match written {
        Ok(look_again) => (outcome.is_ok(), [again, look_again].into_iter().flatten().min()),
        Err(failure) => {
            let (_, again) = attempt.judge(&Err(failure));
            (false, again)
        }
    }
}

/// Whether the TrainJob has ended though its status does not say so yet: a child that is gone by now has said so, or its
/// time is up. Then nothing is to be made for it any more.
fn is_over(attempt: &mut Attempt<'_>) -> bool {
    let gone = attempt.gone();
    if gone.is_empty() && attempt.snapshot.train_job.pointer("/spec/activeDeadlineSeconds").is_none() {
        return false;
    }
    let present = attempt.snapshot.live.clone();
    for (reference, object) in gone {
        attempt.snapshot.live.entry(reference).or_insert(object);
    }
    let decision = decide(&attempt.snapshot, &attempt.policies, None);
    let is_over = decision.expired || decision.status.is_some_and(|it| is_finished(&json!({ "status": it })));
    if !is_over {
        attempt.snapshot.live = present;
        attempt.forget_gone();
    }
    is_over
}

/// Plans and applies.
async fn carry_out(attempt: &mut Attempt<'_>) -> Result<(), Failure> {
    attempt.read().await?;
    let began = Instant::now();
    let planned = plan(&attempt.snapshot, &attempt.policies);
    note(&attempt.shared.metrics, &planned, began.elapsed());
    let plan = planned.map_err(|refusal| {
        Failure::refused(&refusal).unless_left_over(&attempt.snapshot.live, &attempt.snapshot.train_job)
    })?;
    for warning in &plan.warnings {
        tracing::debug!(code = warning.code.id, "{}", warning.message);
    }
    for child in &plan.children {
        apply(attempt, child).await.map_err(|error| Failure::child(child, &error))?;
    }
    attempt.is_carried_out();
    Ok(())
}

/// Counts a plan.
fn note(metrics: &Metrics, planned: &Result<Plan, Refusal>, time: Duration) {
    metrics.observe(&PLAN_TIME, &[], time);
    let (result, diagnostics) = match planned {
        Ok(_) => ("planned", [].as_slice()),
        Err(refusal) => (
            match refusal {
                Refusal::Waiting(_) => "waiting",
                Refusal::Refused(_) => "refused",
                Refusal::Unsupported(_) => "unsupported",
            },
            refusal.diagnostics(),
        ),
    };
    metrics.count(&PLANS, &[result]);
    for diagnostic in diagnostics.iter().filter(|it| it.is_error()) {
        metrics.count(&REFUSALS, &[diagnostic.code.id]);
    }
}

/// Writes the status if it differs; returns when a deadline passes. A TrainJob that has run too long loses its workload
/// first.
async fn write_status(attempt: &Attempt<'_>, problem: Option<&Problem>) -> Result<Option<Duration>, Failure> {
    let decision = decide(&attempt.snapshot, &attempt.policies, problem);
    let before = &attempt.snapshot.train_job["status"];
    if decision.expired {
        delete_workloads(attempt).await?;
    }
    let Some(after) = decision.status.as_ref().filter(|after| *after != before) else {
        return Ok(decision.look_again);
    };
    let shared = attempt.shared;
    let train_job = &attempt.snapshot.train_job;
    let Some(resource) = shared.cache().resource(&TRAIN_JOBS) else { return Ok(None) };
    let at = At { resource: &resource, namespace: attempt.key.namespace(), name: &attempt.key.name };
    let patch = json!({
        "metadata": { "resourceVersion": attempt.version.to_string(), "uid": uid(train_job) },
        "status": difference(before, after),
    });
    match shared.cluster.merge_status(at, &patch).await {
        Ok(stored) => {
            shared.cache().put(&TRAIN_JOBS, &stored, From::Answer);
            tracing::info!(status = latest(after), "status written");
            if let Some(message) = news(before, after) {
                events::tell(shared, at, train_job, message).await;
            }
            Ok(decision.look_again)
        }
        // It has changed meanwhile, so there is news of it, or it is gone.
        Err(error) if error.is_conflict() || error.is_not_found() => Ok(Some(Duration::from_secs(1))),
        Err(error) => {
            tracing::warn!(error = %Chain(&error), "cannot write the status");
            Err(Failure::read(
                &trainmaster::object::ObjectRef {
                    gvk: TRAIN_JOBS.clone(),
                    namespace: attempt.key.namespace().map(str::to_owned),
                    name: attempt.key.name.to_string(),
                },
                &error,
            ))
        }
    }
}

/// The status. If an expression of a policy fails, that is the problem, and nothing else is said of the children.
fn decide(snapshot: &Snapshot, policies: &PolicySet, problem: Option<&Problem>) -> Decision {
    let now = Timestamp::now();
    let nothing = || Decision { status: None, expired: false, look_again: None };
    status(snapshot, policies, problem, now).unwrap_or_else(|refusal| {
        let problem = Problem::of(&refusal);
        status(snapshot, &PolicySet::default(), Some(&problem), now).unwrap_or_else(|_| nothing())
    })
}

async fn delete_workloads(attempt: &Attempt<'_>) -> Result<(), Failure> {
    let shared = attempt.shared;
    let kinds = shared.cache().kinds.clone();
    for (reference, object) in &attempt.snapshot.live {
        let resource = shared.cache().resource(&reference.gvk);
        let is_workload = kinds.workloads.contains(&reference.gvk)
            && store::train_job_of(object)
                .is_some_and(|(_, owner)| owner == uid(&attempt.snapshot.train_job));
        if let (Some(resource), true) = (resource, is_workload) {
            let at =
                At { resource: &resource, namespace: reference.namespace.as_deref(), name: &reference.name };
            let deleted = shared.cluster.delete(at, metadata(object).uid()).await;
            deleted.map_err(|error| Failure::delete(reference, &error))?;
            tracing::info!(child = %reference, "deleted: the TrainJob has run too long");
        }
    }
    Ok(())
}

/// A merge patch from one status to another, field by field at the top.
fn difference(before: &Value, after: &Value) -> Value {
    let fields = |value: &Value| value.as_object().cloned().unwrap_or_default();
    let (before, after) = (fields(before), fields(after));
    let mut patch = Map::new();
    for name in before.keys().filter(|name| !after.contains_key(*name)) {
        patch.insert(name.clone(), Value::Null);
    }
    patch.extend(after.into_iter().filter(|(name, value)| before.get(name) != Some(value)));
    Value::Object(patch)
}

fn conditions(status: &Value) -> impl DoubleEndedIterator<Item = &Value> {
    status["conditions"].as_array().into_iter().flatten()
}

/// The type of the condition that `kubectl get` shows.
fn latest(status: &Value) -> &str {
    conditions(status).next_back().and_then(|it| it["type"].as_str()).unwrap_or_default()
}

/// What a status says that is wrong and was not said before.
fn news<'a>(before: &Value, after: &'a Value) -> Option<&'a str> {
    let said = |status: &Value, new: &Value| {
        conditions(status).any(|old| old["type"] == new["type"] && old["message"] == new["message"])
    };
    let ours = |condition: &&Value| match condition["type"].as_str() {
        Some(BLOCKED) => true,
        Some(FAILED) => condition["reason"] == "TrainingRuntimeNotSupported",
        _ => false,
    };
    conditions(after).find(|new| ours(new) && !said(before, new)).and_then(|it| it["message"].as_str())
}

/// What is in the way, as it was shown last.
pub(super) fn shown(train_job: &Value) -> Option<Problem> {
    let condition = conditions(&train_job["status"]).find(|it| it["type"] == BLOCKED)?;
    let text = |field: &str| condition[field].as_str().unwrap_or_default().to_owned();
    Some(Problem { reason: text("reason"), message: text("message"), is_final: false })
}

/// When a TrainJob began to have trouble, and how often it was tried since.
pub(super) fn once_more(trouble: Option<Trouble>) -> Trouble {
    trouble.map_or_else(
        || Trouble { since: Instant::now(), tries: 0 },
        |it| Trouble { tries: it.tries.saturating_add(1), ..it },
    )
}
