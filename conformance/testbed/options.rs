//! What a control plane is asked to consist of.

use std::path::PathBuf;

use super::users::User;

/// The user that the controller under test should be, so that the audit log can tell it from everyone else.
pub(crate) const CONTROLLER: &str = "trainmaster";

/// What a control plane consists of. The default is everything.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// Users besides [`ADMIN`]; each has a token and a kubeconfig.
    pub(crate) users: Vec<User>,
    /// Names of the users whose requests are logged, for [`ControlPlane::audit`].
    pub(crate) audited: Vec<String>,
    /// Admission plug-ins of the API server besides those that are on by default.
    pub(crate) admission_plugins: Vec<&'static str>,
    pub(crate) crds: Vec<Crd>,
    /// YAML files, or folders of them, that are applied before any controller starts: CRDs of our own, for example.
    pub(crate) manifests: Vec<PathBuf>,
    /// kube-controller-manager: Jobs make pods, owners' deletion is followed, namespaces get service accounts.
    pub(crate) controller_manager: bool,
    /// kube-scheduler.
    pub(crate) scheduler: bool,
    /// The `JobSet` controller and its webhooks; wants [`Crd::JobSet`].
    pub(crate) jobset: bool,
    /// Fake nodes, whose pods run and end as their annotations say (`kwok.yaml`); none, and no KWOK, if 0.
    pub(crate) nodes: u32,
    /// What every container on the fake nodes has written, in the form of container runtimes: a time, `stdout` or `stderr`,
    /// `F` and the line. Without it there are no logs to read.
    pub(crate) logs: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            crds: Crd::ALL.to_vec(),
            controller_manager: true,
            scheduler: true,
            jobset: true,
            nodes: 2,
            ..Self::api_server_only()
        }
    }
}

impl Options {
    /// etcd and the API server, no CRDs: objects are stored and nothing happens to them.
    pub(crate) fn api_server_only() -> Self {
        Self {
            users: vec![User::master(CONTROLLER)],
            audited: vec![CONTROLLER.to_owned()],
            admission_plugins: Vec::new(),
            crds: Vec::new(),
            manifests: Vec::new(),
            controller_manager: false,
            scheduler: false,
            jobset: false,
            nodes: 0,
            logs: None,
        }
    }

    /// The programs and manifests that must be there.
    pub(crate) fn assets(&self) -> Vec<&'static str> {
        let mut names = vec!["etcd", "kube-apiserver"];
        let optional = [
            (self.controller_manager, "kube-controller-manager"),
            (self.scheduler, "kube-scheduler"),
            (self.jobset, "jobset"),
            (self.jobset, "jobset-webhooks.yaml"),
            (self.nodes > 0, "kwok"),
        ];
        names.extend(optional.into_iter().filter_map(|(wanted, name)| wanted.then_some(name)));
        names.extend(self.crds.iter().map(|crd| crd.manifest()));
        names
    }
}

/// CRDs of other projects: the kinds of objects that are made for a `TrainJob`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Crd {
    JobSet,
    SchedulerPluginsPodGroup,
    VolcanoPodGroup,
}

impl Crd {
    pub(crate) const ALL: [Self; 3] = [Self::JobSet, Self::SchedulerPluginsPodGroup, Self::VolcanoPodGroup];

    pub(super) fn manifest(self) -> &'static str {
        match self {
            Self::JobSet => "jobset-crd.yaml",
            Self::SchedulerPluginsPodGroup => "scheduler-plugins-podgroup-crd.yaml",
            Self::VolcanoPodGroup => "volcano-podgroup-crd.yaml",
        }
    }
}
