//! The time of each of a `TrainJob`'s patches: when it was last changed.

use crate::{api, object::find, schema};
use jiff::Timestamp;
use serde_json::{Value, json};

/// The JSON Patch that puts the times of `spec.runtimePatches` of `train_job` right, and changes nothing else: a patch that
/// is new and has no time, and one that differs from its `old` self, gets `now`; one that does not gets its old time back.
///
/// The object has not been checked in any way.
pub fn times(train_job: &Value, old: Option<&Value>, now: Timestamp) -> Vec<Value> {
    let now = json!(now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string());
    let mut operations = Vec::new();
    for (index, patch) in patches(train_job).iter().enumerate().filter(|(_, patch)| patch.is_object()) {
        let path = format!("/spec/runtimePatches/{index}/time");
        let present = patch.get("time");
        let given = present.filter(|time| !time.is_null());
        let before = old.and_then(|old| {
            patches(old)
                .iter()
                .find(|before| before["manager"].is_string() && before["manager"] == patch["manager"])
        });
        let wanted = match before {
            None => given.unwrap_or(&now),
            Some(before) if content(before) == content(patch) => match before.get("time") {
                Some(time) => time,
                None if present.is_some() => {
                    operations.push(json!({ "op": "remove", "path": path }));
                    continue;
                }
                None => continue,
            },
            Some(_) => &now,
        };
        if present != Some(wanted) {
            operations.push(json!({ "op": "add", "path": path, "value": wanted }));
        }
    }
    operations
}

fn patches(train_job: &Value) -> &[Value] {
    let patches = find(train_job, &["spec", "runtimePatches"]).and_then(Value::as_array);
    patches.map_or(&[], Vec::as_slice)
}

/// A patch without its time, as Go types write it: what is spelled otherwise is no change.
fn content(patch: &Value) -> Value {
    let schemas = api::schemas();
    let mut patch = patch.clone();
    if let Value::Object(patch) = &mut patch {
        patch.remove("time");
    }
    let mut object = json!({ "spec": { "runtimePatches": [patch] } });
    if let Some(ty) = schemas.kind(&format!("{}/{}", api::GROUP, api::VERSION), "TrainJob") {
        schema::canonical(schemas, ty, &mut object);
    }
    object
}
