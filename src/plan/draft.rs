//! The runtime's template while a plan works on it: PodSets taken out, changed by rules, and put back.
//!
//! A PodSet is a replicated job seen as a number of equal pods. It is a plain tree, so that expressions read it as
//! they read everything else:
//!
//! ```yaml
//! name: node
//! ancestor: trainer            # the job template's label, if it has one
//! count: 4                     # pods per replica
//! replicas: 1                  # if the job says so
//! template: {metadata: …, spec: …}    # the pod template
//! job: …                       # the rest of the replicated job
//! ```

use crate::{
    api::ANCESTOR_LABEL,
    cel::{self, List, Val},
    object::{find, find_mut},
};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

type Result<T> = std::result::Result<T, cel::Error>;

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
        let jobs = find_mut(&mut template, &["spec", "replicatedJobs"]).map(Value::take);
        if let (Some(_), Some(Value::Object(spec))) = (&jobs, template.get_mut("spec")) {
            spec.remove("replicatedJobs");
        }
        let pod_sets = match jobs {
            Some(Value::Array(jobs)) => jobs.into_iter().map(pod_set).collect(),
            _ => Vec::new(),
        };
        Draft { template, pod_sets: Value::Array(pod_sets) }
    }

    /// The template as a whole, with the PodSets put back. What is put together is borrowed: nothing large is copied.
    ///
    /// Fails if lists and maps nest deeper than expressions can have them.
    pub(crate) fn whole(&self) -> Result<Val<'_>> {
        if !self.template.is_object() {
            return Ok(Val::from_json(&self.template));
        }
        let jobs = self.pod_sets().iter().map(job_view).collect::<Result<Vec<_>>>()?;
        let jobs = if jobs.is_empty() { None } else { Some(("replicatedJobs", Val::List(List::new(jobs)?))) };
        let spec = with(self.template.get("spec"), jobs)?;
        with(Some(&self.template), [("spec", spec)])
    }

    /// The same, moved.
    pub(crate) fn into_whole(self) -> Value {
        let Draft { mut template, pod_sets } = self;
        let jobs: Vec<Value> = match pod_sets {
            Value::Array(pod_sets) => pod_sets.into_iter().map(replicated_job).collect(),
            _ => Vec::new(),
        };
        if let Value::Object(template) = &mut template
            && let Some(spec) = object_at(template, "spec")
            && !jobs.is_empty()
        {
            spec.insert("replicatedJobs".to_owned(), Value::Array(jobs));
        }
        template
    }

    /// The PodSets.
    pub(crate) fn pod_sets(&self) -> &[Value] {
        self.pod_sets.as_array().map_or(&[], Vec::as_slice)
    }

    /// The containers, or init containers, of a PodSet.
    pub(crate) fn containers(&self, pod_set: usize, init: bool) -> &[Value] {
        let path = ["template", "spec", container_field(init)];
        let list = self.pod_sets().get(pod_set).and_then(|pod_set| find(pod_set, &path)?.as_array());
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
                let path = ["template", "spec", container_field(init)];
                find_mut(self.pod_sets.get_mut(pod_set)?, &path)?.get_mut(index)
            }
        }
    }
}

/// The field of a pod spec that lists containers of a kind.
pub(crate) fn container_field(init: bool) -> &'static str {
    if init { "initContainers" } else { "containers" }
}

fn pod_set(mut job: Value) -> Value {
    let ancestor = find(&job, &["template", "metadata", "labels", ANCESTOR_LABEL]).cloned();
    let mut template = remove_at(&mut job, &["template", "spec"], "template").unwrap_or_default();
    // Every PodSet has a pod spec with containers, so that expressions need not ask for them.
    if let Some(spec) = as_object(&mut template).and_then(|template| object_at(template, "spec")) {
        spec.entry("containers").or_insert_with(|| json!([]));
    }
    let parallelism = remove_at(&mut job, &["template", "spec"], "parallelism");
    remove_at(&mut job, &["template", "spec"], "completions");
    let name = remove_at(&mut job, &[], "name");
    let replicas = remove_at(&mut job, &[], "replicas");
    let mut pod_set = Map::new();
    pod_set.insert("name".to_owned(), name.unwrap_or_else(|| json!("")));
    if let Some(ancestor) = ancestor.filter(Value::is_string) {
        pod_set.insert("ancestor".to_owned(), ancestor);
    }
    pod_set.insert("count".to_owned(), parallelism.filter(Value::is_i64).unwrap_or_else(|| json!(1)));
    if let Some(replicas) = replicas.filter(Value::is_i64) {
        pod_set.insert("replicas".to_owned(), replicas);
    }
    pod_set.insert("template".to_owned(), template);
    pod_set.insert("job".to_owned(), job);
    Value::Object(pod_set)
}

fn remove_at(tree: &mut Value, path: &[&str], field: &str) -> Option<Value> {
    find_mut(tree, path)?.as_object_mut()?.remove(field)
}

fn replicated_job(mut pod_set: Value) -> Value {
    let mut field = |name: &str| remove_at(&mut pod_set, &[], name);
    let (name, count) = (field("name").unwrap_or_default(), field("count").unwrap_or_default());
    let (mut job, replicas) = (field("job").unwrap_or_default(), field("replicas"));
    let template = pod_template(field("template").unwrap_or_default());
    if let Some(job) = as_object(&mut job) {
        if let Some(spec) = object_at(job, "template").and_then(|template| object_at(template, "spec")) {
            let own = [("completions", count.clone()), ("parallelism", count), ("template", template)];
            spec.extend(own.map(|(field, value)| (field.to_owned(), value)));
        }
        let own = [("name", name)].into_iter().chain(replicas.map(|replicas| ("replicas", replicas)));
        job.extend(own.map(|(field, value)| (field.to_owned(), value)));
    }
    job
}

