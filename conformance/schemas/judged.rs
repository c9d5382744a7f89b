//! Ours against the API server's own code: what it stores of an object, what it drops, what it refuses.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use trainmaster::api::{self, GROUP, VERSION};
use trainmaster::object::{self, merge::strategic};
use trainmaster::schema::{self, Typed};

use crate::random::Random;
use crate::support::{Judge, corpus};

#[test]
fn objects_of_the_corpus_are_stored_as_the_api_server_stores_them() {
    let Some(mut judge) = Judge::start() else { return };
    let mut differences = Vec::new();
    let mut compared = 0;
    for file in ["build.jsonl", "admission.jsonl", "legacy.jsonl"] {
        for case in corpus(file).unwrap_or_default() {
            for object in created(&case) {
                compared += 1;
                let found = difference(&mut judge, object, None);
                differences.extend(found.map(|difference| format!("{}: {difference}", case["id"])));
            }
        }
    }
    eprintln!("{compared} objects compared");
    assert!(differences.is_empty(), "{} differ:\n{}", differences.len(), differences.join("\n"));
}

#[test]
fn random_objects_are_stored_as_the_api_server_stores_them() {
    let Some(mut judge) = Judge::start() else { return };
    let (mut refused, mut updated) = (0, 0);
    for seed in 0..1_500 {
        let mut random = Random::wrong(seed);
        let kind = random.pick(&["TrainJob", "TrainingRuntime", "ClusterTrainingRuntime"]);
        let object = random.object(api::schemas(), &format!("{GROUP}/{VERSION}"), kind);
        let found = difference(&mut judge, &object, None);
        assert_eq!(found, None, "seed {seed}: {object}");

        let answer = judge.ask(&json!({"kind": kind, "object": object}));
        refused += usize::from(answer["errors"].is_array());
        let Some(old) = equal_to_itself(&answer) else { continue };
        let mut new = random.changed(&old);
        for same in ["apiVersion", "kind", "metadata"] {
            new[same] = old[same].clone();
        }
        updated += 1;
        let found = difference(&mut judge, &new, Some(&old));
        assert_eq!(found, None, "seed {seed}: {new}\nfrom {old}");
    }
    eprintln!("{refused} refused, {updated} updated");
    assert!(
        (150..1_450).contains(&refused),
        "{refused} of 1500 are wrong: too few or too many to say anything"
    );
}

/// What was stored, if the API server would find it equal to itself: it compares item by item, and takes an item
/// without a key, with another's key, or a field beside those of an open object, for one that has changed.
fn equal_to_itself(answer: &Value) -> Option<Value> {
    let unequal = ["FieldValueRequired", "FieldValueDuplicate", WRONG_TYPE];
    if causes(answer).iter().any(|(_, reason)| unequal.contains(&reason.as_str())) {
        return None;
    }
    let mut stored = answer["object"].clone();
    if let Some(Value::Object(policy)) = stored.pointer_mut("/spec/mlPolicy") {
        policy.remove("unknown");
    }
    Some(stored)
}

#[test]
fn random_jobs_are_written_as_the_go_types_write_them() {
    let Some(mut judge) = Judge::start() else { return };
    let schemas = api::schemas();
    let ty = schemas.named("jobset.x-k8s.io/v1alpha2.JobSetSpec").unwrap();
    for seed in 0..500 {
        let spec = Random::right(seed).value(schemas, ty, 1);
        let answer = judge.ask(&json!({"wire": "JobSetSpec", "object": spec}));
        assert_eq!(answer.get("errors"), None, "seed {seed}: {spec}");
        let mut theirs = answer["object"].clone();
        without_nulls(&mut theirs);
        let mut ours = spec.clone();
        schema::canonical(schemas, ty, &mut ours);
        assert!(same(&ours, &theirs), "seed {seed}: {spec}\nours   {ours}\ntheirs {theirs}");
    }
}

#[test]
fn random_patches_merge_as_the_go_types_merge_them() {
    let Some(mut judge) = Judge::start() else { return };
    let schemas = api::schemas();
    let ty = schemas.named("jobset.x-k8s.io/v1alpha2.JobSetSpec").unwrap();
    for seed in 0..500 {
        let mut random = Random::right(seed);
        let (spec, patch) = (random.value(schemas, ty, 1), random.value(schemas, ty, 1));
        let theirs = judge.ask(&json!({"patch": patch, "object": spec}))["object"].clone();
        let mut ours = spec.clone();
        strategic(&mut ours, &patch, WithoutUnions(schemas.typed(ty)), &mut |_| {}).unwrap();
        assert!(same(&ours, &theirs), "seed {seed}: {spec}\npatch  {patch}\nours   {ours}\ntheirs {theirs}");
    }
}

/// The types as Go's merge knows them: it leaves both members of a union in place.
#[derive(Clone, Copy)]
struct WithoutUnions<'s>(Typed<'s>);

