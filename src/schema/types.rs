//! The types themselves.

use std::borrow::Cow;
use std::sync::OnceLock;

use regex::{Regex, RegexBuilder};
use serde_json::Value;

use super::TypeId;
use super::validate::Programs;

/// What a value may be.
#[derive(Debug)]
pub struct Type {
    /// The name it was defined under: `v1.Container`.
    pub name: Option<Box<str>>,
    /// What sort of value it is, with its limits.
    pub shape: Shape,
    /// Whether null is a value of its own, and not the same as absence.
    pub nullable: bool,
    /// CEL rules that a value must satisfy.
    pub rules: Vec<Rule>,
    /// What it is for; only our own types say so.
    pub doc: Option<Box<str>>,
}

pub(super) static ANY: Type =
    Type { name: None, shape: Shape::Any, nullable: true, rules: Vec::new(), doc: None };

impl Type {
    /// An anonymous type without rules.
    pub fn new(shape: Shape) -> Type {
        Type { name: None, shape, nullable: false, rules: Vec::new(), doc: None }
    }
}

/// The sort of a value.
#[derive(Debug)]
pub enum Shape {
    /// Named fields.
    Object(Object),
    /// Any keys, values of one type.
    Map(Map),
    /// Items of one type.
    List(List),
    /// Text.
    String(Text),
    /// A whole number.
    Integer(Integer),
    /// A number.
    Number,
    /// True or false.
    Boolean,
    /// A whole number or text (`x-kubernetes-int-or-string`).
    IntOrString,
    /// A resource quantity, as text or number.
    Quantity,
    /// Anything at all, kept as it is.
    Any,
}

/// Named fields.
#[derive(Debug, Default)]
pub struct Object {
    /// The fields, by name.
    pub fields: Box<[Field]>,
    /// Whether unknown fields are kept (`x-kubernetes-preserve-unknown-fields`).
    pub open: bool,
    /// The fewest fields it may have.
    pub min_properties: Option<u64>,
    /// The most fields it may have.
    pub max_properties: Option<u64>,
    /// Whether it is owned and replaced as a whole (`x-kubernetes-map-type: atomic`).
    pub atomic: bool,
    /// Set for what the API server serves as a kind.
    pub kind: Option<Kind>,
}

impl Object {
    /// The field of that name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        let index = self.fields.binary_search_by(|field| field.name.as_ref().cmp(name)).ok()?;
        self.fields.get(index)
    }
}

/// How the API server serves a kind.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kind {
    /// The resource in URLs: `trainjobs`.
    pub plural: Box<str>,
    /// Whether objects live in namespaces.
    pub namespaced: bool,
    /// Whether a CRD defines it: then a schema and not Go types decides what is read and stored.
    #[serde(default)]
    pub custom: bool,
}

/// A named field.
#[derive(Debug)]
pub struct Field {
    /// The name in JSON.
    pub name: Box<str>,
    /// What its value may be.
    pub ty: TypeId,
    /// Whether it must be there.
    pub required: bool,
    /// What the API server writes when it is missing.
    pub default: Option<Value>,
    /// How Go types write it.
    pub wire: Wire,
    /// What it is for; only our own fields say so.
    pub doc: Option<Box<str>>,
}

/// How a Go type that an object passes through writes a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// As it stands: a pointer, or a field whose Go type nobody knows.
    Kept,
    /// Not at all when it is zero: false, 0, `""`, `[]`, `{}`.
    NotZero,
    /// Always; a missing one is written as zero.
    Always,
}

/// Any keys.
#[derive(Debug)]
pub struct Map {
    /// What the values may be.
    pub values: TypeId,
    /// The fewest keys.
    pub min_properties: Option<u64>,
    /// The most keys.
    pub max_properties: Option<u64>,
}

/// Items of one type.
#[derive(Debug)]
pub struct List {
    /// What the items may be.
    pub item: TypeId,
    /// How two such lists become one.
    pub kind: ListKind,
    /// The key by which strategic merge patches match items, where they do not replace the list: `mountPath`. Empty
    /// for a list of plain values that patches add to.
    pub merge_key: Option<Box<str>>,
    /// Whether an item of a strategic merge patch drops the fields of the original that it does not name
    /// (`retainKeys`).
    pub retain_keys: bool,
    /// The fewest items.
    pub min_items: Option<u64>,
    /// The most items.
    pub max_items: Option<u64>,
}

/// What identifies the items of a list (`x-kubernetes-list-type`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListKind {
    /// Nothing: the list is one value.
    Atomic,
    /// Their value; each stands once.
    Set,
    /// These fields; a missing one counts as its default.
    Map(Box<[Box<str>]>),
}

/// Text with its limits. Lengths are in Unicode code points.
#[derive(Debug, Default)]
pub struct Text {
    /// What the text stands for.
    pub format: Option<TextFormat>,
    /// The shortest it may be.
    pub min_length: Option<u64>,
    /// The longest it may be.
    pub max_length: Option<u64>,
    /// What it must match somewhere.
    pub pattern: Option<Pattern>,
    /// The only values it may have; empty if it may have any.
    pub values: Box<[Box<str>]>,
}

/// What a text stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextFormat {
    /// A point in time in RFC 3339; Go writes it in UTC and whole seconds.
    Time,
    /// The same with microseconds.
    MicroTime,
    /// Bytes in base64.
    Bytes,
}

/// A regular expression, compiled at its first use.
#[derive(Debug)]
pub struct Pattern {
    source: Cow<'static, str>,
    compiled: OnceLock<Option<Regex>>,
}

impl Pattern {
    /// The expression as written. Whether it can be compiled shows at its first use.
    pub fn new(source: &str) -> Pattern {
        Pattern { source: Cow::Owned(source.to_owned()), compiled: OnceLock::new() }
    }

    pub(crate) const fn literal(source: &'static str) -> Pattern {
        Pattern { source: Cow::Borrowed(source), compiled: OnceLock::new() }
    }

    /// The expression as written.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Whether `text` matches; nothing matches an expression that cannot be compiled or is too large.
    pub fn matches(&self, text: &str) -> bool {
        const SIZE_LIMIT: usize = 1 << 20; // bytes of the compiled program
        let compile = || RegexBuilder::new(&self.source).size_limit(SIZE_LIMIT).build().ok();
        self.compiled.get_or_init(compile).as_ref().is_some_and(|regex| regex.is_match(text))
    }
}

/// A whole number with its limits.
#[derive(Debug, Default)]
pub struct Integer {
    /// How many bits it has; 64 without.
    pub format: Option<IntFormat>,
    /// The least it may be.
    pub minimum: Option<i64>,
    /// The most it may be.
    pub maximum: Option<i64>,
}

/// The width of a whole number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntFormat {
    /// 32 bits.
    Int32,
    /// 64 bits.
    Int64,
}

/// A CEL rule of a schema (`x-kubernetes-validations`).
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Rule {
    /// The expression: true where the value, `self`, is fine. One that names `oldSelf` applies to updates only.
    pub rule: String,
    /// What is said where it is false.
    pub message: Option<String>,
    /// An expression for what is said; `message` stands in where it fails.
    pub message_expression: Option<String>,
    /// The reason of the field error; `FieldValueInvalid` without.
    pub reason: Option<String>,
    /// The field, below the value, that the error points at.
    pub field_path: Option<String>,
    /// Whether a rule with `oldSelf` also applies where there is no old value; `oldSelf` is an optional then.
    pub optional_old_self: Option<bool>,
    #[serde(skip)]
    pub(super) programs: Programs,
}
