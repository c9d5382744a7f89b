//! What a user asked of the API server, read from its audit log.
//!
//! Only the users of [`Options::audited`](super::Options::audited) are logged. The server writes a request's entry when
//! it has answered, so the newest requests may be missing for a moment: wait for what must come, then count.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Value, json};

/// The audit log of one control plane.
#[derive(Clone, Debug)]
pub(crate) struct AuditLog {
    path: PathBuf,
}

/// One request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) user: String,
    /// Kubernetes' verb: get, list, watch, create, update, patch, delete, deletecollection.
    pub(crate) verb: String,
    /// As RBAC writes it: `jobsets.jobset.x-k8s.io/status`; the path for what is no resource, such as `/apis`.
    pub(crate) resource: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// The HTTP status of the answer.
    pub(crate) status: u16,
}

impl Request {
    /// Whether it asked to change something.
    pub(crate) fn writes(&self) -> bool {
        !matches!(self.verb.as_str(), "get" | "list" | "watch")
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { user, verb, resource, namespace, name, status } = self;
        write!(f, "{user} {verb} {resource} {namespace}/{name}: {status}")
    }
}

/// How many requests there were of each kind.
pub(crate) type Counts = BTreeMap<Kind, usize>;

/// What requests are counted by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Kind {
    pub(crate) user: String,
    pub(crate) verb: String,
    pub(crate) resource: String,
}

/// A point in the log: requests answered later come after it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mark(u64);

impl AuditLog {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// The end of the log as it is now.
    pub(crate) fn mark(&self) -> io::Result<Mark> {
        Ok(Mark(fs::metadata(&self.path)?.len()))
    }

    /// The requests of `user` since `mark`, oldest first; `Mark::default()` is the beginning. A watch counts when it
    /// starts, everything else when it is answered.
    pub(crate) fn requests(&self, user: &str, mark: Mark) -> io::Result<Vec<Request>> {
        let log = fs::read(&self.path)?;
        let start = usize::try_from(mark.0).map_or(log.len(), |start| start.min(log.len()));
        let mut requests = Vec::new();
        for line in log[start..].split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n")) {
            let event: Event = serde_json::from_slice(line)?;
            let counted = if event.verb == "watch" { "ResponseStarted" } else { "ResponseComplete" };
            if event.stage == counted && event.user.username == user {
                requests.push(event.into());
            }
        }
        Ok(requests)
    }

    /// The requests of `user` since `mark` that asked to change something.
    pub(crate) fn writes(&self, user: &str, mark: Mark) -> io::Result<Vec<Request>> {
        Ok(self.requests(user, mark)?.into_iter().filter(Request::writes).collect())
    }
}

/// Counts requests by user, verb and resource.
pub(crate) fn count<'a>(requests: impl IntoIterator<Item = &'a Request>) -> Counts {
    let mut counts = Counts::new();
    for Request { user, verb, resource, .. } in requests {
        let kind = Kind { user: user.clone(), verb: verb.clone(), resource: resource.clone() };
        *counts.entry(kind).or_default() += 1;
    }
    counts
}

/// The audit policy that logs the requests of `users`, without their bodies, and nothing else.
pub(crate) fn policy(users: &[String]) -> Value {
    json!({
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "rules": [{ "level": "Metadata", "users": users }, { "level": "None" }],
    })
}

/// The part of an audit.k8s.io/v1 Event that is read here.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event {
    stage: String,
    verb: String,
    #[serde(rename = "requestURI")]
    request_uri: String,
    user: EventUser,
    #[serde(default)]
    object_ref: ObjectRef,
    #[serde(default)]
    response_status: ResponseStatus,
}

#[derive(Deserialize)]
struct EventUser {
    username: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ObjectRef {
    resource: String,
    namespace: String,
    name: String,
    api_group: String,
    subresource: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ResponseStatus {
    code: u16,
}

impl From<Event> for Request {
    fn from(event: Event) -> Self {
        let ObjectRef { resource, namespace, name, api_group, subresource } = event.object_ref;
        let mut full = resource;
        if full.is_empty() {
            full = event.request_uri.split('?').next().unwrap_or_default().to_owned();
        }
        for (separator, part) in [('.', api_group), ('/', subresource)] {
            if !part.is_empty() {
                full.push(separator);
                full.push_str(&part);
            }
        }
        let status = event.response_status.code;
        Self { user: event.user.username, verb: event.verb, resource: full, namespace, name, status }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    /// A line of the log.
    fn line(user: &str, verb: &str, stage: &str) -> String {
        let object = json!({ "resource": "jobsets", "apiGroup": "jobset.x-k8s.io", "subresource": "status" });
        let uri = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/n/jobsets?watch=1";
        let mut event =
            json!({ "stage": stage, "verb": verb, "requestURI": uri, "user": { "username": user } });
        event["responseStatus"] = json!({ "code": 200 });
        event["objectRef"] = object;
        format!("{event}\n")
    }

    /// The verbs of what the user `controller` asked by the log `text`.
    fn verbs(text: &str) -> Vec<String> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name =
            format!("trainmaster-audit-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        fs::write(&path, text).expect("writes the log");
        let requests = AuditLog::new(path.clone()).requests("controller", Mark::default());
        fs::remove_file(path).expect("removes the log");
        let requests = requests.expect("reads the log");
        assert!(
            requests.iter().all(|request| request.resource == "jobsets.jobset.x-k8s.io/status"),
            "{requests:?}"
        );
        requests.into_iter().map(|request| request.verb).collect()
    }

    #[test]
    fn a_watch_counts_when_it_starts_and_once() {
        let started = line("controller", "watch", "ResponseStarted");
        assert_eq!(verbs(&started), ["watch"]);
        assert_eq!(verbs(&(started + &line("controller", "watch", "ResponseComplete"))), ["watch"]);
    }

    #[test]
    fn others_do_not_count() {
        let text =
            line("admin", "create", "ResponseComplete") + &line("controller", "get", "ResponseComplete");
        assert_eq!(verbs(&text), ["get"]);
    }

    #[test]
    fn a_line_that_is_not_whole_waits() {
        assert_eq!(verbs(&(line("controller", "patch", "ResponseComplete") + "{\"stage\":")), ["patch"]);
    }
}
