//! What values may be: the types of Kubernetes' kinds and of ours, and what the API server does by them.
//!
//! [`Schemas`] holds the types; `api::schemas()` is the one with every kind the project knows. A [`TypeId`] comes from
//! [`Schemas::kind`] or [`Schemas::named`], and four functions work on a tree with it, each as a server does before it
//! stores an object: [`prune()`] drops what no field takes, [`default()`] fills in what is missing, [`validate()`]
//! reports every error at once; [`canonical()`] gives the spelling that Go types give an object when they write it.
//! [`diagnostics`] puts what they find into words for users.
//!
//! Nothing here knows what a field is for. Which lists merge how is told to `object::merge` by [`Typed`], which fields
//! expressions may name to `cel` ([`cel_type`]).

mod canonical;
mod cel;
mod default;
pub mod diagnostics;
mod facts;
mod load;
mod openapi;
mod prune;
#[cfg(test)]
mod tests;
mod typed;
mod types;
pub mod validate;
mod visit;

pub use canonical::{applied, canonical};
pub use cel::{cel_bounds, cel_type};
pub use default::default;
pub use load::LoadError;
pub use openapi::structural_schema;
pub use prune::prune;
pub use typed::Typed;
pub use types::{
    Field, IntFormat, Integer, Kind, List, ListKind, Map, Object, Pattern, Rule, Shape, Text, TextFormat,
    Type, Wire,
};
pub use validate::{FieldError, Reason, unreadable_quantities, validate};

use std::collections::BTreeMap;
use std::sync::Arc;

/// The data files that `conformance/schemas/generate` writes, one per apiVersion.
pub const DATA: &[&str] = &[
    include_str!("data/autoscaling_v2.json"),
    include_str!("data/batch_v1.json"),
    include_str!("data/coordination.k8s.io_v1.json"),
    include_str!("data/jobset.x-k8s.io_v1alpha2.json"),
    include_str!("data/meta_v1.json"),
    include_str!("data/node.k8s.io_v1.json"),
    include_str!("data/scheduling.k8s.io_v1.json"),
    include_str!("data/scheduling.k8s.io_v1alpha2.json"),
    include_str!("data/scheduling.volcano.sh_v1beta1.json"),
    include_str!("data/scheduling.x-k8s.io_v1alpha1.json"),
    include_str!("data/v1.json"),
];

/// How deep the functions of this module follow a value. A type of a caller may contain itself; no field of a Kubernetes
/// kind lies half as deep. What lies deeper is left as it is, and [`validate()`] says so.
pub const MAX_DEPTH: usize = crate::object::path::MAX_DEPTH;

/// Names a type within its [`Schemas`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeId(u32);

/// A set of types that refer to each other.
#[derive(Debug, Default)]
pub struct Schemas {
    base: Option<Arc<Schemas>>,
    first: u32, // the number of types below, in `base` and its bases
    types: Vec<Type>,
    names: BTreeMap<Box<str>, TypeId>,
}

impl Schemas {
    /// Reads data files. A name may be used before and outside the file that defines it.
    pub fn load(files: &[&str]) -> Result<Schemas, LoadError> {
        load::load(files)
    }

    /// A set that contains `base`, which stays as it is, and can take further types.
    pub fn extend(base: &Arc<Schemas>) -> Schemas {
        Schemas { first: base.end(), base: Some(Arc::clone(base)), ..Schemas::default() }
    }

    fn end(&self) -> u32 {
        self.first.saturating_add(u32::try_from(self.types.len()).unwrap_or(u32::MAX))
    }

    /// Adds a type; `name` is how [`Schemas::named`] finds it, and hides an equal name of the base.
    pub fn add(&mut self, name: Option<&str>, ty: Type) -> TypeId {
        let id = TypeId(self.end());
        self.types.push(ty);
        if let Some(name) = name {
            self.names.insert(name.into(), id);
        }
        id
    }

    /// Completes a type that was added before its fields could be.
    fn set(&mut self, id: TypeId, ty: Type) {
        let index = id.0.checked_sub(self.first).map_or(usize::MAX, |index| index as usize);
        if let Some(place) = self.types.get_mut(index) {
            *place = ty;
        }
    }

    /// Adds the type that `facts` describe, in the form of the data files: `"[]string"`, `{"type": "int32",
    /// "minimum": 1}`, `{"type": "object", "fields": {…}}`. Names refer to types that are there already.
    pub fn add_facts(&mut self, name: Option<&str>, facts: &serde_json::Value) -> Result<TypeId, LoadError> {
        load::add(self, name, facts)
    }

    /// The type. An id of another set gives [`Shape::Any`], never another type's facts by chance of a panic.
    pub fn get(&self, id: TypeId) -> &Type {
        match &self.base {
            Some(base) if id.0 < self.first => base.get(id),
            _ => {
                let index = id.0.checked_sub(self.first).map_or(usize::MAX, |index| index as usize);
                self.types.get(index).unwrap_or(&types::ANY)
            }
        }
    }

    /// The type of that name: `v1.Container`, `meta/v1.ObjectMeta`, `trainer.kubeflow.org/v1alpha1.TrainJob`.
    pub fn named(&self, name: &str) -> Option<TypeId> {
        self.names.get(name).copied().or_else(|| self.base.as_ref()?.named(name))
    }

    /// The type of a kind that the API server serves.
    pub fn kind(&self, api_version: &str, kind: &str) -> Option<TypeId> {
        let id = self.named(&format!("{api_version}.{kind}"))?;
        self.object(id)?.kind.as_ref().map(|_| id)
    }

    /// The fields of an object type; `None` for every other shape.
    pub fn object(&self, id: TypeId) -> Option<&Object> {
        match &self.get(id).shape {
            Shape::Object(object) => Some(object),
            _ => None,
        }
    }

    /// The type at `path` below `id`: names are fields, or keys of a map; lists are passed through to their items.
    pub fn find(&self, id: TypeId, path: &[&str]) -> Option<TypeId> {
        path.iter().try_fold(id, |id, name| self.child(self.item_of(id), name)).map(|id| self.item_of(id))
    }

    /// The type of the field `name`, or of the value at key `name`.
    pub fn child(&self, id: TypeId, name: &str) -> Option<TypeId> {
        match &self.get(id).shape {
            Shape::Object(object) => Some(object.field(name)?.ty),
            Shape::Map(map) => Some(map.values),
            _ => None,
        }
    }

    /// The type of the items of a list.
    pub fn item(&self, id: TypeId) -> Option<TypeId> {
        match &self.get(id).shape {
            Shape::List(list) => Some(list.item),
            _ => None,
        }
    }

    fn item_of(&self, id: TypeId) -> TypeId {
        match &self.get(id).shape {
            Shape::List(list) => list.item,
            _ => id,
        }
    }

    /// Every name with its type, in alphabetical order; names of the base that are hidden come once.
    pub fn names(&self) -> BTreeMap<&str, TypeId> {
        let mut names = self.base.as_deref().map(Schemas::names).unwrap_or_default();
        names.extend(self.names.iter().map(|(name, id)| (name.as_ref(), *id)));
        names
    }
}
