//! `trainmaster controller` on a real control plane.

mod life;
mod problems;
mod restart;
mod support;
