//! Requests as a reviewer would write them, and what is said to them.

use super::*;
use crate::{
    diagnostic::Source,
    object::{Gvk, ObjectRef, json_patch},
    plan::{Config, Runtime, Served, Snapshot},
    policy::PolicySet,
    yaml,
};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::collections::BTreeMap;

fn tree(text: &str) -> Value {
    let (nodes, diagnostics) = yaml::parse(&Source::new("test", text));
    assert!(diagnostics.is_empty(), "{text}: {diagnostics:?}");
    nodes.first().map_or(Value::Null, yaml::Node::to_json)
}

fn object(kind: &str, spec: &str) -> Value {
    json!({
        "apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": kind,
        "metadata": {"name": "a", "namespace": "ml"}, "spec": tree(spec),
    })
}

fn train_job_of(spec: &str) -> Value {
    let mut job = object("TrainJob", spec);
    job["spec"]["runtimeRef"] =
        json!({"name": "rt", "kind": "TrainingRuntime", "apiGroup": "trainer.kubeflow.org"});
    job
}

const RUNTIME: &str = "
mlPolicy: {torch: {}}
template:
  spec:
    replicatedJobs:
    - name: node
      replicas: 1
      template:
        metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
        spec: {template: {spec: {containers: [{name: node, image: i}]}}}
";

fn runtime_of(spec: &str) -> Value {
    let mut runtime = object("TrainingRuntime", spec);
    runtime["metadata"]["name"] = json!("rt");
    runtime
}

fn snapshot(train_job: Value, old_train_job: Option<Value>, runtime: Runtime) -> Snapshot {
    Snapshot {
        train_job,
        old_train_job,
        runtime,
        live: BTreeMap::new(),
        others: BTreeMap::new(),
        served: Served::Everything,
        config: Config::default(),
        random: Some([7; 32]),
    }
}

/// What is said to a TrainJob with the runtime above: errors, then warnings.
fn review(new: &str, old: Option<&str>) -> (Vec<String>, Vec<String>) {
    let old = old.map(train_job_of);
    said(train_job(
        snapshot(train_job_of(new), old, Runtime::live(runtime_of(RUNTIME))),
        &PolicySet::builtin(),
        &[],
    ))
}

/// Without the rules that said it.
fn said(verdict: Verdict) -> (Vec<String>, Vec<String>) {
    let short = |text: String| match text.split_once(" (`") {
        Some((short, _)) => short.to_owned(),
        None => text,
    };
    let line = |it: Cause| short(format!("{}: {}", it.field, it.message));
    (
        verdict.causes().into_iter().map(line).collect(),
        verdict.warning_lines().into_iter().map(short).collect(),
    )
}

/// The times of patches after the mutation of `new`, with `now` at 1970.
fn stamped(new: &str, old: Option<&str>, wanted: &[Value]) {
    let old = old.map(|old| json!({"spec": {"runtimePatches": tree(old)}}));
    let mut object = json!({"spec": {"runtimePatches": tree(new)}});
    let before = object.clone();
    let patch = times(&object, old.as_ref(), Timestamp::UNIX_EPOCH);
    json_patch::apply(&mut object, &Value::from(patch)).unwrap();
    let times = |object: &Value| -> Vec<Value> {
        object["spec"]["runtimePatches"].as_array().unwrap().iter().map(|it| it["time"].clone()).collect()
    };
    assert_eq!(times(&object), wanted, "{new}");
    let bare = |mut object: Value| {
        for patch in object["spec"]["runtimePatches"].as_array_mut().unwrap() {
            _ = patch.as_object_mut().map(|it| it.remove("time"));
        }
        object
    };
    assert_eq!(bare(object), bare(before), "{new}");
}

