//! The `trainmaster` command.

#![allow(
    clippy::disallowed_methods,
    reason = "the edge of the program: clock, environment and files are read here"
)]

mod controller;
#[allow(dead_code, reason = "not every verb ends in every way")]
mod exit;
mod telemetry;

use clap::{Parser, Subcommand};
use std::{io::Write as _, process::ExitCode};

/// Runs TrainJobs by policy.
#[derive(Parser)]
#[command(name = "trainmaster", version)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Run the TrainJobs of a cluster
    Controller(controller::Flags),
}

fn main() -> ExitCode {
    match Cli::parse().verb {
        Verb::Controller(flags) => controller::run(&flags).into(),
    }
}

/// Says on standard error why the program ends.
fn complain(message: &str) {
    // There is nobody left to tell that standard error is closed.
    _ = writeln!(std::io::stderr(), "error: {message}");
}
