//! Everything a plan may know.

use crate::{
    api,
    diagnostic::nearest,
    object::{Gvk, ObjectRef, find, metadata},
    schema,
};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Everything a plan may know: the TrainJob, what it refers to, what exists. Objects are as the API server stores them.
#[derive(Debug)]
pub struct Snapshot {
    /// The TrainJob.
    pub train_job: Value,
    /// The TrainJob before an update, at admission.
    pub old_train_job: Option<Value>,
    /// The runtime it refers to.
    pub runtime: Runtime,
    /// The objects of the names that [`wanted`](super::wanted) lists, as far as they exist.
    pub live: BTreeMap<ObjectRef, Value>,
    /// What else policies may look up, and the ConfigMaps that hold parameters.
    pub others: BTreeMap<ObjectRef, Value>,
    /// The kinds that the cluster serves.
    pub served: Served,
    /// Settings of the controller.
    pub config: Config,
    /// Fresh random bytes from the operating system, for keys that are made once. Without them a plan that wants one fails.
    pub random: Option<[u8; 32]>,
}

/// The runtime of a TrainJob.
#[derive(Clone, Debug, PartialEq)]
pub enum Runtime {
    /// As it was when the TrainJob was first planned.
    Pinned(Value),
    /// As it is now; the plan pins it.
    Live(Value),
    /// It is not there.
    Missing,
}

impl Runtime {
    /// A runtime as the API server stores it, in the form in which upstream's Go types write it: what is pinned and
    /// what becomes a JobSet must be spelled the same as theirs.
    pub fn live(mut runtime: Value) -> Runtime {
        let schemas = api::schemas();
        let kind = Gvk::of(&runtime);
        if let Some(ty) = kind.and_then(|kind| schemas.kind(&kind.api_version, &kind.kind)) {
            schema::canonical(schemas, ty, &mut runtime);
        }
        Runtime::Live(with_spec(runtime))
    }
}

/// The runtime with its `spec`, which one that says nothing is written without.
pub(crate) fn with_spec(mut runtime: Value) -> Value {
    if let Some(fields) = runtime.as_object_mut() {
        fields.entry("spec").or_insert_with(|| json!({}));
    }
    runtime
}

/// The kinds that a cluster serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Served {
    /// All that anyone asks for: offline, where no cluster says otherwise.
    Everything,
    /// These.
    Only(BTreeSet<Gvk>),
}

impl Served {
    /// Whether the kind is among them.
    pub fn has(&self, kind: &Gvk) -> bool {
        match self {
            Served::Everything => true,
            Served::Only(kinds) => kinds.contains(kind),
        }
    }
}

/// Settings of the controller that policies may read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The namespace it runs in.
    pub namespace: String,
    /// The DNS domain of the cluster.
    pub cluster_domain: String,
    /// The Service, in its namespace, by which its servers are reached.
    pub service: String,
    /// The port of the server that TrainJobs tell their progress.
    pub status_port: u16,
    /// Who vouches for the certificate of its servers, PEM; empty as long as that is not known.
    pub certificate_authorities: String,
    /// The names of the feature gates that are on.
    pub feature_gates: BTreeSet<String>,
}

impl Config {
    /// The settings as expressions read them.
    pub(crate) fn tree(&self) -> Value {
        json!({
            "certificateAuthorities": self.certificate_authorities,
            "clusterDomain": self.cluster_domain,
            "featureGates": self.feature_gates,
            "namespace": self.namespace,
            "service": self.service,
            "statusPort": self.status_port,
        })
    }
}

impl Default for Config {
    /// Upstream's names and port, and Kubernetes' domain.
    fn default() -> Self {
        Config {
            namespace: "kubeflow-system".to_owned(),
            cluster_domain: "cluster.local".to_owned(),
            service: "kubeflow-trainer-controller-manager".to_owned(),
            status_port: 10443,
            certificate_authorities: String::new(),
            feature_gates: BTreeSet::new(),
        }
    }
}

