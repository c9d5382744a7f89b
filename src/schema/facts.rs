//! The form of the data files, as written; [`super::load`] makes types of it.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::TypeId;
use super::types::{IntFormat, Integer, Kind, List, ListKind, Pattern, Rule, Shape, Text, TextFormat};

/// One data file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    /// What names without a point belong to: `trainer.kubeflow.org/v1alpha1`.
    #[serde(rename = "apiVersion")]
    api_version: Option<String>,
    /// What references of this file mean instead of the type they name.
    #[serde(default)]
    pub(super) replace: BTreeMap<String, String>,
    pub(super) types: BTreeMap<String, Facts>,
}

impl File {
    /// The file with full names of types throughout.
    pub(super) fn with_full_names(mut self) -> File {
        let Some(api_version) = self.api_version.take() else { return self };
        let full = |name: String| full_name(&api_version, name);
        File {
            api_version: None,
            replace: self.replace.into_iter().map(|(from, to)| (full(from), full(to))).collect(),
            types: self
                .types
                .into_iter()
                .map(|(name, facts)| (full(name), facts.with_full_names(&full)))
                .collect(),
        }
    }
}

/// The name of a type in full, with its marks.
fn full_name(api_version: &str, name: String) -> String {
    let bare = name.trim_start_matches(MARKS);
    let known = bare.trim_end_matches('!');
    if known.contains('.') || matches!(known, "" | "object") || shape_of(known).is_some() {
        return name;
    }
    let marks = name.strip_suffix(bare).unwrap_or_default();
    format!("{marks}{api_version}.{bare}")
}

/// What may stand before the name of a type.
const MARKS: [char; 5] = ['*', '[', ']', '{', '}'];

/// What is known of one value: a field, an item, a type. `Facts` in `conformance/schemas/generate/facts.go` says what
/// the words mean; `extends` and `doc` are for files written by hand.
#[derive(Clone, Default, Deserialize)]
#[serde(remote = "Self", deny_unknown_fields, rename_all = "camelCase", default)]
pub(super) struct Facts {
    #[serde(rename = "type")]
    pub(super) ty: String,
    /// The object type to whose fields these are added, or whose place they take.
    pub(super) extends: Option<String>,
    /// What it is for, in a sentence.
    pub(super) doc: Option<Box<str>>,
    #[serde(rename = "omitempty")]
    pub(super) omit_empty: Option<bool>,
    #[serde(rename = "omitzero")]
    pub(super) omit_zero: bool,
    pub(super) default: Option<Value>,
    #[serde(rename = "enum")]
    pub(super) values: Box<[Box<str>]>,
    pub(super) minimum: Option<i64>,
    pub(super) maximum: Option<i64>,
    pub(super) min_length: Option<u64>,
    pub(super) max_length: Option<u64>,
    pub(super) pattern: Option<String>,
    pub(super) min_items: Option<u64>,
    pub(super) max_items: Option<u64>,
    pub(super) min_properties: Option<u64>,
    pub(super) max_properties: Option<u64>,
    pub(super) nullable: bool,
    pub(super) list_type: Option<String>,
    pub(super) list_map_keys: Box<[Box<str>]>,
    pub(super) map_type: Option<String>,
    pub(super) patch_merge_key: Option<Box<str>>,
    pub(super) patch_strategy: Option<String>,
    pub(super) preserve_unknown_fields: bool,
    pub(super) validations: Vec<Rule>,
    pub(super) items: Option<Box<Facts>>,
    pub(super) additional_properties: Option<Box<Facts>>,
    pub(super) kind: Option<Kind>,
    pub(super) fields: BTreeMap<String, Facts>,
}

impl Facts {
    pub(super) fn of_type(ty: &str) -> Facts {
        Facts { ty: ty.to_owned(), ..Facts::default() }
    }

    /// The type without the marks of a field: `(T, is a pointer, is required)`.
    pub(super) fn unmarked(&self) -> (&str, bool, bool) {
        let (ty, required) = self.ty.strip_suffix('!').map_or((self.ty.as_str(), false), |ty| (ty, true));
        ty.strip_prefix('*').map_or((ty, false, required), |ty| (ty, true, required))
    }

