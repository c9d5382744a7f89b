//! Kubernetes objects as JSON trees, with everything in them kept.
//!
//! Here is what holds for every object: what it is called ([`ObjectRef`]), what its metadata say ([`metadata`]), where
//! its fields are ([`path`]), how one tree goes into another ([`merge`], [`json_patch`]) and how two differ ([`diff`]).
//! What fields a kind has is known to `schema`, which tells `merge` and `diff` through [`Shape`]; what they are for is
//! known above.

pub mod diff;
pub mod json_patch;
pub mod merge;
pub mod owned;
pub mod path;
mod shape;

pub use path::FieldPath;
pub use shape::{ListKind, PatchKind, Shape, Union, Untyped};

use std::fmt;

use serde_json::{Map, Value};

/// A kind of object: `batch/v1` `Job`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gvk {
    /// Group and version as in `apiVersion`: `batch/v1`, or `v1` for the core group.
    pub api_version: String,
    /// The kind: `Job`.
    pub kind: String,
}

impl Gvk {
    /// The kind of that name in a group and version.
    pub fn new(api_version: impl Into<String>, kind: impl Into<String>) -> Gvk {
        Gvk { api_version: api_version.into(), kind: kind.into() }
    }

    /// The kind of `object`, if it says both.
    pub fn of(object: &Value) -> Option<Gvk> {
        Some(Gvk::new(text(object, "apiVersion")?, text(object, "kind")?))
    }

    /// The API group, empty for the core group.
    pub fn group(&self) -> &str {
        self.api_version.split_once('/').map_or("", |(group, _)| group)
    }

    /// The version: `v1`.
    pub fn version(&self) -> &str {
        self.api_version.split_once('/').map_or(&self.api_version, |(_, version)| version)
    }
}

impl fmt::Display for Gvk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.api_version, self.kind)
    }
}

/// Which object: kind, namespace and name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectRef {
    /// The kind.
    pub gvk: Gvk,
    /// The namespace; `None` for objects that live in none, or do not say.
    pub namespace: Option<String>,
    /// The name.
    pub name: String,
}

impl ObjectRef {
    /// The reference to `object`, if it says kind and name.
    pub fn of(object: &Value) -> Option<ObjectRef> {
        let metadata = metadata(object);
        Some(ObjectRef {
            gvk: Gvk::of(object)?,
            namespace: metadata.namespace().map(str::to_owned),
            name: metadata.name()?.to_owned(),
        })
    }
}

impl fmt::Display for ObjectRef {
    /// As messages name objects: `TrainJob ml/bert`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{} {namespace}/{}", self.gvk.kind, self.name),
            None => write!(f, "{} {}", self.gvk.kind, self.name),
        }
    }
}

/// What the fields lead to, one after the other. Unlike with [`Value::pointer`], nothing is allocated on the way.
pub fn find<'v>(tree: &'v Value, fields: &[&str]) -> Option<&'v Value> {
    fields.iter().try_fold(tree, |value, field| value.get(field))
}

/// The same, to change it.
pub fn find_mut<'v>(tree: &'v mut Value, fields: &[&str]) -> Option<&'v mut Value> {
    fields.iter().try_fold(tree, |value, field| value.get_mut(field))
}

/// The metadata of `object`, which may be missing or of the wrong type: then nothing is found in it.
pub fn metadata(object: &Value) -> Metadata<'_> {
    Metadata(object.get("metadata").unwrap_or(&Value::Null))
}

/// What an object's metadata say. Empty text counts as missing.
#[derive(Clone, Copy, Debug)]
pub struct Metadata<'a>(&'a Value);

