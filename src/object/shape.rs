//! What merging and comparing must know about a type.

use serde_json::Value;

/// A type, as far as merging and comparing ask. What a shape does not know has the answers of [`Untyped`].
pub trait Shape<'s>: Copy {
    /// The type of the field `name`, or of the value at the key `name` of a map.
    fn field(self, name: &str) -> Option<Self> {
        let _ = name;
        None
    }

    /// The type of a list's items.
    fn item(self) -> Option<Self> {
        None
    }

    /// What the field `name` of an object counts as when it is missing.
    fn default(self, name: &str) -> Option<&'s Value> {
        let _ = name;
        None
    }

    /// What tells a list's items apart.
    fn list(self) -> ListKind<'s> {
        ListKind::Atomic
    }

    /// Whether an object is owned and replaced as a whole (`x-kubernetes-map-type: atomic`).
    fn is_atomic_map(self) -> bool {
        false
    }

    /// What a strategic merge patch does to a list.
    fn patch(self) -> PatchKind<'s> {
        PatchKind::Replace
    }

    /// Which fields of an object exclude each other.
    fn union(self) -> Union<'s> {
        Union::NONE
    }

    /// Whether the value is a resource quantity.
    fn is_quantity(self) -> bool {
        false
    }
}

/// What nothing is known of: maps merge by key, lists are replaced as a whole.
#[derive(Clone, Copy, Debug)]
pub struct Untyped;

impl Shape<'_> for Untyped {}

/// What tells the items of a list apart (`x-kubernetes-list-type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListKind<'s> {
    /// Nothing: the list is one value.
    Atomic,
    /// Their value.
    Set,
    /// The values of these fields; a missing one counts as its default.
    Map(&'s [Box<str>]),
}

/// What a strategic merge patch does to a list (`x-kubernetes-patch-strategy`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchKind<'s> {
    /// It replaces the list.
    Replace,
    /// It adds plain values that are not there.
    Values,
    /// It changes the item with an equal value of this field, or adds it.
    Items(&'s str),
}

/// The fields of an object of which one may be set: `value` and `valueFrom` of an environment variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Union<'s> {
    /// These fields.
    Of(&'s [&'s str]),
    /// Every field but these.
    AllBut(&'s [&'s str]),
}

impl Union<'_> {
    /// No field excludes another.
    pub const NONE: Union<'static> = Union::Of(&[]);

    /// Whether `field` excludes others.
    pub fn has(self, field: &str) -> bool {
        match self {
            Union::Of(members) => members.contains(&field),
            Union::AllBut(others) => !others.contains(&field),
        }
    }

    /// The unions of Kubernetes' own types, by the types' names in its OpenAPI document (`v1.EnvVar`), of which no
    /// schema knows.
    pub fn of_kubernetes_type(name: &str) -> Union<'static> {
        match name {
            "v1.EnvVar" => Union::Of(&["value", "valueFrom"]),
            "v1.EnvVarSource" | "v1.LifecycleHandler" => Union::AllBut(&[]),
            "v1.Probe" => Union::Of(&["exec", "grpc", "httpGet", "tcpSocket"]),
            "v1.Volume" => Union::AllBut(&["name"]),
            _ => Union::NONE,
        }
    }
}
