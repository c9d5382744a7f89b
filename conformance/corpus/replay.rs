//! A recorded case, step by step, on plans instead of a cluster.

use crate::recorded::{items, normal};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use trainmaster::{
    api,
    object::{
        self, Gvk, ObjectRef, Untyped,
        diff::{self, Quantities},
        metadata,
    },
    plan::{Config, Runtime, RuntimeRef, Served, Snapshot, pin_ref, pinned_runtime, plan},
    policy::PolicySet,
    schema,
};

/// What exists, as far as plans see it.
pub struct Replay<'p> {
    policies: &'p PolicySet,
    objects: BTreeMap<ObjectRef, Value>,
    /// The objects that plans have written, as they were last applied.
    applied: BTreeMap<ObjectRef, Value>,
    /// Whether the records are of an older version, which admitted otherwise and pinned no runtime.
    older: bool,
}

impl<'p> Replay<'p> {
    pub fn new(policies: &'p PolicySet, older: bool) -> Self {
        Replay { policies, objects: BTreeMap::new(), applied: BTreeMap::new(), older }
    }

    /// Where the case differs.
    pub fn run(mut self, case: &Value) -> Vec<String> {
        for (object, answer) in items(&case["setup"]).zip(items(&case["setupResponses"])) {
            if answer["code"].as_u64().is_some_and(|code| code < 300) {
                self.store(object.clone());
            }
        }
        let mut differences = Vec::new();
        let mut expected = json!([]);
        for (index, (step, observed)) in items(&case["steps"]).zip(items(&case["observed"])).enumerate() {
            let refused = observed["response"]["code"].as_u64().is_some_and(|code| code >= 300);
            if !(self.older && refused) {
                self.step(step);
            }
            let refused = self.plan();
            if observed["children"] != "as before" {
                expected = observed["children"].clone();
            }
            let found = self.compare(&expected);
            differences
                .extend(refused.filter(|_| !found.is_empty()).map(|why| format!("  step {index}: {why}")));
            differences.extend(found.into_iter().map(|it| format!("  step {index}: {it}")));
        }
        differences
    }

    /// Where `children`, made otherwise, differ from what a case ends with.
    pub fn compare_with(mut self, children: Vec<Value>, case: &Value) -> Vec<String> {
        // What the API server refuses, and what comes after it, is not there.
        let taken = children.into_iter().take_while(|child| rejected(child).is_none());
        self.applied = taken.filter_map(|child| Some((ObjectRef::of(&child)?, child))).collect();
        let told = items(&case["observed"]).map(|observed| &observed["children"]);
        told.filter(|children| *children != "as before").last().map_or(Vec::new(), |it| self.compare(it))
    }

    /// Stores an object as the API server would; one that it would refuse is not stored.
    fn store(&mut self, mut object: Value) {
        let schemas = api::schemas();
        let kind = Gvk::of(&object).unwrap();
        if let Some(ty) = schemas.kind(&kind.api_version, &kind.kind) {
            schema::prune(schemas, ty, &mut object);
            schema::default(schemas, ty, &mut object);
            let old = ObjectRef::of(&object).and_then(|it| self.objects.get(&it));
            if !schema::validate(schemas, ty, &object, old).is_empty() {
                return;
            }
        }
        if kind.kind == "TrainJob" && object["metadata"].get("uid").is_none() {
            object["metadata"]["uid"] = json!("uid");
        }
        self.objects.insert(ObjectRef::of(&object).unwrap(), object);
    }

    fn step(&mut self, step: &Value) {
        let (verb, body) = step.as_object().unwrap().iter().next().unwrap();
        match verb.as_str() {
            "create" | "replace" => self.store(body.clone()),
            "patch" => {
                let found = self
                    .objects
                    .iter()
                    .find(|(it, _)| it.gvk.kind == body["kind"] && it.name == body["name"]);
                let Some((_, object)) = found else { return };
                let mut object = object.clone();
                match body["type"].as_str() {
                    Some("json") => object::json_patch::apply(&mut object, &body["body"]).unwrap(),
                    _ => json_patch::merge(&mut object, &body["body"]),
                }
                self.store(object);
            }
            "delete" => {
                self.objects.retain(|it, _| !(it.gvk.kind == body["kind"] && it.name == body["name"]));
            }
            "sleep" | "patchStatus" => {}
            other => panic!("unknown step {other}"),
        }
    }

