#![allow(clippy::needless_pass_by_value, reason = "literals read better without references")]

use super::*;
use crate::object::ObjectRef;
use crate::plan::{Config, Runtime, Served};

const NOW: &str = "2026-01-01T12:00:00Z";

/// A TrainJob with this `spec` and `status`, and a JobSet with this status if there is one.
fn snapshot(spec: Value, status: Value, job_set: Option<Value>) -> Snapshot {
    let mut train_job = json!({
        "apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob",
        "metadata": {"name": "tj", "namespace": "ns", "uid": "u", "creationTimestamp": "2026-01-01T11:00:00Z"},
        "spec": spec, "status": status,
    });
    if train_job["status"].is_null() {
        train_job.as_object_mut().unwrap().remove("status");
    }
    let live = job_set.map(|status| {
        json!({
            "apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet",
            "metadata": {"name": "tj", "namespace": "ns", "ownerReferences": [{"uid": "u", "controller": true}]},
            "spec": {}, "status": status,
        })
    });
    Snapshot {
        train_job,
        old_train_job: None,
        runtime: Runtime::Missing,
        live: live.into_iter().map(|object| (ObjectRef::of(&object).unwrap(), object)).collect(),
        others: [].into(),
        served: Served::Everything,
        config: Config::default(),
        random: None,
    }
}

fn decide(snapshot: &Snapshot, problem: Option<&Problem>) -> Decision {
    status(snapshot, &PolicySet::builtin(), problem, NOW.parse().unwrap()).unwrap()
}

/// A condition as `Type=Status Reason`, with its time where it is not now.
fn shown(decision: &Decision) -> Vec<String> {
    let conditions =
        decision.status.as_ref().and_then(|it| it["conditions"].as_array()).cloned().unwrap_or_default();
    let show = |it: &Value| {
        let text = |field: &str| it[field].as_str().unwrap().to_owned();
        let time = text("lastTransitionTime");
        let time = if time == NOW { String::new() } else { format!(" since {time}") };
        format!("{}={} {}{time}", text("type"), text("status"), text("reason"))
    };
    conditions.iter().map(show).collect()
}

fn condition(kind: &str, status: &str, reason: &str) -> Value {
    json!({"type": kind, "status": status, "reason": reason, "message": "m", "lastTransitionTime": "2026-01-01T11:30:00Z"})
}

fn problem(reason: &str, is_final: bool) -> Problem {
    Problem { reason: reason.to_owned(), message: "because".to_owned(), is_final }
}

#[test]
fn a_job_that_has_only_begun_says_nothing() {
    let decision = decide(&snapshot(json!({}), Value::Null, None), None);
    assert_eq!(decision, Decision { status: None, expired: false, look_again: None });
}

#[test]
fn suspension_shows_and_resuming_shows_only_after_it() {
    let check = |suspend: bool, status: Value, want: &[&str]| {
        assert_eq!(shown(&decide(&snapshot(json!({ "suspend": suspend }), status, None), None)), want);
    };
    check(true, Value::Null, &["Suspended=True Suspended"]);
    check(false, Value::Null, &[]);
    let suspended = json!({"conditions": [condition("Suspended", "True", "Suspended")]});
    check(true, suspended.clone(), &["Suspended=True Suspended since 2026-01-01T11:30:00Z"]);
    check(false, suspended, &["Suspended=False Resumed"]);
}

#[test]
fn the_end_of_the_jobset_is_the_end_of_the_trainjob_with_its_words_and_time() {
    let completed = json!({"conditions": [
        condition("Suspended", "False", "Resumed"), condition("Completed", "True", "AllJobsCompleted"),
    ]});
    let decision = decide(&snapshot(json!({}), Value::Null, Some(completed)), None);
    assert_eq!(shown(&decision), ["Complete=True AllJobsCompleted since 2026-01-01T11:30:00Z"]);
    let undecided = json!({"conditions": [condition("Failed", "False", "No")]});
    assert_eq!(shown(&decide(&snapshot(json!({}), Value::Null, Some(undecided)), None)), [""; 0]);
}

#[test]
fn what_is_final_stays_and_counters_still_follow() {
    let failed = json!({"conditions": [condition("Failed", "True", "DeadlineExceeded")]});
    let job_set = json!({
        "conditions": [condition("Completed", "True", "AllJobsCompleted")],
        "replicatedJobsStatus": [{"name": "node", "ready": 0, "succeeded": 1, "failed": 0, "active": 0, "suspended": 0}],
    });
    let decision =
        decide(&snapshot(json!({}), failed.clone(), Some(job_set)), Some(&problem("ApplyFailed", false)));
    assert_eq!(shown(&decision), ["Failed=True DeadlineExceeded since 2026-01-01T11:30:00Z"]);
    assert_eq!(decision.status.unwrap()["jobsStatus"][0]["succeeded"], 1);
    // Nothing left to observe changes nothing either.
    assert_eq!(decide(&snapshot(json!({}), failed.clone(), None), None).status, Some(failed));
}

