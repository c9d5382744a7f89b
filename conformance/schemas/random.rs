//! Random objects, made by the schema: mostly right, with every kind of mistake now and then.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use trainmaster::schema::{Schemas, Shape, Text, TextFormat, TypeId};

/// Whether a list in its place would not be refused: the API server takes formats to be of a list's items.
fn is_time(schemas: &Schemas, ty: TypeId) -> bool {
    matches!(&schemas.get(ty).shape, Shape::String(Text { format: Some(_), .. }))
}

/// A stream of numbers that is the same in each run (splitmix64).
pub(crate) struct Random {
    state: u64,
    /// How many values out of a hundred are wrong, and required fields missing.
    mistakes: usize,
}

impl Random {
    /// Makes objects with mistakes.
    pub(crate) fn wrong(seed: u64) -> Random {
        Random { state: seed, mistakes: 1 }
    }

    /// Makes values that fit their types, whatever their limits.
    pub(crate) fn right(seed: u64) -> Random {
        Random { state: seed, mistakes: 0 }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).unwrap()
    }

    /// Whether something happens that happens `times` out of a hundred.
    fn chance(&mut self, times: usize) -> bool {
        self.below(100) < times
    }

    pub(crate) fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len())]
    }

    /// An object of a kind. Deeper down it has fewer fields, so that it ends.
    pub(crate) fn object(&mut self, schemas: &Schemas, api_version: &str, kind: &str) -> Value {
        let mut object = self.value(schemas, schemas.kind(api_version, kind).unwrap(), 0);
        if !object.is_object() {
            object = json!({});
        }
        object["apiVersion"] = api_version.into();
        object["kind"] = kind.into();
        object["metadata"] = json!({"name": self.pick(&["job", "a.b", "-", "Job", "x1"])});
        if self.chance(20) {
            object["metadata"]["labels"] =
                json!({*self.pick(&["a", "a/b", "a b", ""]): self.pick(&["", "x", "x y"])});
        }
        object
    }

    pub(crate) fn value(&mut self, schemas: &Schemas, ty: TypeId, depth: usize) -> Value {
        if self.chance(self.mistakes) {
            return Value::Null;
        }
        if self.chance(self.mistakes) && !is_time(schemas, ty) {
            return self.anything();
        }
        self.typed(schemas, ty, depth)
    }

    fn anything(&mut self) -> Value {
        let choices = [
            json!(true),
            json!("text"),
            json!(""),
            json!(7),
            json!(2.0),
            json!(1.5),
            json!([]),
            json!({"a": 1}),
        ];
        self.pick(&choices).clone()
    }

    fn typed(&mut self, schemas: &Schemas, ty: TypeId, depth: usize) -> Value {
        match &schemas.get(ty).shape {
            Shape::Object(object) => {
                let mut map = Map::new();
                let wanted = if depth == 0 { 100 } else { 60 / depth.min(15) + 2 };
                for field in &object.fields {
                    if self.chance(if field.required { 100 - 3 * self.mistakes } else { wanted }) {
                        map.insert(field.name.to_string(), self.value(schemas, field.ty, depth + 1));
                    }
                }
                if self.chance(4 * self.mistakes) {
                    map.insert("unknown".to_owned(), self.anything());
                }
                Value::Object(map)
            }
            Shape::Map(values) => {
                let keys = ["cpu", "memory", "a/b", "x"];
                let count = self.below(3);
                (0..count)
                    .map(|_| ((*self.pick(&keys)).to_owned(), self.value(schemas, values.values, depth + 1)))
                    .collect()
            }
            Shape::List(list) => {
                let most = list.max_items.map_or(3, |most| usize::try_from(most).unwrap().min(17) + 1);
                let count = if self.chance(3) { most } else { self.below(4) };
                let mut items: Vec<Value> =
                    (0..count).map(|_| self.value(schemas, list.item, depth + 1)).collect();
                if let (0, Some(key)) = (self.mistakes, list.merge_key.as_deref()) {
                    let mut seen = BTreeSet::new();
                    items.retain(|item| seen.insert(item.get(key).map(Value::to_string)));
                }
                items.into()
            }
            Shape::String(text) => self.text(text).into(),
            Shape::Integer(_) => {
                let choices = [0, 1, 60, 101, -1, i64::from(i32::MAX), i64::from(i32::MAX) + 1, i64::MIN];
                (*self.pick(if self.mistakes == 0 { &choices[..4] } else { &choices })).into()
            }
            Shape::Number => json!(1.5),
            Shape::Boolean => self.chance(50).into(),
            Shape::IntOrString => {
                let choices = [json!(0), json!(1), json!("auto"), json!("80"), json!(1.0), json!(0.5)];
                self.pick(if self.mistakes == 0 { &choices[..4] } else { &choices }).clone()
            }
            Shape::Quantity => {
                let choices =
                    [json!("1"), json!("0"), json!(2), json!("1000m"), json!("01"), json!("1gi"), json!(0.5)];
                self.pick(if self.mistakes == 0 { &choices[..5] } else { &choices }).clone()
            }
            Shape::Any => self.anything(),
        }
    }

    fn text(&mut self, text: &Text) -> String {
        if !text.values.is_empty() && self.chance(95) {
            return self.pick(&text.values).to_string();
        }
        if let Some(most) = text.max_length.filter(|most| *most < 5000 && self.chance(3)) {
            let length = usize::try_from(most).unwrap() + self.below(2);
            return self.pick(&["a", "ä"]).repeat(length);
        }
        let times = ["2026-01-02T03:04:05.5+01:00", "2026-13-02T03:04:05Z", "now"];
        let words = ["a", "b", "node", "trainer", "", "auto", "x-y", "s3://bucket"];
        if self.mistakes == 0 && text.format.is_some() {
            return "2026-01-02T03:04:05Z".to_owned();
        }
        let choices: &[&str] = if text.format == Some(TextFormat::Time) { &times } else { &words };
        (*self.pick(choices)).to_owned()
    }

    /// The same tree with a few changes.
    pub(crate) fn changed(&mut self, value: &Value) -> Value {
        match value {
            Value::Object(map) => {
                let mut changed: Map<String, Value> = Map::new();
                for (key, value) in map {
                    if !self.chance(2) {
                        changed.insert(key.clone(), self.changed(value));
                    }
                }
                Value::Object(changed)
            }
            Value::Array(items) => {
                let mut items: Vec<Value> = items.iter().map(|item| self.changed(item)).collect();
                if !items.is_empty() && self.chance(5) {
                    let item = self.pick(&items).clone();
                    items.insert(self.below(items.len() + 1), item);
                }
                if !items.is_empty() && self.chance(5) {
                    items.remove(self.below(items.len()));
                }
                Value::Array(items)
            }
            _ if self.chance(3) => self.anything(),
            value => value.clone(),
        }
    }
}
