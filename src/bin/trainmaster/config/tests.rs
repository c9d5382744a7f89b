//! What configuration files say, and what is wrong with them.

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
    let expected =
        ["config.yaml:3:17", "config.yaml:4:1", "config.yaml:5:40", "config.yaml:6:33", "config.yaml:7:16"];
    assert_eq!(places, expected, "{errors:#?}");
}

#[test]
fn no_configuration_is_no_configuration() {
    for text in ["a: 1", "", "- a", "a: [}", "---\n---\n"] {
        assert!(parse(&Source::new("config.yaml", text)).is_err(), "{text}");
    }
}
