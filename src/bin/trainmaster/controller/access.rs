//! What the controller asks of the API server, as RBAC has to grant it: [`Access::of`].
//!
//! Which kinds it touches is said by policies; [`FIXED`] is what the code touches whatever policies say. Who adds a
//! request to the code adds a line there: a test on a control plane runs the controller under exactly these rules.

use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use trainmaster::{
    api,
    object::Gvk,
    policy::{Kinds, PolicySet},
};

/// Where something is touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    /// In every namespace, or in none.
    Cluster,
    /// In the namespace of the controller alone.
    Own,
}

/// A line of [`FIXED`]: where, the API group, the resource, the names if only some are touched, the verbs.
type Touched = (Scope, &'static str, &'static str, &'static [&'static str], &'static [&'static str]);

const FIXED: &[Touched] = {
    use Scope::{Cluster, Own};
    &[
        (Cluster, api::GROUP, "trainjobs", &[], FOLLOWED),
        (Cluster, api::GROUP, "trainjobs/status", &[], &["patch"]),
        // A child blocks the deletion of its TrainJob, which the admission plug-in OwnerReferencesPermissionEnforcement
        // lets only those say who may set the TrainJob's finalizers.
        (Cluster, api::GROUP, "trainjobs/finalizers", &[], &["update"]),
        // Finalizers of earlier versions are taken off; admission reads those that the cache may not know yet.
        (Cluster, api::GROUP, "trainingruntimes", &[], &["get", "list", "patch", "watch"]),
        (Cluster, api::GROUP, "clustertrainingruntimes", &[], &["get", "list", "patch", "watch"]),
        // The runtimes that TrainJobs are pinned to, and the parameters of policies.
        (Cluster, "", "configmaps", &[], MADE),
        // Told once, then counted.
        (Cluster, "", "events", &[], &["create", "get", "patch"]),
        // Whether a kind that is missing has come.
        (Cluster, "apiextensions.k8s.io", "customresourcedefinitions", &[], FOLLOWED),
        // The certificate, which the replicas share; nobody can be told whom to trust but by these configurations. RBAC
        // knows no names of what is yet to be made.
        (Own, "", "secrets", &[], &["create"]),
        (Own, "", "secrets", &["kubeflow-trainer-webhook-cert"], &["list", "patch", "watch"]),
        (Cluster, ADMISSION, "mutatingwebhookconfigurations", &["defaulter.trainer.kubeflow.org"], TRUSTED),
        (Cluster, ADMISSION, "validatingwebhookconfigurations", &["validator.trainer.kubeflow.org"], TRUSTED),
        // Which replica writes.
        (Own, "coordination.k8s.io", "leases", &[], &["create"]),
        (Own, "coordination.k8s.io", "leases", &["trainer.kubeflow.org"], &["get", "update"]),
        // Whether who tells the progress of a TrainJob may.
        (Cluster, "authentication.k8s.io", "tokenreviews", &[], &["create"]),
    ]
};

const ADMISSION: &str = "admissionregistration.k8s.io";
/// Objects of which one field is written.
const TRUSTED: &[&str] = &["list", "patch", "watch"];
/// Objects that are looked at.
const FOLLOWED: &[&str] = &["list", "watch"];
/// Objects that are made, and written again where they differ; read where only their metadata are kept.
const MADE: &[&str] = &["create", "get", "list", "patch", "watch"];
/// Objects that are deleted once their time is up.
const WORKLOAD: &[&str] = &["delete"];

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Resource {
    group: String,
    /// With a subresource: `trainjobs/status`.
    plural: String,
    names: &'static [&'static str],
}

type Verbs = BTreeMap<Resource, BTreeSet<&'static str>>;

/// What may be done with which resources.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Access {
    cluster: Verbs,
    own: Verbs,
    /// Kinds that are known to policies only: how the API server calls them is a guess.
    pub(crate) guessed: BTreeSet<Gvk>,
}

impl Access {
    /// What the controller needs to serve `policies`.
    pub(crate) fn of(policies: &PolicySet) -> Access {
        let mut access = Access::default();
        for (scope, group, plural, names, verbs) in FIXED {
            let resource = Resource { group: (*group).to_owned(), plural: (*plural).to_owned(), names };
            let of_scope = match scope {
                Scope::Cluster => &mut access.cluster,
                Scope::Own => &mut access.own,
            };
            of_scope.entry(resource).or_default().extend(*verbs);
        }
        // A kind that is only required is asked for by discovery, which everybody may do.
        let Kinds { required: _, made, workloads, updated: _, observed, watched, referenced } =
            policies.kinds();
        for (kinds, verbs) in [
            (made, MADE),
            (workloads, WORKLOAD),
            (observed, FOLLOWED),
            (watched, FOLLOWED),
            (referenced, FOLLOWED),
        ] {
            for kind in kinds {
                let resource =
                    Resource { group: kind.group().to_owned(), plural: access.plural(&kind), names: &[] };
                access.cluster.entry(resource).or_default().extend(verbs);
            }
        }
        access
    }

    /// What this has and `less` has not.
    pub(crate) fn beyond(mut self, less: &Access) -> Access {
        for (mine, less) in [(&mut self.cluster, &less.cluster), (&mut self.own, &less.own)] {
            for (resource, verbs) in &mut *mine {
                verbs.retain(|verb| less.get(resource).is_none_or(|less| !less.contains(verb)));
            }
            mine.retain(|_, verbs| !verbs.is_empty());
        }
        self
    }

    /// The rules of a ClusterRole.
    pub(crate) fn cluster_rules(&self) -> Value {
        rules(&self.cluster)
    }

    /// The rules of a Role in the namespace of the controller.
    pub(crate) fn own_rules(&self) -> Value {
        rules(&self.own)
    }

    fn plural(&mut self, kind: &Gvk) -> String {
        let schemas = api::schemas();
        let known =
            schemas.kind(&kind.api_version, &kind.kind).and_then(|ty| schemas.object(ty)?.kind.as_ref());
        if let Some(known) = known {
            return known.plural.to_string();
        }
        self.guessed.insert(kind.clone());
        guess(kind)
    }
}

/// The resource of a kind, as most are called: `gangs` of Gang.
pub(crate) fn guess(kind: &Gvk) -> String {
    ApiResource::from_gvk(&GroupVersionKind::gvk(kind.group(), kind.version(), &kind.kind)).plural
}

/// As few rules as say it: resources of one group with the same verbs share one.
fn rules(verbs: &Verbs) -> Value {
    let mut shared: BTreeMap<_, Vec<&str>> = BTreeMap::new();
    for (Resource { group, plural, names }, verbs) in verbs {
        shared.entry((group, names, verbs)).or_default().push(plural);
    }
    let rule = |((group, names, verbs), resources): (_, Vec<&str>)| {
        let (group, names, verbs): (&String, &&[&str], &BTreeSet<&str>) = (group, names, verbs);
        let mut rule = json!({ "apiGroups": [group], "resources": resources, "verbs": verbs });
        if let (Value::Object(rule), false) = (&mut rule, names.is_empty()) {
            rule.insert("resourceNames".to_owned(), json!(names));
        }
        rule
    };
    shared.into_iter().map(rule).collect()
}
