//! Several replicas: one writes, and when it ends in whatever way, another goes on.

use std::fs;
use std::process::Command;

use kube::api::ListParams;
use serde_json::{Value, json};

use super::support::{Cluster, METRICS, WEBHOOKS, api_server};
use crate::support::{chain, eventually, objects};
use crate::testbed::{CONTROLLER, Process};

const SYSTEM: &str = "kubeflow-system";
const CONFIG: &str = "apiVersion: config.trainer.kubeflow.org/v1alpha1\nkind: Configuration\n\
    leaderElection: {leaderElect: true, leaseDuration: 4s, renewDeadline: 3s, retryPeriod: 300ms}\n";

/// Starts a replica.
fn start(cluster: &Cluster) -> Process {
    let control_plane = &cluster.control_plane;
    let config = control_plane.folder().join("config.yaml");
    fs::write(&config, CONFIG).expect("writes");
    let mut command = Command::new(env!("CARGO_BIN_EXE_trainmaster"));
    command.arg("controller").arg("--kubeconfig").arg(control_plane.kubeconfig(CONTROLLER));
    command
        .args(["--health-bind-address", "127.0.0.1:0", WEBHOOKS, "0", METRICS, "0", "--config"])
        .arg(config);
    control_plane.run("replica", command).unwrap_or_else(|error| panic!("{}", chain(&error)))
}

fn log(replica: &Process) -> String {
    fs::read_to_string(replica.log()).expect("has a log")
}

async fn logged(replica: &Process, words: &str) {
    eventually(&format!("a replica says {words}"), async || log(replica).contains(words).then_some(())).await;
}

#[tokio::test]
async fn two_replicas_killed_in_turn_lose_nothing_and_only_one_writes() {
    const EACH: usize = 20;
    let cluster = Cluster::without_controller(&api_server());
    cluster.namespace(SYSTEM).await;
    let namespace = cluster.namespace("replicas").await;
    namespace.create_runtime("plain", |_| {}).await;
    let mut leader = start(&cluster);
    logged(&leader, "\"leading\"").await;
    let mut follower = start(&cluster);
    logged(&follower, "\"following\"").await;

    let count = async || namespace.job_sets().list(&ListParams::default()).await.expect("lists").items.len();
    for round in 1..=4 {
        let total = round * EACH;
        for number in 0..EACH {
            namespace.create_job(&format!("job-{round}-{number}"), |_| {}).await;
        }
        assert!(!log(&follower).contains("\"applied\""), "who follows writes nothing");
        if round % 2 == 0 {
            assert!(leader.terminate().expect("ends").success());
            assert!(log(&leader).contains("gave the Lease back"));
        } else {
            // As it is, in the midst of its work.
            drop(leader);
        }
        logged(&follower, "\"leading\"").await;
        eventually("every JobSet is there", async || (count().await == total).then_some(())).await;
        leader = std::mem::replace(&mut follower, start(&cluster));
        logged(&follower, "\"following\"").await;
    }
    let pins = namespace.config_maps().list(&ListParams::default()).await.expect("lists").items;
    assert_eq!(pins.iter().filter(|it| it.data["data"]["runtime"] != json!(null)).count(), 4 * EACH);
    let leases = objects(&namespace.client, SYSTEM, "coordination.k8s.io", "v1", "Lease");
    let lease = leases.get("trainer.kubeflow.org").await.expect("is there");
    assert_eq!(lease.data["spec"]["leaseTransitions"], json!(4), "{:?}", lease.data);
}

#[tokio::test]
async fn a_leader_that_loses_the_lease_ends_at_once() {
    let cluster = Cluster::without_controller(&api_server());
    cluster.namespace(SYSTEM).await;
    let namespace = cluster.namespace("deposed").await;
    let mut leader = start(&cluster);
    logged(&leader, "\"leading\"").await;
    let leases = objects(&namespace.client, SYSTEM, "coordination.k8s.io", "v1", "Lease");
    let before: Value = leases.get("trainer.kubeflow.org").await.expect("is there").data;
    assert_eq!(before["spec"]["leaseDurationSeconds"], json!(4));
    namespace
        .merge(&leases, "trainer.kubeflow.org", &json!({ "spec": { "holderIdentity": "somebody" } }))
        .await;
    let ended =
        eventually("it ends", async || log(&leader).contains("must not write any more").then_some(()));
    ended.await;
    let status = eventually_ended(&mut leader).await;
    assert!(!status.success(), "{status}");
    let after = leases.get("trainer.kubeflow.org").await.expect("is there").data;
    assert_eq!(after["spec"]["holderIdentity"], json!("somebody"), "what is another's is not given back");
}

async fn eventually_ended(process: &mut Process) -> std::process::ExitStatus {
    loop {
        if let Some(status) = process.ended() {
            return status;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}