/// What [`replicated_job`] makes of a PodSet.
fn job_view(pod_set: &Value) -> Result<Val<'_>> {
    let field = |name: &str| pod_set.get(name).map_or(Val::Null, Val::from_json);
    let job = pod_set.get("job");
    let below = |path: &[&str]| job.and_then(|job| find(job, path));
    let template = pod_set.get("template");
    let pod_spec = template.and_then(|template| template.get("spec")).filter(|spec| has_no_containers(spec));
    let template = match pod_spec.and_then(Value::as_object) {
        None => template.map_or(Val::Null, Val::from_json),
        Some(spec) => {
            let fields = spec.iter().filter(|(name, _)| *name != "containers");
            let fields = fields.map(|(name, value)| (name.as_str(), Val::from_json(value)));
            with(template, [("spec", cel::Map::object(fields).map(Val::Map)?)])?
        }
    };
    let spec = [("completions", field("count")), ("parallelism", field("count")), ("template", template)];
    let template = with(below(&["template"]), [("spec", with(below(&["template", "spec"]), spec)?)])?;
    let replicas = pod_set.get("replicas").map(|replicas| ("replicas", Val::from_json(replicas)));
    with(job, [("name", field("name")), ("template", template)].into_iter().chain(replicas))
}

/// The map `base`, or an empty one if it is none, with `fields` in the place of those with the same names.
fn with<'a>(
    base: Option<&'a Value>,
    fields: impl IntoIterator<Item = (&'a str, Val<'a>)>,
) -> Result<Val<'a>> {
    let base = base.and_then(Value::as_object).into_iter().flatten();
    let mut all: BTreeMap<&str, Val> =
        base.map(|(name, value)| (name.as_str(), Val::from_json(value))).collect();
    all.extend(fields);
    cel::Map::object(all).map(Val::Map)
}

/// Whether a pod spec has the empty list of containers that was put in for expressions. It is left out again: none and an
/// empty one are equally refused.
fn has_no_containers(pod_spec: &Value) -> bool {
    pod_spec.get("containers").and_then(Value::as_array).is_some_and(Vec::is_empty)
}

fn pod_template(mut template: Value) -> Value {
    let spec = template.get_mut("spec").filter(|spec| has_no_containers(spec));
    if let Some(spec) = spec.and_then(Value::as_object_mut) {
        spec.remove("containers");
    }
    template
}

/// The object that `value` is, or becomes if it is none.
fn as_object(value: &mut Value) -> Option<&mut Map<String, Value>> {
    if !value.is_object() {
        *value = json!({});
    }
    value.as_object_mut()
}

/// The object under `field`, made if there is none.
fn object_at<'a>(map: &'a mut Map<String, Value>, field: &str) -> Option<&'a mut Map<String, Value>> {
    as_object(map.entry(field).or_insert_with(|| json!({})))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template() -> Value {
        json!({
            "metadata": {"labels": {"a": "b"}},
            "spec": {
                "network": {"subdomain": "s"},
                "replicatedJobs": [
                    {
                        "name": "node", "replicas": 2, "groupName": "g",
                        "template": {
                            "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
                            "spec": {"parallelism": 3, "backoffLimit": 1, "template": {"spec": {"containers": [{"name": "c"}]}}},
                        },
                    },
                    {"name": "bare"},
                ],
            },
        })
    }

    /// The template as a whole, which is the same whether it is looked at or moved.
    fn whole(draft: Draft) -> Value {
        let view = draft.whole().unwrap().to_json(&mut cel::Budget::default()).unwrap().unwrap();
        assert_eq!(draft.into_whole(), view);
        view
    }

    #[test]
    fn a_replicated_job_is_a_number_of_pods() {
        let draft = Draft::new(template());
        assert_eq!(
            draft.template,
            json!({"metadata": {"labels": {"a": "b"}}, "spec": {"network": {"subdomain": "s"}}})
        );
        let node = &draft.pod_sets()[0];
        assert_eq!(
            [&node["name"], &node["ancestor"], &node["count"], &node["replicas"]],
            [&json!("node"), &json!("trainer"), &json!(3), &json!(2),]
        );
        assert_eq!(node["job"]["template"]["spec"], json!({"backoffLimit": 1}));
        assert_eq!(draft.containers(0, false), [json!({"name": "c"})]);
        assert_eq!(draft.pod_sets()[1]["template"], json!({"spec": {"containers": []}}));
    }

    #[test]
    fn what_is_taken_out_is_put_back_with_its_counts() {
        let mut want = template()["spec"].clone();
        let spec = |index: usize| format!("/replicatedJobs/{index}/template/spec");
        want["replicatedJobs"][1]["template"] = json!({"spec": {"parallelism": 1, "template": {"spec": {}}}});
        want.pointer_mut(&spec(0)).unwrap()["completions"] = json!(3);
        want.pointer_mut(&spec(1)).unwrap()["completions"] = json!(1);
        assert_eq!(whole(Draft::new(template()))["spec"], want);
    }

    #[test]
    fn no_form_of_a_template_is_too_odd() {
        for odd in [
            json!(null),
            json!([]),
            json!({"spec": 1}),
            json!({"spec": {"replicatedJobs": [1, null, {"template": []}]}}),
        ] {
            whole(Draft::new(odd));
        }
    }
}
