//! The webhooks of the controller under test: a certificate for it, and the configurations as they are shipped, pointed at
//! it.

use std::fs;
use std::path::{Path, PathBuf};

use kube::Client;

use super::{ControlPlane, Error, manifests};

/// Upstream's configuration file, as far as it says who brings the certificate.
const CONFIGURATION: &str = "apiVersion: config.trainer.kubeflow.org/v1alpha1\nkind: Configuration\ncertManagement: {enable: false}\n";

impl ControlPlane {
    /// The flags with which a controller serves webhooks on a port of this machine that it logs.
    pub(crate) fn webhook_flags(&self) -> Result<[String; 6], Error> {
        let folder = self.folder().join("webhooks");
        self.write_serving_certificate(&folder)?;
        let configuration = folder.join("config.yaml");
        fs::write(&configuration, CONFIGURATION).map_err(Error::Write)?;
        let text = |path: &Path| path.to_string_lossy().into_owned();
        Ok([
            "--webhook-bind-address".to_owned(),
            "127.0.0.1:0".to_owned(),
            "--config".to_owned(),
            text(&configuration),
            "--cert-dir".to_owned(),
            text(&folder),
        ])
    }

    /// Has the API server ask the controller that answers at `port`.
    pub(crate) async fn configure_webhooks(&self, client: &Client, port: u16) -> Result<(), Error> {
        let shipped: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("charts/kustomize/manager.yaml");
        let mut configurations = manifests::read(&shipped)?;
        configurations
            .retain(|it| it["kind"].as_str().is_some_and(|kind| kind.ends_with("WebhookConfiguration")));
        manifests::point_webhooks(&mut configurations, port, &self.authority());
        Ok(manifests::apply(client, &configurations).await?)
    }
}
