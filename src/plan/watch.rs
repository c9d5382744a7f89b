//! Which TrainJobs an object that changed concerns.

use super::{
    evaluate, params,
    scope::{Fixed, Inputs, Live, Scope},
    snapshot::Config,
};
use crate::{
    cel::Budget,
    object::{Gvk, ObjectRef, metadata},
    policy::PolicySet,
};
use serde_json::{Value, json};

/// Whether the change of `event` may change the plan for `train_job`: a policy watches objects of its kind, it is in the
/// TrainJob's namespace or in none, and the policy's filter lets it through. A filter that fails lets it through too:
/// planning once too often is no harm.
pub fn concerns(event: &Value, train_job: &Value, policies: &PolicySet, config: &Config) -> bool {
    let (Some(kind), namespace) = (Gvk::of(event), metadata(event).namespace()) else { return false };
    if namespace.is_some() && namespace != metadata(train_job).namespace() {
        return false;
    }
    let (none, config) = (json!({}), config.tree());
    let inputs = Inputs {
        train_job,
        old_train_job: None,
        runtime: &none,
        config: &config,
        params: &none,
        event: Some(event),
    };
    policies.iter().any(|policy| {
        let fixed = Fixed::new(policy, inputs, Live::default());
        let mut filters = policy.watches.iter().filter(|watch| watch.kind == kind).map(|watch| &watch.filter);
        filters.any(|filter| {
            evaluate::holds(filter.as_ref(), &Scope::of(&fixed), &mut Budget::default()).unwrap_or(true)
        })
    })
}

/// Whether a plan for a TrainJob in `namespace` may look the object up: a policy has its kind among its references, or
/// takes parameters from it.
pub fn is_read(object: &ObjectRef, namespace: Option<&str>, policies: &PolicySet, config: &Config) -> bool {
    let is_near = object.namespace.is_none() || object.namespace.as_deref() == namespace;
    policies.iter().any(|policy| {
        let config_map = policy.params.as_ref().and_then(|params| params.config_map.as_ref());
        (is_near && policy.references.iter().any(|(_, kind)| *kind == object.gvk))
            || config_map.is_some_and(|it| params::config_map(it, config) == *object)
    })
}
