//! What our own kinds accept, beyond what upstream's versions say (`conformance/crds`).

use serde_json::{Value, json};

use super::{GROUP, VERSION, schemas};
use crate::diagnostic::Source;
use crate::schema::{default, prune, validate};
use crate::yaml;

#[test]
fn types_are_in_order() {
    super::load().unwrap();
}

fn object(kind: &str, spec: &str) -> Value {
    let (nodes, diagnostics) = yaml::parse(&Source::new("test", spec));
    assert!(diagnostics.is_empty(), "{spec}: {diagnostics:?}");
    let mut object = json!({
        "apiVersion": format!("{GROUP}/{VERSION}"), "kind": kind, "metadata": {"name": "a"}, "spec": nodes[0].to_json(),
    });
    let ty = schemas().kind(&format!("{GROUP}/{VERSION}"), kind).unwrap();
    assert_eq!(prune(schemas(), ty, &mut object), [], "{spec}");
    default(schemas(), ty, &mut object);
    object
}

fn errors(object: &Value, old: Option<&Value>) -> Vec<String> {
    let ty = schemas().kind(&format!("{GROUP}/{VERSION}"), object["kind"].as_str().unwrap()).unwrap();
    validate(schemas(), ty, object, old).iter().map(ToString::to_string).collect()
}

/// A new object of a kind and what is wrong with it.
fn create(kind: &str, spec: &str, wanted: &[&str]) {
    assert_eq!(errors(&object(kind, spec), None), wanted, "{spec}");
}

/// A `TrainJob` that changes, each way: nothing may be wrong with what it was.
fn change(one: &str, other: &str, wanted: &[&str]) {
    let (one, other) = (object("TrainJob", one), object("TrainJob", other));
    for (old, new) in [(&one, &other), (&other, &one)] {
        assert_eq!(errors(old, None), [""; 0], "{old}");
        assert_eq!(errors(new, Some(old)), wanted, "{new} from {old}");
    }
}

#[test]
fn what_is_fixed_can_be_neither_changed_nor_added_nor_removed() {
    let fixed = |path: &str| format!("{path}: Invalid value: field is immutable");
    change("{runtimeRef: {name: r}}", "{runtimeRef: {name: s}}", &[&fixed("spec.runtimeRef")]);
    change("{runtimeRef: {name: r}}", "{runtimeRef: {name: r}, trainer: {}}", &[&fixed("spec.trainer")]);
    change(
        "{runtimeRef: {name: r}}",
        "{runtimeRef: {name: r}, initializer: {}}",
        &[&fixed("spec.initializer")],
    );
    change(
        "{runtimeRef: {name: r}}",
        "{runtimeRef: {name: r}, activeDeadlineSeconds: 5}",
        &[&fixed("spec.activeDeadlineSeconds")],
    );
    change(
        "{runtimeRef: {name: r}, trainer: {image: a}}",
        "{runtimeRef: {name: r}, trainer: {image: b}}",
        &[&fixed("spec.trainer")],
    );
}

#[test]
fn a_patch_keeps_what_jobset_would_not_let_change() {
    let job = |pod: &str| {
        let pod = format!("{{template: {{spec: {{template: {{spec: {{{pod}}}}}}}}}, name: node}}");
        let patch = format!(
            "{{manager: a.b/c, trainingRuntimeSpec: {{template: {{spec: {{replicatedJobs: [{pod}]}}}}}}}}"
        );
        format!("{{runtimeRef: {{name: r}}, runtimePatches: [{patch}]}}")
    };
    let path = "spec.runtimePatches[0].trainingRuntimeSpec.template.spec.replicatedJobs[0].template.spec.template.spec";
    let fixed = |field: &str| format!("{path}.{field}: Invalid value: field is immutable");
    change(&job("nodeSelector: {a: b}"), &job("nodeSelector: {a: c}"), &[]);
    change(&job("nodeSelector: {a: b}"), &job("tolerations: [{key: a}], schedulingGates: [{name: g}]"), &[]);
    change(&job(""), &job("volumes: [{name: v, emptyDir: {}}]"), &[&fixed("volumes")]);
    change(&job("containers: [{name: a}]"), &job(""), &[&fixed("containers")]);
}

#[test]
fn the_order_of_named_items_does_not_matter() {
    change(
        "{runtimeRef: {name: r}, trainer: {env: [{name: A}, {name: B}]}}",
        "{runtimeRef: {name: r}, trainer: {env: [{name: B}, {name: A}]}}",
        &[],
    );
    change(
        "{runtimeRef: {name: r}, trainer: {args: [a, b]}}",
        "{runtimeRef: {name: r}, trainer: {args: [b, a]}}",
        &["spec.trainer: Invalid value: field is immutable"],
    );
}

#[test]
fn processes_are_a_number_or_one_of_three_words() {
    for processes in ["4", "0", "auto", "cpu", "gpu"] {
        create(
            "TrainJob",
            &format!("{{runtimeRef: {{name: r}}, trainer: {{numProcPerNode: {processes}}}}}"),
            &[],
        );
    }
    for (processes, printed) in [("many", "\"many\""), ("'4'", "\"4\""), ("3000000000", "3000000000")] {
        create(
            "TrainJob",
            &format!("{{runtimeRef: {{name: r}}, trainer: {{numProcPerNode: {processes}}}}}"),
            &[&format!(
                "spec.trainer.numProcPerNode: Invalid value: {printed}: \
                 numProcPerNode must be a 32-bit integer, auto, cpu or gpu"
            )],
        );
    }
}

#[test]
fn a_policy_of_an_unknown_framework_is_kept() {
    create("TrainingRuntime", "{mlPolicy: {horovod: {slots: 4, hosts: [a]}}}", &[]);
    create("TrainingRuntime", "{mlPolicy: {horovod: {}, torch: {}}}", &[]);
    create(
        "TrainingRuntime",
        "{mlPolicy: {torch: {}, mpi: {}}}",
        &["spec.mlPolicy: Invalid value: Only one of the policy can be configured"],
    );
}

#[test]
fn a_generated_name_will_do() {
    let mut job = object("TrainJob", "{runtimeRef: {name: r}}");
    job["metadata"] = json!({"generateName": "a-long-name-"});
    assert_eq!(errors(&job, None), [""; 0]);
    job["metadata"] = json!({"generateName": "Capital-"});
    assert!(errors(&job, None).iter().any(|error| error.starts_with("metadata.generateName: Invalid value")));
    job["metadata"] = json!({});
    assert_eq!(errors(&job, None), ["metadata.name: Required value: name or generateName is required"]);
}
