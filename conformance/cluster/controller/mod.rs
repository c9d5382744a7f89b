//! `trainmaster controller` on a real control plane.

mod admission;
mod chaos;
mod figures;
mod life;
mod poison;
mod policies;
mod problems;
mod process;
mod rendered;
mod restart;
mod rights;
mod sdk;
mod serving;
mod serving_client;
pub(crate) mod support;
