//! `status.jobsStatus`: counters per job, as the CRD takes them whatever a child says.

use serde_json::{Map, Value, json};

const COUNTERS: [&str; 5] = ["ready", "succeeded", "failed", "active", "suspended"];
/// Most entries that the CRD takes.
const MAX_JOBS: usize = 100;
/// Longest name that the CRD takes, in characters.
const MAX_NAME: usize = 253;

/// Puts the counters of `jobs` into a status. All five are written, zeroes too: clients rely on it. A job without a name
/// or with the name of another cannot be told of, and a count below zero is none.
pub(super) fn store(status: &mut Map<String, Value>, jobs: &[Value]) {
    let mut entries: Vec<Value> = Vec::new();
    for job in jobs {
        let name = job["name"].as_str().unwrap_or_default();
        let known = entries.iter().any(|entry| entry["name"] == name);
        if !name.is_empty() && name.chars().count() <= MAX_NAME && !known && entries.len() < MAX_JOBS {
            let mut entry = json!({ "name": name });
            for counter in COUNTERS {
                let count = job[counter].as_i64().unwrap_or(0).clamp(0, i64::from(i32::MAX));
                entry[counter] = json!(count);
            }
            entries.push(entry);
        }
    }
    if entries.is_empty() {
        status.remove("jobsStatus");
    } else {
        status.insert("jobsStatus".to_owned(), Value::Array(entries));
    }
}
