//! Whether a value of a static type can stand in a field.

use crate::{
    cel::{Field, Struct, Type},
    schema::{Schemas, Shape, TypeId},
};

/// How deep types are compared; what lies deeper is told at run time.
const MAX_DEPTH: usize = 16;

/// Whether a value fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    /// As it is, as far as the types tell.
    Yes,
    /// As its text.
    AsText,
    /// Never.
    No,
}

/// Whether values of `ty` fit the field type `wanted`.
pub(super) fn fit(schemas: &Schemas, ty: &Type, wanted: TypeId) -> Fit {
    fit_at(schemas, ty, wanted, 0)
}

fn fit_at(schemas: &Schemas, ty: &Type, wanted: TypeId, depth: usize) -> Fit {
    let shape = &schemas.get(wanted).shape;
    if depth > MAX_DEPTH || matches!(shape, Shape::Any) {
        return Fit::Yes;
    }
    let fits = match ty {
        Type::Dyn | Type::Param(_) => return if matches!(shape, Shape::String(_)) { Fit::AsText } else { Fit::Yes },
        Type::Optional(value) => return fit_at(schemas, value, wanted, depth),
        Type::Bool => match shape {
            Shape::String(_) => return Fit::AsText,
            shape => matches!(shape, Shape::Boolean),
        },
        Type::Int | Type::UInt => match shape {
            Shape::String(_) => return Fit::AsText,
            shape => matches!(shape, Shape::Integer(_) | Shape::Number | Shape::IntOrString | Shape::Quantity),
        },
        Type::Double => matches!(shape, Shape::Number | Shape::Quantity),
        Type::Quantity => matches!(shape, Shape::Quantity | Shape::String(_) | Shape::IntOrString),
        Type::String => matches!(shape, Shape::String(_) | Shape::IntOrString | Shape::Quantity),
        Type::Timestamp | Type::Duration | Type::Semver | Type::Url | Type::Ip | Type::Cidr => {
            matches!(shape, Shape::String(_))
        }
        Type::List(item) => match shape {
            Shape::List(list) => fit_at(schemas, item, list.item, depth + 1) != Fit::No,
            _ => false,
        },
        Type::Map(_, value) => match shape {
            Shape::Map(map) => fit_at(schemas, value, map.values, depth + 1) != Fit::No,
            Shape::Object(_) => true, // which keys it has is known at run time only
            _ => false,
        },
        Type::Struct(object) => match shape {
            Shape::Object(_) | Shape::Map(_) => shares_fields(schemas, &**object, wanted, depth),
            _ => false,
        },
        Type::Null | Type::Bytes | Type::Format | Type::Type => false,
    };
    if fits { Fit::Yes } else { Fit::No }
}

/// Whether the fields that both have fit, and there are any. One that the field does not have may well be absent.
fn shares_fields(schemas: &Schemas, object: &dyn Struct, wanted: TypeId, depth: usize) -> bool {
    let names = object.field_names();
    let shared = || names.iter().filter_map(|name| Some((object.field(name)?, schemas.child(wanted, name)?)));
    let fits = |(field, child): (Field, TypeId)| fit_at(schemas, &field.ty, child, depth + 1) != Fit::No;
    names.is_empty() || (shared().next().is_some() && shared().all(fits))
}

/// What a field takes, for messages.
pub(super) fn describe(schemas: &Schemas, wanted: TypeId) -> String {
    let ty = schemas.get(wanted);
    match &ty.shape {
        Shape::Object(_) => ty.name.as_deref().map_or("an object".to_owned(), |name| format!("a {name}")),
        Shape::Map(map) => format!("a map of {}", plural(&describe(schemas, map.values))),
        Shape::List(list) => format!("a list of {}", plural(&describe(schemas, list.item))),
        Shape::String(_) => "text".to_owned(),
        Shape::Integer(_) => "a whole number".to_owned(),
        Shape::Number => "a number".to_owned(),
        Shape::Boolean => "true or false".to_owned(),
        Shape::IntOrString => "a whole number or text".to_owned(),
        Shape::Quantity => "a quantity".to_owned(),
        Shape::Any => "anything".to_owned(),
    }
}

fn plural(one: &str) -> String {
    one.strip_prefix("a ").or_else(|| one.strip_prefix("an ")).unwrap_or(one).to_owned()
}
