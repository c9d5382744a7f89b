//! What v2.0 and v2.1 ask of `podSpecOverrides` and `podTemplateOverrides`: that the jobs they change are there, and that
//! the environment of the containers with a role is left to the TrainJob's own fields. A container that is not there is
//! added.

use super::train_job::place;
use crate::{
    diagnostic::{Diagnostic, Reason, codes},
    object::{FieldPath, find},
};
use serde_json::Value;

/// The containers whose environment is the TrainJob's own.
const ROLES: [&str; 3] = ["node", "dataset-initializer", "model-initializer"];

/// What is wrong or odd with the overrides of `train_job` for this runtime.
pub(super) fn overrides(train_job: &Value, runtime: &Value, subject: &str) -> Vec<Diagnostic> {
    let mut review = Review {
        jobs: list(runtime, &["spec", "template", "spec", "replicatedJobs"]),
        subject,
        found: Vec::new(),
    };
    for field in ["podSpecOverrides", "podTemplateOverrides"] {
        for (index, item) in list(train_job, &["spec", field]).iter().enumerate() {
            let path = FieldPath::root().field("spec").field(field).index(index);
            match field {
                "podSpecOverrides" => review.item(item, item, &path, &path),
                _ => review.item(item, &item["spec"], &path, &path.clone().field("spec")),
            }
        }
    }
    review.found
}

struct Review<'r> {
    /// The runtime's replicated jobs.
    jobs: &'r [Value],
    subject: &'r str,
    found: Vec<Diagnostic>,
}

impl Review<'_> {
    fn item(&mut self, item: &Value, pod: &Value, path: &FieldPath, pod_path: &FieldPath) {
        let targets: Vec<&str> = list(item, &["targetJobs"]).iter().map(name).collect();
        for (index, target) in targets.iter().enumerate() {
            if !self.jobs.iter().any(|job| name(job) == *target) {
                let path = path.clone().field("targetJobs").index(index).field("name");
                self.wrong(&path, target, "the runtime has no such replicated job");
            }
        }
        for field in ["initContainers", "containers"] {
            for (index, container) in list(pod, &[field]).iter().enumerate() {
                let path = pod_path.clone().field(field).index(index);
                self.container(container, &path, &targets);
                let has_env = !list(container, &["env"]).is_empty();
                if field == "containers" && ROLES.contains(&name(container)) && has_env {
                    let detail = "the environment of this container is for the TrainJob's trainer or initializer to set";
                    self.wrong(&path.field("env"), name(container), detail);
                }
            }
        }
    }

    /// Warns of a container that a job which is meant lacks.
    fn container(&mut self, container: &Value, path: &FieldPath, targets: &[&str]) {
        let mut meant = self.jobs.iter().filter(|job| targets.contains(&name(job)));
        if meant.any(|job| !has_container(job, name(container))) {
            let path = path.clone().field("name");
            let message = format!("the runtime's job has no container `{}`; it is added", name(container));
            let warning = Diagnostic::warning(codes::VALIDATION_WARNING, place(self.subject, &path), message);
            self.found.push(warning);
        }
    }

    fn wrong(&mut self, path: &FieldPath, value: &str, detail: &str) {
        let message = format!("{}: {}: {detail}", Reason::Invalid, Value::from(value));
        let diagnostic = Diagnostic::error(codes::REFUSED_FIELD, place(self.subject, path), message);
        self.found.push(diagnostic.reason(Reason::Invalid));
    }
}

fn has_container(job: &Value, wanted: &str) -> bool {
    ["initContainers", "containers"].into_iter().any(|field| {
        list(job, &["template", "spec", "template", "spec", field]).iter().any(|it| name(it) == wanted)
    })
}

fn name(value: &Value) -> &str {
    value.get("name").and_then(Value::as_str).unwrap_or_default()
}

fn list<'v>(value: &'v Value, path: &[&str]) -> &'v [Value] {
    find(value, path).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
