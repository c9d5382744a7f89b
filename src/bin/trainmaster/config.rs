//! The controller's configuration file: upstream's `Configuration`, of which unknown fields are errors.
//!
//! [`parse`] reads it; `config.json` beside this file says what there is. What later versions will serve is read and
//! checked now, and [`Settings::unserved`] names it.

use crate::serving::TlsSettings;
use std::sync::LazyLock;
use trainmaster::{
    diagnostic::{Diagnostic, Place, Source, Span, codes, sort},
    object::path::Step as PathStep,
    schema::{FieldError, Schemas, Shape, TypeId, validate},
    yaml::{self, Node, Step},
};

/// The only feature gate that upstream has.
const GATES: [&str; 1] = ["TrainJobStatus"];
/// The key of `groupKindConcurrency` that counts here.
const TRAIN_JOB: &str = "TrainJob.trainer.kubeflow.org";
/// Where webhooks are answered unless the file says otherwise.
const WEBHOOK_PORT: i64 = 9443;

/// What the file says, with upstream's defaults where it says nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Settings {
    /// `health.healthProbeBindAddress`.
    pub(crate) health: Option<String>,
    /// `webhook.host` and `.port`, as one address.
    pub(crate) webhook: Option<String>,
    /// `certManagement`.
    pub(crate) certificates: Certificates,
    /// `tls`.
    pub(crate) tls: TlsSettings,
    /// How many TrainJobs may be looked at at a time.
    pub(crate) concurrency: Option<usize>,
    /// The parts that are set and that nothing serves yet.
    pub(crate) unserved: Vec<&'static str>,
}

/// The configuration's `certManagement`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Certificates {
    /// Whether certificates are made here.
    pub(crate) enable: bool,
    /// The Service by whose name clients know the servers.
    pub(crate) service: String,
    /// The Secret that holds the certificate.
    pub(crate) secret: String,
}

impl Default for Certificates {
    fn default() -> Self {
        Certificates {
            enable: true,
            service: "kubeflow-trainer-controller-manager".to_owned(),
            secret: "kubeflow-trainer-webhook-cert".to_owned(),
        }
    }
}

/// The settings of a configuration file; otherwise everything that is wrong with it, in order.
pub(crate) fn parse(source: &Source) -> Result<Settings, Vec<Diagnostic>> {
    let (documents, mut diagnostics) = yaml::parse(source);
    let [document] = documents.as_slice() else {
        if diagnostics.is_empty() {
            let message = "a configuration file holds one document";
            diagnostics.push(Diagnostic::error(codes::YAML_VALUE, source.span(0..0), message));
        }
        return Err(diagnostics);
    };
    let Some((schemas, ty)) = &*SCHEMA else { return Err(diagnostics) };
    unknown(schemas, *ty, document, &mut diagnostics);
    let errors = validate(schemas, *ty, &document.to_json(), None);
    diagnostics.extend(errors.iter().map(|error| refused(document, error)));
    for entry in document.get("featureGates").and_then(Node::as_map).into_iter().flatten() {
        if let Err(diagnostic) = gate(&entry.key, entry.key_span.clone().into()) {
            diagnostics.push(*diagnostic);
        }
    }
    sort(&mut diagnostics);
    if diagnostics.is_empty() { Ok(settings(document)) } else { Err(diagnostics) }
}

/// Checks `--feature-gates`: `NAME=true,NAME=false`. Returns those that are on.
pub(crate) fn gates(text: &str) -> Result<Vec<String>, Box<Diagnostic>> {
    let mut on = Vec::new();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        match part.split_once('=') {
            Some((name, value @ ("true" | "false"))) => {
                gate(name, Place::Nowhere)?;
                on.extend((value == "true").then(|| name.to_owned()));
            }
            _ => {
                let message = format!("`{part}` is no feature gate with a value: NAME=true or NAME=false");
                return Err(Box::new(Diagnostic::error(codes::YAML_VALUE, Place::Nowhere, message)));
            }
        }
    }
    Ok(on)
}

