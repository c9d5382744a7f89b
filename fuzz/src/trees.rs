//! Changes to JSON trees: fields and items that appear, vanish, change places, grow and are renamed.

use crate::random::Random;
use serde_json::{Map, Value, json};
use std::{collections::BTreeSet, sync::LazyLock};
use trainmaster::{api, diagnostic::Source, schema::Shape, yaml};

/// Texts that something treats specially.
const TEXTS: &[&str] = &[
    "",
    "a",
    "node",
    "trainer",
    "true",
    "null",
    "0",
    "1",
    "-1",
    "1e3",
    "100m",
    "1Gi",
    "1.5",
    "1e999999999",
    "1e1.5",
    "9223372036854775808",
    "nvidia.com/gpu",
    "auto",
    "cpu",
    "gpu",
    "Never",
    "PET_NNODES",
    "TrainJob",
    "v1",
    "2020-01-01T00:00:00Z",
    "Complete",
    "True",
    "a.b/c",
    "é",
    "\u{0}",
    "${",
    "${podSet.name}",
    "${1/0}",
    "$(A)",
    "a\nb",
    "trainer.kubeflow.org/trainjob-controller",
    "kueue.x-k8s.io/multikueue",
];

/// Changes an input of JSON documents a few times.
pub fn change_json(input: &[u8], random: &mut Random) -> Option<String> {
    let mut documents = crate::documents(input)?;
    change(&mut documents, random);
    Some(crate::lines(&documents))
}

/// Changes an input of YAML documents a few times; their style is lost.
pub fn change_yaml(input: &[u8], random: &mut Random) -> Option<String> {
    let (documents, problems) = yaml::parse(&Source::new("", std::str::from_utf8(input).ok()?));
    if !problems.is_empty() {
        return None;
    }
    let mut documents: Vec<Value> = documents.iter().map(yaml::Node::to_json).collect();
    change(&mut documents, random);
    Some(documents.iter().map(yaml::emit).collect::<Vec<_>>().join("---\n"))
}

fn change(documents: &mut [Value], random: &mut Random) {
    for _ in 0..=random.below(4) {
        let other = any(documents, random).cloned().unwrap_or_default();
        if let Some(place) = any_mut(documents, random) {
            change_one(place, other, random);
        }
    }
}

fn change_one(place: &mut Value, other: Value, random: &mut Random) {
    match random.below(12) {
        0 | 1 => *place = other,
        2 => *place = leaf(random),
        3 => *place = json!([place.take()]),
        4 => *place = json!({ field(random): place.take() }),
        5 if random.chance(10) => nest(place, random),
        _ => match place {
            Value::Object(map) => change_map(map, other, random),
            Value::Array(items) => change_list(items, other, random),
            Value::String(text) => *text = change_text(text, random),
            Value::Number(number) => {
                let number = number.as_i64().unwrap_or_default();
                *place = json!(number.wrapping_add(random.below(5) as i64 - 2));
            }
            Value::Null | Value::Bool(_) => *place = leaf(random),
        },
    }
}

fn change_map(map: &mut Map<String, Value>, other: Value, random: &mut Random) {
    let present = map.keys().nth(random.below(map.len())).cloned();
    match random.below(4) {
        0 => map.extend([(field(random), other)]),
        1 => map.extend([(field(random), leaf(random))]),
        choice => {
            let value = present.and_then(|name| map.remove(&name));
            if choice == 2 {
                map.extend(value.map(|value| (field(random), value)));
            }
        }
    }
}

fn change_list(items: &mut Vec<Value>, other: Value, random: &mut Random) {
    let index = random.below(items.len());
    match (random.below(5), items.get(index).cloned()) {
        (0, Some(item)) => items.push(item),
        (1, Some(_)) => drop(items.remove(index)),
        (2, Some(_)) => items.rotate_left(index),
        (3, Some(item)) => items.extend(vec![item; random.below(20)]),
        _ => items.push(other),
    }
}

fn change_text(text: &str, random: &mut Random) -> String {
    let at = text.floor_char_boundary(random.below(text.len() + 1));
    let (before, after) = text.split_at(at);
    let piece = *random.pick(TEXTS);
    match random.below(5) {
        0 => format!("{before}{piece}{after}"),
        1 => before.to_owned(),
        2 => after.to_owned(),
        3 => text.repeat(random.below(8)),
        _ => piece.to_owned(),
    }
}

/// Deeper than anything may be.
fn nest(place: &mut Value, random: &mut Random) {
    for _ in 0..random.below(120) {
        *place = if random.chance(50) { json!([place.take()]) } else { json!({"a": place.take()}) };
    }
}

fn leaf(random: &mut Random) -> Value {
    let numbers = [0, 1, -1, 2, 3, 4, 100, 65_536, 1_000_000, i64::MAX, i64::MIN, i64::from(i32::MAX) + 1];
    match random.below(8) {
        0 => json!(null),
        1 => json!(random.chance(50)),
        2 | 3 => json!(random.pick(&numbers)),
        4 => json!(1.5),
        5 => random.pick(&[json!({}), json!([]), json!(u64::MAX), json!(1e300)]).clone(),
        _ => json!(random.pick(TEXTS)),
    }
}

/// The name of a field of some kind, or one that is none.
fn field(random: &mut Random) -> String {
    static FIELDS: LazyLock<Vec<String>> = LazyLock::new(|| {
        let schemas = api::schemas();
        let shapes = schemas.names().into_values().map(|ty| &schemas.get(ty).shape);
        let objects =
            shapes.filter_map(|shape| if let Shape::Object(object) = shape { Some(object) } else { None });
        let names = objects.flat_map(|object| object.fields.iter().map(|field| field.name.to_string()));
        names.collect::<BTreeSet<_>>().into_iter().collect()
    });
    if random.chance(20) { (*random.pick(TEXTS)).to_owned() } else { random.pick(&FIELDS).clone() }
}

fn count(tree: &Value) -> usize {
    1 + match tree {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(map) => map.values().map(count).sum(),
        _ => 0,
    }
}

fn any<'v>(documents: &'v [Value], random: &mut Random) -> Option<&'v Value> {
    let mut left = random.below(documents.iter().map(count).sum());
    documents.iter().find_map(|document| nth(document, &mut left))
}

/// The value that `left` others come before, parents first; counts `left` down.
fn nth<'v>(tree: &'v Value, left: &mut usize) -> Option<&'v Value> {
    if *left == 0 {
        return Some(tree);
    }
    *left -= 1;
    match tree {
        Value::Array(items) => items.iter().find_map(|item| nth(item, left)),
        Value::Object(map) => map.values().find_map(|value| nth(value, left)),
        _ => None,
    }
}

fn any_mut<'v>(documents: &'v mut [Value], random: &mut Random) -> Option<&'v mut Value> {
    let mut left = random.below(documents.iter().map(count).sum());
    documents.iter_mut().find_map(|document| nth_mut(document, &mut left))
}

fn nth_mut<'v>(tree: &'v mut Value, left: &mut usize) -> Option<&'v mut Value> {
    if *left == 0 {
        return Some(tree);
    }
    *left -= 1;
    match tree {
        Value::Array(items) => items.iter_mut().find_map(|item| nth_mut(item, left)),
        Value::Object(map) => map.values_mut().find_map(|value| nth_mut(value, left)),
        _ => None,
    }
}
