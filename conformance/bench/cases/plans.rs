//! Plans and what they rest on: policies, the status, pins.

use super::{
    Measure,
    documents::{large_runtime, pinned, plain_runtime, running, snapshot, torch_job, torch_runtime},
};
use jiff::Timestamp;
use trainmaster::{
    plan::{Snapshot, pinned_runtime, plan, wanted},
    policy::{PolicySet, builtin, check, parse},
    status::status,
};

pub(crate) fn run(measure: &mut impl Measure) {
    let policies = PolicySet::builtin();
    let torch = |nodes| snapshot(torch_job(nodes), torch_runtime());
    let mut plans = |name: &str, snapshot: &Snapshot| {
        measure.case(&format!("plan: {name}"), || plan(snapshot, &policies).unwrap());
    };
    plans("torch, 4 nodes", &torch(4));
    plans("torch, 4 nodes, runtime pinned", &pinned(torch(4), &policies));
    plans("torch, 1,000 nodes, runtime pinned", &pinned(torch(1000), &policies));
    plans("torch, runtime of 50 kB, pinned", &pinned(snapshot(torch_job(4), large_runtime()), &policies));
    plans("plain, 4 nodes, runtime pinned", &pinned(snapshot(torch_job(4), plain_runtime()), &policies));
    let running = running(pinned(torch(4), &policies), &policies);
    plans("torch, running: nothing to do", &running);
    measure.case("wanted: torch", || wanted(&running, &policies).unwrap());
    measure
        .case("status: torch, running", || status(&running, &policies, None, Timestamp::UNIX_EPOCH).unwrap());
    let pin = running.live.values().find(|object| object["kind"] == "ConfigMap").unwrap();
    measure.case("pinned runtime: torch", || pinned_runtime(pin, &running.train_job).unwrap());
    measure.case("policies: parse", || {
        builtin::sources().flat_map(|source| parse(&source).0).collect::<Vec<_>>()
    });
    let documents: Vec<_> = builtin::sources().flat_map(|source| parse(&source).0).collect();
    measure.case("policies: check", || documents.iter().map(check).collect::<Vec<_>>());
}