impl<'a> Metadata<'a> {
    /// The name.
    pub fn name(self) -> Option<&'a str> {
        text(self.0, "name")
    }

    /// The namespace.
    pub fn namespace(self) -> Option<&'a str> {
        text(self.0, "namespace")
    }

    /// The UID that the API server gave.
    pub fn uid(self) -> Option<&'a str> {
        text(self.0, "uid")
    }

    /// When it was asked to be deleted, in RFC 3339.
    pub fn deletion_timestamp(self) -> Option<&'a str> {
        text(self.0, "deletionTimestamp")
    }

    /// The labels.
    pub fn labels(self) -> Option<&'a Map<String, Value>> {
        self.0.get("labels")?.as_object()
    }

    /// The value of a label; may be empty.
    pub fn label(self, key: &str) -> Option<&'a str> {
        self.labels()?.get(key)?.as_str()
    }

    /// The annotations.
    pub fn annotations(self) -> Option<&'a Map<String, Value>> {
        self.0.get("annotations")?.as_object()
    }

    /// The value of an annotation; may be empty.
    pub fn annotation(self, key: &str) -> Option<&'a str> {
        self.annotations()?.get(key)?.as_str()
    }

    /// The objects that own this one.
    pub fn owners(self) -> impl Iterator<Item = OwnerRef<'a>> {
        let owners = self.0.get("ownerReferences").and_then(Value::as_array);
        owners.into_iter().flatten().map(OwnerRef)
    }

    /// The owner that controls it.
    pub fn controller(self) -> Option<OwnerRef<'a>> {
        self.owners().find(|owner| owner.is_controller())
    }
}

/// A reference from an object to its owner, which lives in the same namespace or in none.
#[derive(Clone, Copy, Debug)]
pub struct OwnerRef<'a>(&'a Value);

impl<'a> OwnerRef<'a> {
    /// Group and version of the owner.
    pub fn api_version(self) -> Option<&'a str> {
        text(self.0, "apiVersion")
    }

    /// The owner's kind.
    pub fn kind(self) -> Option<&'a str> {
        text(self.0, "kind")
    }

    /// The owner's name.
    pub fn name(self) -> Option<&'a str> {
        text(self.0, "name")
    }

    /// The owner's UID.
    pub fn uid(self) -> Option<&'a str> {
        text(self.0, "uid")
    }

    /// Whether the owner controls the object; at most one does.
    pub fn is_controller(self) -> bool {
        self.0.get("controller").and_then(Value::as_bool).unwrap_or(false)
    }
}

fn text<'a>(value: &'a Value, field: &str) -> Option<&'a str> {
    value.get(field)?.as_str().filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_object_says_what_and_whose_it_is() {
        let object = json!({
            "apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet",
            "metadata": {
                "name": "bert", "namespace": "ml", "uid": "u1", "labels": {"a/b": "c", "empty": ""},
                "ownerReferences": [
                    {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u2"},
                    {"apiVersion": "x/v1", "kind": "TrainJob", "name": "bert", "uid": "u3", "controller": true},
                ],
            },
        });
        let reference = ObjectRef::of(&object).unwrap();
        assert_eq!(reference.to_string(), "JobSet ml/bert");
        assert_eq!((reference.gvk.group(), reference.gvk.version()), ("jobset.x-k8s.io", "v1alpha2"));
        let metadata = metadata(&object);
        assert_eq!(
            (metadata.label("a/b"), metadata.label("empty"), metadata.label("no")),
            (Some("c"), Some(""), None)
        );
        assert_eq!((metadata.uid(), metadata.annotation("a")), (Some("u1"), None));
        let controller = metadata.controller().unwrap();
        assert_eq!((controller.kind(), controller.uid()), (Some("TrainJob"), Some("u3")));
    }

    #[test]
    fn nothing_is_found_in_metadata_of_the_wrong_type() {
        for object in
            [json!(null), json!([]), json!({"metadata": 3}), json!({"metadata": {"name": "", "labels": []}})]
        {
            let metadata = metadata(&object);
            assert_eq!(
                (metadata.name(), metadata.label("a"), metadata.owners().count()),
                (None, None, 0),
                "{object}"
            );
            assert_eq!(ObjectRef::of(&object), None);
        }
    }

    #[test]
    fn the_core_group_has_no_name() {
        let gvk = Gvk::new("v1", "Pod");
        assert_eq!((gvk.group(), gvk.version(), gvk.to_string().as_str()), ("", "v1", "v1 Pod"));
    }
}
