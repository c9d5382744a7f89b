//! The command line: its verbs and flags, and what they do. [`main`] is the entry point.
//!
//! Data goes to standard output, talk to standard error, the outcome is an [`Exit`]. Each verb has a file: its flags
//! and its `run`.

mod cases;
mod check;
mod completion;
mod explain;
mod input;
mod output;
#[cfg(feature = "controller")]
mod rbac;
mod render;
mod test;
mod version;

#[cfg(feature = "controller")]
use crate::controller;
use crate::exit::Exit;
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand, error::ErrorKind};
#[cfg(feature = "controller")]
pub(crate) use input::read;
pub(crate) use output::Output;
use output::When;
use std::{env, io, path::Path};

/// Runs TrainJobs on Kubernetes by policy
///
/// What a framework or a scheduler needs is written in policies: YAML files with CEL expressions. This command runs them
/// in a cluster, and shows and checks what they do without one.
#[derive(Debug, Parser)]
#[command(name = "trainmaster", version, arg_required_else_help = true, after_help = EXIT_CODES)]
struct Cli {
    /// When to colour messages; the environment's `NO_COLOR` and `CLICOLOR_FORCE` are heeded
    #[arg(long, global = true, value_enum, default_value_t = When::Auto, value_name = "WHEN")]
    color: When,
    #[command(subcommand)]
    verb: Verb,
}

const EXIT_CODES: &str = "\
Exit codes:
  0  all is well
  1  something is wrong with what was read: errors were found, a TrainJob is refused, a case differs
  2  wrong usage, or an input that cannot be read
  3  the cluster could not be reached or answered with an error
  4  nothing was there to work on";

#[derive(Debug, Subcommand)]
enum Verb {
    Render(render::Args),
    Check(check::Args),
    Test(test::Args),
    #[cfg(feature = "controller")]
    Controller(controller::Flags),
    #[cfg(feature = "controller")]
    Rbac(rbac::Args),
    Explain(explain::Args),
    Version(version::Args),
    Completion(completion::Args),
}

/// Does what the command line of this process says.
pub(crate) fn main() -> Exit {
    let cli = match parse() {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    let mut output = Output::new(cli.color);
    let done = match &cli.verb {
        Verb::Render(args) => render::run(args, &mut output),
        Verb::Check(args) => check::run(args, &mut output),
        Verb::Test(args) => test::run(args, &mut output),
        #[cfg(feature = "controller")]
        Verb::Controller(flags) => Ok(controller::run(flags, &mut output)),
        #[cfg(feature = "controller")]
        Verb::Rbac(args) => rbac::run(args, &mut output),
        Verb::Explain(args) => explain::run(args, &mut output),
        Verb::Version(args) => version::run(args, &mut output),
        Verb::Completion(args) => completion::run(args, &mut output),
    };
    let flushed = output.flush();
    match done.and_then(|exit| flushed.map(|()| exit)) {
        Ok(exit) => exit,
        // Whoever reads has seen enough: `trainmaster render … | head`.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Fine,
        Err(error) => {
            output.say(&format!("error: cannot write to standard output: {error}"));
            Exit::Usage
        }
    }
}

fn parse() -> Result<Cli, clap::Error> {
    let mut command = Cli::command();
    let called = env::args_os().next();
    let called = called.as_deref().and_then(|path| Path::new(path).file_stem());
    // As a plug-in of kubectl the command has two words.
    if called.is_some_and(|name| name == "kubectl-trainmaster") {
        command = command.bin_name("kubectl trainmaster");
    }
    Cli::from_arg_matches(&command.try_get_matches()?)
}

/// Shows what clap has to say: help, or what is wrong with the command line.
fn usage(error: &clap::Error) -> Exit {
    // There is nobody to tell if this cannot be written.
    _ = error.print();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Exit::Fine,
        _ => Exit::Usage,
    }
}
