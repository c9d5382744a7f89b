//! What the runners share: variables as the cases declare them, and values in a form that can be compared.

use crate::types;
use serde_json::{Value, json};
use std::path::PathBuf;
use trainmaster::cel::{Bindings, Bounds, Budget, Compiled, Env, Error, Key, List, Map, Str, Type, Val};

/// A file beside this one.
pub(crate) fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("conformance/cel").join(name)
}

pub(crate) fn read(path: &std::path::Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Files with this extension in a folder beside this file, sorted.
pub(crate) fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(data(folder)).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        entries.filter(|path| path.extension().is_some_and(|found| found == extension)).collect();
    files.sort();
    files
}

/// A variable of a case: `let name: type = value`.
#[derive(Clone, Debug)]
pub(crate) struct Variable {
    pub(crate) name: String,
    /// Nothing is known of a variable without a type.
    pub(crate) schema: Option<Value>,
    pub(crate) value: Value,
}

impl Variable {
    /// The variable that a line declares.
    pub(crate) fn parse(line: &str) -> Option<Variable> {
        let (declared, value) = line.strip_prefix("let ")?.split_once(" = ")?;
        let (name, schema) = match declared.split_once(": ") {
            Some((name, ty)) => (name, Some(types::schema(ty))),
            None => (declared, None),
        };
        let value = serde_json::from_str(value).unwrap_or_else(|error| panic!("{line}: {error}"));
        Some(Variable { name: name.to_owned(), schema, value })
    }
}

/// The environment of these variables, in their order.
pub(crate) fn env(variables: &[Variable]) -> Env {
    let mut env = Env::new();
    for variable in variables {
        let (ty, bounds) = match &variable.schema {
            Some(schema) => types::declared(&variable.name, schema),
            None => (Type::Dyn, Bounds::default()),
        };
        env.declare(variable.name.as_str(), &ty, bounds);
    }
    env
}

/// The values of these variables.
pub(crate) fn values(variables: &[Variable]) -> Values<'_> {
    Values(variables.iter().map(|variable| Val::from_json(&variable.value)).collect())
}

/// Variables with a value each.
pub(crate) struct Values<'a>(pub(crate) Vec<Val<'a>>);

impl<'a> Bindings<'a> for Values<'a> {
    fn get(&self, slot: usize, _budget: &mut Budget) -> Result<Val<'a>, Error> {
        Ok(self.0[slot].clone())
    }
}

/// The messages of what is wrong, one per line.
pub(crate) fn issues(compiled: &Compiled) -> String {
    let lines = compiled.issues.iter().map(|issue| format!("{:?} {}", issue.span, issue.message));
    lines.collect::<Vec<_>>().join("\n")
}

/// The value with its types: `{"int": 1}`, `{"list": [{"string": "a"}]}`. Entries of a map are sorted.
pub(crate) fn tag(value: &Val) -> Value {
    match value {
        Val::Null => json!({"null": null}),
        Val::Bool(value) => json!({"bool": value}),
        Val::Int(value) => json!({"int": value}),
        Val::UInt(value) => json!({"uint": value}),
        Val::Double(value) => json!({"double": double(*value)}),
        Val::String(text) => json!({"string": **text}),
        Val::Bytes(bytes) => json!({"bytes": **bytes}),
        Val::Timestamp(time) => json!({"timestamp": time.to_string()}),
        Val::Duration(duration) => json!({"duration": duration.to_string()}),
        Val::List(list) => json!({"list": list.iter().map(|item| tag(&item)).collect::<Vec<_>>()}),
        Val::Map(map) => {
            sorted(map.iter().map(|(key, value)| json!([tag(&key.into()), tag(&value)])).collect())
        }
        Val::Optional(value) => json!({"optional": value.as_deref().map(tag)}),
        Val::Type(name) => json!({"type": name}),
        Val::Quantity(quantity) => json!({"quantity": quantity.to_string()}),
        Val::Semver(version) => json!({"semver": version.to_string()}),
        Val::Url(url) => json!({"url": url.to_string()}),
        Val::Ip(ip) => json!({"ip": ip.to_string()}),
        Val::Cidr(cidr) => json!({"cidr": cidr.to_string()}),
        Val::Format(format) => json!({"format": format.name}),
    }
}

/// A tagged value, whoever wrote it, in the one form that [`tag`] has.
pub(crate) fn normal(tagged: &Value) -> Value {
    let (tag, value) = tagged.as_object().and_then(|object| object.iter().next()).unwrap();
    match tag.as_str() {
        "null" => json!({"null": null}),
        "double" => json!({"double": double(number(value.as_str().unwrap()))}),
        "list" => json!({"list": value.as_array().unwrap().iter().map(normal).collect::<Vec<_>>()}),
        "map" => {
            let entries = value.as_array().unwrap().iter();
            sorted(entries.map(|entry| json!([normal(&entry[0]), normal(&entry[1])])).collect())
        }
        "optional" if !value.is_null() => json!({"optional": normal(value)}),
        _ => tagged.clone(),
    }
}

fn sorted(mut entries: Vec<Value>) -> Value {
    entries.sort_by_key(ToString::to_string);
    json!({"map": entries})
}

fn double(value: f64) -> String {
    if value == 0.0 { "0.0".into() } else { format!("{value:?}") }
}

fn number(text: &str) -> f64 {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The value that a tagged one is.
pub(crate) fn tagged(value: &Value) -> Val<'static> {
    let (tag, value) = value.as_object().and_then(|object| object.iter().next()).unwrap();
    match tag.as_str() {
        "null" => Val::Null,
        "bool" => Val::Bool(value.as_bool().unwrap()),
        "int" => Val::Int(value.as_i64().unwrap()),
        "uint" => Val::UInt(value.as_u64().unwrap()),
        "double" => Val::Double(number(value.as_str().unwrap())),
        "string" => Val::text(value.as_str().unwrap()),
        "bytes" => {
            let bytes =
                value.as_array().unwrap().iter().map(|byte| u8::try_from(byte.as_u64().unwrap()).unwrap());
            Val::Bytes(bytes.collect())
        }
        "list" => Val::List(List::new(value.as_array().unwrap().iter().map(tagged).collect()).unwrap()),
        "map" => {
            let entries =
                value.as_array().unwrap().iter().map(|entry| (key(tagged(&entry[0])), tagged(&entry[1])));
            Val::Map(Map::new(entries.collect()).unwrap())
        }
        other => panic!("no such kind of value: {other}"),
    }
}

fn key(value: Val<'static>) -> Key<'static> {
    match value {
        Val::String(Str::Owned(text)) => Key::String(Str::Owned(text)),
        other => Key::from_val(&other).unwrap(),
    }
}
