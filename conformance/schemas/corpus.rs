//! Ours against what was recorded of a real cluster with the upstream manager on it.
//!
//! `differences.tsv` lists the cases that ours decides otherwise on purpose; one that it does not fails the test too.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use trainmaster::api::{self, GROUP, VERSION};
use trainmaster::schema;

use crate::support::{corpus, repository};

#[test]
fn runtimes_are_written_as_upstream_writes_them() {
    let schemas = api::schemas();
    let (mut compared, mut differences) = (0, Vec::new());
    for case in corpus("build.jsonl").unwrap_or_default() {
        for (runtime, written) in snapshots(&case) {
            let ty = schemas.kind(&format!("{GROUP}/{VERSION}"), runtime["kind"].as_str().unwrap()).unwrap();
            let mut ours = runtime.clone();
            schema::prune(schemas, ty, &mut ours);
            schema::default(schemas, ty, &mut ours);
            schema::canonical(schemas, ty, &mut ours);
            compared += 1;
            let mut found = Vec::new();
            diff(&ours["spec"], &written["spec"], "spec", &mut found);
            differences.extend(found.into_iter().map(|difference| format!("{}: {difference}", case["id"])));
        }
    }
    eprintln!("{compared} runtimes compared");
    assert!(differences.is_empty(), "{} differ:\n{}", differences.len(), differences.join("\n"));
}

/// The runtimes of a case with the snapshots that upstream made of them.
fn snapshots(case: &Value) -> Vec<(&Value, &Value)> {
    let Some(children) = case["observed"][0]["children"].as_array() else { return Vec::new() };
    let setup = case["setup"].as_array().into_iter().flatten();
    let runtimes: Vec<&Value> = setup
        .filter(|object| object["kind"].as_str().is_some_and(|kind| kind.ends_with("Runtime")))
        .collect();
    children
        .iter()
        .map(|child| &child["data"]["runtime"])
        .filter_map(|written| {
            let same = |runtime: &&&Value| {
                runtime["kind"] == written["kind"] && runtime["metadata"]["name"] == written["name"]
            };
            Some((*runtimes.iter().find(same)?, written))
        })
        .collect()
}

#[test]
fn what_the_recorded_cluster_refused_is_refused() {
    let mut found = BTreeSet::new();
    let mut decided = 0;
    for case in ["build.jsonl", "admission.jsonl", "lifecycle.jsonl", "legacy.jsonl"]
        .iter()
        .filter_map(|file| corpus(file))
        .flatten()
    {
        let mut cluster = Cluster::default();
        let answers = case["setupResponses"].as_array().into_iter().flatten();
        for (object, answer) in case["setup"].as_array().into_iter().flatten().zip(answers) {
            decided += 1;
            found.extend(
                cluster.decide(&json!({"create": object}), answer).map(|how| format!("{}\t{how}", id(&case))),
            );
        }
        for (step, observed) in
            case["steps"].as_array().into_iter().flatten().zip(case["observed"].as_array().unwrap())
        {
            decided += 1;
            found.extend(
                cluster.decide(step, &observed["response"]).map(|how| format!("{}\t{how}", id(&case))),
            );
            cluster.observe(&observed["trainJobs"]);
        }
    }
    eprintln!("{decided} decisions compared");
    if decided == 0 {
        return;
    }
    let listed = differences();
    let unlisted: Vec<_> = found.difference(&listed).collect();
    let unfounded: Vec<_> = listed.difference(&found).collect();
    assert!(unlisted.is_empty(), "{} not in differences.tsv: {unlisted:#?}", unlisted.len());
    assert!(unfounded.is_empty(), "differences.tsv lists what is none: {unfounded:#?}");
}

fn id(case: &Value) -> &str {
    case["id"].as_str().unwrap()
}

/// The differences without their reasons.
fn differences() -> BTreeSet<String> {
    let text = std::fs::read_to_string(repository().join("conformance/schemas/differences.tsv")).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.rsplit_once('\t').unwrap().0.to_owned()).collect()
}

/// The objects of our kinds on the recorded cluster.
#[derive(Default)]
struct Cluster {
    objects: BTreeMap<(String, String), Value>,
}

impl Cluster {
    /// Takes a step of a case; says where ours decides otherwise than `answer`.
    fn decide(&mut self, step: &Value, answer: &Value) -> Option<String> {
        let (change, object) = step.as_object()?.iter().next()?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let name = object.pointer("/metadata/name").unwrap_or(&object["name"]);
        let key = (text(&object["kind"]), text(name));
        let old = self.objects.get(&key).filter(|_| change != "create").cloned();
        let object = match change.as_str() {
            "create" | "replace" => object.clone(),
            "patch" => patched(old.as_ref()?, &object["type"], &object["body"]),
            "patchStatus" => {
                patched(old.as_ref()?, &json!("merge"), &json!({"status": object["body"]["status"]}))
            }
            _ => return None,
        };
        let schemas = api::schemas();
        let ty = schemas.kind(&format!("{GROUP}/{VERSION}"), &key.0)?;
        let mut stored = object;
        if change == "create" {
            stored.as_object_mut()?.remove("status"); // a create cannot set it
        }
        schema::prune(schemas, ty, &mut stored);
        schema::default(schemas, ty, &mut stored);
        let errors = schema::validate(schemas, ty, &stored, old.as_ref());
        // The webhooks that come after the schema answer 403: whether ours refuses the same before them is no matter.
        // Those that read types before it answer 400.
        let refused = match answer["code"].as_u64() {
            Some(403) => return None,
            code => matches!(code, Some(400 | 422)),
        };
        if matches!(answer["code"].as_u64(), Some(200 | 201)) {
            self.objects.insert(key, stored);
        }
        match (refused, errors.first()) {
            (true, None) => Some("accepted".to_owned()),
            (false, Some(error)) => Some(format!("refused: {}", error.path)),
            _ => None,
        }
    }

    /// Takes note of what the `TrainJob`s have become.
    fn observe(&mut self, train_jobs: &Value) {
        for (name, job) in train_jobs.as_object().into_iter().flatten() {
            let Some(stored) = self.objects.get_mut(&("TrainJob".to_owned(), name.clone())) else { continue };
            for part in ["spec", "status"] {
                stored[part] = job[part].clone();
            }
            stored.as_object_mut().unwrap().retain(|_, value| !value.is_null());
        }
    }
}

fn patched(object: &Value, form: &Value, body: &Value) -> Value {
    let mut patched = object.clone();
    if form == "json" {
        json_patch::patch(&mut patched, &serde_json::from_value::<json_patch::Patch>(body.clone()).unwrap())
            .unwrap();
    } else {
        json_patch::merge(&mut patched, body);
    }
    patched
}

fn diff(a: &Value, b: &Value, path: &str, found: &mut Vec<String>) {
    match (a, b) {
        (Value::Object(x), Value::Object(y)) => {
            for key in x.keys().chain(y.keys().filter(|key| !x.contains_key(*key))) {
                diff(&a[key], &b[key], &format!("{path}.{key}"), found);
            }
        }
        (Value::Array(x), Value::Array(y)) if x.len() == y.len() => {
            for (index, (a, b)) in x.iter().zip(y).enumerate() {
                diff(a, b, &format!("{path}[{index}]"), found);
            }
        }
        _ if a == b => {}
        _ => found.push(format!("{path}: ours {a}, upstream's {b}")),
    }
}
