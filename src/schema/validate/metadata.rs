//! The metadata of an object: what no schema says, and every API server checks.

use serde_json::Value;

use super::error::{Errors, Reason};
use crate::schema::Pattern;
use crate::schema::path::At;

const NAME: Pattern = Pattern::literal("x");

pub(super) fn check(errors: &mut Errors, metadata: Option<&Value>) {
    let _ = (errors, metadata, Reason::Forbidden, At::ROOT, NAME);
}
