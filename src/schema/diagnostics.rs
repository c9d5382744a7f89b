//! What is said to users of an object that does not fit its schema.

use super::{FieldError, Schemas, Shape, TypeId};
use crate::diagnostic::{Diagnostic, Place, codes};
use crate::object::FieldPath;
use crate::object::path::Step;

/// That a field of `object` (`TrainJob ml/bert`) is refused.
pub fn refused(object: &str, error: &FieldError) -> Diagnostic {
    Diagnostic::error(codes::REFUSED_FIELD, place(object, &error.path), error.message()).reason(error.reason)
}

/// That a field of `object`, which is of the kind `ty`, was dropped because no schema knows it.
pub fn dropped(schemas: &Schemas, ty: TypeId, object: &str, path: &FieldPath) -> Diagnostic {
    let name = match path.steps().last() {
        Some(Step::Field(name) | Step::Key(name)) => name.as_ref(),
        Some(Step::Index(_) | Step::Item(_)) | None => "",
    };
    let known = around(schemas, ty, path).and_then(|around| schemas.object(around));
    let names = known.into_iter().flat_map(|object| object.fields.iter()).map(|field| field.name.as_ref());
    Diagnostic::warning(
        codes::DROPPED_FIELD,
        place(object, path),
        format!("there is no field `{name}` here; it is dropped"),
    )
    .did_you_mean(name, names)
}

fn place(object: &str, path: &FieldPath) -> Place {
    Place::Field { object: object.to_owned(), path: path.to_string() }
}

/// The type that the field at `path` is looked for in.
fn around(schemas: &Schemas, ty: TypeId, path: &FieldPath) -> Option<TypeId> {
    let (_, around) = path.steps().split_last()?;
    around.iter().try_fold(ty, |ty, step| match (step, &schemas.get(ty).shape) {
        (Step::Field(name) | Step::Key(name), _) => schemas.child(ty, name),
        (Step::Index(_) | Step::Item(_), Shape::List(list)) => Some(list.item),
        (Step::Index(_) | Step::Item(_), _) => None,
    })
}
