//! Two JSON trees, one merged into the other by every verb and over real types, compared and patched.

#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use serde_json::Value;
use trainmaster::{
    api,
    object::{
        FieldPath, Shape, Untyped,
        diff::{self, Quantities, diff},
        json_patch,
        merge::{MergeError, OnWrite, Write, append, set, strategic, upsert},
    },
};

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    trainmaster_fuzz::mutate(data, size, max_size, seed, trainmaster_fuzz::trees::change_json)
});

fuzz_target!(|input: &[u8]| {
    let Some([tree, with, ..]) =
        trainmaster_fuzz::documents(input).as_deref().and_then(|it| it.first_chunk::<2>()).cloned()
    else {
        return;
    };
    let schemas = api::schemas();
    for name in ["v1.PodSpec", "v1.Container", "jobset.x-k8s.io/v1alpha2.JobSet"] {
        every_verb(&tree, &with, schemas.typed(schemas.named(name).unwrap()));
    }
    every_verb(&tree, &with, Untyped);
    patched(&tree, &with);
});

fn every_verb<'s, S: Shape<'s>>(tree: &Value, with: &Value, shape: S) {
    let set = told(tree, |tree, told| set(tree, with.clone(), shape, told));
    let upsert = told(tree, |tree, told| upsert(tree, with.clone(), shape, told));
    told(tree, |tree, told| append(tree, with.clone(), told));
    told(tree, |tree, told| strategic(tree, with, shape, told));
    for (merged, again) in [
        (&set, set.clone().map(|tree| told(&tree, |tree, told| merge_set(tree, with, shape, told)))),
        (&upsert, upsert.clone().map(|tree| told(&tree, |tree, told| merge_upsert(tree, with, shape, told)))),
    ] {
        if let Some(again) = again {
            assert_eq!(again.as_ref(), merged.as_ref(), "merging again changes something");
        }
    }
    let changes = diff(tree, with, shape, Quantities::ByValue);
    assert!(diff(tree, tree, shape, Quantities::AsWritten).is_empty());
    diff::text(&changes);
}

fn merge_set<'s, S: Shape<'s>>(
    tree: &mut Value,
    with: &Value,
    shape: S,
    told: OnWrite<'_>,
) -> Result<(), MergeError> {
    set(tree, with.clone(), shape, told)
}

fn merge_upsert<'s, S: Shape<'s>>(
    tree: &mut Value,
    with: &Value,
    shape: S,
    told: OnWrite<'_>,
) -> Result<(), MergeError> {
    upsert(tree, with.clone(), shape, told)
}

/// The merged tree, if it can be merged. What is said to be written can be read back from its path.
fn told(
    tree: &Value,
    merge: impl FnOnce(&mut Value, OnWrite<'_>) -> Result<(), MergeError>,
) -> Option<Value> {
    let mut merged = tree.clone();
    let result = merge(&mut merged, &mut |write: Write<'_>| {
        let path = write.at.path();
        let printed = path.to_string();
        assert_eq!(FieldPath::parse(&printed), Ok(path), "{printed}");
    });
    result.is_ok().then_some(merged)
}

/// A patch that fails leaves the tree as it was.
fn patched(tree: &Value, patch: &Value) {
    let mut changed = tree.clone();
    if json_patch::apply(&mut changed, patch).is_err() {
        assert_eq!(&changed, tree);
    }
}
