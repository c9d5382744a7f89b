//! What the process counts, in Prometheus' text format: [`Metrics::render`]. Names are controller-runtime's where it has
//! an equal, so that dashboards made for upstream go on; `trainmaster_` begins what only is here.
//!
//! No label ever holds the name of an object: what is counted stays small however many TrainJobs there are.

mod gauges;
mod process;
mod requests;
mod serve;
#[cfg(test)]
mod tests;

pub(super) use gauges::gauges;
pub(super) use requests::CountRequests;
pub(super) use serve::{answer, serve};

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// A series of numbers that grow.
pub(super) struct Counter {
    name: &'static str,
    help: &'static str,
    labels: &'static [&'static str],
}

/// How durations are distributed.
pub(super) struct Histogram {
    name: &'static str,
    help: &'static str,
    labels: &'static [&'static str],
    /// The upper ends of its classes, in seconds.
    buckets: &'static [f64],
}

/// A number as it is when it is asked for.
pub(super) struct Gauge {
    pub(super) name: &'static str,
    pub(super) help: &'static str,
    pub(super) labels: &'static [&'static str],
    pub(super) values: Vec<(Vec<String>, f64)>,
}

/// The one controller and its queue, as upstream calls them.
pub(super) const CONTROLLER: &str = "trainjob_controller";

const fn counter(name: &'static str, help: &'static str, labels: &'static [&'static str]) -> Counter {
    Counter { name, help, labels }
}

pub(super) const RECONCILES: Counter = counter(
    "controller_runtime_reconcile_total",
    "How often a TrainJob was looked at, by result.",
    &["controller", "result"],
);
pub(super) const RECONCILE_ERRORS: Counter = counter(
    "controller_runtime_reconcile_errors_total",
    "How often looking at a TrainJob ended with an error.",
    &["controller"],
);
pub(super) const PANICS: Counter = counter(
    "controller_runtime_reconcile_panics_total",
    "How often looking at a TrainJob ended with a panic.",
    &["controller"],
);
pub(super) const ADDS: Counter =
    counter("workqueue_adds_total", "How often a TrainJob was put into the queue.", &["name", "controller"]);
pub(super) const RETRIES: Counter = counter(
    "workqueue_retries_total",
    "How often a TrainJob was put into the queue to be looked at again later.",
    &["name", "controller"],
);
pub(super) const REQUESTS: Counter = counter(
    "rest_client_requests_total",
    "Requests to the API server, by the code of the answer; <error> if there was none.",
    &["code", "method", "host"],
);
pub(super) const PLANS: Counter =
    counter("trainmaster_plans_total", "Plans, by what came of them.", &["result"]);
pub(super) const REFUSALS: Counter = counter(
    "trainmaster_refusals_total",
    "Errors that kept a TrainJob from being planned, by the code of the message.",
    &["code"],
);
pub(super) const APPLIES: Counter = counter(
    "trainmaster_applies_total",
    "Objects applied, by kind and what came of it.",
    &["kind", "result"],
);
pub(super) const RELOADS: Counter = counter(
    "trainmaster_policy_reloads_total",
    "How often the folder of policies was found changed, by whether all in it are right.",
    &["result"],
);

/// controller-runtime's classes.
pub(super) const RECONCILE_TIME: Histogram = Histogram {
    name: "controller_runtime_reconcile_time_seconds",
    help: "How long it took to look at a TrainJob.",
    labels: &["controller"],
    buckets: &[
        0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0,
        1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0, 25.0, 30.0,
        40.0, 50.0, 60.0,
    ],
};
const QUEUE_BUCKETS: &[f64] = &[1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0];
pub(super) const QUEUE_TIME: Histogram = Histogram {
    name: "workqueue_queue_duration_seconds",
    help: "How long TrainJobs waited in the queue, counted from when they were due.",
    labels: &["name", "controller"],
    buckets: QUEUE_BUCKETS,
};
pub(super) const WORK_TIME: Histogram = Histogram {
    name: "workqueue_work_duration_seconds",
    help: "How long it took to be done with what came from the queue.",
    labels: &["name", "controller"],
    buckets: QUEUE_BUCKETS,
};
pub(super) const PLAN_TIME: Histogram = Histogram {
    name: "trainmaster_plan_duration_seconds",
    help: "How long planning took, without reading and writing.",
    labels: &[],
    buckets: &[
        0.000_01, 0.000_025, 0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.1, 1.0,
    ],
};

const COUNTERS: [&Counter; 10] = [
    &RECONCILES,
    &RECONCILE_ERRORS,
    &PANICS,
    &ADDS,
    &RETRIES,
    &REQUESTS,
    &PLANS,
    &REFUSALS,
    &APPLIES,
    &RELOADS,
];
const HISTOGRAMS: [&Histogram; 4] = [&RECONCILE_TIME, &QUEUE_TIME, &WORK_TIME, &PLAN_TIME];

