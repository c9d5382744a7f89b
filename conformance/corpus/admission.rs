//! Recorded requests, answered by the library as an API server with its webhooks would.

use super::recorded::items;
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use trainmaster::{
    admission::{self, Verdict},
    api,
    object::{self, Gvk, ObjectRef, metadata},
    plan::{self, Config, Runtime, RuntimeRef, Served, Snapshot, pin_ref, pinned_runtime, plan},
    policy::PolicySet,
    schema,
    status::status,
};

/// The label by which the authors of runtimes have them left out, and the value that does it.
const UNCHECKED: (&str, &str) = ("trainer.kubeflow.org/webhook-validation", "disabled");

/// An API server, as far as the records ask it anything.
pub struct Server<'p> {
    policies: &'p PolicySet,
    objects: BTreeMap<ObjectRef, Value>,
}

/// What a request is answered.
#[derive(Debug)]
pub enum Answer {
    Accepted {
        warned: bool,
    },
    /// By the CRD, each with its field.
    Invalid(Vec<String>),
    /// By admission, each with field and reason.
    Denied(Vec<(String, String)>, String),
}

impl<'p> Server<'p> {
    pub fn new(policies: &'p PolicySet) -> Self {
        Server { policies, objects: BTreeMap::new() }
    }

    /// Where the case is answered otherwise than upstream answers it.
    pub fn run(mut self, case: &Value) -> Vec<String> {
        let mut differences = Vec::new();
        for (object, recorded) in items(&case["setup"]).zip(items(&case["setupResponses"])) {
            let answer = self.create(object.clone());
            differences.extend(differs(&answer, recorded).map(|it| format!("  setup: {it}")));
            self.settle();
        }
        for (index, (step, observed)) in items(&case["steps"]).zip(items(&case["observed"])).enumerate() {
            let Some(answer) = self.step(step) else { continue };
            let difference = differs(&answer, &observed["response"]);
            differences.extend(difference.map(|it| format!("  step {index}: {it}")));
            self.settle();
        }
        differences
    }

    fn step(&mut self, step: &Value) -> Option<Answer> {
        let (verb, body) = step.as_object().unwrap().iter().next().unwrap();
        if verb == "create" {
            return Some(self.create(body.clone()));
        }
        let wanted = |object: &Value| object["kind"] == body["kind"] && metadata(object).name() == name(body);
        let reference = self.objects.iter().find(|(_, object)| wanted(object)).map(|(it, _)| it.clone());
        if verb == "sleep" {
            return None;
        }
        let Some(reference) = reference else { return Some(Answer::Accepted { warned: false }) };
        let old = self.objects[&reference].clone();
        Some(match verb.as_str() {
            "delete" => self.delete(&reference, old),
            "replace" => self.update(replaced(body, &old), &old),
            "patch" => self.update(patched(body, &old), &old),
            "patchStatus" => {
                let new = patched(body, &old);
                let mut object = old.clone();
                object["status"] = new["status"].clone();
                if object["status"].is_null() {
                    object.as_object_mut().unwrap().remove("status");
                }
                self.store(object, Some(&old))
            }
            other => panic!("unknown step {other}"),
        })
    }

    fn delete(&mut self, reference: &ObjectRef, mut object: Value) -> Answer {
        if object["metadata"]["finalizers"].as_array().is_some_and(|it| !it.is_empty()) {
            object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
            self.objects.insert(reference.clone(), object);
        } else {
            self.objects.remove(reference);
        }
        Answer::Accepted { warned: false }
    }

    fn create(&mut self, mut object: Value) -> Answer {
        object.as_object_mut().unwrap().remove("status");
        self.admit(object, None)
    }

    /// An update does not change the status, and ends the existence of what was deleted and is held by nothing any more.
    fn update(&mut self, mut object: Value, old: &Value) -> Answer {
        let fields = object.as_object_mut().unwrap();
        fields.remove("status");
        fields.extend(old.get("status").map(|status| ("status".to_owned(), status.clone())));
        let answer = self.admit(object.clone(), Some(old));
        let held = object["metadata"]["finalizers"].as_array().is_some_and(|it| !it.is_empty());
        if metadata(old).deletion_timestamp().is_some() && !held {
            self.objects.remove(&ObjectRef::of(old).unwrap());
        }
        answer
    }

