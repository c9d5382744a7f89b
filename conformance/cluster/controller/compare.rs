//! What the controller costs beside upstream's: `make compare` prints a table.
//!
//! Both work on one control plane in one run, one after the other and each alone, on the runtimes that are shipped. Nobody
//! runs JobSets, so that every request counted is the controller's own; a test plays what becomes of them.
//! `COMPARE_JOBS` and `COMPARE_UNRELATED` say how many TrainJobs and how many unrelated objects there are.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use kube::Client;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, PostParams};
use serde_json::{Value, json};

use super::compared::{ASSETS, Controller, remove_webhooks};
use super::figures::{at_once, usage};
use super::support::{Namespace, api_server, settle, train_job};
use crate::support::{chain, object, objects};
use crate::testbed::assets::Assets;
use crate::testbed::audit::{Mark, Request};
use crate::testbed::{ADMIN, ControlPlane, Options, Process, User, manifests};

/// What TrainJobs of 4 nodes are compared on: a name for the table, and the runtime.
const RUNTIMES: [(&str, &str); 2] = [("torch", "torch-distributed"), ("MPI", "deepspeed-distributed")];

#[tokio::test]
#[ignore = "prints a table, which takes many minutes"]
async fn beside_upstream() {
    let ensured = Assets::from_environment().and_then(|assets| assets.ensure(&ASSETS));
    ensured.unwrap_or_else(|error| panic!("{}", chain(&error)));
    let names = Controller::BOTH.map(|it| it.to_string());
    let users = names.iter().map(|name| User::master(name)).collect();
    let options = Options { users, audited: names.to_vec(), ..api_server() };
    let control_plane = ControlPlane::start(&options).unwrap_or_else(|error| panic!("{}", chain(&error)));
    let client = control_plane.client(ADMIN).await.expect("has a client");
    let runtimes = Path::new(env!("CARGO_MANIFEST_DIR")).join("charts/trainmaster/runtimes");
    let runtimes = manifests::read_all(&[runtimes]).expect("are YAML");
    manifests::apply(&client, &runtimes).await.unwrap_or_else(|error| panic!("{}", chain(&error)));

    let (jobs, unrelated) = (size("COMPARE_JOBS", 1000), size("COMPARE_UNRELATED", 4000));
    let mut table = Table::default();
    for (name, runtime) in RUNTIMES {
        for controller in Controller::BOTH {
            let namespace = format!("{}-{controller}", name.to_lowercase());
            control_plane.namespace(&client, &namespace).await.expect("creates a namespace");
            let namespace = Namespace { client: client.clone(), name: namespace };
            let run = Run { name, runtime, controller, jobs, namespace, control_plane: &control_plane };
            run.measure(&mut table).await;
        }
    }
    control_plane.namespace(&client, "unrelated").await.expect("creates a namespace");
    create_unrelated(&client, unrelated).await;
    for controller in Controller::BOTH {
        let (process, _) = controller.start(&control_plane).await;
        settle().await;
        let row = format!("memory, no TrainJobs, {unrelated} unrelated ConfigMaps and Secrets of 30 kB");
        table.set(&row, controller, mebibytes(&process));
        drop(process);
        remove_webhooks(&client).await;
    }
    print!("{}", table.markdown());
}

fn size(variable: &str, default: usize) -> usize {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn mebibytes(process: &Process) -> String {
    format!("{:.1} MiB", usage(process.id()).mebibytes)
}

/// One controller with TrainJobs on one runtime.
struct Run<'c> {
    name: &'static str,
    runtime: &'static str,
    controller: Controller,
    jobs: usize,
    namespace: Namespace,
    control_plane: &'c ControlPlane,
}

