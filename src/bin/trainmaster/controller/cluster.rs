//! Requests to the API server, on JSON trees, each with a limit in time.

use super::error::{Error, REQUEST_LIMIT};
use kube::{
    Client, Resource,
    api::{DeleteParams, DynamicObject, GetParams, Patch, PatchParams, PostParams, Preconditions},
    core::{ApiResource, Request},
};
use serde_json::Value;

/// The field manager of everything that is applied; upstream's, so that either can take over from the other.
pub(super) const FIELD_MANAGER: &str = "trainer";

/// The API server.
#[derive(Clone)]
pub(super) struct Cluster {
    pub(super) client: Client,
}

/// An object by its place: kind, namespace (none for what lives in none) and name.
#[derive(Clone, Copy)]
pub(super) struct At<'a> {
    pub(super) resource: &'a ApiResource,
    pub(super) namespace: Option<&'a str>,
    pub(super) name: &'a str,
}

impl At<'_> {
    fn request(&self) -> Request {
        Request::new(DynamicObject::url_path(self.resource, self.namespace))
    }
}

type Built = Result<http::Request<Vec<u8>>, kube::core::request::Error>;

impl Cluster {
    /// The object, if it exists.
    pub(super) async fn get(&self, at: At<'_>) -> Result<Option<Value>, Error> {
        match self.send(at.request().get(at.name, &GetParams::default())).await {
            Ok(object) => Ok(Some(object)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Applies `object`, taking every field in it; returns it as it is stored.
    pub(super) async fn apply(&self, at: At<'_>, object: &Value) -> Result<Value, Error> {
        let params = PatchParams::apply(FIELD_MANAGER).force();
        self.send(at.request().patch(at.name, &params, &Patch::Apply(object))).await
    }

    /// Merges `patch` into the object; returns it as it is stored.
    pub(super) async fn merge(&self, at: At<'_>, patch: &Value) -> Result<Value, Error> {
        self.send(at.request().patch(at.name, &manager(), &Patch::Merge(patch))).await
    }

    /// Changes the object as `patch`, a list of operations, says.
    pub(super) async fn json_patch(&self, at: At<'_>, patch: &Value) -> Result<Value, Error> {
        let collection = DynamicObject::url_path(at.resource, at.namespace);
        let url = format!("{collection}/{}?fieldManager={FIELD_MANAGER}", at.name);
        let request =
            http::Request::patch(url).header(http::header::CONTENT_TYPE, "application/json-patch+json");
        let request = request.body(patch.to_string().into_bytes());
        self.send(request.map_err(kube::core::request::Error::BuildRequest)).await
    }

    /// Merges `patch` into the object's status; returns the object as it is stored.
    pub(super) async fn merge_status(&self, at: At<'_>, patch: &Value) -> Result<Value, Error> {
        self.send(at.request().patch_subresource("status", at.name, &manager(), &Patch::Merge(patch))).await
    }

    /// Creates an object.
    pub(super) async fn create(&self, at: At<'_>, object: &Value) -> Result<Value, Error> {
        let params = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
        self.send(at.request().create(&params, object.to_string().into_bytes())).await
    }

    /// Deletes the object if it still is the one with that UID; what it owns goes too. Fine if it is gone.
    pub(super) async fn delete(&self, at: At<'_>, uid: Option<&str>) -> Result<(), Error> {
        let preconditions = Preconditions { uid: uid.map(str::to_owned), resource_version: None };
        let params = DeleteParams::background().preconditions(preconditions);
        match self.send(at.request().delete(at.name, &params)).await {
            Ok(_) => Ok(()),
            Err(error) if error.is_not_found() => Ok(()),
            Err(error) => Err(error),
        }
    }

    async fn send(&self, request: Built) -> Result<Value, Error> {
        let request = request.map_err(kube::Error::BuildRequest)?;
        match tokio::time::timeout(REQUEST_LIMIT, self.client.request::<Value>(request)).await {
            Ok(answer) => Ok(answer?),
            Err(_) => Err(Error::Late),
        }
    }
}

fn manager() -> PatchParams {
    PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() }
}