    /// Through everything that stands before the store.
    fn admit(&mut self, mut object: Value, old: Option<&Value>) -> Answer {
        if object["kind"] == "TrainJob" {
            let patch = admission::times(&object, old, Timestamp::UNIX_EPOCH);
            object::json_patch::apply(&mut object, &Value::from(patch)).unwrap();
        }
        self.store(object, old)
    }

    fn store(&mut self, mut object: Value, old: Option<&Value>) -> Answer {
        let schemas = api::schemas();
        let kind = Gvk::of(&object).unwrap();
        let is_status =
            old.is_some_and(|old| old["spec"] == object["spec"] && old["status"] != object["status"]);
        if let Some(ty) = schemas.kind(&kind.api_version, &kind.kind) {
            schema::prune(schemas, ty, &mut object);
            schema::default(schemas, ty, &mut object);
            let errors = schema::validate(schemas, ty, &object, old);
            if !errors.is_empty() {
                return Answer::Invalid(
                    errors.iter().map(|it| format!("{}: {}", it.path, it.message())).collect(),
                );
            }
        }
        let verdict = if is_status { Verdict::default() } else { self.review(&object, old) };
        if !verdict.is_admitted() {
            let causes = verdict.causes().into_iter().map(|it| (it.field, it.reason.to_owned())).collect();
            return Answer::Denied(causes, verdict.message());
        }
        if kind.kind == "TrainJob" && object["metadata"].get("uid").is_none() {
            object["metadata"]["uid"] = json!("uid");
        }
        self.objects.insert(ObjectRef::of(&object).unwrap(), object);
        Answer::Accepted { warned: !verdict.warnings.is_empty() }
    }

    fn review(&self, object: &Value, old: Option<&Value>) -> Verdict {
        match object["kind"].as_str() {
            Some("TrainJob") => {
                let runtimes: Vec<ObjectRef> = self.objects.keys().cloned().collect();
                let snapshot = self.snapshot(object.clone(), old.cloned());
                admission::train_job(snapshot, self.policies, &runtimes)
            }
            Some("TrainingRuntime" | "ClusterTrainingRuntime")
                if is_checked(object) || old.is_some_and(is_checked) =>
            {
                admission::runtime(object, old, self.policies, &Served::Everything, &Config::default())
            }
            _ => Verdict::default(),
        }
    }

    fn snapshot(&self, train_job: Value, old_train_job: Option<Value>) -> Snapshot {
        let reference = RuntimeRef::of(&train_job).object(metadata(&train_job).namespace());
        let pinned =
            self.objects.get(&pin_ref(&train_job)).and_then(|map| pinned_runtime(map, &train_job).ok());
        let live = || reference.and_then(|it| self.objects.get(&it)).cloned();
        let runtime = match pinned {
            Some(runtime) => Runtime::Pinned(runtime),
            None => live().map_or(Runtime::Missing, Runtime::live),
        };
        Snapshot {
            train_job,
            old_train_job,
            runtime,
            live: self.objects.clone(),
            others: self.objects.clone(),
            served: Served::Everything,
            config: Config::default(),
            random: Some([7; 32]),
        }
    }

    /// The controller makes the children, and the garbage collector removes them.
    fn settle(&mut self) {
        let jobs: Vec<Value> = self.objects.values().filter(|it| it["kind"] == "TrainJob").cloned().collect();
        if jobs.is_empty() {
            self.objects.retain(|_, object| metadata(object).controller().is_none());
        }
        for train_job in jobs {
            self.write_status(&train_job);
            let Ok(plan) = plan(&self.snapshot(train_job, None), self.policies) else { continue };
            for child in plan.children {
                if !plan::refused(&child).is_empty() {
                    break;
                }
                let status = self.objects.get(&child.reference).and_then(|old| old.get("status")).cloned();
                let mut object = child.object;
                object.as_object_mut().unwrap().extend(status.map(|it| ("status".to_owned(), it)));
                self.objects.insert(child.reference, object);
            }
        }
    }
}

