//! The `trainmaster` command: what needs files, a terminal or a cluster stands here, what can be told from its arguments
//! alone in the library.

#![allow(
    clippy::disallowed_methods,
    reason = "the library takes files, settings and the clock as arguments: here is where they come from"
)]

mod cli;
#[cfg(feature = "controller")]
mod config;
#[cfg(feature = "controller")]
mod controller;
mod exit;
mod gates;
mod random;
#[cfg(feature = "controller")]
mod serving;
#[cfg(feature = "controller")]
mod telemetry;
#[cfg(feature = "controller")]
mod webhook;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main().into()
}
