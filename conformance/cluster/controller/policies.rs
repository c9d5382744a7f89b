//! Policies of a folder: a bad one takes nobody down, a new one serves at once.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::support::{Cluster, api_server};

/// A policy that puts a variable into the environment of TrainJobs whose runtime names the framework.
fn policy(framework: &str, value: &str) -> String {
    format!(
        r#"apiVersion: policy.trainmaster.dev/v1alpha1
kind: TrainingPolicy
metadata: {{name: {framework}}}
spec:
  version: 1.0.0
  language: "1"
  description: Sets a variable.
  activation:
    expression: >-
      runtime.metadata.?labels[?"trainer.kubeflow.org/framework"].orValue("") == "{framework}"
  mutations:
  - name: variable
    phase: ml
    podSets: {{ancestor: trainer}}
    containers: {{name: node}}
    upsert:
      env: [{{name: FROM_POLICY, value: "{value}"}}]
"#
    )
}

/// A folder that goes with the test.
pub(super) struct Folder(pub(super) PathBuf);

impl Folder {
    pub(super) fn new(test: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("trainmaster-{test}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("makes a folder");
        Self(folder)
    }

    pub(super) fn write(&self, name: &str, text: &str) {
        fs::write(self.0.join(name), text).expect("writes a policy");
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}

#[tokio::test]
async fn a_bad_policy_takes_nobody_down_and_a_new_one_serves_without_a_restart() {
    let folder = Folder::new("policies");
    folder.write("first.yaml", &policy("first", "one"));
    let flags = ["--policy-dir", folder.0.to_str().expect("a path in UTF-8")];
    let mut cluster = Cluster::without_controller(&api_server()).with_flags(flags);
    cluster.start_controller().await;
    let namespace = cluster.namespace("policies").await;
    for name in ["plain", "first", "second"] {
        let label = json!({ "trainer.kubeflow.org/framework": name });
        namespace.create_runtime(name, |it| it["metadata"]["labels"] = label).await;
    }
    let value = async |job: &str, runtime: &str| {
        namespace.create_job(job, |it| it["spec"]["runtimeRef"]["name"] = json!(runtime)).await;
        let set = namespace.job_set(job).await;
        let pod = &set.data["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"];
        let env = pod["containers"][0]["env"].as_array().cloned().unwrap_or_default();
        let found = env.into_iter().find(|it| it["name"] == "FROM_POLICY");
        found.map_or(json!(null), |it| it["value"].clone())
    };
    assert_eq!(value("a", "first").await, "one");

    // A type error, an unknown field and a budget bomb; the policy serves as it was.
    let bad = policy("first", "two")
        .replace(r#".orValue("") == "first""#, r#".orValue("") == 7"#)
        .replace("    phase: ml\n", "    phase: ml\n    fase: ml\n")
        .replace(
            "value: \"two\"",
            "value: '${string(lists.range(1000).map(a, lists.range(1000).map(b, lists.range(1000).map(c, a * b * c))).size())}'",
        );
    folder.write("first.yaml", &bad);
    folder.write("second.yaml", &policy("second", "new"));
    cluster.logged("second@1.0.0").await;
    let log = cluster.log();
    let errors = log.lines().filter(|line| line.contains("\"level\":\"ERROR\"")).collect::<Vec<_>>();
    let codes =
        errors.iter().map(|line| serde_json::from_str::<Value>(line).expect("logs JSON")["code"].clone());
    assert_eq!(codes.collect::<Vec<_>>(), ["TM0206", "TM0103", "TM0210"], "{errors:?}");
    assert!(errors.iter().all(|line| line.contains("first.yaml")), "{errors:?}");
    assert_eq!(value("b", "first").await, "one");
    assert_eq!(value("c", "second").await, "new");
    assert_eq!(value("d", "plain").await, json!(null));

    folder.write("first.yaml", &policy("first", "mended").replace("1.0.0", "1.0.1"));
    cluster.logged("first@1.0.1").await;
    assert_eq!(value("e", "first").await, "mended");
}