impl<'s> object::Shape<'s> for WithoutUnions<'s> {
    fn field(self, name: &str) -> Option<Self> {
        self.0.field(name).map(WithoutUnions)
    }

    fn item(self) -> Option<Self> {
        self.0.item().map(WithoutUnions)
    }

    fn patch(self) -> object::PatchKind<'s> {
        self.0.patch()
    }
}

/// What is left of a null when a Go apply configuration, all pointers, passes it on.
fn without_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|_, value| !value.is_null());
            map.values_mut().for_each(without_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(without_nulls),
        _ => {}
    }
}

/// The objects of our kinds that a case creates.
fn created(case: &Value) -> impl Iterator<Item = &Value> {
    let steps = case["steps"].as_array().into_iter().flatten();
    let steps = steps.flat_map(|step| [&step["create"], &step["replace"]]);
    let all = case["setup"].as_array().into_iter().flatten().chain(steps);
    all.filter(|object| object["apiVersion"] == format!("{GROUP}/{VERSION}"))
}

/// Where ours and the API server's treatment of an object part.
fn difference(judge: &mut Judge, object: &Value, old: Option<&Value>) -> Option<String> {
    let schemas = api::schemas();
    let kind = object["kind"].as_str()?;
    let ty = schemas.kind(&format!("{GROUP}/{VERSION}"), kind)?;
    let mut question = json!({"kind": kind, "object": object});
    if let Some(old) = old {
        question["old"] = old.clone();
    }
    let theirs = judge.ask(&question);
    let mut stored = object.clone();
    let dropped: BTreeSet<String> =
        schema::prune(schemas, ty, &mut stored).iter().map(|path| plain(&path.to_string())).collect();
    schema::default(schemas, ty, &mut stored);
    let errors = schema::validate(schemas, ty, &stored, old);
    let their_errors = causes(&theirs);
    // What is within a value of the wrong type it drops as well; ours leaves it to be seen.
    let typed = !their_errors.iter().any(|(_, reason)| reason == "FieldValueTypeInvalid");
    if typed && !same(&stored, &theirs["object"]) {
        return Some(format!("stored\n  ours   {stored}\n  theirs {}", theirs["object"]));
    }
    let their_dropped = theirs["dropped"].as_array().into_iter().flatten();
    let their_dropped: BTreeSet<String> = their_dropped.map(|path| plain(path.as_str().unwrap())).collect();
    if typed && dropped != their_dropped {
        return Some(format!("dropped\n  ours   {dropped:?}\n  theirs {their_dropped:?}"));
    }
    let errors = errors.iter().map(|error| (plain(&error.path.to_string()), error.reason.name().to_owned()));
    let errors = without_wrong_types(errors.collect());
    // Where anything is missing or of the wrong type or size, the API server leaves all rules unchecked; ours leaves
    // those about it.
    let blocked = their_errors.iter().any(|(_, reason)| BLOCKING.contains(&reason.as_str()));
    let same = if blocked { errors.is_superset(&their_errors) } else { errors == their_errors };
    (!same).then(|| format!("errors\n  ours   {errors:?}\n  theirs {}", theirs["errors"]))
}

/// Errors as path and reason. A number out of range has no path in the API server's answer, only in its words.
fn causes(answer: &Value) -> BTreeSet<(String, String)> {
    let text = |cause: &Value, field: &str| cause[field].as_str().unwrap_or_default().to_owned();
    let mut causes = BTreeSet::new();
    for cause in answer["errors"].as_array().into_iter().flatten() {
        let (path, message) = (text(cause, "field"), text(cause, "message"));
        let place = message.contains("Checked value").then(|| message.rsplit(' ').next().unwrap().to_owned());
        let path = place.unwrap_or(if path == "<nil>" { String::new() } else { path });
        causes.insert((plain(&path), text(cause, "reason")));
    }
    without_wrong_types(causes)
}

/// Errors without what else is said of values of the wrong type: the API server holds those to limits all the same.
fn without_wrong_types(causes: BTreeSet<(String, String)>) -> BTreeSet<(String, String)> {
    let wrong = causes.iter().filter(|(_, reason)| reason == WRONG_TYPE).map(|(path, _)| path.clone());
    let wrong: BTreeSet<String> = wrong.collect();
    causes.into_iter().filter(|(path, reason)| reason == WRONG_TYPE || !wrong.contains(path)).collect()
}

const WRONG_TYPE: &str = "FieldValueTypeInvalid";
const BLOCKING: [&str; 5] =
    [WRONG_TYPE, "FieldValueRequired", "FieldValueNotSupported", "FieldValueTooLong", "FieldValueTooMany"];

/// A path in which a key of a map is written like a field, as the API server does.
fn plain(path: &str) -> String {
    path.replace('[', ".").replace(']', "")
}

/// Whether two trees are equal, numbers by value.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        _ => a == b,
    }
}