#[test]
fn counters_are_whole_whatever_the_jobset_says() {
    let job_set = json!({"replicatedJobsStatus": [
        {"name": "node", "ready": 2, "succeeded": 0, "failed": 0, "active": -1, "extra": "x"},
        {"name": "node", "ready": 7},
        {"name": "", "ready": 7},
    ]});
    let status = decide(&snapshot(json!({}), Value::Null, Some(job_set)), None).status.unwrap();
    let want =
        json!([{"name": "node", "ready": 2, "succeeded": 0, "failed": 0, "active": 0, "suspended": 0}]);
    assert_eq!(status["jobsStatus"], want);
    let many: Vec<Value> = (0..200).map(|i| json!({"name": format!("j{i}")})).collect();
    let status =
        decide(&snapshot(json!({}), Value::Null, Some(json!({ "replicatedJobsStatus": many }))), None);
    assert_eq!(status.status.unwrap()["jobsStatus"].as_array().unwrap().len(), 100);
}

#[test]
fn the_counters_of_a_missing_jobset_stay() {
    let before = json!({"jobsStatus": [{"name": "node", "ready": 1, "succeeded": 0, "failed": 0, "active": 1, "suspended": 0}]});
    assert_eq!(decide(&snapshot(json!({}), before.clone(), None), None).status, Some(before));
}

#[test]
fn the_jobset_of_an_earlier_trainjob_of_that_name_says_nothing() {
    let completed = json!({"conditions": [condition("Completed", "True", "AllJobsCompleted")]});
    let mut snapshot = snapshot(json!({}), Value::Null, Some(completed));
    snapshot.train_job["metadata"]["uid"] = json!("another");
    assert_eq!(decide(&snapshot, None).status, None);
}

#[test]
fn a_problem_shows_while_it_lasts_and_leaves_nothing_behind() {
    let blocked = decide(&snapshot(json!({}), Value::Null, None), Some(&problem("ApplyFailed", false)));
    assert_eq!(shown(&blocked), ["Blocked=True ApplyFailed"]);
    let cured = decide(&snapshot(json!({}), blocked.status.unwrap(), None), None);
    assert_eq!(cured.status, Some(json!({"conditions": []})));
    let last =
        decide(&snapshot(json!({}), Value::Null, None), Some(&problem("TrainingRuntimeNotSupported", true)));
    assert_eq!(shown(&last), ["Failed=True TrainingRuntimeNotSupported"]);
}

#[test]
fn a_deadline_runs_from_creation_or_from_resuming_and_not_while_suspended() {
    let check = |seconds: i64, suspend: bool, status: Value, want: (bool, Option<u64>)| {
        let spec = json!({"activeDeadlineSeconds": seconds, "suspend": suspend});
        let decision = decide(&snapshot(spec, status, None), None);
        let again = decision.look_again.map(|it| it.as_secs());
        assert_eq!((decision.expired, again), want, "{seconds} {suspend}");
        let failed = shown(&decision).contains(&"Failed=True DeadlineExceeded".to_owned());
        assert_eq!(failed, decision.expired);
    };
    check(3601, false, Value::Null, (false, Some(1)));
    check(3600, false, Value::Null, (true, None));
    check(1, true, Value::Null, (false, None));
    check(i64::MAX, false, Value::Null, (false, Some(i64::MAX.unsigned_abs() - 3600)));
    let resumed = json!({"conditions": [condition("Suspended", "False", "Resumed")]});
    check(1801, false, resumed.clone(), (false, Some(1)));
    check(1800, false, resumed, (true, None));
    let complete = json!({"conditions": [condition("Complete", "True", "Done")]});
    check(1, false, complete, (false, None));
}

#[test]
fn a_childs_words_are_made_such_that_the_api_server_takes_them() {
    let long = "x".repeat(40_000);
    let odd = json!({"conditions": [{"type": "Failed", "status": "True", "reason": "9 é-odd, :", "message": long, "lastTransitionTime": "?"}]});
    let status = decide(&snapshot(json!({}), Value::Null, Some(odd)), None).status.unwrap();
    let condition = &status["conditions"][0];
    assert_eq!(
        (condition["reason"].as_str(), condition["lastTransitionTime"].as_str()),
        (Some("odd"), Some(NOW))
    );
    assert_eq!(condition["message"].as_str().unwrap().len(), 32_768);
}
