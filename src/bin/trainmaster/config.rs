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
mod tests;
