//! The objects of `conformance/crds/objects.yaml`, offline.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use trainmaster::api::{self, GROUP, VERSION};
use trainmaster::diagnostic::Source;
use trainmaster::{schema, yaml};

use crate::support::repository;

#[test]
fn objects_are_refused_for_the_fields_that_are_wrong() {
    let schemas = api::schemas();
    for case in cases() {
        let ty = schemas.kind(&format!("{GROUP}/{VERSION}"), case["kind"].as_str().unwrap()).unwrap();
        let stored = |spec: &Value| {
            let mut object = json!({
                "apiVersion": format!("{GROUP}/{VERSION}"), "kind": case["kind"], "metadata": {"name": "a"}, "spec": spec,
            });
            assert_eq!(schema::prune(schemas, ty, &mut object), [], "{}", case["name"]);
            schema::default(schemas, ty, &mut object);
            object
        };
        let old = case.get("old").map(stored);
        let errors = schema::validate(schemas, ty, &stored(&case["spec"]), old.as_ref());
        let paths: BTreeSet<String> = errors.iter().map(|error| error.path.to_string()).collect();
        let wanted: BTreeSet<String> = serde_json::from_value(case["refused"].clone()).unwrap();
        assert_eq!(paths, wanted, "{}: {errors:?}", case["name"]);
    }
}

fn cases() -> Vec<Value> {
    let path = repository().join("conformance/crds/objects.yaml");
    let text = std::fs::read_to_string(&path).unwrap();
    let (nodes, diagnostics) = yaml::parse(&Source::new("objects.yaml", &text));
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    nodes[0].to_json().as_array().unwrap().clone()
}
