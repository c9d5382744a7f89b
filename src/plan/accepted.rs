//! What an API server would say of the objects of a plan.

use super::Child;
use crate::{
    api,
    schema::{self, FieldError},
};
use serde_json::{Value, json};

/// Why an API server would not take the child. Of kinds that are not known here nothing is said.
pub fn refused(child: &Child) -> Vec<FieldError> {
    let (schemas, kind) = (api::schemas(), &child.reference.gvk);
    let Some(ty) = schemas.kind(&kind.api_version, &kind.kind) else { return Vec::new() };
    let mut stored = child.object.clone();
    give_uid(&mut stored);
    schema::default(schemas, ty, &mut stored);
    schema::validate(schemas, ty, &stored, None)
}

/// A TrainJob that is not stored yet has no UID, which the reference to an owner must have.
fn give_uid(object: &mut Value) {
    let owners = object.pointer_mut("/metadata/ownerReferences").and_then(Value::as_array_mut);
    for owner in owners.into_iter().flatten().filter_map(Value::as_object_mut) {
        owner.entry("uid").or_insert_with(|| json!("00000000-0000-0000-0000-000000000000"));
    }
}
