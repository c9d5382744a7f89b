//! Our CRDs on a real API server: it takes them, and makes of each object of `../crds/objects.yaml` what our schemas
//! make of it offline.

use std::collections::BTreeSet;
use std::path::Path;

use kube::Client;
use kube::api::{Api, DynamicObject, PostParams};
use serde_json::{Value, json};
use trainmaster::api::{GROUP, VERSION, crds, schemas};
use trainmaster::schema;

use crate::support::{chain, namespace, object, objects};
use crate::testbed::manifests;

#[tokio::test]
async fn the_api_server_stores_and_refuses_what_our_schemas_do() {
    let (client, namespace) = namespace("crds").await;
    manifests::apply(&client, &crds()).await.unwrap_or_else(|error| panic!("{}", chain(&error)));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance/crds/objects.yaml");
    let cases = manifests::read(&path).expect("reads the cases");
    for (number, case) in cases.iter().flat_map(|list| list.as_array().into_iter().flatten()).enumerate() {
        compare(&client, &namespace, number, case).await;
    }
}

async fn compare(client: &Client, namespace: &str, number: usize, case: &Value) {
    let kind = case["kind"].as_str().expect("a case has a kind");
    let api = objects(client, namespace, GROUP, VERSION, kind);
    let new = |spec: &Value| {
        json!({
            "apiVersion": format!("{GROUP}/{VERSION}"), "kind": kind, "metadata": {"name": format!("case-{number}")},
            "spec": spec,
        })
    };
    let answer = match case.get("old") {
        None => api.create(&PostParams::default(), &object(new(&case["spec"]))).await,
        Some(old) => change(&api, new(old), &case["spec"]).await,
    };
    let refused: BTreeSet<String> = match &answer {
        Ok(stored) => {
            let mut ours = new(&case["spec"]);
            let ty = schemas().kind(&format!("{GROUP}/{VERSION}"), kind).expect("the kind is ours");
            schema::prune(schemas(), ty, &mut ours);
            schema::default(schemas(), ty, &mut ours);
            assert_eq!(stored.data["spec"], ours["spec"], "{}", case["name"]);
            BTreeSet::new()
        }
        Err(kube::Error::Api(status)) => {
            let causes = status.details.iter().flat_map(|details| &details.causes);
            // What is said of the object as a whole is that rules were not looked at.
            causes.map(|cause| cause.field.clone()).filter(|field| field != "<nil>").collect()
        }
        Err(error) => panic!("{}: {}", case["name"], chain(error)),
    };
    let wanted: BTreeSet<String> = serde_json::from_value(case["refused"].clone()).expect("a list of fields");
    assert_eq!(refused, wanted, "{}", case["name"]);
}

async fn change(api: &Api<DynamicObject>, old: Value, spec: &Value) -> Result<DynamicObject, kube::Error> {
    let mut object = api.create(&PostParams::default(), &object(old)).await?;
    object.data["spec"] = spec.clone();
    let name = object.metadata.name.clone().unwrap_or_default();
    api.replace(&name, &PostParams::default(), &object).await
}
