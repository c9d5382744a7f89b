//! A type as a structural schema, the form in which a CRD holds it.

use serde_json::{Map as JsonMap, Value, json};

use super::types::{Field, Integer, List, ListKind, Map, Object, Rule, Shape, Text};
use super::validate::QUANTITY;
use super::{IntFormat, Schemas, TextFormat, TypeId};

/// The structural schema of `ty`, with every type it refers to written out: what an API server takes as
/// `openAPIV3Schema`. A type that contains itself cannot be written out; it ends as one that keeps everything.
pub fn structural_schema(schemas: &Schemas, ty: TypeId) -> Value {
    schema(schemas, ty, &mut Vec::new())
}

/// `around` are the types that this one is written out within.
fn schema(schemas: &Schemas, id: TypeId, around: &mut Vec<TypeId>) -> Value {
    let ty = schemas.get(id);
    let mut out = Schema::default();
    let ends = around.contains(&id);
    around.push(id);
    match &ty.shape {
        Shape::Any => out.put("x-kubernetes-preserve-unknown-fields", true),
        _ if ends => out.put("x-kubernetes-preserve-unknown-fields", true),
        Shape::Object(object) => fields(schemas, object, around, &mut out),
        Shape::Map(map) => {
            let Map { values, min_properties, max_properties } = map;
            out.put("type", "object");
            out.put("additionalProperties", schema(schemas, *values, around));
            out.maybe("minProperties", *min_properties);
            out.maybe("maxProperties", *max_properties);
        }
        Shape::List(list) => items(schemas, list, around, &mut out),
        Shape::String(limits) => text(limits, &mut out),
        Shape::Integer(limits) => integer(limits, &mut out),
        Shape::Number => out.put("type", "number"),
        Shape::Boolean => out.put("type", "boolean"),
        Shape::IntOrString => out.put("x-kubernetes-int-or-string", true),
        Shape::Quantity => {
            out.put("x-kubernetes-int-or-string", true);
            out.put("pattern", QUANTITY.source());
        }
    }
    around.pop();
    out.maybe("nullable", ty.nullable.then_some(true));
    out.maybe("description", ty.doc.as_deref());
    let rules: Vec<Value> = ty.rules.iter().map(rule).collect();
    out.maybe("x-kubernetes-validations", (!rules.is_empty()).then_some(rules));
    Value::Object(out.0)
}

fn fields(schemas: &Schemas, object: &Object, around: &mut Vec<TypeId>, out: &mut Schema) {
    let Object { fields, open, min_properties, max_properties, atomic, kind } = object;
    let root = kind.is_some() && around.len() == 1;
    let mut field_schema = |field: &Field| {
        let mut schema = match field.name.as_ref() {
            "metadata" if root => json!({"type": "object"}), // what it is goes without saying, and must
            _ => schema(schemas, field.ty, around),
        };
        if let Value::Object(schema) = &mut schema {
            schema.extend(field.default.clone().map(|value| ("default".to_owned(), value)));
            schema.extend(field.doc.as_deref().map(|doc| ("description".to_owned(), doc.into())));
        }
        (field.name.to_string(), schema)
    };
    out.put("type", "object");
    let properties: JsonMap<String, Value> = fields.iter().map(&mut field_schema).collect();
    out.maybe("properties", (!properties.is_empty()).then_some(properties));
    let required: Vec<&str> =
        fields.iter().filter(|field| field.required).map(|field| &*field.name).collect();
    out.maybe("required", (!required.is_empty()).then_some(required));
    out.maybe("x-kubernetes-preserve-unknown-fields", open.then_some(true));
    out.maybe("minProperties", *min_properties);
    out.maybe("maxProperties", *max_properties);
    out.maybe("x-kubernetes-map-type", atomic.then_some("atomic"));
}

fn items(schemas: &Schemas, list: &List, around: &mut Vec<TypeId>, out: &mut Schema) {
    // How patches merge is not said: the API server merges objects of a CRD by their list types alone.
    let List { item, kind, merge_key: _, retain_keys: _, min_items, max_items } = list;
    out.put("type", "array");
    out.put("items", schema(schemas, *item, around));
    match kind {
        ListKind::Atomic => out.put("x-kubernetes-list-type", "atomic"),
        ListKind::Set => out.put("x-kubernetes-list-type", "set"),
        ListKind::Map(keys) => {
            out.put("x-kubernetes-list-type", "map");
            out.put("x-kubernetes-list-map-keys", keys.iter().map(ToString::to_string).collect::<Vec<_>>());
        }
    }
    out.maybe("minItems", *min_items);
    out.maybe("maxItems", *max_items);
}

fn text(limits: &Text, out: &mut Schema) {
    let Text { format, min_length, max_length, pattern, values } = limits;
    out.put("type", "string");
    out.maybe("format", format.map(format_name));
    out.maybe("minLength", *min_length);
    out.maybe("maxLength", *max_length);
    out.maybe("pattern", pattern.as_ref().map(|pattern| pattern.source().to_owned()));
    let values: Vec<String> = values.iter().map(ToString::to_string).collect();
    out.maybe("enum", (!values.is_empty()).then_some(values));
}

fn format_name(format: TextFormat) -> &'static str {
    match format {
        TextFormat::Time | TextFormat::MicroTime => "date-time",
        TextFormat::Bytes => "byte",
    }
}

fn integer(limits: &Integer, out: &mut Schema) {
    let Integer { format, minimum, maximum } = limits;
    out.put("type", "integer");
    out.maybe(
        "format",
        format.map(|format| match format {
            IntFormat::Int32 => "int32",
            IntFormat::Int64 => "int64",
        }),
    );
    out.maybe("minimum", *minimum);
    out.maybe("maximum", *maximum);
}

fn rule(rule: &Rule) -> Value {
    let Rule { rule, message, message_expression, reason, field_path, optional_old_self, programs: _ } = rule;
    let mut out = Schema::default();
    out.put("rule", rule.as_str());
    out.maybe("message", message.as_deref());
    out.maybe("messageExpression", message_expression.as_deref());
    out.maybe("reason", reason.as_deref());
    out.maybe("fieldPath", field_path.as_deref());
    out.maybe("optionalOldSelf", *optional_old_self);
    Value::Object(out.0)
}

/// A JSON object in the making.
#[derive(Default)]
struct Schema(JsonMap<String, Value>);

impl Schema {
    fn put(&mut self, key: &str, value: impl Into<Value>) {
        self.0.insert(key.to_owned(), value.into());
    }

    fn maybe(&mut self, key: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.put(key, value);
        }
    }
}
