//! JSON Patch (RFC 6902), bounded and with errors that name the operation.

use json_patch::{PatchErrorKind, PatchOperation};
use serde_json::Value;

use super::path::MAX_DEPTH;

/// The most bytes that the operations of a patch may write, one with another: what the API server takes in a request.
/// `copy` could otherwise double a tree with each operation.
pub const MAX_WRITTEN: usize = 3 << 20;

/// Why a patch cannot be applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JsonPatchError {
    /// Not a list of operations.
    #[error("a JSON patch is a list of operations")]
    NotAList,
    /// Not an operation.
    #[error("operation {index} is none: {reason}")]
    Malformed {
        /// Which operation, from 0.
        index: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// An operation cannot be done.
    #[error("operation {index} (`{path}`): {reason}")]
    Failed {
        /// Which operation, from 0.
        index: usize,
        /// Its path, a JSON pointer.
        path: String,
        /// Why not.
        reason: Failure,
    },
}

/// Why an operation cannot be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// `test` found another value.
    #[error("the value there is another")]
    TestFailed,
    /// Nothing is at `path`, or nothing that could hold a value there.
    #[error("the path leads nowhere")]
    NoSuchPath,
    /// Nothing is at `from`.
    #[error("`from` leads nowhere")]
    NoSuchFrom,
    /// `move` into what is moved.
    #[error("a value cannot be moved into itself")]
    IntoItself,
    /// More than [`MAX_WRITTEN`].
    #[error("the patch writes more than {MAX_WRITTEN} bytes")]
    TooLarge,
    /// Deeper than [`MAX_DEPTH`].
    #[error("the value would be nested more than {MAX_DEPTH} deep")]
    TooDeep,
    /// Another reason of the library that applies patches.
    #[error("it cannot be done")]
    Other,
}

/// Applies the operations of `patch`, a JSON patch, to `tree`. An error leaves the tree as it was.
pub fn apply(tree: &mut Value, patch: &Value) -> Result<(), JsonPatchError> {
    let operations = patch.as_array().ok_or(JsonPatchError::NotAList)?;
    let mut changed = tree.clone();
    let mut written = 0;
    for (index, operation) in operations.iter().enumerate() {
        let operation = parse(operation).map_err(|reason| JsonPatchError::Malformed { index, reason })?;
        apply_one(&mut changed, operation, &mut written)
            .map_err(|(path, reason)| JsonPatchError::Failed { index, path, reason })?;
    }
    *tree = changed;
    Ok(())
}

fn parse(operation: &Value) -> Result<PatchOperation, String> {
    serde::Deserialize::deserialize(operation).map_err(|error: serde_json::Error| error.to_string())
}

fn apply_one(
    tree: &mut Value,
    operation: PatchOperation,
    written: &mut usize,
) -> Result<(), (String, Failure)> {
    let path = operation.path().to_string();
    let fail = |failure| (path.clone(), failure);
    if let Some(value) = written_value(tree, &operation) {
        let depth = operation.path().count();
        let size = measure(value, depth).ok_or_else(|| fail(Failure::TooDeep))?;
        *written += size;
        if *written > MAX_WRITTEN {
            return Err(fail(Failure::TooLarge));
        }
    }
    json_patch::patch_unsafe(tree, &[operation]).map_err(|error| fail(failure(&error.kind)))
}

/// The value that an operation puts somewhere.
fn written_value<'a>(tree: &'a Value, operation: &'a PatchOperation) -> Option<&'a Value> {
    match operation {
        PatchOperation::Add(add) => Some(&add.value),
        PatchOperation::Replace(replace) => Some(&replace.value),
        PatchOperation::Copy(copy) => tree.pointer(copy.from.as_str()),
        PatchOperation::Move(from) => tree.pointer(from.from.as_str()),
        PatchOperation::Remove(_) | PatchOperation::Test(_) => None,
    }
}

/// About how many bytes `value` has as JSON, at so many levels' depth; `None` if it is too deep.
pub(crate) fn measure(value: &Value, depth: usize) -> Option<usize> {
    if depth > MAX_DEPTH {
        return None;
    }
    let parts = match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().try_fold(0, |sum, item| Some(sum + measure(item, depth + 1)?))?,
        Value::Object(map) => map
            .iter()
            .try_fold(0, |sum, (name, value)| Some(sum + name.len() + measure(value, depth + 1)?))?,
        Value::Null | Value::Bool(_) | Value::Number(_) => 4,
    };
    Some(parts + 2)
}