type Labels = Vec<String>;

/// What was observed of one series.
#[derive(Clone, Default)]
struct Observed {
    /// How many were in each class, the last of which has no upper end.
    classes: Vec<u64>,
    sum: f64,
}

#[derive(Default)]
struct Values {
    counters: BTreeMap<(&'static str, Labels), u64>,
    histograms: BTreeMap<(&'static str, Labels), Observed>,
}

/// All numbers of the process.
pub(super) struct Metrics(Mutex<Values>);

impl Metrics {
    /// With nothing counted yet. What should be shown to be zero is.
    pub(super) fn new() -> Metrics {
        let metrics = Metrics(Mutex::default());
        for result in ["success", "error", "requeue", "requeue_after"] {
            metrics.add(&RECONCILES, &[CONTROLLER, result], 0);
        }
        for counter in [&RECONCILE_ERRORS, &PANICS] {
            metrics.add(counter, &[CONTROLLER], 0);
        }
        for counter in [&ADDS, &RETRIES] {
            metrics.add(counter, &[CONTROLLER, CONTROLLER], 0);
        }
        for result in ["planned", "waiting", "refused", "unsupported"] {
            metrics.add(&PLANS, &[result], 0);
        }
        metrics
    }

    pub(super) fn count(&self, counter: &Counter, labels: &[&str]) {
        self.add(counter, labels, 1);
    }

    fn add(&self, counter: &Counter, labels: &[&str], more: u64) {
        let mut values = self.values();
        let value = values.counters.entry((counter.name, owned(labels))).or_default();
        *value = value.saturating_add(more);
    }

    pub(super) fn observe(&self, histogram: &Histogram, labels: &[&str], duration: Duration) {
        let seconds = duration.as_secs_f64();
        let class = histogram.buckets.partition_point(|end| *end < seconds);
        let mut values = self.values();
        let observed = values.histograms.entry((histogram.name, owned(labels))).or_default();
        observed.classes.resize(histogram.buckets.len() + 1, 0);
        if let Some(count) = observed.classes.get_mut(class) {
            *count += 1;
        }
        observed.sum += seconds;
    }

    /// Everything that was counted, with `gauges` and what the system says of the process.
    pub(super) fn render(&self, gauges: &[Gauge]) -> String {
        let mut text = String::new();
        let values = self.values();
        for Counter { name, help, labels } in COUNTERS {
            head(&mut text, name, help, "counter");
            for ((_, of), value) in values.counters.iter().filter(|((known, _), _)| known == name) {
                _ = writeln!(text, "{name}{} {value}", braces(labels, of, None));
            }
        }
        for histogram in HISTOGRAMS {
            head(&mut text, histogram.name, histogram.help, "histogram");
            for ((_, of), observed) in
                values.histograms.iter().filter(|((known, _), _)| *known == histogram.name)
            {
                distribution(&mut text, histogram, of, observed);
            }
        }
        drop(values);
        for Gauge { name, help, labels, values } in gauges.iter().chain(&process::gauges()) {
            let kind = if name.ends_with("_total") { "counter" } else { "gauge" };
            head(&mut text, name, help, kind);
            for (of, value) in values {
                _ = writeln!(text, "{name}{} {value}", braces(labels, of, None));
            }
        }
        text
    }

    fn values(&self) -> MutexGuard<'_, Values> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn owned(labels: &[&str]) -> Labels {
    labels.iter().map(|label| (*label).to_owned()).collect()
}

fn head(text: &mut String, name: &str, help: &str, kind: &str) {
    _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

fn distribution(text: &mut String, histogram: &Histogram, of: &Labels, observed: &Observed) {
    let Histogram { name, labels, buckets, .. } = histogram;
    let mut total = 0;
    let ends = buckets.iter().map(ToString::to_string).chain(["+Inf".to_owned()]);
    for (end, count) in ends.zip(&observed.classes) {
        total += count;
        _ = writeln!(text, "{name}_bucket{} {total}", braces(labels, of, Some(&end)));
    }
    let labels = braces(labels, of, None);
    _ = writeln!(text, "{name}_sum{labels} {}\n{name}_count{labels} {total}", observed.sum);
}

/// The labels of a line.
fn braces(names: &[&str], values: &[String], end: Option<&str>) -> String {
    let escaped = |value: &str| value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    let pairs = names.iter().zip(values).map(|(name, value)| format!("{name}=\"{}\"", escaped(value)));
    let pairs: Vec<String> = pairs.chain(end.map(|end| format!("le=\"{end}\""))).collect();
    if pairs.is_empty() { String::new() } else { format!("{{{}}}", pairs.join(",")) }
}
