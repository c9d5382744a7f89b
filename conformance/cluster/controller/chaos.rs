//! The controller is killed at any moment, the network and the API server fail: every TrainJob ends rightly all the same,
//! nothing is made twice, nothing is lost.
//!
//! `make chaos` runs 300 TrainJobs and 300 kills; `TRAINMASTER_CHAOS=JOBS,KILLS` any other number, and
//! `TRAINMASTER_CHAOS_SEED` the same chances once more.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Range;
use std::time::{Duration, Instant};

use kube::api::{Api, DynamicObject, ListParams};
use serde_json::{Value, json};

use super::support::{Cluster, Namespace, api_server, endless, message, settle};
use crate::proxy::{Proxy, Random};
use crate::support::{condition, eventually, everything, objects};
use crate::testbed::Options;
use crate::testbed::audit::{Mark, Request};

/// How long nothing may come nearer to its end.
const PATIENCE: Duration = Duration::from_mins(2);

struct Size {
    jobs: usize,
    kills: u64,
    seed: u64,
}

impl Size {
    fn from_environment() -> Self {
        let sizes = std::env::var("TRAINMASTER_CHAOS").unwrap_or_else(|_| "28,10".to_owned());
        let (jobs, kills) = sizes.split_once(',').expect("TRAINMASTER_CHAOS=JOBS,KILLS");
        let seed = std::env::var("TRAINMASTER_CHAOS_SEED").ok().map_or_else(
            || u64::from(std::process::id()),
            |seed| seed.parse().expect("the seed is a number"),
        );
        println!("{jobs} TrainJobs, {kills} kills, TRAINMASTER_CHAOS_SEED={seed}");
        let number = |text: &str| text.parse().expect("is a number");
        Self { jobs: number(jobs), kills: kills.parse().expect("is a number"), seed }
    }
}

/// What a TrainJob is like, and so how it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sort {
    Plain,
    Fails,
    Gang,
    Mpi,
    /// Suspended, and resumed later.
    Resumed,
    /// Suspended for good.
    Held,
    /// It would run for ever, but has a deadline.
    Late,
}

const SORTS: [Sort; 7] =
    [Sort::Plain, Sort::Fails, Sort::Gang, Sort::Mpi, Sort::Resumed, Sort::Held, Sort::Late];

impl Sort {
    fn of(number: usize) -> Self {
        SORTS[number % SORTS.len()]
    }

    fn runtime(self) -> &'static str {
        match self {
            Sort::Plain | Sort::Resumed | Sort::Held => "plain",
            Sort::Fails => "fails",
            Sort::Gang => "gang",
            Sort::Mpi => "mpi",
            Sort::Late => "endless",
        }
    }

    fn change(self, job: &mut Value) {
        job["spec"]["runtimeRef"]["name"] = json!(self.runtime());
        job["spec"]["suspend"] = json!(matches!(self, Sort::Resumed | Sort::Held));
        if self == Sort::Late {
            job["spec"]["activeDeadlineSeconds"] = json!(3);
        }
    }

    /// The condition that it has in the end.
    fn end(self) -> &'static str {
        match self {
            Sort::Plain | Sort::Gang | Sort::Mpi | Sort::Resumed => "Complete",
            Sort::Fails | Sort::Late => "Failed",
            Sort::Held => "Suspended",
        }
    }

    fn has_ended(self, job: &DynamicObject) -> bool {
        let others = ["Complete", "Failed", "Blocked"].into_iter().filter(|kind| *kind != self.end());
        condition(job, self.end()) == Some("True")
            && others.into_iter().all(|kind| condition(job, kind) != Some("True"))
    }
}

