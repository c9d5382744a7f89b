//! Certificates: made, shared, trusted, rotated while requests come in; or brought.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::Client;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::json;

use super::serving_client::{NAME, request};
use super::support::{Cluster, Namespace, WEBHOOKS, api_server, ask};
use crate::support::{chain, eventually, objects};
use crate::testbed::{CONTROLLER, ControlPlane};

const NAMESPACE: &str = "kubeflow-system";
const SECRET: &str = "kubeflow-trainer-webhook-cert";
const CONFIGURATIONS: [(&str, &str); 2] = [
    ("ValidatingWebhookConfiguration", "validator.trainer.kubeflow.org"),
    ("MutatingWebhookConfiguration", "defaulter.trainer.kubeflow.org"),
];
/// Flags of a controller with webhooks on any port that changes over to a new certificate after a second.
const FLAGS: [&str; 4] = [WEBHOOKS, "127.0.0.1:0", "--certificate-overlap", "1"];

fn configurations(client: &Client, kind: &str) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("admissionregistration.k8s.io", "v1", kind);
    Api::all_with(client.clone(), &ApiResource::from_gvk(&kind))
}

/// Creates the webhook configurations, which match nothing here: who calls is the test.
pub(super) async fn configure(namespace: &Namespace, bundle: Option<&str>) {
    for (kind, name) in CONFIGURATIONS {
        let service =
            json!({ "name": "kubeflow-trainer-controller-manager", "namespace": NAMESPACE, "path": "/x" });
        let mut client_config = json!({ "service": service });
        if let Some(bundle) = bundle {
            client_config["caBundle"] = json!(STANDARD.encode(bundle));
        }
        let webhook = |name: &str| {
            json!({
                "name": name, "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": "Fail",
                "clientConfig": client_config,
                "rules": [{ "apiGroups": ["nobody.example.dev"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["nothings"] }],
            })
        };
        let value = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": { "name": name },
            "webhooks": [webhook("one.trainer.kubeflow.org"), webhook("two.trainer.kubeflow.org")],
        });
        namespace.create(&configurations(&namespace.client, kind), value).await;
    }
}

/// The bundles of all webhooks, in their order.
async fn bundles(client: &Client) -> Vec<Vec<u8>> {
    let mut bundles = Vec::new();
    for (kind, name) in CONFIGURATIONS {
        let configuration = configurations(client, kind).get(name).await.expect("is there");
        for webhook in configuration.data["webhooks"].as_array().expect("is a list") {
            let text = webhook["clientConfig"]["caBundle"].as_str().unwrap_or_default();
            bundles.push(STANDARD.decode(text).expect("is base64"));
        }
    }
    bundles
}

async fn set_bundle(client: &Client, (kind, name): (&str, &str), index: usize, bundle: &str) {
    let field = format!("/webhooks/{index}/clientConfig/caBundle");
    let patch = json!([{ "op": "add", "path": field, "value": STANDARD.encode(bundle) }]);
    let patch = Patch::<()>::Json(serde_json::from_value(patch).expect("is a patch"));
    let patched = configurations(client, kind).patch(name, &PatchParams::default(), &patch).await;
    patched.unwrap_or_else(|error| panic!("{}", chain(&error)));
}

/// The parts of the Secret, once it has a certificate other than `old`.
async fn secret(client: &Client, old: &str) -> (String, String, DynamicObject) {
    let secrets = objects(client, NAMESPACE, "", "v1", "Secret");
    eventually("the Secret has a certificate", async || {
        let secret = secrets.get_opt(SECRET).await.expect("answers")?;
        let part = |name: &str| {
            let bytes = STANDARD.decode(secret.data["data"][name].as_str()?).ok()?;
            String::from_utf8(bytes).ok()
        };
        let (authorities, certificate) = (part("ca.crt")?, part("tls.crt")?);
        (certificate != old).then_some((authorities, certificate, secret))
    })
    .await
}

fn der(pem: &str) -> CertificateDer<'static> {
    CertificateDer::from_pem_slice(pem.as_bytes()).expect("is a certificate")
}

/// What the server shows to a client that trusts `bundle`.
async fn shown(bundle: &[u8], address: &str) -> std::io::Result<CertificateDer<'static>> {
    let answer = request(bundle, address, "POST /nothing HTTP/1.1", b"{}").await?;
    assert_eq!((answer.status, answer.body.as_str()), (404, "there is no webhook /nothing\n"));
    Ok(answer.certificate)
}

