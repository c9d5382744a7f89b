//! The metadata of an object: what no schema says, and every API server checks.

use serde_json::{Map, Value};

use super::error::{Errors, Reason};
use crate::object::path::At;
use crate::schema::Pattern;

/// Lower-case letters, digits and `-`, in parts between points.
static SUBDOMAIN: Pattern =
    Pattern::literal(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$");
/// Letters, digits, `-`, `_` and `.`, at both ends a letter or digit.
static WORD: Pattern = Pattern::literal("^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$");

const SUBDOMAIN_LENGTH: usize = 253; // bytes, like all lengths here: what may be in a name is ASCII
const WORD_LENGTH: usize = 63;
const ANNOTATIONS_SIZE: usize = 256 << 10;

const ONLY_SUBDOMAIN: &str = "a name has at most 253 lower-case letters, digits, '-' and '.', \
    and starts and ends with a letter or digit";
const ONLY_LABEL: &str = "a namespace has at most 63 lower-case letters, digits and '-', \
    and starts and ends with a letter or digit";
const ONLY_KEY: &str = "a key has at most 63 letters, digits, '-', '_' and '.', starts and ends with a letter or digit, \
    and may have a DNS subdomain and '/' before it";
const ONLY_VALUE: &str = "a label's value has at most 63 letters, digits, '-', '_' and '.', \
    and starts and ends with a letter or digit";

/// Checks the metadata of an object that is made, or changed from one with the metadata `old`. The types of its fields
/// are the schema's business.
pub(super) fn check(errors: &mut Errors, metadata: Option<&Value>, old: Option<&Value>) {
    let nothing = Map::new();
    let metadata = metadata.and_then(Value::as_object).unwrap_or(&nothing);
    let at = &At::ROOT.field("metadata");
    annotations(errors, metadata.get("annotations"), &at.field("annotations"));
    labels(errors, metadata.get("labels"), &at.field("labels"));
    owners(errors, metadata.get("ownerReferences"), &at.field("ownerReferences"));
    if let Some(old) = old {
        fixed(errors, metadata, old, at);
    } else {
        finalizers(errors, metadata.get("finalizers"), &at.field("finalizers"));
        generate_name(errors, metadata.get("generateName"), &at.field("generateName"));
        name(errors, metadata.get("name"), &at.field("name"));
        namespace(errors, metadata.get("namespace"), &at.field("namespace"));
    }
}

fn fixed(errors: &mut Errors, metadata: &Map<String, Value>, old: &Value, at: &At<'_>) {
    for field in ["name", "namespace"] {
        let (before, now) = (old.get(field), metadata.get(field));
        if before.is_some() && before != now {
            errors.push(&at.field(field), Reason::Invalid, now, || "field is immutable".to_owned());
        }
    }
}

fn annotations(errors: &mut Errors, annotations: Option<&Value>, at: &At<'_>) {
    let Some(annotations) = annotations.and_then(Value::as_object) else { return };
    keys(errors, annotations.keys().filter(|key| !is_qualified(&key.to_lowercase())), at);
    let size: usize =
        annotations.iter().map(|(key, value)| key.len() + value.as_str().map_or(0, str::len)).sum();
    if size > ANNOTATIONS_SIZE {
        errors.push(at, Reason::TooLong, None, || format!("may not be more than {ANNOTATIONS_SIZE} bytes"));
    }
}

fn labels(errors: &mut Errors, labels: Option<&Value>, at: &At<'_>) {
    let Some(labels) = labels.and_then(Value::as_object) else { return };
    keys(errors, labels.keys().filter(|key| !is_qualified(key)), at);
    for value in labels.values().filter(|value| value.as_str().is_some_and(|value| !is_label_value(value))) {
        errors.push(at, Reason::Invalid, Some(value), || ONLY_VALUE.to_owned());
    }
}

fn keys<'a>(errors: &mut Errors, wrong: impl Iterator<Item = &'a String>, at: &At<'_>) {
    for key in wrong {
        errors.push(at, Reason::Invalid, Some(&Value::from(key.as_str())), || ONLY_KEY.to_owned());
    }
}

