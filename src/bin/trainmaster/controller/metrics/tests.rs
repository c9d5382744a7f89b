use super::*;

#[test]
fn the_text_is_what_prometheus_reads() {
    let metrics = Metrics::new();
    metrics.count(&REFUSALS, &["TM0501"]);
    metrics.count(&REFUSALS, &["TM0501"]);
    metrics.count(&REQUESTS, &["200", "GET", "a\"b\\c\nd"]);
    for seconds in [0.004, 0.005, 0.7, 100.0] {
        metrics.observe(&RECONCILE_TIME, &[CONTROLLER], Duration::from_secs_f64(seconds));
    }
    let gauge = Gauge {
        name: "workqueue_depth",
        help: "Waiting.",
        labels: &["name"],
        values: vec![(vec!["q".into()], 3.0)],
    };
    let text = metrics.render(&[gauge]);
    for line in [
        "# TYPE controller_runtime_reconcile_total counter",
        "controller_runtime_reconcile_total{controller=\"trainjob_controller\",result=\"error\"} 0",
        "trainmaster_refusals_total{code=\"TM0501\"} 2",
        "rest_client_requests_total{code=\"200\",method=\"GET\",host=\"a\\\"b\\\\c\\nd\"} 1",
        "# TYPE controller_runtime_reconcile_time_seconds histogram",
        "controller_runtime_reconcile_time_seconds_bucket{controller=\"trainjob_controller\",le=\"0.005\"} 2",
        "controller_runtime_reconcile_time_seconds_bucket{controller=\"trainjob_controller\",le=\"0.7\"} 3",
        "controller_runtime_reconcile_time_seconds_bucket{controller=\"trainjob_controller\",le=\"60\"} 3",
        "controller_runtime_reconcile_time_seconds_bucket{controller=\"trainjob_controller\",le=\"+Inf\"} 4",
        "controller_runtime_reconcile_time_seconds_count{controller=\"trainjob_controller\"} 4",
        "# TYPE workqueue_depth gauge",
        "workqueue_depth{name=\"q\"} 3",
        "# TYPE process_cpu_seconds_total counter",
    ] {
        assert!(text.lines().any(|it| it == line), "{line}\nis missing in\n{text}");
    }
}

#[test]
fn every_series_has_its_labels_and_names_stand_once() {
    let counters = COUNTERS.iter().map(|it| (it.name, it.labels));
    let all: Vec<_> = counters.chain(HISTOGRAMS.iter().map(|it| (it.name, it.labels))).collect();
    for (index, (name, _)) in all.iter().enumerate() {
        assert!(all.iter().skip(index + 1).all(|(other, _)| other != name), "{name} stands twice");
    }
    for counter in COUNTERS {
        assert!(counter.name.ends_with("_total"), "{}", counter.name);
    }
}