#[test]
fn a_patch_gets_the_time_of_its_last_change() {
    let now = json!("1970-01-01T00:00:00Z");
    let (then, given) = (json!("2020-01-01T00:00:00Z"), json!("2021-01-01T00:00:00Z"));
    let old = "[{manager: a/b, time: '2020-01-01T00:00:00Z', trainingRuntimeSpec: {template: {}}}]";
    stamped(
        "[{manager: a/b}, {manager: c/d, time: '2021-01-01T00:00:00Z'}]",
        None,
        &[now.clone(), given.clone()],
    );
    // Unchanged, whatever time is given or none; an empty list more is no change.
    stamped("[{manager: a/b, trainingRuntimeSpec: {template: {}}}]", Some(old), &[then.clone()]);
    stamped(
        "[{manager: a/b, time: '2021-01-01T00:00:00Z', trainingRuntimeSpec: {template: {}}}]",
        Some(old),
        &[then.clone()],
    );
    stamped("[{manager: a/b, time: null, trainingRuntimeSpec: {template: {}}}]", Some(old), &[then.clone()]);
    stamped(
        "[{manager: a/b, trainingRuntimeSpec: {template: {spec: {replicatedJobs: []}}}}]",
        Some(old),
        &[now.clone()],
    );
    // Changed, whatever time is given.
    stamped(
        "[{manager: a/b, time: '2021-01-01T00:00:00Z', trainingRuntimeSpec: {template: {metadata: {labels: {x: v}}}}}]",
        Some(old),
        &[now.clone()],
    );
    // Of another manager.
    stamped("[{manager: c/d, time: '2021-01-01T00:00:00Z'}]", Some(old), &[given]);
    // What had no time before and has not changed is left alone.
    stamped("[{manager: a/b}]", Some("[{manager: a/b}]"), &[Value::Null]);
}

#[test]
fn an_object_that_is_in_order_is_not_patched() {
    for spec in
        ["null", "{}", "{runtimePatches: {}}", "{runtimePatches: [1, null, []]}", "{runtimePatches: []}"]
    {
        assert!(times(&json!({"spec": tree(spec)}), None, Timestamp::UNIX_EPOCH).is_empty(), "{spec}");
    }
    assert!(times(&Value::Null, Some(&Value::Null), Timestamp::UNIX_EPOCH).is_empty());
}

#[test]
fn everything_that_is_wrong_is_said_at_once_with_its_field() {
    let (errors, warnings) = review(
        "{trainer: {env: [{name: PET_NNODES, value: '1'}]}, runtimePatches: [{manager: mine, trainingRuntimeSpec: {template:
        {spec: {replicatedJobs: [{name: node, template: {spec: {template: {spec: {containers: [{name: node, env: [{name: A}]},
        {name: more}]}}}}}]}}}}]}",
        None,
    );
    let pod = "spec.runtimePatches[0].trainingRuntimeSpec.template.spec.replicatedJobs[0].template.spec.template.spec";
    assert_eq!(
        errors,
        [
            "spec.runtimePatches[0].manager: Invalid value: \"mine\": must be a domain-prefixed path (such as \"acme.io/foo\")"
                .to_owned(),
            format!("{pod}.containers[0]: Invalid value: \"node\": must not have envs for the dataset-initializer, model-initializer, node containers"),
            "spec.trainer.env: Invalid value: [{\"name\":\"PET_NNODES\",\"value\":\"1\"}]: \
             must not have reserved envs, invalid envs configured: [PET_NNODES]".to_owned(),
        ]
    );
    assert_eq!(
        warnings,
        [format!(
            "{pod}.containers[1]: Invalid value: \"more\": the runtime's job has no such container; it is added"
        )]
    );
}

#[test]
fn patches_change_only_while_suspended() {
    let patched = |suspend: bool, field: &str| format!("{{suspend: {suspend}, {field}}}");
    let label =
        "runtimePatches: [{manager: a.b/c, trainingRuntimeSpec: {template: {metadata: {labels: {x: v}}}}}]";
    let forbidden = |field: &str| {
        format!(
            "spec.{field}: Forbidden: may only change while the TrainJob is suspended, before or after the update"
        )
    };
    let check = |new: String, old: String, wanted: &[String]| {
        assert_eq!(review(&new, Some(&old)).0, wanted, "{old} → {new}");
    };
    check(patched(false, label), patched(false, "a: b"), &[forbidden("runtimePatches")]);
    check(patched(false, "a: b"), patched(false, label), &[forbidden("runtimePatches")]);
    check(patched(true, label), patched(false, "a: b"), &[]);
    check(patched(false, label), patched(true, "a: b"), &[]);
    check(patched(false, label), patched(false, label), &[]);
    check(patched(false, "runtimePatches: []"), patched(false, "a: b"), &[]);
    let over = "podTemplateOverrides: [{targetJobs: [{name: node}], spec: {nodeSelector: {a: b}}}]";
    check(patched(false, over), patched(false, "a: b"), &[forbidden("podTemplateOverrides")]);
}

