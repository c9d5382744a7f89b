//! The controller's configuration file: upstream's `Configuration`, of which unknown fields are errors.
//!
//! [`parse`] reads it; `config.json` beside this file says what there is. What later versions will serve is read and
//! checked now, and [`Settings::unserved`] names it.

use crate::{gates, serving::TlsSettings};
use std::{collections::BTreeSet, sync::LazyLock, time::Duration};
use trainmaster::{
    diagnostic::{Diagnostic, Source, Span, codes, sort},
    object::path::Step as PathStep,
    schema::{FieldError, Schemas, Shape, TypeId, validate},
    yaml::{self, Node, Step},
};

/// The key of `groupKindConcurrency` that counts here.
const TRAIN_JOB: &str = "TrainJob.trainer.kubeflow.org";
/// Where webhooks are answered unless the file says otherwise.
const WEBHOOK_PORT: i64 = 9443;
/// Where metrics are unless the file says otherwise.
const METRICS: &str = ":8443";

/// What the file says, with upstream's defaults where it says nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Settings {
    /// `health.healthProbeBindAddress`.
    pub(crate) health: Option<String>,
    /// `metrics.bindAddress`; none without a file.
    pub(crate) metrics: Option<String>,
    /// Whether `metrics.secureServing` says that they are not served over TLS.
    pub(crate) plain_metrics: bool,
    /// `webhook.host` and `.port`, as one address.
    pub(crate) webhook: Option<String>,
    /// `certManagement`.
    pub(crate) certificates: Certificates,
    /// `tls`.
    pub(crate) tls: TlsSettings,
    /// `statusServer.port`, which the Service has too.
    pub(crate) status_port: Option<u16>,
    /// The address of the progress server, that port everywhere.
    pub(crate) progress: Option<String>,
    /// `leaderElection`, if it is on.
    pub(crate) election: Option<LeaderElection>,
    /// The `featureGates` that are on.
    pub(crate) gates: BTreeSet<String>,
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

/// The configuration's `leaderElection`; of what is missing, the values that upstream ships.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LeaderElection {
    /// The Lease, and its namespace: the controller's own if empty.
    pub(crate) name: String,
    pub(crate) namespace: String,
    /// How long others wait for a leader of whom nothing is heard.
    pub(crate) lease_duration: Duration,
    /// How long the leader tries to renew before it gives up.
    pub(crate) renew_deadline: Duration,
    /// How often it is tried.
    pub(crate) retry_period: Duration,
}