/// The reference of a TrainJob to its runtime, defaults filled in.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RuntimeRef {
    /// The group of the runtime's kind.
    pub group: String,
    /// The kind.
    pub kind: String,
    /// The name.
    pub name: String,
}

impl RuntimeRef {
    /// What `train_job` refers to.
    pub fn of(train_job: &Value) -> RuntimeRef {
        let field = |name: &str| find(train_job, &["spec", "runtimeRef"])?.get(name)?.as_str();
        RuntimeRef {
            group: field("apiGroup").unwrap_or(api::GROUP).to_owned(),
            kind: field("kind").unwrap_or("ClusterTrainingRuntime").to_owned(),
            name: field("name").unwrap_or_default().to_owned(),
        }
    }

    /// Whether such a kind of runtime exists.
    pub fn is_supported(&self) -> bool {
        self.group == api::GROUP && matches!(self.kind.as_str(), "TrainingRuntime" | "ClusterTrainingRuntime")
    }

    /// The runtime as an object, for a TrainJob in `namespace`; none if no such kind of runtime exists.
    pub fn object(&self, namespace: Option<&str>) -> Option<ObjectRef> {
        if !self.is_supported() {
            return None;
        }
        let namespace = namespace.filter(|_| self.kind == "TrainingRuntime").map(str::to_owned);
        let api_version = format!("{}/{}", api::GROUP, api::VERSION);
        Some(ObjectRef { gvk: Gvk::new(api_version, &*self.kind), namespace, name: self.name.clone() })
    }
}

impl RuntimeRef {
    /// Which of `runtimes` may be meant, if the one that a TrainJob in `namespace` refers to is not among them.
    pub fn meant<'r>(
        &self,
        namespace: Option<&str>,
        runtimes: impl Iterator<Item = &'r ObjectRef> + Clone,
    ) -> Option<String> {
        let is_near = |it: &&ObjectRef| it.namespace.is_none() || it.namespace.as_deref() == namespace;
        let namesakes = || runtimes.clone().filter(|it| it.name == self.name);
        if let Some(found) = namesakes().find(is_near) {
            return Some(format!("there is a {found}, which `kind: {}` refers to", found.gvk.kind));
        }
        if let Some(found) = namesakes().next() {
            return Some(format!("there is a {found}, but only those of its own namespace serve a TrainJob"));
        }
        let of_kind = runtimes.filter(|it| it.gvk.kind == self.kind && is_near(it));
        let name = nearest(&self.name, of_kind.map(|it| it.name.as_str()))?;
        Some(format!("did you mean `{name}`?"))
    }
}

/// What the plan asks of a TrainJob before anything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is to be run.
    Active,
    /// Another controller runs it.
    Foreign,
    /// It is being deleted.
    Deleted,
    /// It is Complete or Failed: nothing is ever made for it again.
    Finished,
}

/// How a TrainJob stands.
pub fn standing(train_job: &Value) -> Standing {
    let manager = find(train_job, &["spec", "managedBy"]).and_then(Value::as_str);
    if manager.is_some_and(|manager| manager != api::MANAGED_BY) {
        Standing::Foreign
    } else if metadata(train_job).deletion_timestamp().is_some() {
        Standing::Deleted
    } else if is_finished(train_job) {
        Standing::Finished
    } else {
        Standing::Active
    }
}

/// Whether the condition Complete or Failed is true.
pub fn is_finished(train_job: &Value) -> bool {
    let conditions = find(train_job, &["status", "conditions"]).and_then(Value::as_array);
    conditions.into_iter().flatten().any(|condition| {
        matches!(condition["type"].as_str(), Some("Complete" | "Failed")) && condition["status"] == "True"
    })
}

/// Whether the TrainJob is suspended.
pub fn is_suspended(train_job: &Value) -> bool {
    find(train_job, &["spec", "suspend"]).and_then(Value::as_bool).unwrap_or(false)
}
