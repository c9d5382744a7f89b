//! Our CRDs against those of every version they take the place of, field by field.
//!
//! `conformance/crds/*.tsv` say what each version has; `deviations.tsv` where ours differs, and why. A deviation that is
//! none fails the test like one that is not listed.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use trainmaster::api::{self, GROUP, VERSION};
use trainmaster::schema::structural_schema;

use crate::support::repository;

#[test]
fn every_field_of_every_version_is_accepted() {
    let mut found = BTreeSet::new();
    for (file, kind) in
        [("trainjobs", "TrainJob"), ("runtimes", "TrainingRuntime"), ("runtimes", "ClusterTrainingRuntime")]
    {
        let schemas = api::schemas();
        let schema = structural_schema(schemas, schemas.kind(&format!("{GROUP}/{VERSION}"), kind).unwrap());
        for (path, versions) in fields(file) {
            found.extend(
                compare(&schema, &path, &versions).into_iter().map(|fact| format!("{file}\t{path}\t{fact}")),
            );
        }
    }
    let listed: BTreeSet<String> = deviations();
    let unlisted: Vec<_> = found.difference(&listed).collect();
    let unfounded: Vec<_> = listed.difference(&found).collect();
    assert!(unlisted.is_empty(), "not in deviations.tsv: {unlisted:#?}");
    assert!(unfounded.is_empty(), "deviations.tsv lists what is none: {unfounded:#?}");
}

fn read(file: &str) -> String {
    std::fs::read_to_string(repository().join("conformance/crds").join(file)).unwrap()
}

/// The deviations without their reasons: file, path, fact.
fn deviations() -> BTreeSet<String> {
    let text = read("deviations.tsv");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let (deviation, reason) = line.rsplit_once('\t').unwrap();
            assert!(reason.ends_with('.'), "no reason: {line}");
            deviation.to_owned()
        })
        .collect()
}

/// Each path with what the versions that have it say.
fn fields(file: &str) -> Vec<(String, Vec<Facts>)> {
    let text = read(&format!("{file}.tsv"));
    let mut around: Vec<&str> = Vec::new();
    let mut fields = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let name = line.trim_start_matches(' ');
        let (name, cells) = name.split_once('\t').unwrap();
        around.truncate(line.len() - line.trim_start_matches(' ').len());
        around.push(name);
        let mut versions: Vec<Facts> = Vec::new();
        for cell in cells.split('\t').filter(|cell| *cell != "=") {
            versions.extend((cell != "-").then(|| Facts::parse(cell)));
        }
        let path = around[1..].join(".").replace(".[]", "[]");
        fields.push((path, versions));
    }
    fields
}

/// What a version says of a field.
struct Facts {
    ty: String,
    immutable: bool,
    /// Limits, default, list type, as JSON.
    rest: BTreeMap<String, Value>,
}

impl Facts {
    fn parse(cell: &str) -> Facts {
        let mut parts = cell.split("; ");
        let mut facts =
            Facts { ty: parts.next().unwrap().to_owned(), immutable: false, rest: BTreeMap::new() };
        for part in parts {
            match part.split_once('=') {
                Some((name, value)) => {
                    let value = serde_json::from_str(value).unwrap_or_else(|_| value.into());
                    facts.rest.insert(name.to_owned(), value);
                }
                None => facts.immutable |= part == "IMMUTABLE",
            }
        }
        facts
    }
}