fn gate(name: &str, place: Place) -> Result<(), Box<Diagnostic>> {
    if GATES.contains(&name) {
        return Ok(());
    }
    let diagnostic =
        Diagnostic::error(codes::UNKNOWN_WORD, place, format!("there is no feature gate `{name}`"));
    Err(Box::new(diagnostic.help(format!("known feature gates: {}", GATES.join(", ")))))
}

/// The types of the file. A test holds that they can be read.
static SCHEMA: LazyLock<Option<(Schemas, TypeId)>> = LazyLock::new(|| {
    let schemas = Schemas::load(&[include_str!("config.json")]).ok()?;
    let ty = schemas.named("config.trainer.kubeflow.org/v1alpha1.Configuration")?;
    Some((schemas, ty))
});

/// Says which fields there are not. The types are not recursive, so neither goes this deep.
fn unknown(schemas: &Schemas, ty: TypeId, node: &Node, diagnostics: &mut Vec<Diagnostic>) {
    let (Shape::Object(object), Some(entries)) = (&schemas.get(ty).shape, node.as_map()) else { return };
    for entry in entries {
        match object.field(&entry.key) {
            Some(field) => unknown(schemas, field.ty, &entry.value, diagnostics),
            None => {
                let message = format!("there is no field `{}` here", entry.key);
                let names = object.fields.iter().map(|field| field.name.as_ref());
                let diagnostic = Diagnostic::error(codes::UNKNOWN_FIELD, entry.key_span.clone(), message);
                diagnostics.push(diagnostic.did_you_mean(&entry.key, names));
            }
        }
    }
}

fn refused(document: &Node, error: &FieldError) -> Diagnostic {
    let steps = error.path.steps().iter().filter_map(|step| match step {
        PathStep::Field(name) | PathStep::Key(name) => Some(Step::Key(name)),
        PathStep::Index(index) => Some(Step::Index(*index)),
        PathStep::Item(_) => None,
    });
    let span: Span = document.nearest(steps).0.span.clone();
    Diagnostic::error(codes::REFUSED_FIELD, span, format!("{}: {}", error.path, error.message()))
}

fn settings(document: &Node) -> Settings {
    let concurrency = at(document, "controller.groupKindConcurrency").and_then(|it| it.get(TRAIN_JOB));
    let later = ["leaderElection", "metrics", "clientConnection", "statusServer", "featureGates"];
    Settings {
        health: text(document, "health.healthProbeBindAddress"),
        concurrency: concurrency.and_then(Node::as_i64).and_then(|it| usize::try_from(it).ok()),
        webhook: webhook(document),
        certificates: certificates(document),
        tls: tls(document),
        unserved: later.into_iter().filter(|name| document.get(name).is_some()).collect(),
    }
}

fn webhook(document: &Node) -> Option<String> {
    let host = text(document, "webhook.host");
    let port = at(document, "webhook.port").and_then(Node::as_i64);
    if host.is_none() && port.is_none() {
        return None;
    }
    let host = host.unwrap_or_default();
    let host = if host.contains(':') && !host.starts_with('[') { format!("[{host}]") } else { host };
    Some(format!("{host}:{}", port.unwrap_or(WEBHOOK_PORT)))
}

fn certificates(document: &Node) -> Certificates {
    let Certificates { enable, service, secret } = Certificates::default();
    let name = |path: &str, other| text(document, path).filter(|it| !it.is_empty()).unwrap_or(other);
    Certificates {
        enable: at(document, "certManagement.enable").and_then(Node::as_bool).unwrap_or(enable),
        service: name("certManagement.webhookServiceName", service),
        secret: name("certManagement.webhookSecretName", secret),
    }
}

fn tls(document: &Node) -> TlsSettings {
    let list = |path: &str| {
        let items = at(document, path).and_then(Node::as_list).unwrap_or_default();
        items.iter().filter_map(Node::as_str).map(str::to_owned).collect()
    };
    TlsSettings {
        min_version: text(document, "tls.minVersion").filter(|it| !it.is_empty()),
        cipher_suites: list("tls.cipherSuites"),
        next_protocols: list("tls.nextProtos"),
    }
}

/// What stands at a path of names with points between.
fn at<'n>(document: &'n Node, path: &str) -> Option<&'n Node> {
    path.split('.').try_fold(document, |node, name| node.get(name))
}

