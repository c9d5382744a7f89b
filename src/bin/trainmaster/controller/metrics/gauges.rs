//! What is so now: TrainJobs, policies, the queue.

use super::{CONTROLLER, Gauge};
use crate::controller::{queue::count, shared::Shared};

/// The numbers of the controller, which looks at no more than `concurrency` TrainJobs at a time.
pub(in crate::controller) fn gauges(shared: &Shared, concurrency: usize) -> Vec<Gauge> {
    let cache = shared.cache();
    let (states, policies) = (cache.states(), cache.policies.clone());
    drop(cache);
    let states = states.into_iter().map(|(state, number)| (vec![state.to_owned()], count(number)));
    let policies = policies.iter().map(|it| (vec![it.name().to_owned(), it.version().to_string()], 1.0));
    let mut gauges = vec![
        Gauge {
            name: "trainmaster_trainjobs",
            help: "TrainJobs, by state.",
            labels: &["state"],
            values: states.collect(),
        },
        Gauge {
            name: "trainmaster_policy_info",
            help: "The policies that serve.",
            labels: &["policy", "version"],
            values: policies.collect(),
        },
        Gauge {
            name: "controller_runtime_max_concurrent_reconciles",
            help: "How many TrainJobs may be looked at at a time.",
            labels: &["controller"],
            values: vec![(vec![CONTROLLER.to_owned()], count(concurrency))],
        },
    ];
    gauges.extend(shared.queue.gauges());
    gauges
}