/// The facts in which ours is not what a version had.
fn compare(schema: &Value, path: &str, versions: &[Facts]) -> Vec<&'static str> {
    let steps = path.split(['.']).flat_map(|name| {
        let lists = name.matches("[]").count();
        std::iter::once(name.trim_end_matches("[]")).chain(std::iter::repeat_n("[]", lists))
    });
    let ours = steps.filter(|step| !step.is_empty()).try_fold(schema, |schema, step| match step {
        "[]" => schema.get("items"),
        name => schema.get("properties")?.get(name),
    });
    let Some(ours) = ours else { return vec!["missing"] };
    let mut found = BTreeSet::new();
    for facts in versions {
        if !types(ours, &facts.ty) {
            found.insert("type");
        }
        for name in ["minimum", "minLength", "minItems", "minProperties"] {
            found.extend(
                stricter(ours[name].as_i64(), facts.rest.get(name).and_then(Value::as_i64), |a, b| a > b)
                    .then_some(name),
            );
        }
        for name in ["maximum", "maxLength", "maxItems"] {
            found.extend(
                stricter(ours[name].as_i64(), facts.rest.get(name).and_then(Value::as_i64), |a, b| a < b)
                    .then_some(name),
            );
        }
        let strings =
            |value: &Value| -> BTreeSet<String> { serde_json::from_value(value.clone()).unwrap_or_default() };
        let theirs = |name: &str| facts.rest.get(name).unwrap_or(&Value::Null);
        if !strings(&ours["required"]).is_subset(&strings(theirs("required"))) {
            found.insert("required");
        }
        if !strings(theirs("enum")).is_subset(&strings(&ours["enum"])) && !ours["enum"].is_null() {
            found.insert("enum");
        }
    }
    // Of what cannot be more or less strict, ours is as in the newest version that has the field.
    let newest = versions.last().unwrap();
    for (name, ours) in
        [("default", ours["default"].clone()), ("pattern", pattern(ours)), ("listType", list_type(ours))]
    {
        let theirs =
            newest.rest.get(name).cloned().unwrap_or(if name == "listType" && newest.ty == "array" {
                "atomic".into()
            } else {
                Value::Null
            });
        found.extend((ours != theirs).then_some(match name {
            "default" => "default",
            "pattern" => "pattern",
            _ => "listType",
        }));
    }
    // Limits that the newest version has must not be lost.
    for name in
        ["minimum", "minLength", "minItems", "minProperties", "maximum", "maxLength", "maxItems", "enum"]
    {
        if newest.rest.contains_key(name) && ours[name].is_null() {
            found.insert("unlimited");
        }
    }
    let immutable = ours["x-kubernetes-validations"]
        .as_array()
        .into_iter()
        .flatten()
        .any(|rule| rule["rule"] == "self == oldSelf");
    if immutable != newest.immutable {
        found.insert("immutable");
    }
    found.into_iter().collect()
}

/// Whether our limit refuses what theirs let pass.
fn stricter(ours: Option<i64>, theirs: Option<i64>, beyond: fn(i64, i64) -> bool) -> bool {
    ours.is_some_and(|ours| theirs.is_none_or(|theirs| beyond(ours, theirs)))
}

fn types(ours: &Value, theirs: &str) -> bool {
    let ty = ours["type"].as_str().unwrap_or_default();
    let int_or_string = ours["x-kubernetes-int-or-string"] == true;
    let values = &ours["additionalProperties"];
    match theirs {
        "int32" => ty == "integer" && ours["format"] == "int32",
        "int64" => ty == "integer" && ours["format"] == "int64",
        "integer" => ty == "integer" && ours["format"].is_null(),
        "time" => ty == "string" && ours["format"] == "date-time",
        "string" => ty == "string" && ours["format"].is_null(),
        "int-or-string" => int_or_string && ours["pattern"].is_null(),
        "quantity" => int_or_string && ours["pattern"].is_string(),
        "map<string,string>" => ty == "object" && values["type"] == "string",
        "map<string,quantity>" => ty == "object" && types(values, "quantity"),
        "object" => ty == "object" && values.is_null(),
        other => ty == other,
    }
}

fn pattern(ours: &Value) -> Value {
    if ours["x-kubernetes-int-or-string"] == true { Value::Null } else { ours["pattern"].clone() }
}

fn list_type(ours: &Value) -> Value {
    match ours["x-kubernetes-list-type"].as_str() {
        Some("map") => {
            let keys: Vec<String> =
                serde_json::from_value(ours["x-kubernetes-list-map-keys"].clone()).unwrap();
            format!("map:{}", keys.join(",")).into()
        }
        Some(other) => other.into(),
        None => Value::Null,
    }
}
