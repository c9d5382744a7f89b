//! What the controller costs, printed: `cargo test --release --test cluster figures -- --ignored --nocapture`.
//!
//! `TRAINMASTER_PROGRAM` names another program than the one that was built with the tests.

use std::fs;
use std::time::{Duration, Instant};

use futures::{StreamExt as _, stream};
use jiff::Timestamp;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use trainmaster::api::schemas;
use trainmaster::object::owned::owned;

use super::support::{Cluster, Namespace, api_server, settle, train_job};
use crate::support::{eventually, object};

const TOTAL: usize = 1000;
/// Requests of the bare client at a time: as many as the controller has.
const CONCURRENCY: usize = 16;

/// Memory and processor time of a process.
pub(super) struct Usage {
    pub(super) mebibytes: f64,
    pub(super) cpu: Duration,
}

pub(super) fn usage(id: u32) -> Usage {
    let status = fs::read_to_string(format!("/proc/{id}/status")).expect("the process runs");
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("has memory");
    let kibibytes: f64 = resident.trim().trim_end_matches(" kB").parse().expect("is a number");
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).expect("the process runs");
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks: u64 = fields[11..=12].iter().map(|it| it.parse::<u64>().expect("is a number")).sum();
    Usage { mebibytes: kibibytes / 1024.0, cpu: Duration::from_millis(ticks * 10) }
}

/// When each line of the log was written that contains `text`.
fn times(log: &str, text: &str) -> Vec<Timestamp> {
    let lines = log.lines().filter(|line| line.contains(text));
    let lines = lines.filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.filter_map(|line| line["timestamp"].as_str()?.parse().ok()).collect()
}

/// Does `work` for each number below `total`, many at a time.
pub(super) async fn at_once<F: Future<Output = ()>>(total: usize, work: impl Fn(usize) -> F) -> Duration {
    let started = Instant::now();
    stream::iter(0..total).for_each_concurrent(CONCURRENCY, work).await;
    started.elapsed()
}

/// The objects of `job-0` as they were applied, to be applied under other names by a bare client.
async fn applied(api: &Api<DynamicObject>, name: &str, api_version: &str, kind: &str) -> Value {
    let live = serde_json::to_value(api.get(name).await.expect("is there")).expect("is JSON");
    let ty = schemas().kind(api_version, kind).map(|ty| schemas().typed(ty));
    let mut object = owned(&live, "trainer", ty).expect("is applied by us");
    object["metadata"]["ownerReferences"] = json!([]);
    (object["apiVersion"], object["kind"]) = (json!(api_version), json!(kind));
    object
}

async fn bare_client(from: &Namespace, to: &Namespace) -> Duration {
    let set = applied(&from.job_sets(), "job-0", "jobset.x-k8s.io/v1alpha2", "JobSet").await;
    let pin = applied(&from.config_maps(), "job-0-runtime-snapshot", "v1", "ConfigMap").await;
    let (sets, maps) = (to.job_sets(), to.config_maps());
    let params = PatchParams::apply("bare").force();
    at_once(TOTAL, async |number| {
        for (api, object, name) in
            [(&maps, &pin, format!("job-{number}-runtime-snapshot")), (&sets, &set, format!("job-{number}"))]
        {
            let mut object = object.clone();
            object["metadata"]["name"] = json!(name);
            api.patch(&name, &params, &Patch::Apply(object)).await.expect("applies");
        }
    })
    .await
}

#[tokio::test]
#[ignore = "prints figures, which takes minutes"]
async fn figures() {
    let mut cluster = Cluster::start(&api_server()).await;
    let ready: Value = serde_json::from_str(&cluster.logged("\"message\":\"ready\"").await).expect("is JSON");
    println!("start to ready: {} s", ready["seconds"]);
    let namespace = cluster.namespace("many").await;
    namespace.create_runtime("plain", |it| it["spec"]["mlPolicy"]["torch"] = json!({})).await;
    settle().await;
    let empty = usage(cluster.controller().id());
    println!("no TrainJobs: {:.1} MiB", empty.mebibytes);

    cluster.kill_controller();
    let jobs = namespace.train_jobs();
    at_once(TOTAL, async |number| {
        let mut job = train_job(&format!("job-{number}"));
        job["spec"]["trainer"] = json!({ "numNodes": 4, "command": ["torchrun", "train.py"] });
        jobs.create(&PostParams::default(), &object(job)).await.expect("creates");
    })
    .await;
    cluster.start_controller().await;
    // Not asked often: that would take from what is measured.
    let all = async || {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let log = cluster.log();
        let applied = times(&log, "\"child\":\"JobSet");
        (applied.len() >= TOTAL)
            .then(|| applied.into_iter().max().zip(times(&log, "\"ready\"").into_iter().min()))
    };
    let (last, begin) = eventually("all JobSets are there", all).await.expect("was logged");
    println!(
        "{TOTAL} TrainJobs: last JobSet after {:.1} s",
        (last - begin).total(jiff::Unit::Second).expect("is short")
    );
    settle().await;
    let created = usage(cluster.controller().id());
    println!("{TOTAL} TrainJobs, running: {:.1} MiB", created.mebibytes);

    let bare = cluster.namespace("bare").await;
    println!("a bare client, the same writes: {:.1} s", bare_client(&namespace, &bare).await.as_secs_f64());
    let running =
        json!([{ "name": "node", "ready": 4, "active": 1, "succeeded": 0, "failed": 0, "suspended": 0 }]);
    let ended =
        json!([{ "name": "node", "ready": 0, "active": 0, "succeeded": 1, "failed": 0, "suspended": 0 }]);
    let completed = json!([{
        "type": "Completed", "status": "True", "reason": "AllJobsCompleted", "message": "jobset completed successfully",
        "lastTransitionTime": "2030-01-01T00:00:00Z",
    }]);
    for (jobs, conditions) in [(&running, &json!([])), (&ended, &json!([])), (&ended, &completed)] {
        let counters = json!({ "replicatedJobsStatus": jobs, "conditions": conditions, "restarts": 0, "restartsCountTowardsMax": 0 });
        at_once(TOTAL, async |number| namespace.job_set_status(&format!("job-{number}"), &counters).await)
            .await;
        settle().await;
    }
    let complete = async || {
        let jobs = namespace.train_jobs().list(&ListParams::default()).await.expect("lists").items;
        let complete = jobs.iter().filter(|job| crate::support::condition(job, "Complete").is_some()).count();
        (complete == TOTAL).then_some(())
    };
    eventually("all are Complete", complete).await;
    let life = usage(cluster.controller().id());
    println!("{TOTAL} TrainJobs, Complete: {:.1} MiB", life.mebibytes);
    println!("CPU per TrainJob, whole life: {:.2} ms", life.cpu.as_secs_f64() * 1000.0 / 1000.0);

    cluster.kill_controller();
    cluster.start_controller().await;
    settle().await;
    println!("{TOTAL} TrainJobs, after a restart: {:.1} MiB", usage(cluster.controller().id()).mebibytes);
    let maps = bare.config_maps();
    at_once(TOTAL, async |number| {
        for part in 0..4 {
            let name = format!("unrelated-{number}-{part}");
            let map = json!({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name }, "data": { "x": "x".repeat(30_000) },
            });
            maps.create(&PostParams::default(), &object(map)).await.expect("creates");
        }
    })
    .await;
    settle().await;
    println!("and {} unrelated ConfigMaps: {:.1} MiB", 4 * TOTAL, usage(cluster.controller().id()).mebibytes);
}
