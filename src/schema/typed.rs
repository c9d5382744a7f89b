//! Types as merging and comparing see them.

use serde_json::Value;

use super::{ListKind, Schemas, Shape, TypeId};
use crate::object::{self, PatchKind, Union};

/// A type of a set, to merge and compare values by.
#[derive(Clone, Copy, Debug)]
pub struct Typed<'s> {
    schemas: &'s Schemas,
    ty: TypeId,
}

impl Schemas {
    /// The type, to merge and compare values by.
    pub fn typed(&self, ty: TypeId) -> Typed<'_> {
        Typed { schemas: self, ty }
    }
}

impl<'s> Typed<'s> {
    fn shape(self) -> &'s Shape {
        &self.schemas.get(self.ty).shape
    }
}

impl<'s> object::Shape<'s> for Typed<'s> {
    fn field(self, name: &str) -> Option<Self> {
        Some(self.schemas.typed(self.schemas.child(self.ty, name)?))
    }

    fn item(self) -> Option<Self> {
        match self.shape() {
            Shape::List(list) => Some(self.schemas.typed(list.item)),
            _ => None,
        }
    }

    fn default(self, name: &str) -> Option<&'s Value> {
        self.schemas.object(self.ty)?.field(name)?.default.as_ref()
    }

    fn list(self) -> object::ListKind<'s> {
        match self.shape() {
            Shape::List(list) => match &list.kind {
                ListKind::Atomic => object::ListKind::Atomic,
                ListKind::Set => object::ListKind::Set,
                ListKind::Map(keys) => object::ListKind::Map(keys),
            },
            _ => object::ListKind::Atomic,
        }
    }

    fn is_atomic_map(self) -> bool {
        match self.shape() {
            Shape::Object(object) => object.atomic,
            // A map that is owned as such and not by its keys is one.
            Shape::Map(_) | Shape::Any => true,
            _ => false,
        }
    }

    fn patch(self) -> PatchKind<'s> {
        match self.shape() {
            Shape::List(list) => match list.merge_key.as_deref() {
                None => PatchKind::Replace,
                Some("") => PatchKind::Values,
                Some(key) => PatchKind::Items(key),
            },
            _ => PatchKind::Replace,
        }
    }

    fn union(self) -> Union<'s> {
        let name = self.schemas.get(self.ty).name.as_deref();
        name.map_or(Union::NONE, Union::of_kubernetes_type)
    }

    fn is_quantity(self) -> bool {
        matches!(self.shape(), Shape::Quantity)
    }
}