fn template(runtime: &mut Value) -> &mut Value {
    &mut runtime["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]
}

async fn create_runtimes(namespace: &Namespace) {
    namespace.create_runtime("plain", |_| {}).await;
    namespace.create_runtime("endless", endless).await;
    namespace
        .create_runtime("fails", |it| {
            template(it)["backoffLimit"] = json!(0);
            template(it)["template"]["metadata"] =
                json!({ "annotations": { "testbed.trainmaster.dev/phase": "Failed" } });
        })
        .await;
    let gang = json!({ "coscheduling": {} });
    namespace.create_runtime("gang", |it| it["spec"]["podGroupPolicy"] = gang).await;
    namespace
        .create_runtime("mpi", |it| {
            it["spec"]["mlPolicy"]["mpi"] = json!({ "mpiImplementation": "OpenMPI" });
            let jobs = &mut it["spec"]["template"]["spec"]["replicatedJobs"];
            let mut launcher = jobs[0].clone();
            launcher["name"] = json!("launcher");
            launcher["template"]["metadata"] = json!({});
            jobs.as_array_mut().expect("is a list").insert(0, launcher);
        })
        .await;
}

fn name(number: usize) -> String {
    format!("job-{number}")
}

/// Creates the TrainJobs one by one, and resumes those that are to be.
async fn create_jobs(namespace: &Namespace, numbers: Range<usize>, every: Duration) {
    for number in numbers.clone() {
        namespace.create_job(&name(number), |job| Sort::of(number).change(job)).await;
        tokio::time::sleep(every).await;
    }
    for number in numbers.filter(|number| Sort::of(*number) == Sort::Resumed) {
        let resume = json!({ "spec": { "suspend": false } });
        namespace.merge(&namespace.train_jobs(), &name(number), &resume).await;
    }
}

/// Lets the controller live for a moment, again and again.
async fn kill(cluster: &mut Cluster, kills: u64, random: &Random) {
    for _ in 0..kills {
        tokio::time::sleep(Duration::from_millis(random.below(1200))).await;
        cluster.kill_controller();
        cluster.launch();
    }
}

/// Waits until every TrainJob has ended as it should.
async fn all_end(namespace: &Namespace, count: usize) {
    let (mut left, mut since) = (usize::MAX, Instant::now());
    while left > 0 {
        let jobs = namespace.train_jobs().list(&ListParams::default()).await.map(|it| it.items);
        let jobs = jobs.unwrap_or_default();
        let wrong = jobs.iter().filter(|job| !sort_of(job).has_ended(job));
        let wrong: Vec<String> = wrong.map(describe).collect();
        let now = count - jobs.len() + wrong.len();
        if now < left {
            (left, since) = (now, Instant::now());
        }
        assert!(since.elapsed() < PATIENCE, "{left} of {count} do not end:\n{}", wrong.join("\n"));
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

fn sort_of(job: &DynamicObject) -> Sort {
    let name = job.metadata.name.as_deref().unwrap_or_default();
    Sort::of(name.trim_start_matches("job-").parse().expect("has a number"))
}

fn describe(job: &DynamicObject) -> String {
    let name = job.metadata.name.as_deref().unwrap_or_default();
    format!("{name} ({:?}): {} {}", sort_of(job), job.data["status"], message(job, "Blocked"))
}

/// The objects of a kind: those that must be there, and those that may.
struct Wanted {
    api: Api<DynamicObject>,
    resource: &'static str,
    must: BTreeSet<String>,
    may: BTreeSet<String>,
}

fn wanted(namespace: &Namespace, count: usize) -> [Wanted; 4] {
    let named = |suffix: &'static str, is_meant: fn(Sort) -> bool| {
        let numbers = (0..count).filter(move |number| is_meant(Sort::of(*number)));
        numbers.map(|number| name(number) + suffix).collect::<BTreeSet<String>>()
    };
    let pins = named("-runtime-snapshot", |sort| sort != Sort::Late);
    let hostfiles = named("-mpi-hostfile", |sort| sort == Sort::Mpi);
    // A TrainJob whose deadline passes while nobody is there has nothing.
    let late = named("-runtime-snapshot", |sort| sort == Sort::Late);
    let secrets = objects(&namespace.client, &namespace.name, "", "v1", "Secret");
    let wanted = |api, resource, must| Wanted { api, resource, must, may: BTreeSet::new() };
    [
        wanted(namespace.job_sets(), "jobsets.jobset.x-k8s.io", named("", |sort| sort != Sort::Late)),
        wanted(namespace.pod_groups(), "podgroups.scheduling.x-k8s.io", named("", |sort| sort == Sort::Gang)),
        wanted(secrets, "secrets", named("-mpi-ssh-auth", |sort| sort == Sort::Mpi)),
        Wanted { may: late, ..wanted(namespace.config_maps(), "configmaps", &pins | &hostfiles) },
    ]
}

/// Everything that must be there is, once, and was made once; and nothing is done any more.
async fn nothing_is_lost_or_doubled(cluster: &Cluster, namespace: &Namespace, count: usize) {
    let requests = cluster.requests(Mark::default());
    for Wanted { api, resource, must, may } in wanted(namespace, count) {
        let list = api.list(&ListParams::default()).await.expect("lists").items;
        let ours = list.into_iter().filter(|it| it.metadata.owner_references.is_some());
        let found: BTreeSet<String> = ours.filter_map(|it| it.metadata.name).collect();
        assert_eq!(&must - &found, BTreeSet::new(), "{resource}: lost");
        assert_eq!(&found - &(&must | &may), BTreeSet::new(), "{resource}: too many");
        let twice: Vec<_> =
            created(&requests, resource).into_iter().filter(|(_, times)| *times > 1).collect();
        assert!(twice.is_empty(), "made twice: {resource} {twice:?}");
    }
    let written = requests.iter().filter(|it| it.resource == "secrets" && it.writes() && it.status < 300);
    let names: Vec<&str> = written.map(|it| it.name.as_str()).collect();
    assert_eq!(names.len(), names.iter().collect::<BTreeSet<_>>().len(), "a key is written once: {names:?}");
    // What failed last is tried again once more, and a watch that was cut comes back, in up to half a minute.
    eventually("nothing is written any more", async || {
        let mark = cluster.mark();
        settle().await;
        let writes = cluster.writes(mark);
        for write in &writes {
            println!("still written: {write}");
        }
        writes.is_empty().then_some(())
    })
    .await;
    no_panic(cluster);
}

/// How often each object of a kind was made.
fn created<'r>(requests: &'r [Request], resource: &str) -> BTreeMap<&'r str, usize> {
    let mut times = BTreeMap::new();
    for request in requests.iter().filter(|it| it.resource == resource && it.status == 201) {
        *times.entry(request.name.as_str()).or_default() += 1;
    }
    times
}

