//! A reconcile that changes nothing writes nothing, also after a restart; what is written is no more than must be.

use std::collections::BTreeMap;

use kube::api::{DynamicObject, ListParams};
use serde_json::{Value, json};

use super::support::{Cluster, Namespace, api_server, settle};
use crate::support::{eventually, objects};
use crate::testbed::audit::{Request, count};

/// How many requests there were, by verb and resource, in one line each.
fn figures(requests: &[Request]) -> String {
    let lines = count(requests)
        .into_iter()
        .map(|(kind, times)| format!("  {times:5} {} {}", kind.verb, kind.resource));
    lines.collect::<Vec<_>>().join("\n")
}

/// Waits until every TrainJob has a JobSet and returns the JobSets.
async fn all_job_sets(namespace: &Namespace, total: usize) -> Vec<DynamicObject> {
    eventually("every TrainJob has a JobSet", async || {
        let list = namespace.job_sets().list(&ListParams::default()).await.expect("lists JobSets").items;
        (list.len() == total).then_some(list)
    })
    .await
}

/// The status of a JobSet of which one pod runs, or has ended.
fn job_set_status(is_completed: bool) -> Value {
    let (active, succeeded) = if is_completed { (0, 1) } else { (1, 0) };
    let counts = json!({ "name": "node", "ready": active, "active": active, "succeeded": succeeded, "failed": 0, "suspended": 0 });
    let completed = json!({
        "type": "Completed", "status": "True", "reason": "AllJobsCompleted", "message": "jobset completed successfully",
        "lastTransitionTime": "2030-01-01T00:00:00Z",
    });
    let conditions = if is_completed { json!([completed]) } else { json!([]) };
    json!({ "replicatedJobsStatus": [counts], "conditions": conditions, "restarts": 0, "restartsCountTowardsMax": 0 })
}

#[tokio::test]
async fn a_restart_with_200_trainjobs_writes_nothing() {
    const TOTAL: usize = 200;
    let mut cluster = Cluster::start(&api_server()).await;
    let namespace = cluster.namespace("restart").await;
    namespace.create_runtime("plain", |_| {}).await;
    let gang = json!({ "coscheduling": { "scheduleTimeoutSeconds": 60 } });
    namespace.create_runtime("gang", |it| it["spec"]["podGroupPolicy"] = gang).await;
    let begin = cluster.mark();
    for number in 0..TOTAL {
        let change = |job: &mut Value| {
            job["spec"]["suspend"] = json!(number % 4 == 0);
            if number % 8 < 4 {
                job["spec"]["runtimeRef"]["name"] = json!("gang");
            }
        };
        namespace.create_job(&format!("job-{number}"), change).await;
    }
    let names: Vec<String> = (0..TOTAL).map(|number| format!("job-{number}")).collect();
    all_job_sets(&namespace, TOTAL).await;
    // A quarter is suspended, a quarter runs, the rest has ended.
    for (number, name) in names.iter().enumerate().filter(|(number, _)| number % 4 != 0) {
        namespace.job_set_status(name, &job_set_status(number % 4 > 1)).await;
    }
    eventually("every status is written", async || {
        let list = namespace.train_jobs().list(&ListParams::default()).await.expect("lists TrainJobs").items;
        let mut types: BTreeMap<String, usize> = BTreeMap::new();
        for job in &list {
            let latest = job.data["status"]["conditions"].as_array().and_then(|all| all.last());
            let state = latest.map_or("Running", |it| it["type"].as_str().unwrap_or_default());
            let counted = job.data["status"]["jobsStatus"].is_array() || state == "Suspended";
            *types.entry(if counted { state } else { "nothing" }.to_owned()).or_default() += 1;
        }
        let want = [("Complete", TOTAL / 2), ("Running", TOTAL / 4), ("Suspended", TOTAL / 4)];
        (types == want.map(|(state, times)| (state.to_owned(), times)).into()).then_some(())
    })
    .await;
    settle().await;
    let life = cluster.requests(begin);
    println!("requests for {TOTAL} TrainJobs:\n{}", figures(&life));

    for end in ["SIGTERM", "SIGKILL"] {
        if end == "SIGTERM" {
            assert!(cluster.controller().terminate().expect("ends").success(), "exits 0");
        }
        cluster.kill_controller();
        let mark = cluster.mark();
        cluster.start_controller().await;
        settle().await;
        println!("requests after {end} and a start:\n{}", figures(&cluster.requests(mark)));
        assert_eq!(cluster.writes(mark), [], "after {end}");
        let gets = cluster
            .requests(mark)
            .into_iter()
            .filter(|request| request.verb == "get" && !request.name.is_empty());
        let suspended =
            |name: &str| (0..TOTAL).step_by(4).any(|number| name.starts_with(&format!("job-{number}")));
        let needless: Vec<Request> = gets.filter(|request| !suspended(&request.name)).collect();
        assert_eq!(needless, [], "only suspended TrainJobs are planned");
    }

    // A quarter is suspended: each has one status change besides; a running one has one, an ended one too.
    let writes = life.iter().filter(|request| request.writes()).count();
    let pod_groups = TOTAL / 2;
    assert_eq!(writes, TOTAL * 3 + pod_groups, "{}", figures(&life));
    let reads = life.iter().filter(|request| request.verb == "get" && !request.name.is_empty()).count();
    assert_eq!(reads, 0, "{}", figures(&life));
}

