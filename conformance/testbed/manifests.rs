//! YAML files onto the API server.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Client;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::core::{GroupVersionKind, TypeMeta};
use kube::discovery::{Scope, pinned_kind};
use serde_json::{Value, json};

/// How long the API server may take to serve a CRD.
const ESTABLISHED_LIMIT: Duration = Duration::from_secs(30);

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{} is not YAML", path.display())]
    Yaml { path: PathBuf, source: Box<serde_saphyr::Error> },
    #[error("an object without apiVersion, kind or metadata.name: {0}")]
    NoObject(String),
    #[error("the API server does not serve {kind} of {api_version}")]
    NotServed { api_version: String, kind: String, source: Box<kube::Error> },
    #[error("cannot apply {kind} {name}")]
    Apply { kind: String, name: String, source: Box<kube::Error> },
    #[error("CustomResourceDefinition {0} was not established after {limit} s", limit = ESTABLISHED_LIMIT.as_secs())]
    NotEstablished(String),
}

/// The documents of a YAML file, empty ones left out.
pub(crate) fn read(path: &Path) -> Result<Vec<Value>, Error> {
    let text = fs::read_to_string(path).map_err(|source| Error::Read { path: path.to_owned(), source })?;
    let documents: Vec<Value> = serde_saphyr::from_multiple(&text)
        .map_err(|source| Error::Yaml { path: path.to_owned(), source: Box::new(source) })?;
    Ok(documents.into_iter().filter(|document| !document.is_null()).collect())
}

/// The documents of all `paths`: files, and in folders those that end in .yaml, in the order of their names.
pub(crate) fn read_all(paths: &[PathBuf]) -> Result<Vec<Value>, Error> {
    let mut documents = Vec::new();
    for path in paths {
        for file in files(path).map_err(|source| Error::Read { path: path.clone(), source })? {
            documents.extend(read(&file)?);
        }
    }
    Ok(documents)
}

fn files(path: &Path) -> io::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "yaml"));
    files.sort();
    Ok(files)
}

/// Points webhook configurations that were made for a Service in the cluster at `port` of this machine, where a server
/// answers whose certificate `authority` (PEM) vouches for.
pub(crate) fn point_webhooks(configurations: &mut [Value], port: u16, authority: &str) {
    let bundle = STANDARD.encode(authority);
    for webhook in configurations.iter_mut().filter_map(|item| item["webhooks"].as_array_mut()).flatten() {
        let path = webhook["clientConfig"]["service"]["path"].as_str().unwrap_or_default();
        let url = format!("https://127.0.0.1:{port}{path}");
        webhook["clientConfig"] = json!({ "url": url, "caBundle": bundle });
    }
}

/// Applies objects in their order, server-side, but CRDs first, and the others once these are served; a namespaced one that
/// names no namespace goes to `default`.
pub(crate) async fn apply(client: &Client, objects: &[Value]) -> Result<(), Error> {
    let is_crd = |object: &&Value| object["kind"] == "CustomResourceDefinition";
    let (crds, others): (Vec<_>, Vec<_>) = objects.iter().partition(is_crd);
    for crd in &crds {
        apply_one(client, crd).await?;
    }
    for crd in crds {
        established(client, crd["metadata"]["name"].as_str().unwrap_or_default()).await?;
    }
    for object in others {
        apply_one(client, object).await?;
    }
    Ok(())
}

async fn apply_one(client: &Client, object: &Value) -> Result<(), Error> {
    let text =
        |value: &Value| value.as_str().map(str::to_owned).ok_or_else(|| Error::NoObject(object.to_string()));
    let (api_version, kind) = (text(&object["apiVersion"])?, text(&object["kind"])?);
    let name = text(&object["metadata"]["name"])?;
    let types = TypeMeta { api_version: api_version.clone(), kind: kind.clone() };
    let gvk = GroupVersionKind::try_from(&types).map_err(|_| Error::NoObject(object.to_string()))?;
    let not_served = |source| Error::NotServed { api_version, kind: kind.clone(), source: Box::new(source) };
    let (resource, capabilities) = pinned_kind(client, &gvk).await.map_err(not_served)?;
    let api: Api<DynamicObject> = match capabilities.scope {
        Scope::Cluster => Api::all_with(client.clone(), &resource),
        Scope::Namespaced => {
            let namespace = object["metadata"]["namespace"].as_str().unwrap_or("default");
            Api::namespaced_with(client.clone(), namespace, &resource)
        }
    };
    let applied = api.patch(&name, &PatchParams::apply("testbed").force(), &Patch::Apply(object)).await;
    applied.map(drop).map_err(|source| Error::Apply { kind, name, source: Box::new(source) })
}

async fn established(client: &Client, name: &str) -> Result<(), Error> {
    let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
    let started = Instant::now();
    while started.elapsed() < ESTABLISHED_LIMIT {
        let conditions = crds.get(name).await.ok().and_then(|crd| crd.status?.conditions).unwrap_or_default();
        if conditions.iter().any(|condition| condition.type_ == "Established" && condition.status == "True") {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Err(Error::NotEstablished(name.to_owned()))
}
