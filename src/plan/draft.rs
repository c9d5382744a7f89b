//! The runtime's template while a plan works on it: PodSets taken out, changed by rules, and put back.
//!
//! A PodSet is a replicated job seen as a number of equal pods. It is a plain tree, so that expressions read it as
//! they read everything else:
//!
//! ```yaml
//! name: node
//! ancestor: trainer            # the job template's label, if it has one
//! count: 4                     # pods per replica
//! replicas: 1
//! template: {metadata: …, spec: …}    # the pod template
//! job: …                       # the rest of the replicated job
//! ```

use crate::api::ANCESTOR_LABEL;
use serde_json::{Map, Value, json};

/// A JobSet template in two parts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Draft {
    /// The template without `spec.replicatedJobs`.
    pub(crate) template: Value,
    /// The PodSets, an array in the order of the replicated jobs.
    pub(crate) pod_sets: Value,
}

/// What a rule changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// The template.
    Template,
    /// A PodSet, by position.
    PodSet(usize),
    /// A container of a PodSet.
    Container {
        /// The PodSet, by position.
        pod_set: usize,
        /// Whether it is an init container.
        init: bool,
        /// Its position among those.
        index: usize,
    },
}

impl Draft {
    /// Takes the PodSets out of `template`, the `spec.template` of a runtime.
    pub(crate) fn new(mut template: Value) -> Draft {
        let jobs = template.pointer_mut("/spec/replicatedJobs").map(Value::take);
        if let (Some(_), Some(Value::Object(spec))) = (&jobs, template.get_mut("spec")) {
            spec.remove("replicatedJobs");
        }
        let pod_sets = match jobs {
            Some(Value::Array(jobs)) => jobs.into_iter().map(pod_set).collect(),
            _ => Vec::new(),
        };
        Draft { template, pod_sets: Value::Array(pod_sets) }
    }

    /// The JobSet spec: the template's, with the PodSets put back.
    pub(crate) fn job_set_spec(&self) -> Value {
        let mut spec = match self.template.get("spec") {
            Some(Value::Object(spec)) => spec.clone(),
            _ => Map::new(),
        };
        let jobs: Vec<Value> = self.pod_sets().iter().map(replicated_job).collect();
        if !jobs.is_empty() {
            spec.insert("replicatedJobs".to_owned(), Value::Array(jobs));
        }
        Value::Object(spec)
    }

    /// The PodSets.
    pub(crate) fn pod_sets(&self) -> &[Value] {
        self.pod_sets.as_array().map_or(&[], Vec::as_slice)
    }

    /// The containers, or init containers, of a PodSet.
    pub(crate) fn containers(&self, pod_set: usize, init: bool) -> &[Value] {
        let spec = self.pod_sets().get(pod_set).and_then(|pod_set| pod_set.pointer("/template/spec"));
        let list = spec.and_then(|spec| spec.get(container_field(init))).and_then(Value::as_array);
        list.map_or(&[], Vec::as_slice)
    }

    /// The tree of a target.
    pub(crate) fn get(&self, target: Target) -> Option<&Value> {
        match target {
            Target::Template => Some(&self.template),
            Target::PodSet(index) => self.pod_sets().get(index),
            Target::Container { pod_set, init, index } => self.containers(pod_set, init).get(index),
        }
    }

    /// The tree of a target, to change it.
    pub(crate) fn get_mut(&mut self, target: Target) -> Option<&mut Value> {
        match target {
            Target::Template => Some(&mut self.template),
            Target::PodSet(index) => self.pod_sets.get_mut(index),
            Target::Container { pod_set, init, index } => {
                self.pod_sets.get_mut(pod_set)?.pointer_mut("/template/spec")?.get_mut(container_field(init))?.get_mut(index)
            }
        }
    }
}

/// The field of a pod spec that lists containers of a kind.
pub(crate) fn container_field(init: bool) -> &'static str {
    if init { "initContainers" } else { "containers" }
}

fn pod_set(mut job: Value) -> Value {
    let ancestor = job.pointer("/template/metadata/labels").and_then(|labels| labels.get(ANCESTOR_LABEL)).cloned();
    let template = remove_at(&mut job, "/template/spec", "template").unwrap_or_else(|| json!({}));
    let parallelism = remove_at(&mut job, "/template/spec", "parallelism");
    remove_at(&mut job, "/template/spec", "completions");
    let name = remove_at(&mut job, "", "name");
    let replicas = remove_at(&mut job, "", "replicas");
    let mut pod_set = Map::new();
    pod_set.insert("name".to_owned(), name.unwrap_or_else(|| json!("")));
    if let Some(ancestor) = ancestor.filter(Value::is_string) {
        pod_set.insert("ancestor".to_owned(), ancestor);
    }
    pod_set.insert("count".to_owned(), parallelism.filter(Value::is_i64).unwrap_or_else(|| json!(1)));
    pod_set.insert("replicas".to_owned(), replicas.filter(Value::is_i64).unwrap_or_else(|| json!(1)));
    pod_set.insert("template".to_owned(), template);
    pod_set.insert("job".to_owned(), job);
    Value::Object(pod_set)
}

fn remove_at(tree: &mut Value, pointer: &str, field: &str) -> Option<Value> {
    tree.pointer_mut(pointer)?.as_object_mut()?.remove(field)
}

fn replicated_job(pod_set: &Value) -> Value {
    let field = |name: &str| pod_set.get(name).cloned().unwrap_or_default();
    let mut job = match field("job") {
        Value::Object(job) => job,
        _ => Map::new(),
    };
    job.insert("name".to_owned(), field("name"));
    job.insert("replicas".to_owned(), field("replicas"));
    let spec = object_at(object_at(&mut job, "template"), "spec");
    spec.insert("parallelism".to_owned(), field("count"));
    spec.insert("completions".to_owned(), field("count"));
    spec.insert("template".to_owned(), field("template"));
    Value::Object(job)
}

/// The object under `field`, made if there is none.
fn object_at<'a>(map: &'a mut Map<String, Value>, field: &str) -> &'a mut Map<String, Value> {
    let value = map.entry(field).or_insert_with(|| json!({}));
    if !value.is_object() {
        *value = json!({});
    }
    match value {
        Value::Object(map) => map,
        _ => unreachable!("it was made an object above"),
    }
}