impl Default for LeaderElection {
    fn default() -> Self {
        LeaderElection {
            name: "trainer.kubeflow.org".to_owned(),
            namespace: String::new(),
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
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
        if let Err(diagnostic) = gates::check(&entry.key, entry.key_span.clone().into()) {
            diagnostics.push(*diagnostic);
        }
    }
    diagnostics.extend(impatient(document));
    sort(&mut diagnostics);
    if diagnostics.is_empty() { Ok(settings(document)) } else { Err(diagnostics) }
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
    let status_port = at(document, "statusServer.port").and_then(Node::as_i64);
    let later = ["clientConnection"];
    let mut unserved: Vec<&str> = later.into_iter().filter(|name| document.get(name).is_some()).collect();
    let flag = |path: &str| at(document, path).and_then(Node::as_bool);
    // What is to be told to some alone must not be told to all.
    let asks_who = flag("metrics.auth.enabled") == Some(true);
    unserved.extend(asks_who.then_some("metrics.auth"));
    let address = text(document, "metrics.bindAddress").filter(|it| !it.is_empty());
    Settings {
        health: text(document, "health.healthProbeBindAddress"),
        concurrency: concurrency.and_then(Node::as_i64).and_then(|it| usize::try_from(it).ok()),
        webhook: webhook(document),
        certificates: certificates(document),
        tls: tls(document),
        status_port: status_port.and_then(|it| u16::try_from(it).ok()),
        progress: status_port.map(|port| format!(":{port}")),
        election: at(document, "leaderElection.leaderElect")
            .and_then(Node::as_bool)
            .filter(|is_on| *is_on)
            .map(|_| election(document)),
        gates: gates(document),
        metrics: (!asks_who).then(|| address.unwrap_or_else(|| METRICS.to_owned())),
        plain_metrics: flag("metrics.secureServing") == Some(false),
        unserved,
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

fn election(document: &Node) -> LeaderElection {
    let default = LeaderElection::default();
    let time = |name: &str| duration(at(document, "leaderElection")?.get(name)?.as_str()?);
    LeaderElection {
        name: text(document, "leaderElection.resourceName")
            .filter(|it| !it.is_empty())
            .unwrap_or(default.name),
        namespace: text(document, "leaderElection.resourceNamespace").unwrap_or_default(),
        lease_duration: time("leaseDuration").unwrap_or(default.lease_duration),
        renew_deadline: time("renewDeadline").unwrap_or(default.renew_deadline),
        retry_period: time("retryPeriod").unwrap_or(default.retry_period),
    }
}

/// Two could lead at a time, or nobody in time, if these did not follow each other.
fn impatient(document: &Node) -> Option<Diagnostic> {
    let LeaderElection { lease_duration, renew_deadline, retry_period, .. } = election(document);
    let is_well = lease_duration.as_secs() > 0
        && lease_duration > renew_deadline
        && renew_deadline > retry_period
        && !retry_period.is_zero();
    let message =
        "leaderElection: leaseDuration must be longer than renewDeadline, and that than retryPeriod";
    let span = || at(document, "leaderElection").map_or(document.span.clone(), |it| it.span.clone());
    (!is_well).then(|| Diagnostic::error(codes::REFUSED_FIELD, span(), message))
}

/// A duration as Go writes it: `1m30s`.
fn duration(text: &str) -> Option<Duration> {
    let (mut rest, mut whole) = (text, Duration::ZERO);
    while !rest.is_empty() {
        let end = rest.find(|it: char| !it.is_ascii_digit() && it != '.')?;
        let (number, tail) = rest.split_at(end);
        let end = tail.find(|it: char| it.is_ascii_digit()).unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(end);
        let seconds = match unit {
            "h" => 3600.0,
            "m" => 60.0,
            "s" => 1.0,
            "ms" => 1e-3,
            "us" => 1e-6,
            "ns" => 1e-9,
            _ => return None,
        };
        let part = Duration::try_from_secs_f64(number.parse::<f64>().ok()? * seconds).ok()?;
        whole = whole.checked_add(part)?;
        rest = tail;
    }
    Some(whole)
}

fn gates(document: &Node) -> BTreeSet<String> {
    let mut on = BTreeSet::new();
    for entry in document.get("featureGates").and_then(Node::as_map).into_iter().flatten() {
        gates::set(&mut on, &entry.key, entry.value.as_bool() == Some(true));
    }
    on
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
        assert_eq!(settings.unserved, ["clientConnection"]);
        assert_eq!(settings.election, Some(LeaderElection::default()));
        assert_eq!((settings.status_port, settings.gates.len()), (None, 0));
        assert_eq!((settings.metrics.as_deref(), settings.plain_metrics), (Some(":8443"), false));
    }

    #[test]
    fn what_the_file_does_not_say_is_as_upstream_has_it() {
        let metrics = Some(METRICS.to_owned());
        assert_eq!(parsed("").unwrap(), Settings { metrics, ..Settings::default() });
        let text = "webhook: {host: 127.0.0.1}\ncertManagement: {enable: false, webhookSecretName: ''}\n\
                    tls: {minVersion: VersionTLS13, cipherSuites: [A], nextProtos: [h2]}\n\
                    statusServer: {port: 1, qps: 5, burst: 10}\nfeatureGates: {TrainJobStatus: true}\n";
        let settings = parsed(text).unwrap();
        assert_eq!(settings.webhook.as_deref(), Some("127.0.0.1:9443"));
        assert_eq!(settings.certificates, Certificates { enable: false, ..Certificates::default() });
        let tls = TlsSettings {
            min_version: Some("VersionTLS13".to_owned()),
            cipher_suites: vec!["A".to_owned()],
            next_protocols: vec!["h2".to_owned()],
        };
        assert_eq!(settings.tls, tls);
        assert_eq!((settings.status_port, settings.progress.as_deref()), (Some(1), Some(":1")));
        assert_eq!(settings.gates.into_iter().collect::<Vec<_>>(), ["TrainJobStatus"]);
    }

    #[test]
    fn times_of_an_election_follow_each_other() {
        let settings = parsed("leaderElection: {leaderElect: true, leaseDuration: 1m30s, resourceName: x}\n");
        let expected = LeaderElection {
            name: "x".to_owned(),
            lease_duration: Duration::from_secs(90),
            ..LeaderElection::default()
        };
        assert_eq!(settings.unwrap().election, Some(expected));
        assert_eq!(parsed("leaderElection: {leaderElect: false}\n").unwrap().election, None);
        for wrong in [
            "leaseDuration: 10s",
            "renewDeadline: 2000ms",
            "retryPeriod: 0s",
            "leaseDuration: 0.5s, renewDeadline: 0.4s, retryPeriod: 1ms",
        ] {
            let errors = parsed(&format!("leaderElection: {{leaderElect: true, {wrong}}}\n")).unwrap_err();
            assert!(errors[0].starts_with("config.yaml:3:"), "{errors:?}");
        }
        assert_eq!(duration("1h1m1s1ms1us1ns"), Some(Duration::new(3661, 1_001_001)));
        assert_eq!((duration("1"), duration("1d"), duration("99999999999999999h")), (None, None, None));
    }

    #[test]
    fn metrics_for_some_alone_are_told_to_nobody_yet() {
        let settings =
            parsed("metrics: {bindAddress: ':1', secureServing: false, auth: {enabled: true}}\n").unwrap();
        assert_eq!((settings.metrics, settings.plain_metrics), (None, true));
        assert_eq!(settings.unserved, ["metrics.auth"]);
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
}
