//! Objects as they come from watches: whole trees, without a type for each kind.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{
    Resource,
    core::{ApiResource, DynamicResourceScope},
};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use std::borrow::Cow;

/// An object of any kind; of its metadata alone if `METADATA`. Of what the tree holds, only what a watch needs to know
/// is taken out as well: reading all of it into types first would double the work.
#[derive(Clone, Debug)]
pub(super) struct Tree<const METADATA: bool> {
    pub(super) value: Value,
    metadata: ObjectMeta,
}

impl<'de, const METADATA: bool> Deserialize<'de> for Tree<METADATA> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let text = |field: &str| Some(value.get("metadata")?.get(field)?.as_str()?.to_owned());
        let metadata = ObjectMeta {
            name: text("name"),
            namespace: text("namespace"),
            resource_version: text("resourceVersion"),
            ..ObjectMeta::default()
        };
        Ok(Tree { value, metadata })
    }
}

impl<const METADATA: bool> Resource for Tree<METADATA> {
    type DynamicType = ApiResource;
    type Scope = DynamicResourceScope;

    fn metadata_api() -> bool {
        METADATA
    }

    fn group(resource: &ApiResource) -> Cow<'_, str> {
        resource.group.as_str().into()
    }

    fn version(resource: &ApiResource) -> Cow<'_, str> {
        resource.version.as_str().into()
    }

    fn kind(resource: &ApiResource) -> Cow<'_, str> {
        resource.kind.as_str().into()
    }

    fn api_version(resource: &ApiResource) -> Cow<'_, str> {
        resource.api_version.as_str().into()
    }

    fn plural(resource: &ApiResource) -> Cow<'_, str> {
        resource.plural.as_str().into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}