/// An authority of the test's own.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().expect("draws")).expect("signs"))
    }

    /// A certificate and its key that are good for some days to come.
    fn issue(&self, days: i64) -> (String, String) {
        let mut params = CertificateParams::new([NAME.to_owned()]).expect("is a name");
        let now =
            time::OffsetDateTime::from_unix_timestamp(jiff::Timestamp::now().as_second()).expect("is a time");
        params.not_before = now - time::Duration::days(1);
        params.not_after = now + time::Duration::days(days);
        let key = KeyPair::generate().expect("draws");
        (params.signed_by(&key, &self.0).expect("signs").pem(), key.serialize_pem())
    }
}

async fn begin() -> (Cluster, Namespace) {
    let cluster = Cluster::without_controller(&api_server()).with_flags(FLAGS);
    let namespace = cluster.namespace(NAMESPACE).await;
    (cluster, namespace)
}

#[tokio::test]
async fn the_certificate_is_in_the_secret_shared_and_trusted_again_when_overwritten() {
    let (mut cluster, namespace) = begin().await;
    let client = &namespace.client;
    // As the chart leaves it.
    let empty = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": SECRET, "labels": { "chart": "its" } } });
    namespace.create(&objects(client, NAMESPACE, "", "v1", "Secret"), empty).await;
    configure(&namespace, None).await;
    cluster.start_controller().await;
    let (webhooks, health) =
        (cluster.address("webhooks").await, cluster.address("/healthz and /readyz").await);
    let ready = async || (ask(&health, "/readyz") == "HTTP/1.1 200 OK").then_some(());
    eventually("it is ready", ready).await;
    let (authority, certificate, stored) = secret(client, "").await;
    assert_eq!(
        stored.metadata.labels.as_ref().and_then(|it| it.get("chart")).map(String::as_str),
        Some("its")
    );
    assert_eq!(stored.data["data"]["ca.key"], json!(null), "nobody can sign another one");
    assert_eq!(bundles(client).await, vec![authority.clone().into_bytes(); 4]);
    assert_eq!(shown(authority.as_bytes(), &webhooks).await.expect("answers"), der(&certificate));

    let other = Authority::new().0.pem();
    for configuration in CONFIGURATIONS {
        set_bundle(client, configuration, 0, &other).await;
        eventually("the bundle is put right", async || {
            (bundles(client).await == vec![authority.clone().into_bytes(); 4]).then_some(())
        })
        .await;
    }
    eventually("it is ready", ready).await;

    // A second replica finds all as it should be.
    let before = cluster.mark();
    let mut replica = replica(&cluster.control_plane);
    let log = replica.log().to_owned();
    eventually("the second one serves", async || {
        fs::read_to_string(&log).expect("has a log").contains("serving a certificate").then_some(())
    })
    .await;
    assert_eq!(cluster.writes(before), []);
    assert!(replica.terminate().expect("ends").success());

    // It answers for a moment after it was told to stop, but does not want to be asked.
    cluster.controller().ask_to_stop().expect("is asked");
    cluster.logged("asked to stop").await;
    assert_eq!(ask(&health, "/readyz"), "HTTP/1.1 503 Service Unavailable");
    shown(authority.as_bytes(), &webhooks).await.expect("answers");
    assert!(cluster.controller().terminate().expect("ends").success());
}

