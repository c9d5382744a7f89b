//! What the tests on a control plane share.

use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use kube::Client;
use kube::api::{Api, DynamicObject};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::Value;

use crate::testbed::{ADMIN, ControlPlane, Options};

/// How long something may take that must come. Only a failing test waits so long.
const LIMIT: Duration = Duration::from_mins(1);

/// The control plane that the tests share, with everything in it. It ends with the test run.
pub(crate) fn control_plane() -> &'static ControlPlane {
    static SHARED: LazyLock<Result<ControlPlane, String>> =
        LazyLock::new(|| ControlPlane::start(&everything()).map_err(|error| chain(&error)));
    match &*SHARED {
        Ok(control_plane) => control_plane,
        Err(error) => panic!("no control plane: {error}"),
    }
}

/// Everything, our CRDs among it.
pub(crate) fn everything() -> Options {
    Options { manifests: vec![crds()], ..Options::default() }
}

/// Where our CRDs are.
pub(crate) fn crds() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("charts/trainmaster/crds")
}

/// A client of the shared control plane and a new namespace there for the test `name`.
pub(crate) async fn namespace(name: &str) -> (Client, String) {
    let control_plane = control_plane();
    let client = control_plane.client(ADMIN).await.unwrap_or_else(|error| panic!("{}", chain(&error)));
    control_plane.namespace(&client, name).await.unwrap_or_else(|error| panic!("{}", chain(&error)));
    (client, name.to_owned())
}

/// Objects of a kind that has no Rust type here.
pub(crate) fn objects(
    client: &Client,
    namespace: &str,
    group: &str,
    version: &str,
    kind: &str,
) -> Api<DynamicObject> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    Api::namespaced_with(client.clone(), namespace, &resource)
}

/// Objects of a kind of ours that live in no namespace.
pub(crate) fn cluster_objects(client: &Client, kind: &str) -> Api<DynamicObject> {
    let gvk = GroupVersionKind::gvk(trainmaster::api::GROUP, trainmaster::api::VERSION, kind);
    Api::all_with(client.clone(), &ApiResource::from_gvk(&gvk))
}

/// A YAML or JSON text as an object.
pub(crate) fn object(value: Value) -> DynamicObject {
    serde_json::from_value(value).expect("an object has apiVersion, kind and metadata")
}

/// Polls until `found` gives something and returns it; fails when that takes more than a minute.
pub(crate) async fn eventually<T>(what: &str, found: impl AsyncFn() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(value) = found().await {
            return value;
        }
        assert!(started.elapsed() < LIMIT, "never: {what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// The status of the condition `kind` of an object, if it has that condition.
pub(crate) fn condition<'a>(object: &'a DynamicObject, kind: &str) -> Option<&'a str> {
    let conditions = object.data["status"]["conditions"].as_array()?;
    conditions.iter().find(|condition| condition["type"] == kind)?["status"].as_str()
}

/// An error with all its causes.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        _ = write!(text, ": {cause}");
        source = cause.source();
    }
    text
}
