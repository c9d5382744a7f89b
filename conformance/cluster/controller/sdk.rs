//! The kubeflow Python SDK, unchanged, against the controller: `../../sdk/calls.py` has what its users do.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::admission;
use crate::support::everything;
use crate::testbed::{ADMIN, User, manifests};

/// Names the Python that has the SDK; `make sdk` sets it.
const PYTHON: &str = "TRAINMASTER_SDK_PYTHON";
/// By what the SDK knows that there is a control plane, and that its users may read it.
const PUBLIC: &str = "kubeflow-trainer-public";
/// Whom the SDK works for, with the rights of `access.yaml`.
const USER: &str = "scientist";

#[tokio::test]
async fn the_python_sdk_works_unchanged() {
    let Some(python) = std::env::var_os(PYTHON) else {
        // Not by a macro: what those print is kept back.
        let why = "so the Python SDK is not tried; `make sdk` installs it and tries it";
        _ = writeln!(std::io::stderr(), "SKIPPED: {PYTHON} is not set, {why}");
        return;
    };
    let mut options = everything();
    options.users.push(User { name: USER.to_owned(), groups: Vec::new() });
    options.manifests.extend(
        ["charts/trainmaster/runtimes", "charts/kustomize/namespace.yaml", "conformance/sdk/access.yaml"]
            .map(repository),
    );
    options.logs = Some(repository("conformance/sdk/pods.log"));
    let cluster = admission::start(&options).await;
    let manager = manifests::read(&repository("charts/kustomize/manager.yaml")).expect("is YAML");
    let public: Vec<_> = manager.into_iter().filter(|it| it["metadata"]["name"] == PUBLIC).collect();
    manifests::apply(&cluster.client().await, &public).await.expect("applies");
    let mut calls = Command::new(python);
    calls.arg(repository("conformance/sdk/calls.py")).env("PYTHONDONTWRITEBYTECODE", "1");
    calls.env("KUBECONFIG", cluster.control_plane.kubeconfig(USER));
    calls.env("ADMIN_KUBECONFIG", cluster.control_plane.kubeconfig(ADMIN));
    let status = tokio::task::spawn_blocking(move || calls.status()).await.expect("waits for it");
    assert!(status.expect("Python starts").success());
}

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}
