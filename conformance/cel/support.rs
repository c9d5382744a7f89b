//! What the runners share: values as the cases write them, and a way to evaluate one expression.

use serde_json::Value;
use std::path::PathBuf;
use trainmaster::cel::{Bindings, Bounds, Budget, Compiled, Env, Error, Key, List, Map, Str, Type, Val};

/// A file beside this one.
pub(crate) fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("conformance/cel").join(name)
}

/// Variables with a value each.
pub(crate) struct Values<'a>(pub(crate) Vec<Val<'a>>);

impl<'a> Bindings<'a> for Values<'a> {
    fn get(&self, slot: usize, _budget: &mut Budget) -> Result<Val<'a>, Error> {
        Ok(self.0[slot].clone())
    }
}

/// An environment with these variables, of which nothing is known.
pub(crate) fn env_of<'n>(names: impl IntoIterator<Item = &'n str>) -> Env {
    let mut env = Env::new();
    for name in names {
        env.declare(name, &Type::Dyn, Bounds::default());
    }
    env
}

/// The messages of what is wrong, one per line.
pub(crate) fn issues(compiled: &Compiled) -> String {
    let lines = compiled.issues.iter().map(|issue| format!("{:?} {}", issue.span, issue.message));
    lines.collect::<Vec<_>>().join("\n")
}

/// A value as the test data of the language definition writes it: `{"int": 1}`, `{"list": [{"string": "a"}]}`.
pub(crate) fn tagged(value: &Value) -> Val<'static> {
    let (tag, value) = value.as_object().and_then(|object| object.iter().next()).unwrap();
    match tag.as_str() {
        "null" => Val::Null,
        "bool" => Val::Bool(value.as_bool().unwrap()),
        "int" => Val::Int(value.as_i64().unwrap()),
        "uint" => Val::UInt(value.as_u64().unwrap()),
        "double" => Val::Double(value.as_str().unwrap().parse().unwrap()),
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
        "type" => Val::Type(value.as_str().unwrap().to_owned().leak()),
        other => panic!("no such kind of value: {other}"),
    }
}

fn key(value: Val<'static>) -> Key<'static> {
    match value {
        Val::String(Str::Owned(text)) => Key::String(Str::Owned(text)),
        other => Key::from_val(&other).unwrap(),
    }
}
