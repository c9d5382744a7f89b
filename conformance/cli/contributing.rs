//! The framework that CONTRIBUTING.md adds, step by step.

use crate::command::BINARY;
use std::{fs, path::Path, process::Command};

const RUNTIME: &str = "
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {name: toy, namespace: default, labels: {trainer.kubeflow.org/framework: toy}}
spec:
  mlPolicy: {numNodes: 3}
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec: {template: {spec: {containers: [{name: node, image: toy}]}}}
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: play, namespace: default}
spec: {runtimeRef: {kind: TrainingRuntime, name: toy}}
";

/// The YAML of the first block in CONTRIBUTING.md, which stands indented in a list.
fn policy() -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("CONTRIBUTING.md");
    let page = fs::read_to_string(page).unwrap();
    let block = page.split("```yaml\n").nth(1).unwrap().split("```").next().unwrap();
    let lines = block.lines().map(|line| line.strip_prefix("   ").unwrap_or(line));
    lines.flat_map(|line| [line, "\n"]).collect()
}

fn run(folder: &Path, arguments: &[&str]) -> (String, String, bool) {
    let output = Command::new(BINARY).args(arguments).current_dir(folder).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr), output.status.success())
}

#[test]
fn a_framework_is_added_by_a_policy_alone() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("toy");
    fs::create_dir_all(folder.join("policies")).unwrap();
    fs::write(folder.join("policies/toy.yaml"), policy()).unwrap();
    fs::write(folder.join("runtime.yaml"), RUNTIME).unwrap();

    let (_, said, fine) = run(&folder, &["check", "policies/toy.yaml"]);
    assert!(fine && said.contains("nothing to report"), "{said}");
    let (rendered, said, fine) = run(&folder, &["render", "-f", "runtime.yaml", "--policy-dir", "policies"]);
    assert!(fine && said.is_empty(), "{said}");
    assert!(rendered.contains("- name: TOY_SIZE\n                value: \"3\""), "{rendered}");
    let (without, _, _) = run(&folder, &["render", "-f", "runtime.yaml"]);
    assert!(!without.contains("TOY_SIZE"), "{without}");

    let case = folder.join("cases/three");
    fs::create_dir_all(&case).unwrap();
    fs::write(case.join("play.yaml"), RUNTIME).unwrap();
    _ = fs::remove_file(case.join("expected.yaml"));
    let (_, said, fine) = run(&folder, &["test", "cases", "--policy-dir", "policies"]);
    assert!(!fine && said.contains("1 failed"), "{said}");
    let (_, said, fine) = run(&folder, &["test", "cases", "--policy-dir", "policies", "--update"]);
    assert!(fine && said.contains("1 updated"), "{said}");
    let (tested, said, fine) = run(&folder, &["test", "cases", "--policy-dir", "policies", "--coverage"]);
    assert!(
        fine && tested.contains("ok      cases/three\n") && tested.contains("toy      1/1"),
        "{tested}{said}"
    );
}
