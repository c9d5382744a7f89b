//! Ours against what was recorded of a real cluster with the upstream manager on it.

use serde_json::Value;
use trainmaster::api::{self, GROUP, VERSION};
use trainmaster::schema;

use crate::support::corpus;

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
