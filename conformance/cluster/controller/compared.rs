//! The controllers that are compared. Both read the same configuration file and answer the same webhooks.

use std::fmt;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use kube::Client;
use kube::api::{Api, DeleteParams, DynamicObject};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};

use crate::support::chain;
use crate::testbed::assets::Assets;
use crate::testbed::{ADMIN, CONTROLLER, ControlPlane, Process, manifests, users};

/// The program and the manifest of upstream's controller.
pub(super) const ASSETS: [&str; 2] = ["upstream", "upstream-webhooks.yaml"];

/// A controller. Its name is also that of its user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Controller {
    Upstream,
    Ours,
}

impl fmt::Display for Controller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Controller::Upstream => "upstream",
            Controller::Ours => CONTROLLER,
        })
    }
}

impl Controller {
    pub(super) const BOTH: [Controller; 2] = [Controller::Upstream, Controller::Ours];

    /// Starts it, and returns when it says that it is ready, with how long that took.
    pub(super) async fn start(self, control_plane: &ControlPlane) -> (Process, Duration) {
        let health = free_port();
        let mut command = self.program();
        command.arg("--config").arg(self.configure(control_plane, health).await);
        command.env("KUBECONFIG", control_plane.kubeconfig(&self.to_string()));
        let started = Instant::now();
        let process = control_plane.run(&self.to_string(), command);
        let mut process = process.unwrap_or_else(|error| panic!("{}", chain(&error)));
        while !is_ready(health) {
            assert!(process.ended().is_none(), "{self} has ended: {}", process.log_tail());
            assert!(
                started.elapsed() < Duration::from_mins(2),
                "{self} is not ready: {}",
                process.log_tail()
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        (process, started.elapsed())
    }

    fn program(self) -> Command {
        match self {
            Controller::Upstream => Command::new(asset(ASSETS[0])),
            Controller::Ours => {
                let program = std::env::var_os("TRAINMASTER_PROGRAM");
                let program = program.unwrap_or_else(|| env!("CARGO_BIN_EXE_trainmaster").into());
                let mut command = Command::new(program);
                command.arg("controller");
                command
            }
        }
    }

    /// Writes what both read: a configuration with the values of upstream's manifests, and a certificate, as cert-manager
    /// would give it. Has the API server ask the webhooks, and returns the configuration's file.
    async fn configure(self, control_plane: &ControlPlane, health: u16) -> PathBuf {
        let webhook = free_port();
        let folder = control_plane.folder().join("tmp").join(self.to_string());
        let serving = folder.join("k8s-webhook-server/serving-certs");
        fs::create_dir_all(&serving).expect("makes a folder");
        control_plane.write_serving_certificate(&serving).expect("writes a certificate");
        let config = json!({
            "apiVersion": "config.trainer.kubeflow.org/v1alpha1",
            "kind": "Configuration",
            "health": { "healthProbeBindAddress": format!("127.0.0.1:{health}") },
            "metrics": { "bindAddress": "0", "secureServing": false },
            "webhook": { "host": "127.0.0.1", "port": webhook },
            "leaderElection": { "leaderElect": false },
            "certManagement": { "enable": false },
            "controller": { "groupKindConcurrency": {
                "TrainJob.trainer.kubeflow.org": 5,
                "TrainingRuntime.trainer.kubeflow.org": 1,
                "ClusterTrainingRuntime.trainer.kubeflow.org": 1,
            } },
            "clientConnection": { "qps": 50, "burst": 100 },
        });
        let path = folder.join("config.json");
        users::write_private(&path, &config.to_string()).expect("writes the configuration");
        let client = control_plane.client(ADMIN).await.expect("has a client");
        let mut webhooks = webhooks();
        manifests::point_webhooks(&mut webhooks, webhook, &control_plane.authority());
        manifests::apply(&client, &webhooks).await.unwrap_or_else(|error| panic!("{}", chain(&error)));
        path
    }
}

fn asset(name: &str) -> PathBuf {
    Assets::from_environment().and_then(|assets| assets.path(name)).expect("has a place")
}

fn webhooks() -> Vec<Value> {
    manifests::read(&asset(ASSETS[1])).expect("is YAML")
}

/// Has the API server ask nobody any more.
pub(super) async fn remove_webhooks(client: &Client) {
    for kind in ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"] {
        let gvk = GroupVersionKind::gvk("admissionregistration.k8s.io", "v1", kind);
        let api: Api<DynamicObject> = Api::all_with(client.clone(), &ApiResource::from_gvk(&gvk));
        for webhook in webhooks().iter().filter(|it| it["kind"] == kind) {
            let name = webhook["metadata"]["name"].as_str().expect("has a name");
            api.delete(name, &DeleteParams::default()).await.expect("was there");
        }
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr()).expect("a port is free").port()
}

fn is_ready(port: u16) -> bool {
    let ask = || {
        let mut stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_read_timeout(Some(Duration::from_secs(1)))?;
        stream.write_all(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        std::io::Result::Ok(answer)
    };
    ask().is_ok_and(|answer| answer.starts_with("HTTP/1.1 200"))
}
