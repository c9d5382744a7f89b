//! Cases driven on a live cluster: `cargo test --test live`.
//!
//! A case sets objects up and changes them step by step, as a user would; after each step, once all is quiet, what the
//! API server answered and holds is compared with what was recorded of upstream's controller. Only the API is used, so
//! it does not matter whose controller answers: on a control plane of its own the runner starts this project's, and
//! with `TRAINMASTER_LIVE_KUBECONFIG` it takes a cluster as it is. `README.md` beside this file says what is compared.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on says why and ends"
)]
#![allow(unreachable_pub, reason = "nothing is reachable from outside a test")]
#![allow(clippy::disallowed_methods, reason = "tests wait, and read files and the environment")]

mod case;
mod cluster;
mod compare;
mod drive;
mod list;
#[path = "../corpus/recorded.rs"]
mod recorded;
#[path = "../testbed/mod.rs"]
mod testbed;
mod world;

use case::Case;
use cluster::Cluster;
use drive::{Found, drive};
use futures::StreamExt as _;
use list::{Kind, List};
use std::{
    fmt::Write as _,
    io::Write as _,
    path::{Path, PathBuf},
    time::Instant,
};

/// How many cases run at a time.
const PARALLEL: usize = 16;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lifecycle() {
    run("lifecycle").await;
}

/// What is admitted and refused, and what comes of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn admission() {
    run("admission").await;
}

/// Drives the cases of a file of records; those that the list beside this file does not excuse must agree.
async fn run(name: &str) {
    let Some(cases) = cases(name) else { return };
    let list = List::read(&folder().join(format!("{name}.tsv")));
    let only = std::env::var("TRAINMASTER_LIVE_CASES").ok();
    let wanted = |case: &Case| only.as_ref().is_none_or(|it| it.split(',').any(|it| case.id.contains(it)));
    let known: Vec<String> = cases.iter().map(|case| case.id.clone()).collect();
    let (stable, unstable): (Vec<Case>, Vec<Case>) = cases.into_iter().partition(|case| !case.unstable);
    let stable: Vec<Case> = stable.into_iter().filter(wanted).collect();

    let started = Instant::now();
    let cluster = Cluster::find().await;
    let (cluster, list) = (&cluster, &list);
    let driven = stable.into_iter().map(async move |case| {
        let found = drive(cluster, &case, &list.subjects(&case.id)).await;
        (case, found)
    });
    let mut driven: Vec<(Case, Found)> =
        futures::stream::iter(driven).buffer_unordered(PARALLEL).collect().await;
    driven.sort_by(|(one, _), (other, _)| one.id.cmp(&other.id));

    let (mut agree, mut deliberate, mut to_come, mut report) = (0, 0, 0, String::new());
    for (case, found) in &driven {
        match list.judge(&case.id, found) {
            Ok(None) => agree += 1,
            Ok(Some(Kind::Deliberate)) => deliberate += 1,
            Ok(Some(Kind::ToCome)) => to_come += 1,
            Err(why) => _ = write!(report, "\n{}: {}\n{why}", case.id, case.why),
        }
    }
    say(&format!(
        "{name}: {agree} of {} cases agree, {deliberate} differ on purpose, {to_come} are to come; {} unstable ones are left \
         out; {} s",
        driven.len(),
        unstable.len(),
        started.elapsed().as_secs(),
    ));
    let unknown = list.unknown(&known);
    assert!(unknown.is_empty(), "{name}.tsv lists cases that do not exist: {unknown:?}");
    assert!(report.is_empty(), "{report}");
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance/live")
}

/// The records of that name.
fn cases(name: &str) -> Option<Vec<Case>> {
    let Some(folder) = std::env::var_os("TRAINMASTER_TEST_DATA") else {
        say("SKIPPED: TRAINMASTER_TEST_DATA names no folder, so nothing is driven");
        return None;
    };
    let path = PathBuf::from(folder).join("corpus").join(format!("{name}.jsonl"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    Some(text.lines().enumerate().map(|(number, line)| Case::parse(line, number)).collect())
}

/// Prints where it is seen although the test passes.
fn say(text: &str) {
    _ = writeln!(std::io::stderr(), "{text}");
}