#[tokio::test]
async fn a_touched_label_writes_nothing() {
    let cluster = Cluster::start(&api_server()).await;
    let namespace = cluster.namespace("touched").await;
    namespace.create_runtime("plain", |_| {}).await;
    for (name, suspend) in [("running", false), ("suspended", true)] {
        namespace.create_job(name, |job| job["spec"]["suspend"] = json!(suspend)).await;
        namespace.job_set(name).await;
    }
    namespace.once_is("suspended", "Suspended").await;
    settle().await;
    let mark = cluster.mark();
    for name in ["running", "suspended"] {
        namespace
            .merge(&namespace.train_jobs(), name, &json!({ "metadata": { "labels": { "touched": "yes" } } }))
            .await;
    }
    settle().await;
    assert_eq!(cluster.writes(mark), []);
}

/// A runtime of a launcher and nodes that reach each other by a key.
fn mpi(runtime: &mut Value) {
    runtime["spec"]["mlPolicy"]["mpi"] = json!({ "mpiImplementation": "OpenMPI" });
    let jobs = &mut runtime["spec"]["template"]["spec"]["replicatedJobs"];
    let mut launcher = jobs[0].clone();
    launcher["name"] = json!("launcher");
    launcher["template"]["metadata"] = json!({});
    jobs.as_array_mut().expect("is a list").insert(0, launcher);
}

#[tokio::test]
async fn a_key_is_made_once_never_told_and_what_may_change_is_put_right() {
    let mut cluster = Cluster::start(&api_server()).await;
    let namespace = cluster.namespace("mpi").await;
    namespace.create_runtime("plain", mpi).await;
    let mark = cluster.mark();
    namespace.create_job("mpi", |it| it["spec"]["trainer"] = json!({ "numNodes": 3 })).await;
    namespace.job_set("mpi").await;
    namespace.job_set_status("mpi", &job_set_status(false)).await;
    settle().await;
    let children = ["configmaps", "configmaps", "jobsets.jobset.x-k8s.io", "secrets"];
    let mut written: Vec<String> = cluster.writes(mark).into_iter().map(|request| request.resource).collect();
    written.retain(|resource| !resource.ends_with("/status"));
    let order = written.clone();
    written.sort();
    assert_eq!(written, children);
    assert_eq!(
        order.last().map(String::as_str),
        Some("jobsets.jobset.x-k8s.io"),
        "what pods mount comes first"
    );
    let secrets = objects(&namespace.client, &namespace.name, "", "v1", "Secret");
    let secret = secrets.get("mpi-mpi-ssh-auth").await.expect("is there");
    let key = secret.data["data"]["ssh-privatekey"].as_str().expect("holds a key").to_owned();
    assert!(!cluster.log().contains(&key[..64]));

    let mark = cluster.mark();
    cluster.kill_controller();
    cluster.start_controller().await;
    settle().await;
    assert_eq!(cluster.writes(mark), []);
    assert_eq!(secrets.get("mpi-mpi-ssh-auth").await.expect("is there"), secret);

    // The host file is kept right while the TrainJob runs; a lost key is made anew.
    let maps = namespace.config_maps();
    let before = maps.get("mpi-mpi-hostfile").await.expect("is there").data["data"].clone();
    namespace.merge(&maps, "mpi-mpi-hostfile", &json!({ "data": { "hostfile": "nobody" } })).await;
    namespace.once("is put right", &maps, "mpi-mpi-hostfile", |it| it.data["data"] == before).await;
    namespace.delete(&secrets, "mpi-mpi-ssh-auth").await;
    namespace.once("is made again", &secrets, "mpi-mpi-ssh-auth", |it| it.data["data"].is_object()).await;
    assert!(!cluster.log().contains(&key[..64]));
}