#[test]
fn patches_do_not_change_while_pods_are_active() {
    let policies = PolicySet::builtin();
    let mut job = train_job_of("{suspend: true, runtimePatches: [{manager: a.b/c}]}");
    job["metadata"]["uid"] = json!("u");
    let mut old = train_job_of("{suspend: true}");
    old["metadata"]["uid"] = json!("u");
    let check = |active: i64, wanted: &[&str]| {
        let job_set = json!({
            "apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet",
            "metadata": {"name": "a", "namespace": "ml", "ownerReferences": [
                {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "name": "a", "uid": "u", "controller": true},
            ]},
            "status": {"replicatedJobsStatus": [{"name": "node", "active": active}, {"name": "io", "active": 0}]},
        });
        let mut snapshot = snapshot(job.clone(), Some(old.clone()), Runtime::live(runtime_of(RUNTIME)));
        snapshot.live.insert(ObjectRef::of(&job_set).unwrap(), job_set);
        assert_eq!(said(train_job(snapshot, &policies, &[])).0, wanted);
    };
    check(0, &[]);
    check(2, &["spec.runtimePatches: Forbidden: must not change while pods of the job `node` are active"]);
}

#[test]
fn a_job_set_that_is_there_lets_only_change_what_queues_set() {
    let policies = PolicySet::builtin();
    let patched = |pod: &str| {
        let mut job = train_job_of(&format!(
            "{{suspend: true, runtimePatches: [{{manager: a.b/c, trainingRuntimeSpec: {{template: {{spec: {{replicatedJobs:
            [{{name: node, template: {{spec: {{template: {pod}}}}}}}]}}}}}}}}]}}"
        ));
        job["metadata"]["uid"] = json!("u");
        job
    };
    let check = |is_there: bool, pod: &str, wanted: &[&str]| {
        let old = Some(patched("{spec: {nodeSelector: {a: b}}}"));
        let mut snapshot = snapshot(patched(pod), old, Runtime::live(runtime_of(RUNTIME)));
        if is_there {
            let job_set = json!({
                "apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "a", "namespace": "ml"},
            });
            snapshot.live.insert(ObjectRef::of(&job_set).unwrap(), job_set);
        }
        assert_eq!(said(train_job(snapshot, &policies, &[])).0, wanted, "{pod}");
    };
    check(true, "{metadata: {labels: {a: b}, annotations: {c: d}}, spec: {nodeSelector: {a: c}}}", &[]);
    check(true, "{spec: {tolerations: [{key: a}], schedulingGates: [{name: b}]}}", &[]);
    let affinity = "{spec: {affinity: {podAffinity: {}}}}";
    let wanted = "spec.runtimePatches: Forbidden: would change spec.replicatedJobs[0].template.spec.template.spec.affinity, \
        which JobSet ml/a lets no one change once it is there";
    check(true, affinity, &[wanted]);
    check(false, affinity, &[]);
}

#[test]
fn what_was_wrong_before_an_update_does_not_stop_it() {
    let wrong = "{trainer: {env: [{name: PET_NNODES, value: '1'}]}}";
    assert_eq!(review(wrong, Some(wrong)).0, [""; 0]);
    let worse = "{trainer: {env: [{name: PET_NNODES, value: '1'}, {name: PET_NODE_RANK, value: '1'}]}}";
    assert_eq!(review(worse, Some(wrong)).0.len(), 1);
}

#[test]
fn a_runtime_that_is_missing_stops_a_new_train_job_and_no_old_one() {
    let policies = PolicySet::builtin();
    let cluster = ObjectRef {
        gvk: Gvk::new("trainer.kubeflow.org/v1alpha1", "ClusterTrainingRuntime"),
        namespace: None,
        name: "rt".to_owned(),
    };
    let new = train_job(snapshot(train_job_of("{}"), None, Runtime::Missing), &policies, &[cluster]);
    assert_eq!(
        new.message(),
        "spec.runtimeRef: Invalid value: TrainingRuntime ml/rt is not there \
         (there is a ClusterTrainingRuntime rt, which `kind: ClusterTrainingRuntime` refers to)"
    );
    let old = Some(train_job_of("{}"));
    let changed = snapshot(train_job_of("{suspend: true}"), old, Runtime::Missing);
    assert!(train_job(changed, &policies, &[]).is_admitted());
}

