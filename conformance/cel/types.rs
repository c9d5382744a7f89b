//! Declared types as the cases write them: `int`, `list(string)`, `map(string, int)`, or the name of a schema in
//! `schemas.json`. Each is a static type here, and an OpenAPI schema for Kubernetes.

use serde_json::{Value, json};
use std::sync::{Arc, LazyLock};
use trainmaster::cel::{Bounds, Field, Struct, Type};

static SCHEMAS: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(include_str!("schemas.json")).unwrap());

/// The OpenAPI schema of a declared type.
pub(crate) fn schema(text: &str) -> Value {
    let inner = |prefix: &str| text.strip_prefix(prefix).and_then(|rest| rest.strip_suffix(')'));
    if let Some(item) = inner("list(") {
        return json!({"type": "array", "items": schema(item)});
    }
    if let Some(value) = inner("map(string, ") {
        return json!({"type": "object", "additionalProperties": schema(value)});
    }
    match text {
        "string" => json!({"type": "string"}),
        "int" => json!({"type": "integer"}),
        "double" => json!({"type": "number"}),
        "bool" => json!({"type": "boolean"}),
        "dyn" => json!({"x-kubernetes-int-or-string": true}),
        name => SCHEMAS.get(name).unwrap_or_else(|| panic!("no schema {name}")).clone(),
    }
}

/// The static type of a schema, and the sizes it declares.
pub(crate) fn declared(name: &str, schema: &Value) -> (Type, Bounds) {
    let size = |key: &str| schema.get(key).and_then(Value::as_u64);
    if schema["x-kubernetes-int-or-string"] == true {
        return (Type::Dyn, Bounds::default());
    }
    match schema["type"].as_str() {
        Some("string") => (Type::String, Bounds { size: size("maxLength"), items: None }),
        Some("integer") => (Type::Int, Bounds::default()),
        Some("number") => (Type::Double, Bounds::default()),
        Some("boolean") => (Type::Bool, Bounds::default()),
        Some("array") => {
            let (item, items) = declared(&format!("{name}[]"), &schema["items"]);
            (Type::list(item), Bounds { size: size("maxItems"), items: Some(Arc::new(items)) })
        }
        Some("object") if schema.get("additionalProperties").is_some() => {
            let (value, items) = declared(&format!("{name}{{}}"), &schema["additionalProperties"]);
            (
                Type::map(Type::String, value),
                Bounds { size: size("maxProperties"), items: Some(Arc::new(items)) },
            )
        }
        Some("object") => {
            let object = Object { name: name.to_owned(), schema: schema.clone() };
            (Type::Struct(Arc::new(object)), Bounds::default())
        }
        _ => (Type::Dyn, Bounds::default()),
    }
}

/// An object with the fields of a schema.
struct Object {
    name: String,
    schema: Value,
}

impl Struct for Object {
    fn name(&self) -> &str {
        &self.name
    }

    fn field(&self, name: &str) -> Option<Field> {
        let (ty, bounds) = declared(&format!("{}.{name}", self.name), self.schema["properties"].get(name)?);
        let required =
            self.schema["required"].as_array().is_some_and(|names| names.iter().any(|found| found == name));
        Some(Field { ty, optional: !required, bounds })
    }

    fn field_names(&self) -> Vec<String> {
        self.schema["properties"]
            .as_object()
            .map(|fields| fields.keys().cloned().collect())
            .unwrap_or_default()
    }
}