fn text(document: &Node, path: &str) -> Option<String> {
    at(document, path)?.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "apiVersion: config.trainer.kubeflow.org/v1alpha1\nkind: Configuration\n";

    fn parsed(text: &str) -> Result<Settings, Vec<String>> {
        let parsed = parse(&Source::new("config.yaml", format!("{HEAD}{text}")));
        let line = |it: &Diagnostic| {
            format!("{} {}", it.place.span().map(ToString::to_string).unwrap_or_default(), it.message)
        };
        parsed.map_err(|diagnostics| diagnostics.iter().map(line).collect())
    }

    #[test]
    fn upstreams_shipped_file_is_read() {
        let text = "
webhook: {port: 9443, host: ''}
leaderElection:
  leaderElect: true
  resourceName: trainer.kubeflow.org
  resourceNamespace: ''
  resourceLock: leases
  leaseDuration: 15s
  renewDeadline: 10s
  retryPeriod: 2s
metrics: {bindAddress: ':8443', secureServing: true}
health: {healthProbeBindAddress: ':8082', readinessEndpointName: readyz, livenessEndpointName: healthz}
controller:
  groupKindConcurrency:
    TrainJob.trainer.kubeflow.org: 5
    TrainingRuntime.trainer.kubeflow.org: 1
certManagement: {enable: true, webhookServiceName: s, webhookSecretName: t}
clientConnection: {qps: 50, burst: 100}
featureGates: {TrainJobStatus: false}
";
        let settings = parsed(text).unwrap();
        assert_eq!((settings.health.as_deref(), settings.concurrency), (Some(":8082"), Some(5)));
        assert_eq!(settings.webhook.as_deref(), Some(":9443"));
        let names = (settings.certificates.service.as_str(), settings.certificates.secret.as_str());
        assert_eq!((settings.certificates.enable, names), (true, ("s", "t")));
        assert_eq!(settings.unserved, ["leaderElection", "metrics", "clientConnection", "featureGates"]);
    }

    #[test]
    fn what_the_file_does_not_say_is_as_upstream_has_it() {
        assert_eq!(parsed("").unwrap(), Settings::default());
        let text = "webhook: {host: 127.0.0.1}\ncertManagement: {enable: false, webhookSecretName: ''}\n\
                    tls: {minVersion: VersionTLS13, cipherSuites: [A], nextProtos: [h2]}\n";
        let settings = parsed(text).unwrap();
        assert_eq!(settings.webhook.as_deref(), Some("127.0.0.1:9443"));
        assert_eq!(settings.certificates, Certificates { enable: false, ..Certificates::default() });
        let tls = TlsSettings {
            min_version: Some("VersionTLS13".to_owned()),
            cipher_suites: vec!["A".to_owned()],
            next_protocols: vec!["h2".to_owned()],
        };
        assert_eq!(settings.tls, tls);
    }

    #[test]
    fn all_mistakes_are_told_with_their_lines() {
        let text = "webhook: {port: 0}\nhelth: {}\ncontroller: {groupKindConcurrency: {a: 0}}\nleaderElection: {leaseDuration: soon}\nfeatureGates: {Other: true}\n";
        let errors = parsed(text).unwrap_err();
        let places: Vec<&str> = errors.iter().map(|it| it.split(' ').next().unwrap()).collect();
        let expected = [
            "config.yaml:3:17",
            "config.yaml:4:1",
            "config.yaml:5:40",
            "config.yaml:6:33",
            "config.yaml:7:16",
        ];
        assert_eq!(places, expected, "{errors:#?}");
    }

    #[test]
    fn no_configuration_is_no_configuration() {
        for text in ["a: 1", "", "- a", "a: [}", "---\n---\n"] {
            assert!(parse(&Source::new("config.yaml", text)).is_err(), "{text}");
        }
    }

    #[test]
    fn feature_gates_are_known_and_have_a_value() {
        assert_eq!(gates("TrainJobStatus=true").unwrap(), ["TrainJobStatus"]);
        assert!(gates("TrainJobStatus=false,").unwrap().is_empty());
        for wrong in ["TrainJobStatus", "Other=true", "TrainJobStatus=yes"] {
            assert!(gates(wrong).is_err(), "{wrong}");
        }
    }
}
