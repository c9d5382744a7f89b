//! `trainmaster controller` on a real control plane.

mod admission;
mod away;
mod chaos;
mod compare;
mod compared;
mod election;
mod figures;
mod life;
mod metrics;
mod poison;
mod policies;
mod problems;
mod process;
mod progress;
mod rendered;
mod restart;
pub(crate) mod rights;
mod sdk;
mod serving;
mod serving_client;
pub(crate) mod support;