impl Server<'_> {
    fn write_status(&mut self, train_job: &Value) {
        let snapshot = self.snapshot(train_job.clone(), None);
        let status = status(&snapshot, self.policies, None, Timestamp::UNIX_EPOCH).unwrap().status;
        if let (Some(status), Some(object)) =
            (status, self.objects.get_mut(&ObjectRef::of(train_job).unwrap()))
        {
            object["status"] = status;
        }
    }
}

fn is_checked(runtime: &Value) -> bool {
    runtime["metadata"]["labels"][UNCHECKED.0] != UNCHECKED.1
}

fn name(body: &Value) -> Option<&str> {
    body["name"].as_str().or_else(|| metadata(body).name())
}

fn patched(body: &Value, old: &Value) -> Value {
    let mut object = old.clone();
    match body["type"].as_str() {
        Some("json") => object::json_patch::apply(&mut object, &body["body"]).unwrap(),
        _ => json_patch::merge(&mut object, &body["body"]),
    }
    object
}

/// What a full replacement leaves out of the metadata stays where only the server sets it.
fn replaced(body: &Value, old: &Value) -> Value {
    let mut object = body.clone();
    let metadata: &mut Map<String, Value> = object["metadata"].as_object_mut().unwrap();
    for field in ["uid", "deletionTimestamp"] {
        metadata.extend(old["metadata"].get(field).map(|it| (field.to_owned(), it.clone())));
    }
    object
}

/// How an answer differs from the recorded one.
fn differs(answer: &Answer, recorded: &Value) -> Option<String> {
    let message = recorded["message"].as_str().unwrap_or_default();
    let refused = recorded["code"].as_u64().is_some_and(|code| code >= 300);
    match (answer, refused) {
        (Answer::Accepted { .. }, true) => Some(format!("is accepted, upstream refuses it: {message}")),
        (Answer::Invalid(errors), false) => {
            Some(format!("is refused, upstream accepts it: {}", errors.join("; ")))
        }
        (Answer::Denied(_, why), false) => Some(format!("is refused, upstream accepts it: {why}")),
        (Answer::Accepted { warned }, false) => {
            let told = recorded["warnings"].to_string().contains("is deprecated");
            (told && !warned).then(|| "is not warned of".to_owned())
        }
        (Answer::Denied(found, why), true) if recorded["code"] == 403 => {
            let missing: Vec<_> = causes(message).into_iter().filter(|it| !has(found, it)).collect();
            (!missing.is_empty()).then(|| format!("{why}\n    does not say {missing:?}: {message}"))
        }
        (Answer::Invalid(_) | Answer::Denied(..), true) => None,
    }
}

/// Fields and reasons of a message of upstream's. Fields have no positions there, or that of the first.
fn causes(message: &str) -> Vec<(String, String)> {
    let reasons = [
        ("Invalid value", "FieldValueInvalid"),
        ("Forbidden", "FieldValueForbidden"),
        ("Duplicate value", "FieldValueDuplicate"),
    ];
    let (_, errors) = message.split_once("denied the request: ").unwrap_or_default();
    let mut causes = Vec::new();
    for part in errors.trim_start_matches('[').split(", spec.").map(|it| it.trim_start_matches("spec.")) {
        if let Some((field, rest)) = part.split_once(": ")
            && let Some((_, reason)) = reasons.iter().find(|(text, _)| rest.starts_with(text))
        {
            causes.push((format!("spec.{field}"), (*reason).to_owned()));
        }
    }
    causes
}

/// Whether a field is among those found: itself, or more exactly one in it.
fn has(found: &[(String, String)], (field, reason): &(String, String)) -> bool {
    let plain = |field: &str| -> String {
        let mut depth = 0;
        let kept = field.chars().filter(|char| {
            depth += i32::from(*char == '[');
            let keep = depth == 0;
            depth -= i32::from(*char == ']');
            keep
        });
        kept.collect::<String>().to_lowercase()
    };
    found.iter().any(|(it, why)| plain(it).starts_with(&plain(field)) && why == reason)
}
