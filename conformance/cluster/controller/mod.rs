//! `trainmaster controller` on a real control plane.

mod away;
mod figures;
mod life;
mod metrics;
mod policies;
mod problems;
mod process;
mod rendered;
mod restart;
mod rights;
mod serving;
mod serving_client;
pub(crate) mod support;
