//! What holds of every object, right or wrong.

use serde_json::Value;
use trainmaster::api;
use trainmaster::schema::{Schemas, canonical, default, prune, unreadable_quantities, validate};

use crate::random::Random;

const KINDS: [(&str, &str); 8] = [
    ("trainer.kubeflow.org/v1alpha1", "TrainJob"),
    ("trainer.kubeflow.org/v1alpha1", "ClusterTrainingRuntime"),
    ("jobset.x-k8s.io/v1alpha2", "JobSet"),
    ("scheduling.volcano.sh/v1beta1", "PodGroup"),
    ("scheduling.x-k8s.io/v1alpha1", "PodGroup"),
    ("scheduling.k8s.io/v1alpha2", "Workload"),
    ("v1", "Pod"),
    ("v1", "ConfigMap"),
];

/// Calls `check` with objects of every kind, with their type.
fn for_each(check: impl Fn(&Schemas, trainmaster::schema::TypeId, Value)) {
    let schemas = api::schemas();
    for (api_version, kind) in KINDS {
        let ty = schemas.kind(api_version, kind).unwrap();
        for seed in 0..200 {
            check(schemas, ty, Random::wrong(seed).object(schemas, api_version, kind));
        }
    }
}

#[test]
fn doing_it_twice_is_doing_it_once() {
    for_each(|schemas, ty, object| {
        let mut once = object.clone();
        prune(schemas, ty, &mut once);
        let mut twice = once.clone();
        assert_eq!(prune(schemas, ty, &mut twice), [], "{object}");
        assert_eq!(once, twice, "{object}");
        default(schemas, ty, &mut once);
        let mut twice = once.clone();
        default(schemas, ty, &mut twice);
        assert_eq!(once, twice, "{object}");

        // To Go a struct with an empty list is no zero struct, but without the list, which it drops, it is one.
        canonical(schemas, ty, &mut once);
        canonical(schemas, ty, &mut once);
        let mut again = once.clone();
        canonical(schemas, ty, &mut again);
        assert_eq!(once, again, "{object}");
    });
}

#[test]
fn what_does_not_change_within_an_object_is_not_held_against_it() {
    for_each(|schemas, ty, object| {
        for error in validate(schemas, ty, &object, Some(&object)) {
            // The object as a whole always counts as changed, and a rule that cannot tell is always reported.
            let whole = error.path.steps().len() < 2 || error.path.to_string().starts_with("metadata.");
            assert!(whole || error.detail.contains("evaluating rule"), "{error} in {object}");
        }
    });
}

#[test]
fn what_is_valid_can_be_changed_to_itself_and_made_again() {
    for_each(|schemas, ty, mut object| {
        prune(schemas, ty, &mut object);
        default(schemas, ty, &mut object);
        unreadable_quantities(schemas, ty, &object);
        if validate(schemas, ty, &object, None).is_empty() {
            assert_eq!(validate(schemas, ty, &object, Some(&object)), [], "{object}");
        }
    });
}
