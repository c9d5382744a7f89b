//! Watches a `TrainJob` and all that is made for it, and says what changes.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use kube::Client;
use kube::api::{Api, ListParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind, ResourceExt as _};
use serde_json::Value;

use crate::testbed::Process;

/// How long the `TrainJob` may take; on a healthy machine it needs a few seconds.
const LIMIT: Duration = Duration::from_mins(2);
const INTERVAL: Duration = Duration::from_millis(100);

/// What a `TrainJob` may bring about, owners before what they own.
const KINDS: [(&str, &str, &str); 8] = [
    ("trainer.kubeflow.org", "v1alpha1", "TrainJob"),
    ("", "v1", "ConfigMap"),
    ("", "v1", "Secret"),
    ("scheduling.x-k8s.io", "v1alpha1", "PodGroup"),
    ("scheduling.volcano.sh", "v1beta1", "PodGroup"),
    ("jobset.x-k8s.io", "v1alpha2", "JobSet"),
    ("batch", "v1", "Job"),
    ("", "v1", "Pod"),
];

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("cannot list objects of kind {kind}")]
    List { kind: &'static str, source: Box<kube::Error> },
    #[error("the TrainJob ended as {status}, not Complete: {message}")]
    NotComplete { status: String, message: String },
    #[error("the TrainJob was not Complete after {} s but {status}; the controller's log ends:\n{log}", LIMIT.as_secs())]
    Late { status: String, log: String },
    #[error("the controller ended ({status}); its log ends:\n{log}")]
    Controller { status: ExitStatus, log: String },
}

/// An object, and of whom it is.
pub(crate) struct Member {
    kind: &'static str,
    name: String,
    status: String,
    /// Kind and name of its controller; empty for the `TrainJob` itself.
    owner: String,
    object: DynamicObject,
}

/// Prints what changes until the `TrainJob` is Complete. Returns it and all that is made for it.
pub(crate) async fn to_its_end(
    client: &Client,
    trainjob: &Value,
    controller: &mut Process,
) -> Result<Vec<Member>, Error> {
    let name = trainjob["metadata"]["name"].as_str().unwrap_or_default();
    let namespace = trainjob["metadata"]["namespace"].as_str().unwrap_or("default");
    let started = Instant::now();
    let mut seen = BTreeMap::new();
    loop {
        let family = family(client, namespace, name).await?;
        for Member { kind, name, status, .. } in &family {
            if seen.insert((*kind, name.clone()), status.clone()).as_ref() != Some(status) {
                let seconds = started.elapsed().as_secs_f32();
                let what = if status == NONE { "created" } else { status };
                println!("  {seconds:6.1} s  {:<44} {what}", format!("{kind}/{name}"));
            }
        }
        let status = family.first().map(|trainjob| trainjob.status.clone()).unwrap_or_default();
        match status.as_str() {
            "Complete" => return Ok(family),
            "Failed" => return Err(Error::NotComplete { status, message: message(&family) }),
            _ if started.elapsed() > LIMIT => return Err(Error::Late { status, log: controller.log_tail() }),
            _ => {}
        }
        if let Some(status) = controller.ended() {
            return Err(Error::Controller { status, log: controller.log_tail() });
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

/// The family as `kubectl get` would print it.
pub(crate) fn table(family: &[Member]) -> String {
    let width =
        |text: fn(&Member) -> &str| family.iter().map(|member| text(member).len()).max().unwrap_or_default();
    let kinds = width(|member| member.kind).max("KIND".len());
    let names = width(|member| &member.name).max("NAME".len());
    let statuses = width(|member| &member.status).max("STATUS".len());
    let mut table =
        format!("    {:kinds$}   {:names$}   {:statuses$}   CONTROLLED BY", "KIND", "NAME", "STATUS");
    for Member { kind, name, status, owner, .. } in family {
        let line = format!("    {kind:kinds$}   {name:names$}   {status:statuses$}   {owner}");
        _ = write!(table, "\n{}", line.trim_end());
    }
    table
}

/// The `TrainJob` called `name` and what it or a member of it controls, in the order of [`KINDS`].
async fn family(client: &Client, namespace: &str, name: &str) -> Result<Vec<Member>, Error> {
    let mut family: Vec<Member> = Vec::new();
    for (group, version, kind) in KINDS {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &resource);
        let list = api.list(&ListParams::default()).await;
        for object in list.map_err(|source| Error::List { kind, source: Box::new(source) })? {
            let owner = match family.first() {
                None => (object.name_any() == name).then(String::new),
                Some(_) => controller_of(&object, &family),
            };
            if let Some(owner) = owner {
                family.push(Member { kind, name: object.name_any(), status: status(&object), owner, object });
            }
        }
    }
    Ok(family)
}

/// Kind and name of the member that controls `object`, if one does.
fn controller_of(object: &DynamicObject, family: &[Member]) -> Option<String> {
    let owner = object.owner_references().iter().find(|owner| owner.controller == Some(true))?;
    let member = family.iter().find(|member| member.object.uid().as_ref() == Some(&owner.uid))?;
    Some(format!("{}/{}", member.kind, member.name))
}

/// The status of an object that has none.
const NONE: &str = "-";

/// One word: a pod's phase, else the latest condition that is True, else [`NONE`].
fn status(object: &DynamicObject) -> String {
    let status = &object.data["status"];
    if let Some(phase) = status["phase"].as_str() {
        return phase.to_owned();
    }
    let mut conditions = status["conditions"].as_array().into_iter().flatten();
    let latest = conditions.rfind(|condition| condition["status"] == "True");
    latest.and_then(|condition| condition["type"].as_str()).unwrap_or(NONE).to_owned()
}

/// What the conditions of the `TrainJob` say.
fn message(family: &[Member]) -> String {
    let conditions =
        family.first().and_then(|trainjob| trainjob.object.data["status"]["conditions"].as_array());
    let messages = conditions.into_iter().flatten().filter_map(|condition| condition["message"].as_str());
    messages.collect::<Vec<_>>().join("; ")
}