impl Run<'_> {
    async fn measure(&self, table: &mut Table) {
        let Run { name, controller, jobs, namespace, control_plane, .. } = self;
        let mut say = |what: &str, value: String| table.set(&format!("{name}: {what}"), *controller, value);
        let (process, ready) = controller.start(control_plane).await;
        say("start to ready", format!("{:.2} s", ready.as_secs_f64()));
        settle().await;
        say("memory, no TrainJobs", mebibytes(&process));

        let (created, idle) = (self.mark(), usage(process.id()).cpu);
        let begun = Instant::now();
        at_once(*jobs, async |number| self.create(number).await).await;
        until("all JobSets are there", async || count(&namespace.job_sets()).await >= *jobs).await;
        let took = begun.elapsed().as_secs_f64();
        say(&format!("{jobs} created at once, until the last JobSet"), format!("{took:.1} s"));
        settle().await;
        say(&format!("memory, {jobs} TrainJobs"), mebibytes(&process));
        self.observe("running", json!([])).await;
        let mut cpu = usage(process.id()).cpu.saturating_sub(idle);
        let mut requests = self.requests(created);

        let restarted = self.mark();
        drop(process);
        let (process, _) = controller.start(control_plane).await;
        settle().await;
        let writes = self.requests(restarted).into_iter().filter(Request::writes).count();
        say(&format!("writes after a restart with {jobs} running"), writes.to_string());

        let (going_on, idle) = (self.mark(), usage(process.id()).cpu);
        self.observe("ended", json!([])).await;
        let completed = json!([{
            "type": "Completed", "status": "True", "reason": "AllJobsCompleted", "message": "jobset completed successfully",
            "lastTransitionTime": "2030-01-01T00:00:00Z",
        }]);
        self.observe("ended", completed).await;
        until("all are Complete", async || self.complete().await >= *jobs).await;
        settle().await;
        cpu += usage(process.id()).cpu.saturating_sub(idle);
        requests.extend(self.requests(going_on));
        say("CPU per TrainJob, whole life", format!("{:.2} ms", 1000.0 * cpu.as_secs_f64() / per(*jobs)));
        say(&format!("memory, {jobs} Complete"), mebibytes(&process));
        say("requests per TrainJob", format!("{:.2}", per(requests.len()) / per(*jobs)));
        let mut kinds: BTreeMap<(String, String), usize> = BTreeMap::new();
        for Request { verb, resource, .. } in requests {
            *kinds.entry((resource, verb)).or_default() += 1;
        }
        for ((resource, verb), number) in kinds {
            say(&format!("– {verb} {resource}"), format!("{:.2}", per(number) / per(*jobs)));
        }
        drop(process);
        self.clear().await;
    }

    async fn create(&self, number: usize) {
        let mut job = train_job(&format!("job-{number}"));
        job["spec"]["runtimeRef"] = json!({ "name": self.runtime });
        job["spec"]["trainer"] = json!({ "numNodes": 4 });
        let created = self.namespace.train_jobs().create(&PostParams::default(), &object(job)).await;
        created.unwrap_or_else(|error| panic!("{}", chain(&error)));
    }

    /// Gives every JobSet a status, as its controller would.
    async fn observe(&self, state: &str, conditions: Value) {
        let (active, succeeded) = if state == "running" { (1, 0) } else { (0, 1) };
        let job = json!({ "name": "node", "ready": active, "active": active, "succeeded": succeeded, "failed": 0, "suspended": 0 });
        let status = json!({
            "replicatedJobsStatus": [job], "conditions": conditions, "restarts": 0, "restartsCountTowardsMax": 0,
        });
        let namespace = &self.namespace;
        at_once(self.jobs, async |number| namespace.job_set_status(&format!("job-{number}"), &status).await)
            .await;
        settle().await;
    }

    async fn complete(&self) -> usize {
        let jobs = self.namespace.train_jobs().list(&ListParams::default()).await.expect("lists").items;
        jobs.iter().filter(|job| crate::support::condition(job, "Complete") == Some("True")).count()
    }

    fn mark(&self) -> Mark {
        self.control_plane.audit().mark().expect("reads the log")
    }

    fn requests(&self, mark: Mark) -> Vec<Request> {
        self.control_plane.audit().requests(&self.controller.to_string(), mark).expect("reads the log")
    }

    /// Leaves nothing to the next.
    async fn clear(&self) {
        let Namespace { client, name } = &self.namespace;
        remove_webhooks(client).await;
        let (maps, secrets) = (self.namespace.config_maps(), objects(client, name, "", "v1", "Secret"));
        for api in [&self.namespace.train_jobs(), &self.namespace.job_sets(), &maps, &secrets] {
            let deleted = api.delete_collection(&DeleteParams::default(), &ListParams::default()).await;
            deleted.unwrap_or_else(|error| panic!("{}", chain(&error)));
        }
    }
}

#[allow(clippy::cast_precision_loss, reason = "small numbers")]
fn per(number: usize) -> f64 {
    number as f64
}

/// How many objects there are, without reading them.
async fn count(api: &Api<DynamicObject>) -> usize {
    let list = api.list_metadata(&ListParams::default().limit(1)).await.expect("lists");
    let remaining = list.metadata.remaining_item_count.unwrap_or_default();
    list.items.len() + usize::try_from(remaining).unwrap_or_default()
}

/// Waits without asking often: that would take from what is measured.
async fn until(what: &str, holds: impl AsyncFn() -> bool) {
    let started = Instant::now();
    while !holds().await {
        assert!(started.elapsed() < Duration::from_mins(20), "never: {what}");
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
}

/// As many ConfigMaps as Secrets.
async fn create_unrelated(client: &Client, total: usize) {
    let maps = objects(client, "unrelated", "", "v1", "ConfigMap");
    let secrets = objects(client, "unrelated", "", "v1", "Secret");
    at_once(total, async |number| {
        let (api, kind, field) =
            if number % 2 == 0 { (&maps, "ConfigMap", "data") } else { (&secrets, "Secret", "stringData") };
        let value = json!({
            "apiVersion": "v1", "kind": kind, "metadata": { "name": format!("unrelated-{number}") },
            field: { "x": "x".repeat(30_000) },
        });
        api.create(&PostParams::default(), &object(value)).await.expect("creates");
    })
    .await;
}

/// Rows in the order in which they were first said, with a cell for each controller.
#[derive(Default)]
struct Table(Vec<(String, [String; 2])>);

impl Table {
    fn set(&mut self, row: &str, controller: Controller, value: String) {
        let column = usize::from(controller == Controller::Ours);
        if !self.0.iter().any(|(name, _)| name == row) {
            self.0.push((row.to_owned(), ["–".to_owned(), "–".to_owned()]));
        }
        if let Some((_, cells)) = self.0.iter_mut().find(|(name, _)| name == row) {
            cells[column] = value;
        }
    }

    fn markdown(&self) -> String {
        let [upstream, ours] = Controller::BOTH;
        let rows = self.0.iter().map(|(row, [upstream, ours])| format!("| {row} | {upstream} | {ours} |\n"));
        format!("\n| | {upstream} | {ours} |\n|---|---|---|\n{}", rows.collect::<String>())
    }
}