/// No controller that was killed has panicked before.
fn no_panic(cluster: &Cluster) {
    for entry in fs::read_dir(cluster.control_plane.logs()).expect("has logs") {
        let path = entry.expect("has a name").path();
        if path.file_name().is_some_and(|it| it.to_string_lossy().starts_with("trainmaster")) {
            let log = fs::read_to_string(&path).expect("is text");
            assert!(!log.contains("panic"), "{}:\n{log}", path.display());
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_at_any_moment_it_ends_every_trainjob_rightly() {
    let size = Size::from_environment();
    let random = Random::new(size.seed);
    let mut cluster = Cluster::start(&everything()).await;
    let namespace = cluster.namespace("kills").await;
    create_runtimes(&namespace).await;
    let creating = {
        let namespace = namespace.clone();
        tokio::spawn(async move { create_jobs(&namespace, 0..size.jobs, Duration::from_millis(300)).await })
    };
    kill(&mut cluster, size.kills, &random).await;
    creating.await.expect("creates all");
    all_end(&namespace, size.jobs).await;
    nothing_is_lost_or_doubled(&cluster, &namespace, size.jobs).await;
}

/// Says of JobSets what their controller would, as long as it is asked.
async fn play_job_sets(namespace: Namespace) {
    loop {
        let sets = namespace.job_sets().list(&ListParams::default()).await.map(|it| it.items);
        for set in sets.unwrap_or_default() {
            let kind = match sort_of(&set) {
                Sort::Late | Sort::Held => continue,
                Sort::Fails => "Failed",
                _ => "Completed",
            };
            if set.data["spec"]["suspend"] == true || condition(&set, kind).is_some() {
                continue;
            }
            let condition = json!({
                "type": kind, "status": "True", "reason": "Played", "message": "as in the book",
                "lastTransitionTime": "2030-01-01T00:00:00Z",
            });
            let status = json!({ "conditions": [condition], "restarts": 0, "restartsCountTowardsMax": 0 });
            let patch = kube::api::Patch::Merge(json!({ "status": status }));
            let name = set.metadata.name.expect("has a name");
            // While the API server is away nobody hears it; it is said again.
            _ = namespace.job_sets().patch_status(&name, &kube::api::PatchParams::default(), &patch).await;
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn through_a_bad_network_and_restarts_of_the_api_server_every_trainjob_ends_rightly() {
    let size = Size::from_environment();
    let random = Random::new(size.seed);
    let options: Options = api_server();
    let mut cluster = Cluster::without_controller(&options);
    let namespace = cluster.namespace("network").await;
    create_runtimes(&namespace).await;
    let proxy = Proxy::start(&cluster.control_plane, size.seed).await;
    cluster = cluster.with_kubeconfig(&proxy.kubeconfig);
    proxy.be_bad(true);
    cluster.launch();
    let half = size.jobs / 2;
    create_jobs(&namespace, 0..half, Duration::from_millis(50)).await;
    let playing = tokio::spawn(play_job_sets(namespace.clone()));
    for _ in 0..(size.kills / 10).max(2) {
        kill(&mut cluster, 3, &random).await;
        let restarted = cluster.control_plane.restart_api_server(&options).await;
        restarted.unwrap_or_else(|error| panic!("{}", crate::support::chain(&error)));
    }
    // These are not helped by a restart, and things go on going wrong until all have ended.
    create_jobs(&namespace, half..size.jobs, Duration::from_millis(50)).await;
    all_end(&namespace, size.jobs).await;
    println!("{} faults", proxy.faults());
    assert!(proxy.faults() > 20, "{} faults", proxy.faults());
    proxy.be_bad(false);
    playing.abort();
    nothing_is_lost_or_doubled(&cluster, &namespace, size.jobs).await;
}
