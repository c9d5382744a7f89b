use super::*;
use crate::{
    diagnostic::{Color, Diagnostic, Source, render},
    plan::Config,
    policy::PolicySet,
};
use std::fmt::Write as _;

const RUNTIME: &str = "\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: plain}
spec:
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec: {template: {spec: {containers: [{name: node, image: busybox}]}}}
---
";

fn job(name: &str, rest: &str) -> String {
    format!(
        "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {{name: {name}}}\nspec:\n  \
         runtimeRef: {{name: plain}}\n{rest}---\n"
    )
}

/// What becomes of the TrainJobs of `texts`: a line per diagnostic and per object to apply.
fn outcome(texts: &[&str]) -> String {
    let sources: Vec<Source> =
        texts.iter().enumerate().map(|(index, text)| Source::new(format!("{index}.yaml"), *text)).collect();
    let (manifests, diagnostics) = read(&sources, "ml");
    let mut out = String::new();
    let line = |out: &mut String, diagnostic: &Diagnostic| {
        let place = diagnostic.place.span().map_or("nowhere".to_owned(), ToString::to_string);
        let text = render::text(diagnostic, Color::Never);
        let help = diagnostic.help.as_ref().map(|help| format!(" ({help})")).unwrap_or_default();
        _ = writeln!(out, "{place}: {}{help}", text.lines().next().unwrap_or_default());
    };
    for diagnostic in &diagnostics {
        line(&mut out, diagnostic);
    }
    let policies = PolicySet::builtin();
    for train_job in manifests.train_jobs() {
        match manifests.plan(train_job, &policies, &Config::default(), Some([7; 32])) {
            Ok(plan) => {
                plan.warnings.iter().for_each(|it| line(&mut out, it));
                plan.children.iter().for_each(|it| _ = writeln!(out, "{}", it.reference));
            }
            Err(diagnostics) => diagnostics.iter().for_each(|it| line(&mut out, it)),
        }
    }
    out
}

fn check(texts: &[&str], want: &str) {
    assert_eq!(outcome(texts), want);
}

#[test]
fn a_train_job_gets_its_objects_in_the_namespace_of_the_command_line() {
    check(&[RUNTIME, &job("a", "")], "ConfigMap ml/a-runtime-snapshot\nJobSet ml/a\n");
}

#[test]
fn items_of_a_list_are_objects() {
    let list = format!(
        "apiVersion: v1\nkind: List\nitems:\n- {}",
        job("a", "").replace("---\n", "").replace('\n', "\n  ")
    );
    check(&[RUNTIME, &list], "ConfigMap ml/a-runtime-snapshot\nJobSet ml/a\n");
}

#[test]
fn a_wrong_train_job_fails_alone_at_the_very_field() {
    let text = job("a", "  trainer: {numNodes: two, image: 3}\n") + &job("b", "");
    check(
        &[RUNTIME, &text],
        "\
1.yaml:6:23: error[TM0501]: TrainJob ml/a: spec.trainer.numNodes: Invalid value: \"string\": spec.trainer.numNodes in body must be of type integer: \"string\"
1.yaml:6:35: error[TM0501]: TrainJob ml/a: spec.trainer.image: Invalid value: \"integer\": spec.trainer.image in body must be of type string: \"integer\"
ConfigMap ml/b-runtime-snapshot
JobSet ml/b
",
    );
}

#[test]
fn a_field_that_nobody_knows_is_dropped_with_a_warning_at_its_name() {
    check(
        &[RUNTIME, &job("a", "  trainer:\n    numNode: 2\n")],
        "\
1.yaml:7:5: warning[TM0502]: TrainJob ml/a: spec.trainer.numNode: there is no field `numNode` here; it is dropped (did you mean `numNodes`?)
ConfigMap ml/a-runtime-snapshot
JobSet ml/a
",
    );
}

#[test]
fn a_key_that_stands_twice_refuses_its_object_only() {
    let text = job("a", "  suspend: true\n  suspend: false\n") + &job("b", "");
    check(
        &[RUNTIME, &text],
        "\
1.yaml:7:3: error[TM0003]: the key `suspend` stands here a second time
ConfigMap ml/b-runtime-snapshot
JobSet ml/b
",
    );
}

