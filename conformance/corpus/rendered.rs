//! A recorded case through the command: its objects as one manifest.

use super::recorded::items;
use serde_json::{Value, json};
use std::{
    io::Write as _,
    process::{Command, Stdio},
};

/// Each case is a process of its own, so a part of them must do. All of them are compared as plans.
pub const EVERY: usize = 10;

/// The objects that a case creates; none if it does more than that.
pub fn objects(case: &Value) -> Option<Value> {
    let answers = items(&case["setupResponses"]);
    let mut objects: Vec<&Value> = items(&case["setup"])
        .zip(answers)
        .filter(|(_, answer)| answer["code"].as_u64().is_some_and(|code| code < 300))
        .map(|(object, _)| object)
        .collect();
    for step in items(&case["steps"]) {
        match (step.get("create"), step.get("sleep")) {
            (Some(object), _) => objects.push(object),
            (None, Some(_)) => {}
            (None, None) => return None,
        }
    }
    let mut objects: Vec<Value> = objects.into_iter().cloned().collect();
    for object in objects.iter_mut().filter(|object| object["kind"] == "TrainJob") {
        object["metadata"]["uid"] = json!("uid");
    }
    Some(json!({ "apiVersion": "v1", "kind": "List", "items": objects }))
}

/// What `trainmaster render` makes of `objects`.
pub fn children(binary: &str, objects: &Value) -> Vec<Value> {
    let mut child = Command::new(binary)
        .args(["render", "-f", "-", "-o", "json", "-n", "ns", "--show-secrets"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(objects.to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let rendered: Value = serde_json::from_slice(&output.stdout).unwrap();
    match &rendered["items"] {
        Value::Array(items) if rendered["kind"] == "List" => items.clone(),
        _ => vec![rendered],
    }
}
