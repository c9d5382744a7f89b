//! The form of the records: what is compared of an object.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use trainmaster::yaml;

pub fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

/// What kind of secret a value is, as the records say it.
fn masked(value: &str) -> String {
    let Ok(secret) = STANDARD.decode(value) else { return value.to_owned() };
    let secret = String::from_utf8(secret).unwrap();
    let pem = secret.strip_prefix("-----BEGIN ").and_then(|rest| rest.split("-----").next());
    let key = secret.split(' ').next().filter(|word| word.starts_with("ecdsa-"));
    let curve = secret.contains("curve").then_some("curve");
    format!("<{}>", pem.or(key).or(curve).unwrap_or("secret"))
}

/// The object in the form of the records: no namespace, no UIDs, a pinned runtime as a tree of what counts.
pub fn normal(object: &Value) -> Value {
    let mut object = object.clone();
    let metadata = object["metadata"].as_object_mut().unwrap();
    metadata.remove("namespace");
    for owner in metadata.get_mut("ownerReferences").and_then(Value::as_array_mut).into_iter().flatten() {
        owner.as_object_mut().unwrap().remove("uid");
    }
    let is_secret = object["kind"] == "Secret";
    if let Some(data) = object.get_mut("data").and_then(Value::as_object_mut) {
        for (name, value) in data {
            *value = match value.as_str() {
                Some(text) if is_secret => json!(masked(text)),
                // The scripts are not upstream's.
                Some(_) if ["init.sh", "entrypoint.sh"].contains(&name.as_str()) => json!("<script>"),
                Some(text) if name == "runtime" => runtime(text),
                _ => continue,
            };
        }
    }
    object
}

/// What counts of a pinned runtime; the text as it stands if it is none.
fn runtime(text: &str) -> Value {
    let source = trainmaster::diagnostic::Source::new("runtime", text);
    let documents = yaml::parse(&source).0;
    let runtime = documents.first().map(yaml::Node::to_json).unwrap_or_default();
    if !runtime.is_object() {
        return json!(text);
    }
    json!({
        "apiVersion": runtime["apiVersion"], "kind": runtime["kind"],
        "name": runtime["metadata"]["name"], "spec": runtime["spec"],
    })
}