fn replica(control_plane: &ControlPlane) -> crate::testbed::Process {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trainmaster"));
    command.arg("controller").arg("--kubeconfig").arg(control_plane.kubeconfig(CONTROLLER));
    command.args(["--health-bind-address", "127.0.0.1:0"]).args(FLAGS);
    control_plane.run("replica", command).unwrap_or_else(|error| panic!("{}", chain(&error)))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_that_ends_soon_is_made_anew_and_no_request_fails() {
    let (mut cluster, namespace) = begin().await;
    let client = namespace.client.clone();
    configure(&namespace, None).await;
    cluster.start_controller().await;
    let webhooks = cluster.address("webhooks").await;
    cluster.logged("serving a certificate").await;
    let (_, first, stored) = secret(&client, "").await;

    let (end, requests) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU32::new(0)));
    let asking = tokio::spawn({
        let (client, webhooks, end, requests) =
            (client.clone(), webhooks.clone(), Arc::clone(&end), Arc::clone(&requests));
        async move {
            while !end.load(Ordering::Relaxed) {
                let trusted = bundles(&client).await;
                // It takes the API server a moment to hear that it is to trust somebody else.
                let begun = Instant::now();
                while begun.elapsed() < Duration::from_millis(500) {
                    for bundle in &trusted {
                        shown(bundle, &webhooks).await.expect("every request is answered");
                        requests.fetch_add(1, Ordering::Relaxed);
                    }
                }
            }
        }
    });
    // As if time had passed: what is in the Secret is good, but not for long.
    let authority = Authority::new();
    let (old, key) = authority.issue(30);
    let mut data = stored.data.clone();
    for (name, text) in [("ca.crt", authority.0.pem()), ("tls.crt", old.clone()), ("tls.key", key)] {
        data["data"][name] = json!(STANDARD.encode(text));
    }
    let secrets = objects(&client, NAMESPACE, "", "v1", "Secret");
    namespace.merge(&secrets, SECRET, &json!({ "data": data["data"] })).await;
    let (authorities, second, _) = eventually("it is made anew", async || {
        let found = secret(&client, &old).await;
        (found.1 != first).then_some(found)
    })
    .await;
    eventually("the new one is served", async || {
        let now = shown(authorities.as_bytes(), &webhooks).await.ok()?;
        (now == der(&second)).then_some(())
    })
    .await;
    let so_far = requests.load(Ordering::Relaxed);
    eventually("requests go on", async || {
        (requests.load(Ordering::Relaxed) > so_far + 20 || asking.is_finished()).then_some(())
    })
    .await;
    end.store(true, Ordering::Relaxed);
    asking.await.expect("no request failed");
    println!("{} requests while the certificate was made anew", requests.load(Ordering::Relaxed));
}

#[tokio::test]
async fn a_brought_certificate_is_served_when_it_is_trusted_and_read_again_when_it_changes() {
    let (cluster, namespace) = begin().await;
    let folder = cluster.control_plane.folder().join("brought");
    fs::create_dir_all(&folder).expect("makes a folder");
    let config = folder.join("config.yaml");
    let text = "apiVersion: config.trainer.kubeflow.org/v1alpha1\nkind: Configuration\ncertManagement: {enable: false}\n";
    fs::write(&config, text).expect("writes");
    let write = |(certificate, key): &(String, String)| {
        let file = |name: &str, text: &str| fs::write(Path::new(&folder).join(name), text).expect("writes");
        file("tls.crt", certificate);
        file("tls.key", key);
    };
    let (authority, other) = (Authority::new(), Authority::new());
    let (first, second) = (authority.issue(30), authority.issue(60));
    write(&first);
    configure(&namespace, Some(&other.0.pem())).await;
    let path = |path: &Path| path.to_str().expect("is text").to_owned();
    let (config, folder) = (path(&config), path(&folder));
    let mut cluster = cluster.with_flags([
        WEBHOOKS,
        "127.0.0.1:0",
        "--certificate-overlap",
        "1",
        "--config",
        &config,
        "--cert-dir",
        &folder,
    ]);
    cluster.start_controller().await;
    let (webhooks, health) =
        (cluster.address("webhooks").await, cluster.address("/healthz and /readyz").await);
    assert_eq!(ask(&health, "/readyz"), "HTTP/1.1 503 Service Unavailable", "nobody trusts it");

    for configuration in CONFIGURATIONS {
        for index in [0, 1] {
            set_bundle(&namespace.client, configuration, index, &authority.0.pem()).await;
        }
    }
    let bundle = authority.0.pem().into_bytes();
    eventually("it is ready", async || (ask(&health, "/readyz") == "HTTP/1.1 200 OK").then_some(())).await;
    assert_eq!(shown(&bundle, &webhooks).await.expect("answers"), der(&first.0));
    write(&second);
    eventually("the new one is served", async || {
        (shown(&bundle, &webhooks).await.expect("answers") == der(&second.0)).then_some(())
    })
    .await;
    let secrets = objects(&namespace.client, NAMESPACE, "", "v1", "Secret");
    assert!(secrets.get_opt(SECRET).await.expect("answers").is_none(), "no certificate was made");
}