#[test]
fn a_train_job_that_is_being_deleted_is_let_go() {
    let mut job = train_job_of("{trainer: {env: [{name: PET_NNODES}]}}");
    job["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    let verdict =
        train_job(snapshot(job, Some(train_job_of("{}")), Runtime::Missing), &PolicySet::builtin(), &[]);
    assert!(verdict.is_admitted() && verdict.warnings.is_empty());
}

#[test]
fn a_change_of_what_users_do_not_write_is_moot() {
    let old = train_job_of("{suspend: true}");
    let check = |change: &dyn Fn(&mut Value), wanted: bool| {
        let mut new = old.clone();
        change(&mut new);
        assert_eq!(is_moot(&new, &old), wanted, "{new}");
    };
    check(&|_| {}, true);
    check(&|it| it["metadata"]["finalizers"] = json!(["a/b"]), true);
    check(&|it| it["metadata"]["resourceVersion"] = json!("7"), true);
    check(&|it| it["metadata"]["deletionTimestamp"] = json!("now"), true);
    check(&|it| it["metadata"]["labels"] = json!({"a": "b"}), false);
    check(&|it| it["spec"]["suspend"] = json!(false), false);
}

#[test]
fn a_name_yet_to_be_made_is_judged_by_its_length() {
    let policies = PolicySet::builtin();
    let check = |prefix: &str, wanted: bool| {
        let mut job = train_job_of("{}");
        job["metadata"] = json!({"generateName": prefix, "namespace": "ml"});
        let verdict = train_job(snapshot(job, None, Runtime::live(runtime_of(RUNTIME))), &policies, &[]);
        assert_eq!(verdict.is_admitted(), wanted, "{}", verdict.message());
    };
    check(&"a".repeat(43), true);
    check(&"a".repeat(44), false);
}

#[test]
fn a_role_has_one_replica_and_its_container() {
    let policies = PolicySet::builtin();
    let review = |new: &Value, old: Option<&Value>| {
        said(runtime(new, old, &policies, &Served::Everything, &Config::default()))
    };
    let good = runtime_of(RUNTIME);
    assert_eq!(review(&good, None), (vec![], vec![]));
    let mut bad = good.clone();
    bad["spec"]["template"]["spec"]["replicatedJobs"][0]["replicas"] = json!(2);
    bad["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["containers"]
        [0]["name"] = json!("main");
    let at = "spec.template.spec.replicatedJobs[0]";
    let wanted = vec![
        format!("{at}.replicas: Invalid value: 2: must be 1 in a job with the role trainer"),
        format!(
            "{at}.template.spec.template.spec.containers: Invalid value: [\"main\"]: \
             must have the container `node` in a job with the role trainer"
        ),
    ];
    assert_eq!(review(&bad, None).0, wanted);
    assert_eq!(review(&bad, Some(&good)).0, wanted);
    assert_eq!(review(&bad, Some(&bad)).0, [""; 0]);
}

#[test]
fn a_runtime_that_nobody_can_use_is_warned_of() {
    let policies = PolicySet::builtin();
    let mut runtime = runtime_of(RUNTIME);
    runtime["metadata"]["labels"] = json!({"trainer.kubeflow.org/support": "deprecated"});
    runtime["metadata"]["annotations"] = json!({"mpi.trainmaster.dev/params": "implementation: Other"});
    runtime["spec"]["mlPolicy"] = json!({"mpi": {}});
    let served = Served::Everything;
    let (errors, warnings) = said(super::runtime(&runtime, None, &policies, &served, &Config::default()));
    assert_eq!(errors, [""; 0]);
    assert!(warnings[0].starts_with("metadata.labels: TrainingRuntime ml/rt is deprecated"), "{warnings:?}");
    assert!(
        warnings[1].starts_with(
            "metadata.annotations[mpi.trainmaster.dev/params]: \
             no TrainJob with this runtime can be run: parameter implementation of policy `mpi`: Unsupported value"
        ),
        "{warnings:?}"
    );
    let (_, again) = said(super::runtime(&runtime, Some(&runtime), &policies, &served, &Config::default()));
    assert_eq!(again, [""; 0]);
}

#[test]
fn what_cannot_be_read_is_refused_with_its_field() {
    let (errors, _) = review("{trainer: {resourcesPerNode: {requests: {cpu: '1e1.5'}}}}", None);
    assert!(
        errors[0].starts_with("spec.trainer.resourcesPerNode.requests.cpu: Invalid value: \"1e1.5\""),
        "{errors:?}"
    );
    assert_eq!(errors.len(), 1);
}

#[test]
fn objects_of_any_form_are_answered() {
    let policies = PolicySet::builtin();
    for text in [
        "null",
        "[]",
        "{}",
        "{spec: 1}",
        "{spec: {runtimePatches: 1}, metadata: []}",
        "{metadata: {name: 1}}",
    ] {
        for old in [None, Some(tree(text)), Some(train_job_of("{}"))] {
            for runtime in [Runtime::Missing, Runtime::Live(tree(text)), Runtime::live(runtime_of(RUNTIME))] {
                _ = train_job(snapshot(tree(text), old.clone(), runtime), &policies, &[]).message();
            }
            let verdict =
                runtime(&tree(text), old.as_ref(), &policies, &Served::Everything, &Config::default());
            _ = verdict.message();
        }
    }
}