#[test]
fn an_unknown_runtime_is_refused_with_the_one_that_is_meant() {
    let near = job("a", "").replace("name: plain", "name: plian");
    check(
        &[RUNTIME, &near],
        "1.yaml:5:22: error[TM0608]: TrainJob ml/a: spec.runtimeRef.name: ClusterTrainingRuntime plian is not among \
         the objects given (did you mean `plain`?)\n",
    );
    let other = job("a", "").replace("name: plain", "name: plain, kind: TrainingRuntime");
    check(
        &[RUNTIME, &other],
        "1.yaml:5:22: error[TM0608]: TrainJob ml/a: spec.runtimeRef.name: TrainingRuntime ml/plain is not among the \
         objects given (there is a ClusterTrainingRuntime plain, which `kind: ClusterTrainingRuntime` refers to)\n",
    );
    let elsewhere = RUNTIME
        .replace("ClusterTrainingRuntime", "TrainingRuntime")
        .replace("{name: plain}", "{name: plain, namespace: lab}");
    check(
        &[&elsewhere, &other],
        "1.yaml:5:22: error[TM0608]: TrainJob ml/a: spec.runtimeRef.name: TrainingRuntime ml/plain is not among the \
         objects given (there is a TrainingRuntime lab/plain, but only those of its own namespace serve a TrainJob)\n",
    );
    let foreign = job("a", "").replace("name: plain", "name: plain, kind: Runtime");
    check(
        &[RUNTIME, &foreign],
        "1.yaml:5:3: error[TM0610]: TrainJob ml/a: spec.runtimeRef: unsupported runtime: Runtime.trainer.kubeflow.org \
         (TrainingRuntime and ClusterTrainingRuntime of trainer.kubeflow.org are supported)\n",
    );
}

#[test]
fn a_wrong_runtime_is_not_taken_for_a_missing_one() {
    let runtime = RUNTIME.replace("name: node, image", "image");
    check(
        &[&runtime, &job("a", "")],
        "\
0.yaml:11:49: error[TM0501]: ClusterTrainingRuntime plain: spec.template.spec.replicatedJobs[0].template.spec.template.spec.containers[0].name: Required value
1.yaml:5:22: error[TM0608]: TrainJob ml/a: spec.runtimeRef.name: ClusterTrainingRuntime plain has errors of its own
",
    );
}

#[test]
fn an_object_that_stands_twice_is_an_error_naming_both() {
    let (manifests, diagnostics) =
        read(&[Source::new("a", job("a", "")), Source::new("b", job("a", "  suspend: true\n"))], "ml");
    assert_eq!((manifests.train_jobs().count(), diagnostics.len()), (1, 1));
    let places = [diagnostics[0].place.span().unwrap(), &diagnostics[0].labels[0].span];
    assert_eq!(places.map(ToString::to_string), ["b:3:18", "a:3:18"]);
}

#[test]
fn what_is_no_object_is_refused_and_what_no_plan_looks_at_is_ignored() {
    check(
        &["- 1\n", "kind: A\n", "{apiVersion: v1}", "{apiVersion: x/v1, kind: Odd, spec: {}}"],
        "\
0.yaml:1:1: error[TM0501]: this is no Kubernetes object, but a list
1.yaml:1:1: error[TM0501]: this is no Kubernetes object: it has no `apiVersion`
2.yaml:1:2: error[TM0501]: this is no Kubernetes object: it has no `kind`
",
    );
}

#[test]
fn a_name_that_the_server_would_generate_is_as_long_as_one() {
    let text = job("a", "").replace("name: a", "generateName: a-");
    check(&[RUNTIME, &text], "ConfigMap ml/a-xxxxx-runtime-snapshot\nJobSet ml/a-xxxxx\n");
}

#[test]
fn children_that_exist_already_are_seen() {
    let pin = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a-runtime-snapshot, namespace: ml}}";
    check(
        &[RUNTIME, &job("a", ""), pin],
        "1.yaml:5:3: error[TM0611]: TrainJob ml/a: spec.runtimeRef: ConfigMap ml/a-runtime-snapshot is not controlled by \
         the TrainJob\n",
    );
    let owner = "ownerReferences: [{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, name: a, uid: u, controller: true}]";
    let job_set = format!(
        "{{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, metadata: {{name: a, namespace: ml, {owner}}}, spec: {{}}}}"
    );
    check(&[RUNTIME, &job("a", ""), &job_set], "ConfigMap ml/a-runtime-snapshot\n");
    let suspended = job("a", "  suspend: true\n");
    check(&[RUNTIME, &suspended, &job_set], "ConfigMap ml/a-runtime-snapshot\nJobSet ml/a\n");
}

#[test]
fn a_child_that_the_server_would_refuse_is_a_warning() {
    let name = "a".repeat(70);
    let found = outcome(&[RUNTIME, &job(&name, "")]);
    assert!(found.contains("TM0501"), "{found}");
}