fn finalizers(errors: &mut Errors, finalizers: Option<&Value>, at: &At<'_>) {
    for finalizer in finalizers.and_then(Value::as_array).into_iter().flatten() {
        if finalizer.as_str().is_some_and(|name| !is_qualified(name)) {
            errors.push(at, Reason::Invalid, Some(finalizer), || ONLY_KEY.to_owned());
        }
    }
}

fn generate_name(errors: &mut Errors, prefix: Option<&Value>, at: &At<'_>) {
    let Some(value) = prefix else { return };
    let prefix = value.as_str().unwrap_or_default();
    // What is generated follows, so the last character may be one that only stands within a name.
    let start = prefix.strip_suffix('-').unwrap_or(prefix);
    if !prefix.is_empty() && (!is_subdomain(start) || prefix.len() > SUBDOMAIN_LENGTH) {
        errors.push(at, Reason::Invalid, Some(value), || ONLY_SUBDOMAIN.to_owned());
    }
}

fn name(errors: &mut Errors, name: Option<&Value>, at: &At<'_>) {
    match name.map(Value::as_str) {
        None | Some(Some("")) => {
            errors.push(at, Reason::Required, None, || "name or generateName is required".to_owned());
        }
        Some(Some(text)) if !is_subdomain(text) => {
            errors.push(at, Reason::Invalid, name, || ONLY_SUBDOMAIN.to_owned());
        }
        Some(_) => {}
    }
}

/// The object with a name such as the API server would make from its `generateName`; `None` if it needs none.
pub(super) fn with_generated_name(object: &Value) -> Option<Value> {
    const LONGEST_PREFIX: usize = 58; // what a generated name of 63 characters leaves beside its end
    let metadata = object.get("metadata")?;
    let prefix = metadata.get("generateName")?.as_str().filter(|prefix| !prefix.is_empty())?;
    if metadata.get("name").is_some_and(|name| name != "") {
        return None;
    }
    let prefix = prefix.get(..prefix.floor_char_boundary(LONGEST_PREFIX)).unwrap_or_default();
    let mut object = object.clone();
    object.get_mut("metadata")?.as_object_mut()?.insert("name".to_owned(), format!("{prefix}xxxxx").into());
    Some(object)
}

/// A namespace need not be said: who sends the object may say it.
fn namespace(errors: &mut Errors, namespace: Option<&Value>, at: &At<'_>) {
    let Some(value) = namespace else { return };
    let is_label = |text: &str| text.len() <= WORD_LENGTH && !text.contains('.') && SUBDOMAIN.matches(text);
    if value.as_str().is_some_and(|text| !text.is_empty() && !is_label(text)) {
        errors.push(at, Reason::Invalid, Some(value), || ONLY_LABEL.to_owned());
    }
}

fn owners(errors: &mut Errors, owners: Option<&Value>, at: &At<'_>) {
    let owners = owners.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    for owner in owners {
        for field in ["apiVersion", "kind", "name", "uid"] {
            if owner.get(field).and_then(Value::as_str) == Some("") {
                let detail = || "must not be empty".to_owned();
                errors.push(&at.field(field), Reason::Invalid, Some(&Value::from("")), detail);
            }
        }
    }
    let controllers = owners.iter().filter(|owner| owner.get("controller") == Some(&Value::Bool(true)));
    for second in controllers.skip(1) {
        let detail = || "only one owner can be the controller".to_owned();
        errors.push(at, Reason::Invalid, Some(second), detail);
    }
}

fn is_subdomain(text: &str) -> bool {
    text.len() <= SUBDOMAIN_LENGTH && SUBDOMAIN.matches(text)
}

fn is_label_value(text: &str) -> bool {
    text.is_empty() || (text.len() <= WORD_LENGTH && WORD.matches(text))
}

/// Whether a key is a word, or a domain, `/` and a word.
fn is_qualified(key: &str) -> bool {
    let (domain, word) = key.split_once('/').map_or((None, key), |(domain, word)| (Some(domain), word));
    domain.is_none_or(is_subdomain) && word.len() <= WORD_LENGTH && WORD.matches(word)
}
