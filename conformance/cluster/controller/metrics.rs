//! What the controller counts, as Prometheus reads it.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::json;

use super::support::{Cluster, METRICS, api_server};
use crate::support::eventually;

/// The numbers at `address`, by name with labels.
fn read(address: &str) -> BTreeMap<String, f64> {
    let mut stream = TcpStream::connect(address).expect("connects");
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").expect("asks");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("reads");
    let (head, body) = text.split_once("\r\n\r\n").expect("a head and a body");
    assert!(head.starts_with("HTTP/1.1 200 OK") && head.contains("text/plain; version=0.0.4"), "{head}");
    let lines = body.lines().filter(|line| !line.starts_with('#'));
    let number = |line: &str| {
        let (name, value) = line.rsplit_once(' ').expect("a name and a number");
        (name.to_owned(), value.parse().expect("a number"))
    };
    lines.map(number).collect()
}

#[tokio::test]
#[allow(clippy::float_cmp, reason = "counts are whole numbers")]
async fn what_became_of_trainjobs_is_counted_under_upstreams_names() {
    let cluster = Cluster::without_controller(&api_server());
    let config = cluster.control_plane.folder().join("controller.yaml");
    let text = "apiVersion: config.trainer.kubeflow.org/v1alpha1\nkind: Configuration\n\
                metrics: {secureServing: false}\n";
    std::fs::write(&config, text).expect("writes");
    let mut cluster =
        cluster.with_flags(["--config", config.to_str().expect("is text"), METRICS, "127.0.0.1:0"]);
    cluster.start_controller().await;
    let address = cluster.address("/metrics").await;
    let namespace = cluster.namespace("counted").await;
    namespace.create_runtime("plain", |_| {}).await;
    namespace.create_job("good", |_| {}).await;
    namespace.create_job("held", |job| job["spec"]["suspend"] = json!(true)).await;
    namespace.create_job("bad", |job| job["spec"]["runtimeRef"]["name"] = json!("missing")).await;
    namespace.job_set("good").await;
    namespace.once_is("held", "Suspended").await;
    namespace.once_is("bad", "Blocked").await;

    let states =
        ["Active", "Blocked", "Suspended"].map(|it| format!("trainmaster_trainjobs{{state=\"{it}\"}}"));
    let numbers = eventually("each TrainJob is in its state", async || {
        let numbers = read(&address);
        states.iter().all(|name| numbers.get(name) == Some(&1.0)).then_some(numbers)
    })
    .await;
    let of = |name: &str| {
        let found = numbers.get(name).copied();
        found.unwrap_or_else(|| panic!("{name} is missing in {numbers:#?}"))
    };
    let is = |name: &str, wanted: f64| {
        assert!((of(name) - wanted).abs() < 0.5, "{name}: {} is not {wanted}", of(name));
    };
    let controller = "controller=\"trainjob_controller\"";
    let queue = format!("name=\"trainjob_controller\",{controller}");
    let looked: f64 = ["success", "error", "requeue", "requeue_after"]
        .map(|it| of(&format!("controller_runtime_reconcile_total{{{controller},result=\"{it}\"}}")))
        .iter()
        .sum();
    assert!(looked >= 3.0);
    assert!(of(&format!("controller_runtime_reconcile_errors_total{{{controller}}}")) >= 1.0);
    is(&format!("controller_runtime_reconcile_time_seconds_count{{{controller}}}"), looked);
    is(&format!("controller_runtime_max_concurrent_reconciles{{{controller}}}"), 16.0);
    is(&format!("workqueue_depth{{{queue},priority=\"0\"}}"), 0.0);
    assert!(of(&format!("workqueue_adds_total{{{queue}}}")) >= 3.0);
    assert!(of(&format!("workqueue_queue_duration_seconds_count{{{queue}}}")) >= looked);
    assert!(of("trainmaster_plans_total{result=\"planned\"}") >= 2.0);
    is("trainmaster_applies_total{kind=\"JobSet\",result=\"created\"}", 2.0);
    let host = cluster.control_plane.server().trim_start_matches("https://").to_owned();
    assert!(of(&format!("rest_client_requests_total{{code=\"200\",method=\"GET\",host=\"{host}\"}}")) >= 3.0);
    assert!(numbers.keys().any(|name| name.starts_with("trainmaster_policy_info{policy=\"torch\"")));
    assert!(of("process_resident_memory_bytes") > 1e6);
    // The names of TrainJobs must not make series.
    assert!(!numbers.keys().any(|name| name.contains("held") || name.contains("counted")), "{numbers:#?}");
    // What was applied is logged with the policy that wants it.
    cluster.logged("\"policy\":\"jobset@").await;
}
