//! What is seen, compared with what was recorded.

use crate::{
    cluster::Answer,
    recorded::{items, normal},
};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use trainmaster::{
    api,
    object::{
        Gvk, Untyped,
        diff::{self, Quantities},
        owned,
    },
};

/// What differs, by subject: `response`, `events`, `JobSet/bert`, `TrainJob/bert.status`.
pub(crate) type Differences = BTreeMap<String, String>;

/// The manager whose fields are compared.
const MANAGER: &str = "trainer";
/// The condition that upstream does not have: there, only an Event tells of a problem.
const BLOCKED: &str = "Blocked";

/// Where an answer differs: accepted or refused, with warnings or without. Why something is refused is told in words of
/// one's own.
pub(crate) fn response(recorded: &Value, answer: Option<&Answer>) -> Differences {
    let mut differences = Differences::new();
    let Some(answer) = answer else { return differences };
    let wanted = recorded["code"].as_u64().unwrap_or_default();
    if (wanted < 300) != answer.is_accepted() {
        let text =
            format!("{recorded}\nis recorded, the answer is {}: {}", answer.code, answer.body["message"]);
        differences.insert("response".to_owned(), text);
    }
    let warned = recorded.get("warnings").is_some();
    if warned == answer.warnings.is_empty() {
        let text = format!("{}\nis recorded, the answer has {:?}", recorded["warnings"], answer.warnings);
        differences.insert("warnings".to_owned(), text);
    }
    differences
}

/// Where `objects`, those of a namespace, differ from what was recorded. The times of patches count only on a cluster
/// that `stamps` them.
pub(crate) fn compare(recorded: &Value, objects: &[Value], stamps: bool) -> Differences {
    let mut differences = Differences::new();
    let wanted: BTreeMap<String, Value> = parts(recorded);
    let seen: BTreeMap<String, Value> = objects.iter().flat_map(|object| seen(object, stamps)).collect();
    for subject in wanted.keys().chain(seen.keys()) {
        let side = |side: &BTreeMap<String, Value>| side.get(subject).cloned().unwrap_or(Value::Null);
        let (wanted, seen) = (masked(side(&wanted), stamps), masked(side(&seen), stamps));
        let text = match (&wanted, &seen) {
            (Value::Null, Value::Null) => String::new(),
            (Value::Null, seen) => format!("is not recorded: {seen}"),
            (wanted, Value::Null) => format!("is not there: {wanted}"),
            (wanted, seen) => diff::text(&diff::diff(wanted, seen, Untyped, Quantities::ByValue)),
        };
        if !text.is_empty() {
            differences.insert(subject.clone(), text);
        }
    }
    let (wanted, seen) = (recorded_events(recorded), seen_events(objects));
    if wanted != seen {
        differences.insert("events".to_owned(), format!("{wanted:?} are recorded, there are {seen:?}"));
    }
    differences
}

/// The recorded state, by subject.
fn parts(recorded: &Value) -> BTreeMap<String, Value> {
    let mut parts = BTreeMap::new();
    for (name, job) in recorded["trainJobs"].as_object().into_iter().flatten() {
        parts.insert(format!("TrainJob/{name}.spec"), job["spec"].clone());
        parts.insert(format!("TrainJob/{name}.status"), job["status"].clone());
    }
    for child in items(&recorded["children"]) {
        parts.insert(subject(child), normal(child));
    }
    parts
}

/// What is seen of an object, by subject.
fn seen(object: &Value, stamps: bool) -> Vec<(String, Value)> {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    match object["kind"].as_str() {
        Some("TrainJob") => {
            let part = |part: &str| (format!("TrainJob/{name}.{part}"), masked(object[part].clone(), stamps));
            vec![part("spec"), (format!("TrainJob/{name}.status"), status(&object["status"]))]
        }
        Some("Event") | None => Vec::new(),
        Some("ConfigMap") if name == "kube-root-ca.crt" => Vec::new(),
        Some(_) => vec![(subject(object), child(object))],
    }
}

fn subject(child: &Value) -> String {
    let group = child["apiVersion"].as_str().unwrap_or_default().split('/').next().unwrap_or_default();
    let kind = child["kind"].as_str().unwrap_or_default();
    // There are two kinds of this name.
    let kind = if kind == "PodGroup" { format!("{kind}.{group}") } else { kind.to_owned() };
    format!("{kind}/{}", child["metadata"]["name"].as_str().unwrap_or_default())
}

/// What the manager has applied of a child.
fn child(object: &Value) -> Value {
    let kind = Gvk::of(object).expect("an object has a kind");
    let ty = api::schemas().kind(&kind.api_version, &kind.kind).map(|ty| api::schemas().typed(ty));
    let name = object["metadata"]["name"].clone();
    let Some(mut part) = owned::owned(object, MANAGER, ty) else {
        // Of what the manager has not applied, only what somebody else controls is recorded.
        let owned = items(&object["metadata"]["ownerReferences"]).next();
        let foreign = json!({
            "apiVersion": kind.api_version, "kind": kind.kind, "metadata": { "name": name }, "foreign": true,
        });
        return owned.map_or(Value::Null, |_| foreign);
    };
    let is_pin = name.as_str().is_some_and(|it| it.ends_with("-runtime-snapshot"));
    if let Some(data) = object.get("data").filter(|_| is_pin) {
        // A pinned runtime is recorded as it is, whoever wrote it.
        part["data"] = data.clone();
    }
    part["apiVersion"] = json!(kind.api_version);
    part["kind"] = json!(kind.kind);
    part["metadata"]["name"] = name;
    normal(&part)
}

/// A status without times, and without what only says that there is a problem.
fn status(status: &Value) -> Value {
    let mut status = status.as_object().cloned().unwrap_or_default();
    let mut conditions: Vec<Value> =
        status.get("conditions").map(items).into_iter().flatten().cloned().collect();
    conditions.retain(|condition| condition["type"] != BLOCKED);
    for condition in conditions.iter_mut().filter_map(Value::as_object_mut) {
        condition.remove("lastTransitionTime");
    }
    if conditions.is_empty() {
        status.remove("conditions");
    } else {
        status.insert("conditions".to_owned(), conditions.into());
    }
    if status.is_empty() { Value::Null } else { Value::Object(status) }
}

/// The value with `<time>` for each time of a field that holds one.
fn masked(value: Value, stamps: bool) -> Value {
    match value {
        Value::Object(fields) => {
            let mut masked = Map::new();
            for (name, value) in fields {
                match name.as_str() {
                    "time" if value.is_string() && stamps => masked.insert(name, json!("<time>")),
                    "time" if value.is_string() => None,
                    "lastUpdatedTime" => masked.insert(name, json!("<time>")),
                    _ => masked.insert(name, self::masked(value, stamps)),
                };
            }
            Value::Object(masked)
        }
        Value::Array(items) => items.into_iter().map(|item| masked(item, stamps)).collect(),
        other => other,
    }
}

type Told = BTreeSet<[String; 4]>;

/// What Events were about and how they are called; their words are one's own.
fn recorded_events(recorded: &Value) -> Told {
    let text = |event: &Value, at: usize| event[at].as_str().unwrap_or_default().to_owned();
    items(&recorded["events"]).map(|event| [0, 1, 2, 3].map(|at| text(event, at))).collect()
}

fn seen_events(objects: &[Value]) -> Told {
    let events = objects.iter().filter(|object| object["kind"] == "Event");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let of = |event: &Value| {
        let about = &event["involvedObject"];
        [text(&about["kind"]), text(&about["name"]), text(&event["type"]), text(&event["reason"])]
    };
    events.map(of).collect()
}
