//! One case, step by step: [`drive`].

use crate::{
    case::Case,
    cluster::{Answer, Cluster, KINDS, WATCHED, row, row_of},
    compare::{Differences, compare, response},
};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

/// How long nothing must be written until all is quiet; at the end of a case, once more, to see what comes late.
const QUIET: Duration = Duration::from_millis(500);
const QUIET_AT_LAST: Duration = Duration::from_millis(1500);
const INTERVAL: Duration = Duration::from_millis(50);
/// How long what has not come yet is waited for: a machine may be busy.
const PATIENCE: Duration = Duration::from_secs(12);
/// How long a namespace may go without any quiet.
const LIMIT: Duration = Duration::from_secs(40);

/// The differences after each step that has any.
pub(crate) type Found = BTreeMap<usize, Differences>;

/// Does what a case says, and finds where it differs from its record. What is among the `expected` to differ is not waited
/// for.
pub(crate) async fn drive(cluster: &Cluster, case: &Case, expected: &BTreeSet<String>) -> Found {
    let namespace =
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": case.namespace } });
    let mut answers = vec![cluster.create(&namespace).await];
    for object in &case.setup {
        answers.push(cluster.create(object).await);
    }
    if let Some(refused) = answers.iter().find(|answer| !answer.is_accepted()) {
        let text = format!("a part of what is set up is refused: {}", refused.body);
        return Found::from([(0, Differences::from([("setup".to_owned(), text)]))]);
    }
    let mut found = Found::new();
    for (number, (step, recorded)) in case.steps.iter().zip(&case.observed).enumerate() {
        let since = Instant::now();
        let answer = take(cluster, &case.namespace, step).await;
        let is_last = number + 1 == case.steps.len();
        let mut differences = response(&recorded["response"], answer.as_ref());
        differences.extend(settled(cluster, case, recorded, since, expected, is_last).await);
        if !differences.is_empty() {
            found.insert(number, differences);
        }
    }
    found
}

/// Waits until all is quiet and as recorded, or until patience ends; returns what differs then.
async fn settled(
    cluster: &Cluster,
    case: &Case,
    recorded: &Value,
    since: Instant,
    expected: &BTreeSet<String>,
    is_last: bool,
) -> Differences {
    let quiet = if is_last { QUIET_AT_LAST } else { QUIET };
    let acted = Instant::now();
    loop {
        tokio::time::sleep(INTERVAL).await;
        let is_quiet = cluster.world.quiet(&case.namespace, since) >= quiet;
        let differences = || compare(recorded, &cluster.world.objects(&case.namespace), cluster.stamps);
        let found = if is_quiet || acted.elapsed() >= LIMIT { differences() } else { continue };
        if acted.elapsed() >= PATIENCE || found.keys().all(|subject| expected.contains(subject)) {
            return found;
        }
    }
}

/// Takes a step; `None` if it asks nothing of the API server.
async fn take(cluster: &Cluster, namespace: &str, step: &Value) -> Option<Answer> {
    let (verb, body) = step.as_object().and_then(|it| it.iter().next()).expect("a step says what to do");
    let name = body["name"].as_str().or(body["metadata"]["name"].as_str()).unwrap_or_default();
    let answer = match verb.as_str() {
        "create" => cluster.create(body).await,
        "replace" => {
            let mut object = body.clone();
            let before = cluster.get(row(body), namespace, name).await;
            object["metadata"]["resourceVersion"] = before.body["metadata"]["resourceVersion"].clone();
            cluster.put(row(body), namespace, name, &object).await
        }
        "patch" => cluster.patch(row_of(body), namespace, name, "", &body["body"]).await,
        "patchStatus" => cluster.patch(row_of(body), namespace, name, "/status", &body["body"]).await,
        "delete" => cluster.delete(row_of(body), namespace, name).await,
        "sleep" => {
            tokio::time::sleep(Duration::from_secs_f64(body.as_f64().expect("seconds"))).await;
            return None;
        }
        other => panic!("no such step: {other}"),
    };
    seen(cluster, namespace, verb, &answer).await;
    Some(answer)
}

/// Waits until the watches have told what a request has stored.
async fn seen(cluster: &Cluster, namespace: &str, verb: &str, answer: &Answer) {
    let is_watched = KINDS[..WATCHED]
        .iter()
        .any(|(kind, version, ..)| answer.body["kind"] == *kind && answer.body["apiVersion"] == *version);
    if !answer.is_accepted() || verb == "delete" || !is_watched {
        return;
    }
    let started = Instant::now();
    while !cluster.world.has_seen(namespace, &answer.body) && started.elapsed() < QUIET {
        tokio::time::sleep(INTERVAL).await;
    }
}