fn failure(kind: &PatchErrorKind) -> Failure {
    match kind {
        PatchErrorKind::TestFailed => Failure::TestFailed,
        PatchErrorKind::InvalidFromPointer => Failure::NoSuchFrom,
        PatchErrorKind::InvalidPointer => Failure::NoSuchPath,
        PatchErrorKind::CannotMoveInsideItself => Failure::IntoItself,
        _ => Failure::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn operations_apply_in_order() {
        let mut tree = json!({"a": [1, 2], "b": {"c/d": 1}});
        let patch = json!([
            {"op": "test", "path": "/a/0", "value": 1},
            {"op": "add", "path": "/a/-", "value": {"x": null}},
            {"op": "replace", "path": "/b/c~1d", "value": 2},
            {"op": "copy", "from": "/b", "path": "/e"},
            {"op": "move", "from": "/a/1", "path": "/b/f"},
            {"op": "remove", "path": "/a/0"},
        ]);
        assert_eq!(apply(&mut tree, &patch), Ok(()));
        assert_eq!(tree, json!({"a": [{"x": null}], "b": {"c/d": 2, "f": 2}, "e": {"c/d": 2}}));
    }

    #[test]
    fn an_error_names_the_operation_and_leaves_the_tree() {
        let tree = json!({"a": {"b": [1]}});
        let check = |operation: Value, want: &str| {
            let mut changed = tree.clone();
            let patch = json!([{"op": "add", "path": "/new", "value": 1}, operation]);
            assert_eq!(apply(&mut changed, &patch).unwrap_err().to_string(), want);
            assert_eq!(changed, tree);
        };
        check(
            json!({"op": "test", "path": "/a/b", "value": []}),
            "operation 1 (`/a/b`): the value there is another",
        );
        check(json!({"op": "remove", "path": "/x"}), "operation 1 (`/x`): the path leads nowhere");
        check(
            json!({"op": "replace", "path": "/a/x", "value": 1}),
            "operation 1 (`/a/x`): the path leads nowhere",
        );
        check(
            json!({"op": "add", "path": "/a/b/2", "value": 1}),
            "operation 1 (`/a/b/2`): the path leads nowhere",
        );
        check(
            json!({"op": "add", "path": "/a/b/-/x", "value": 1}),
            "operation 1 (`/a/b/-/x`): the path leads nowhere",
        );
        check(json!({"op": "remove", "path": "/a/b/-"}), "operation 1 (`/a/b/-`): the path leads nowhere");
        check(json!({"op": "copy", "from": "/x", "path": "/y"}), "operation 1 (`/y`): `from` leads nowhere");
        check(
            json!({"op": "move", "from": "/a", "path": "/a/c"}),
            "operation 1 (`/a/c`): a value cannot be moved into itself",
        );
        check(
            json!({"op": "set", "path": "/a"}),
            "operation 1 is none: unknown variant `set`, expected one of \
            `add`, `remove`, `replace`, `move`, `copy`, `test`",
        );
        check(json!({"op": "remove"}), "operation 1 is none: missing field `path`");
        check(
            json!(3),
            "operation 1 is none: invalid type: integer `3`, expected internally tagged enum PatchOperation",
        );
        assert_eq!(apply(&mut tree.clone(), &json!({})), Err(JsonPatchError::NotAList));
    }

    #[test]
    fn copies_cannot_grow_without_bound() {
        let copies: Vec<Value> =
            (0..60).map(|i| json!({"op": "copy", "from": "", "path": format!("/copy{i}")})).collect();
        let mut tree = json!({"text": "x".repeat(1000)});
        let failed = apply(&mut tree, &copies.into()).unwrap_err();
        assert!(matches!(failed, JsonPatchError::Failed { reason: Failure::TooLarge, .. }), "{failed}");
        assert_eq!(tree, json!({"text": "x".repeat(1000)}));
    }

    #[test]
    fn copies_and_moves_cannot_nest_without_bound() {
        let check = |operation: &str| {
            let patch: Vec<Value> = (0..200)
                .flat_map(|_| {
                    let into = json!({"op": "add", "path": "/b", "value": {}});
                    let back = json!({"op": "move", "from": "/b", "path": "/a"});
                    [into, json!({"op": operation, "from": "/a", "path": "/b/a"}), back]
                })
                .collect();
            let failed = apply(&mut json!({"a": {}}), &patch.into()).unwrap_err();
            assert!(matches!(failed, JsonPatchError::Failed { reason: Failure::TooDeep, .. }), "{failed}");
        };
        check("copy");
        check("move");
    }
}