    fn with_full_names(self, full: &dyn Fn(String) -> String) -> Facts {
        let boxed = |facts: Option<Box<Facts>>| facts.map(|facts| Box::new(facts.with_full_names(full)));
        Facts {
            ty: full(self.ty),
            extends: self.extends.map(full),
            items: boxed(self.items),
            additional_properties: boxed(self.additional_properties),
            fields: self
                .fields
                .into_iter()
                .map(|(name, facts)| (name, facts.with_full_names(full)))
                .collect(),
            ..self
        }
    }

    /// The names of the types that this refers to.
    pub(super) fn references(&self) -> Vec<&str> {
        let (ty, ..) = self.unmarked();
        let mut names = vec![ty.trim_start_matches(MARKS)];
        names.extend(self.extends.as_deref());
        names.extend(self.kind.is_some().then_some(super::load::OBJECT_META));
        let nested =
            self.items.iter().chain(&self.additional_properties).map(Box::as_ref).chain(self.fields.values());
        names.extend(nested.flat_map(Facts::references));
        names
    }
}

/// A type that has no more to say is written as its name.
impl<'de> Deserialize<'de> for Facts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Facts, D::Error> {
        struct NameOrFacts;

        impl<'de> Visitor<'de> for NameOrFacts {
            type Value = Facts;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a type, or facts")
            }

            fn visit_str<E>(self, name: &str) -> Result<Facts, E> {
                Ok(Facts::of_type(name))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Facts, A::Error> {
                Facts::deserialize(MapAccessDeserializer::new(map))
            }
        }

        deserializer.deserialize_any(NameOrFacts)
    }
}

/// The shape of a type without structure.
pub(super) fn shape_of(name: &str) -> Option<Shape> {
    let text = |format| Shape::String(Text { format, ..Text::default() });
    let integer = |format| Shape::Integer(Integer { format, ..Integer::default() });
    Some(match name {
        "any" => Shape::Any,
        "boolean" => Shape::Boolean,
        "bytes" => text(Some(TextFormat::Bytes)),
        "int32" => integer(Some(IntFormat::Int32)),
        "int64" => integer(Some(IntFormat::Int64)),
        "intOrString" => Shape::IntOrString,
        "integer" => integer(None),
        "microTime" => text(Some(TextFormat::MicroTime)),
        "number" => Shape::Number,
        "quantity" => Shape::Quantity,
        "string" => text(None),
        "time" => text(Some(TextFormat::Time)),
        _ => return None,
    })
}

impl Facts {
    /// Whether nothing is said of the value but the name of its type; what is said of the field it is in is another
    /// matter.
    pub(super) fn says_only_a_name(&self) -> bool {
        let lengths = [self.min_length, self.max_length, self.min_properties, self.max_properties];
        !self.ty.trim_start_matches('*').starts_with(['[', '{'])
            && !matches!(self.unmarked().0, "" | "object")
            && lengths.iter().all(Option::is_none)
            && self.minimum.or(self.maximum).is_none()
            && self.pattern.is_none()
            && self.values.is_empty()
            && self.map_type.is_none()
            && !self.nullable
            && self.validations.is_empty()
    }

    pub(super) fn list(&self, item: TypeId) -> Result<List, &'static str> {
        let kind = match (self.list_type.as_deref(), &self.list_map_keys) {
            (Some("map"), keys) if !keys.is_empty() => ListKind::Map(keys.clone()),
            (Some("set"), _) => ListKind::Set,
            (None | Some("atomic"), _) => ListKind::Atomic,
            _ => return Err("a list is of no known type, or a map without keys"),
        };
        let strategy = self.patch_strategy.as_deref().unwrap_or_default();
        let merges = strategy.split(',').any(|word| word == "merge");
        Ok(List {
            item,
            kind,
            merge_key: merges.then(|| self.patch_merge_key.clone().unwrap_or_default()),
            retain_keys: strategy.split(',').any(|word| word == "retainKeys"),
            min_items: self.min_items,
            max_items: self.max_items,
        })
    }

    pub(super) fn limited(&self, shape: Shape) -> Shape {
        match shape {
            Shape::String(text) => Shape::String(Text {
                format: text.format,
                min_length: self.min_length,
                max_length: self.max_length,
                pattern: self.pattern.as_deref().map(Pattern::new),
                values: self.values.clone(),
            }),
            Shape::Integer(integer) => {
                Shape::Integer(Integer { minimum: self.minimum, maximum: self.maximum, ..integer })
            }
            other => other,
        }
    }
}
