//! Upstream's controller, to compare with and to take over from: [`ControlPlane::start_peer`].

use std::net::TcpListener;
use std::process::Command;

use serde_json::json;

use super::programs::JOBSET_CERTIFICATES;
use super::users::write_private;
use super::{ControlPlane, Error, Process};

/// The user that it is; one of [`Options::users`](super::Options::users).
pub(crate) const PEER: &str = "peer";

impl ControlPlane {
    /// Starts upstream's controller, which is built first if it must be. It works as soon as it has listed everything;
    /// its webhooks answer, but nobody is told to ask them. The CRDs must be there.
    pub(crate) fn start_peer(&self) -> Result<Process, Error> {
        self.assets.ensure(&["upstream"])?;
        self.write_serving_certificate(&self.group.temporary(PEER).join(JOBSET_CERTIFICATES))?;
        let listener = TcpListener::bind(("127.0.0.1", 0)).map_err(Error::Port)?;
        let port = listener.local_addr().map_err(Error::Port)?.port();
        drop(listener);
        let config = json!({
            "apiVersion": "config.trainer.kubeflow.org/v1alpha1",
            "kind": "Configuration",
            "webhook": { "host": "127.0.0.1", "port": port },
            "metrics": { "bindAddress": "0" },
            "health": { "healthProbeBindAddress": "0" },
            "certManagement": { "enable": false },
            "clientConnection": { "qps": 500, "burst": 1000 },
        });
        let path = self.folder().join("peer.json");
        write_private(&path, &format!("{config:#}\n")).map_err(Error::Write)?;
        let mut command = Command::new(self.assets.path("upstream")?);
        command.arg("--config").arg(path).arg("--kubeconfig").arg(self.kubeconfig(PEER));
        self.run(PEER, command)
    }
}
