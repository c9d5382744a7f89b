//! Types as expressions see them.
//!
//! Times are timestamps; quantities and what may be a number or text are `dyn`, as in Kubernetes' own rules; a field of
//! an open object that nobody declares is `dyn` and may be absent.

use std::sync::Arc;

use super::{MAX_DEPTH, Schemas, Shape, TextFormat, TypeId};
use crate::cel::{Bounds, Field, Struct, Type};

/// The static type of values of `ty`. It shares `schemas`.
pub fn cel_type(schemas: &Arc<Schemas>, ty: TypeId) -> Type {
    match &schemas.get(ty).shape {
        Shape::Object(_) => Type::Struct(Arc::new(ObjectType { schemas: Arc::clone(schemas), ty })),
        Shape::Map(map) => Type::map(Type::String, cel_type(schemas, map.values)),
        Shape::List(list) => Type::list(cel_type(schemas, list.item)),
        Shape::String(text) => match text.format {
            Some(TextFormat::Time | TextFormat::MicroTime) => Type::Timestamp,
            Some(TextFormat::Bytes) | None => Type::String, // base64, since that is what an object holds
        },
        Shape::Integer(_) => Type::Int,
        Shape::Number => Type::Double,
        Shape::Boolean => Type::Bool,
        Shape::IntOrString | Shape::Quantity | Shape::Any => Type::Dyn,
    }
}

/// How large values of `ty` can get, as far as their type limits it.
pub fn cel_bounds(schemas: &Schemas, ty: TypeId) -> Bounds {
    bounds(schemas, ty, 0)
}

fn bounds(schemas: &Schemas, ty: TypeId, depth: usize) -> Bounds {
    const BYTES_PER_CHARACTER: u64 = 4; // of UTF-8, at most
    let (size, items) = match &schemas.get(ty).shape {
        Shape::Map(map) => (map.max_properties, Some(map.values)),
        Shape::List(list) => (list.max_items, Some(list.item)),
        Shape::String(text) if !text.values.is_empty() => {
            (text.values.iter().map(|value| value.len() as u64).max(), None)
        }
        Shape::String(text) => {
            (text.max_length.map(|length| length.saturating_mul(BYTES_PER_CHARACTER)), None)
        }
        _ => (None, None),
    };
    let items = items.filter(|_| depth < MAX_DEPTH).map(|item| Arc::new(bounds(schemas, item, depth + 1)));
    Bounds { size, items }
}

/// An object type of a set.
struct ObjectType {
    schemas: Arc<Schemas>,
    ty: TypeId,
}

impl Struct for ObjectType {
    fn name(&self) -> &str {
        self.schemas.get(self.ty).name.as_deref().unwrap_or("object")
    }

    fn field(&self, name: &str) -> Option<Field> {
        let object = self.schemas.object(self.ty)?;
        let Some(field) = object.field(name) else {
            return object.open.then(|| Field { ty: Type::Dyn, optional: true, bounds: Bounds::default() });
        };
        // A stored object has what its schema requires or fills in, and what makes it an object at all. One without
        // a spec is possible and means nothing; who evaluates expressions about it says so first.
        let always = match self.schemas.get(self.ty).name.as_deref() {
            Some("meta/v1.ObjectMeta") => name == "name",
            _ => object.kind.is_some() && matches!(name, "apiVersion" | "kind" | "metadata" | "spec"),
        };
        Some(Field {
            ty: cel_type(&self.schemas, field.ty),
            optional: !always && !field.required && field.default.is_none(),
            bounds: cel_bounds(&self.schemas, field.ty),
        })
    }

    fn field_names(&self) -> Vec<String> {
        let fields = self.schemas.object(self.ty).map_or(&[][..], |object| &object.fields);
        fields.iter().map(|field| field.name.to_string()).collect()
    }
}
