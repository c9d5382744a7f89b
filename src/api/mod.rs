//! The API that users write: `TrainJob`, `TrainingRuntime` and `ClusterTrainingRuntime`, and every other kind a policy
//! may read or make.
//!
//! `types.json` defines our kinds, the union of what Kubeflow Trainer v2.0 to v2.3 accept; both the schemas used
//! offline ([`schemas`]) and the CRDs for a cluster come from it.

mod crd;
#[cfg(test)]
mod tests;

use std::sync::{Arc, LazyLock};

pub use crd::{crd_files, crds};

use crate::schema::{DATA, LoadError, Schemas};

/// The API group of our kinds.
pub const GROUP: &str = "trainer.kubeflow.org";
/// Their version.
pub const VERSION: &str = "v1alpha1";

/// The label of a job template that says which part of a TrainJob runs there: `trainer`, `dataset-initializer`,
/// `model-initializer`.
pub const ANCESTOR_LABEL: &str = "trainer.kubeflow.org/trainjob-ancestor-step";
/// The value of `spec.managedBy` of the TrainJobs that this controller runs.
pub const MANAGED_BY: &str = "trainer.kubeflow.org/trainjob-controller";

/// Every kind the project knows.
pub fn schemas() -> &'static Arc<Schemas> {
    // A test holds that the data is in order; without types everything would be let through as it is.
    static SCHEMAS: LazyLock<Arc<Schemas>> = LazyLock::new(|| Arc::new(load().unwrap_or_default()));
    &SCHEMAS
}

fn load() -> Result<Schemas, LoadError> {
    let texts: Vec<&str> = DATA.iter().copied().chain([include_str!("types.json")]).collect();
    Schemas::load(&texts)
}
