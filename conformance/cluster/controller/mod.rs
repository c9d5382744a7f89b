//! `trainmaster controller` on a real control plane.

mod election;
mod figures;
mod life;
mod policies;
mod problems;
mod process;
mod progress;
mod rendered;
mod restart;
mod rights;
mod serving;
mod serving_client;
mod support;
