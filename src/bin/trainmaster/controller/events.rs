//! Events that tell users what is wrong with a TrainJob: core/v1, with the fields that the SDK reads.

use super::{cluster::At, error::Chain, error::Error, shared::Shared, store::hash};
use jiff::{Timestamp, Unit};
use k8s_openapi::api::core::v1::Event;
use kube::core::ApiResource;
use serde_json::{Value, json};
use trainmaster::object::metadata;

/// Who tells; upstream's name, which clients look for.
const REPORTER: &str = "trainer-trainjob-controller";
const REASON: &str = "TrainJobResourcesCreationFailed";
/// Longest message, in characters: upstream's limit, below the API server's.
const MAX_MESSAGE: usize = 950;

/// Tells that a TrainJob cannot be planned or applied. What was told before is counted, not told again. That it cannot
/// be told is logged and otherwise of no matter.
pub(super) async fn tell(shared: &Shared, train_job_at: At<'_>, train_job: &Value, message: &str) {
    let message = format!("TrainJob resources reconciliation failed: {}", cut(message));
    let resource = ApiResource::erase::<Event>(&());
    let name = name(train_job, &message);
    let at = At { resource: &resource, namespace: train_job_at.namespace, name: &name };
    let told = match shared.cluster.create(at, &event(at, train_job, &message)).await {
        Err(error) if error.is_already_there() => count(shared, at).await,
        other => other.map(drop),
    };
    if let Err(error) = told {
        tracing::warn!(error = %Chain(&error), "cannot write an Event");
    }
}

async fn count(shared: &Shared, at: At<'_>) -> Result<(), Error> {
    let before = shared.cluster.get(at).await?;
    let count = before.as_ref().and_then(|event| event["count"].as_i64()).unwrap_or(0);
    let patch = json!({ "count": count.saturating_add(1), "lastTimestamp": now() });
    shared.cluster.merge(at, &patch).await.map(drop)
}

fn event(at: At<'_>, train_job: &Value, message: &str) -> Value {
    let metadata = metadata(train_job);
    let now = now();
    json!({
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": { "name": at.name, "namespace": at.namespace },
        "involvedObject": {
            "apiVersion": train_job["apiVersion"],
            "kind": train_job["kind"],
            "namespace": metadata.namespace(),
            "name": metadata.name(),
            "uid": metadata.uid(),
        },
        "type": "Warning",
        "reason": REASON,
        "message": message,
        "source": { "component": REPORTER },
        "reportingComponent": REPORTER,
        "reportingInstance": "",
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    })
}

/// The same for the same message about the same TrainJob, so that a repetition finds the first.
fn name(train_job: &Value, message: &str) -> String {
    let metadata = metadata(train_job);
    format!("{}.{:016x}", metadata.name().unwrap_or_default(), hash(&(metadata.uid(), message)))
}

fn cut(message: &str) -> String {
    match message.char_indices().nth(MAX_MESSAGE) {
        Some((end, _)) => format!("{} ...", message.get(..end).unwrap_or_default()),
        None => message.to_owned(),
    }
}

fn now() -> String {
    let now = Timestamp::now();
    now.round(Unit::Second).unwrap_or(now).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_message_is_cut_between_characters() {
        assert_eq!(cut("short"), "short");
        let cut = cut(&"é".repeat(2000));
        assert_eq!(cut.chars().filter(|c| *c == 'é').count(), MAX_MESSAGE);
        assert!(cut.ends_with("é ..."));
    }

    #[test]
    fn the_same_message_has_the_same_name_and_another_job_of_that_name_another() {
        let job = |uid: &str| json!({"metadata": {"name": "bert", "namespace": "ml", "uid": uid}});
        assert_eq!(name(&job("a"), "m"), name(&job("a"), "m"));
        assert_ne!(name(&job("a"), "m"), name(&job("b"), "m"));
        assert_ne!(name(&job("a"), "m"), name(&job("a"), "n"));
    }
}