    /// Plans every TrainJob and applies what comes out; says why where there is no plan.
    fn plan(&mut self) -> Option<String> {
        let jobs: Vec<Value> = self.objects.values().filter(|it| it["kind"] == "TrainJob").cloned().collect();
        let mut refused = None;
        for train_job in jobs {
            match plan(&self.snapshot(train_job), self.policies) {
                Ok(plan) => {
                    for child in plan.children {
                        if let Some(why) = rejected(&child.object) {
                            refused = Some(why);
                            break;
                        }
                        self.applied.insert(child.reference, child.object);
                    }
                }
                Err(refusal) => refused = Some(format!("{:?}", refusal.diagnostics())),
            }
        }
        refused
    }

    fn snapshot(&self, train_job: Value) -> Snapshot {
        let reference = RuntimeRef::of(&train_job).object(metadata(&train_job).namespace());
        let pinned =
            self.applied.get(&pin_ref(&train_job)).map(|map| pinned_runtime(map, &train_job).unwrap());
        let live = || reference.and_then(|it| self.objects.get(&it)).filter(|it| readable(it)).cloned();
        let runtime = match pinned {
            Some(runtime) => Runtime::Pinned(runtime),
            None => live().map_or(Runtime::Missing, Runtime::live),
        };
        let mut live = self.objects.clone();
        live.extend(self.applied.clone());
        Snapshot {
            train_job,
            old_train_job: None,
            runtime,
            live,
            others: self.objects.clone(),
            served: Served::Everything,
            config: Config::default(),
            random: Some([7; 32]),
        }
    }

    fn compare(&self, expected: &Value) -> Vec<String> {
        let mut differences = Vec::new();
        let mut wanted: BTreeMap<(String, String, String), &Value> =
            items(expected).map(|it| (key(it), it)).collect();
        for object in self.applied.values().filter(|it| !(self.older && it["data"].get("runtime").is_some()))
        {
            match wanted.remove(&key(object)) {
                None => differences.push(format!("{:?} is written, upstream does not", key(object))),
                Some(wanted) => {
                    let (mut object, mut wanted) = (normal(&stored(object)), normal(&stored(wanted)));
                    if self.older {
                        without_version(&mut object);
                        without_version(&mut wanted);
                    }
                    let changes = diff::diff(&wanted, &object, Untyped, Quantities::ByValue);
                    if !changes.is_empty() {
                        differences.push(format!("{:?}\n{}", key(&object), diff::text(&changes)));
                    }
                }
            }
        }
        differences.extend(wanted.keys().map(|it| format!("{it:?} is not written, upstream does")));
        differences
    }
}

/// Whether its amounts can be read: upstream cannot even list a runtime that holds one that cannot.
fn readable(runtime: &Value) -> bool {
    let kind = Gvk::of(runtime).unwrap();
    let ty = api::schemas().kind(&kind.api_version, &kind.kind).unwrap();
    schema::unreadable_quantities(api::schemas(), ty, runtime).is_empty()
}

/// The object as the API server stores it: with the defaults of its CRD.
fn stored(object: &Value) -> Value {
    let (schemas, kind, mut object) = (api::schemas(), Gvk::of(object).unwrap(), object.clone());
    if let Some(ty) = schemas.kind(&kind.api_version, &kind.kind) {
        schema::default(schemas, ty, &mut object);
    }
    object
}

/// Why the API server would not take the object.
fn rejected(object: &Value) -> Option<String> {
    let (schemas, kind) = (api::schemas(), Gvk::of(object).unwrap());
    let ty = schemas.kind(&kind.api_version, &kind.kind)?;
    let errors = schema::validate(schemas, ty, &stored(object), None);
    errors.first().map(|error| format!("{}: {}", error.path, error.message()))
}

fn key(object: &Value) -> (String, String, String) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    (text(&object["apiVersion"]), text(&object["kind"]), text(&object["metadata"]["name"]))
}

/// Removes what each version of upstream does in its own way, whatever a case is about: the number of processes of v2.0,
/// the modes of SSH keys.
fn without_version(value: &mut Value) {
    match value {
        Value::Object(map) => {
            let is_processes = map.get("name").is_some_and(|name| name == "PET_NPROC_PER_NODE");
            map.retain(|key, _| !(is_processes && key == "value") && key != "mode" && key != "defaultMode");
            map.values_mut().for_each(without_version);
        }
        Value::Array(items) => items.iter_mut().for_each(without_version),
        _ => {}
    }
}
