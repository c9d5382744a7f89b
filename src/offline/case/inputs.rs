//! What goes into the plans of a case.

use super::{CONFIG, Case, NAMESPACE, OLD, POLICY, RANDOM, SERVED, bad};
use crate::{
    diagnostic::{Diagnostic, Source, has_errors},
    object::Gvk,
    offline::{self, Manifest, Manifests},
    plan::{self, Config, Plan, Served, Snapshot},
    policy::PolicySet,
    yaml::Node,
};
use serde_json::Value;

/// What goes into the plans of a case.
#[derive(Debug)]
pub struct Inputs {
    /// The objects that there are.
    pub manifests: Manifests,
    /// The policies, the case's own among them.
    pub policies: PolicySet,
    /// The settings of the controller.
    pub config: Config,
    served: Option<Served>,
    old: Option<Value>,
}

impl Inputs {
    /// What a plan for the TrainJob may know.
    pub fn snapshot(&self, train_job: &Manifest) -> Result<Snapshot, Vec<Diagnostic>> {
        let mut snapshot = self.manifests.snapshot(train_job, &self.policies, &self.config, Some(RANDOM))?;
        snapshot.old_train_job.clone_from(&self.old);
        snapshot.served = self.served.clone().unwrap_or(snapshot.served);
        Ok(snapshot)
    }

    pub(super) fn plan(&self, train_job: &Manifest) -> Result<Plan, Vec<Diagnostic>> {
        if self.served.is_none() && self.old.is_none() {
            return self.manifests.plan(train_job, &self.policies, &self.config, Some(RANDOM));
        }
        let snapshot = self.snapshot(train_job)?;
        plan::plan(&snapshot, &self.policies).map_err(|refusal| refusal.diagnostics().to_vec())
    }
}

impl Case {
    /// What goes into the plans of the case, and what is said about its manifests.
    pub fn inputs(&self, policies: &PolicySet) -> Result<(Inputs, Vec<Diagnostic>), Vec<Diagnostic>> {
        let sources: Vec<Source> = self.manifests().cloned().collect();
        let (manifests, said) = offline::read(&sources, NAMESPACE);
        let own: Vec<Source> = self.file(POLICY).cloned().into_iter().collect();
        let (policies, problems) = manifests.policies(policies, &own);
        if has_errors(&problems) {
            return Err(problems);
        }
        let served = self.node(SERVED)?.map(|node| served(&node)).transpose()?;
        let old = self.node(OLD)?.map(|node| node.to_json());
        let config = self.node(CONFIG)?.map(|node| config(&node)).transpose()?.unwrap_or_default();
        Ok((Inputs { manifests, policies, config, served, old }, said))
    }
}

/// The settings that differ from the default, called as expressions call them.
fn config(written: &Node) -> Result<Config, Vec<Diagnostic>> {
    let mut config = Config::default();
    for entry in written.as_map().unwrap_or_default() {
        let text = || entry.value.as_str().map(str::to_owned);
        let known = match entry.key.as_str() {
            "namespace" => text().map(|it| config.namespace = it),
            "service" => text().map(|it| config.service = it),
            "clusterDomain" => text().map(|it| config.cluster_domain = it),
            "certificateAuthorities" => text().map(|it| config.certificate_authorities = it),
            "statusPort" => {
                let port = entry.value.as_i64().and_then(|it| u16::try_from(it).ok());
                port.map(|it| config.status_port = it)
            }
            "featureGates" => entry.value.as_list().map(|items| {
                config.feature_gates = items.iter().filter_map(Node::as_str).map(str::to_owned).collect();
            }),
            _ => None,
        };
        if known.is_none() {
            return Err(bad(
                &entry.value,
                "this is no setting of the controller, or not a value of its type",
            ));
        }
    }
    Ok(config)
}

fn served(list: &Node) -> Result<Served, Vec<Diagnostic>> {
    let Some(items) = list.as_list() else {
        return Err(bad(list, "this must be a list of `apiVersion` and `kind`"));
    };
    let kind = |item: &Node| {
        let text = |field: &str| item.get(field).and_then(Node::as_str);
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        let kind = api_version.zip(kind).map(|(api_version, kind)| Gvk::new(api_version, kind));
        kind.ok_or_else(|| bad(item, "a kind has an `apiVersion` and a `kind`"))
    };
    items.iter().map(kind).collect::<Result<_, _>>().map(Served::Only)
}
