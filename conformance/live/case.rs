//! A recorded case.

use jiff::Timestamp;
use serde_json::{Value, json};

/// What is done, and what was seen.
pub(crate) struct Case {
    pub(crate) id: String,
    pub(crate) why: String,
    /// The namespace it is driven in.
    pub(crate) namespace: String,
    /// Whether two recordings of it differ.
    pub(crate) unstable: bool,
    pub(crate) setup: Vec<Value>,
    pub(crate) steps: Vec<Value>,
    /// What was seen after each step, with its children written out.
    pub(crate) observed: Vec<Value>,
}

impl Case {
    /// Reads a line of a file of records, the `number`-th. Records write `NS` for the namespace, which also begins the
    /// names of what lives in none, and `<time>` for any time.
    pub(crate) fn parse(line: &str, number: usize) -> Case {
        let id = |text: &str| {
            let case: Value = serde_json::from_str(text).expect("a record is JSON");
            case["id"].as_str().expect("a record has an id").to_owned()
        };
        let slug: String = id(line).replace('/', "-").chars().take(48).collect();
        let namespace = format!("{slug}-{number}-{:04x}", std::process::id() & 0xffff);
        let text =
            line.replace("\"NS\"", &format!("\"{namespace}\"")).replace("\"NS-", &format!("\"{namespace}-"));
        let mut case: Value = serde_json::from_str(&text).expect("a record is JSON");
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let now = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let mut sent = json!([case["setup"].take(), case["steps"].take()]);
        put_time(&mut sent, &now);
        Case {
            id: id(line),
            why: case["why"].as_str().unwrap_or_default().to_owned(),
            namespace,
            unstable: case.get("unstable").is_some(),
            setup: list(&sent[0]),
            steps: list(&sent[1]),
            observed: spelled_out(list(&case["observed"])),
        }
    }
}

/// Puts a time where a record says that there was one.
fn put_time(value: &mut Value, now: &str) {
    match value {
        Value::String(text) if text == "<time>" => now.clone_into(text),
        Value::Array(items) => items.iter_mut().for_each(|item| put_time(item, now)),
        Value::Object(fields) => fields.values_mut().for_each(|value| put_time(value, now)),
        _ => {}
    }
}

/// Children that are as they were before, written out.
fn spelled_out(mut observed: Vec<Value>) -> Vec<Value> {
    let mut before = json!([]);
    for seen in &mut observed {
        if seen["children"] == "as before" {
            seen["children"] = before.clone();
        }
        before = seen["children"].clone();
    }
    observed
}
