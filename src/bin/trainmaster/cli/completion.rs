//! `completion`: scripts for shells.

use super::{Cli, output::Output};
use crate::exit::Exit;
use clap::CommandFactory as _;
use clap_complete::Shell;
use std::io;

/// Print a script that completes commands in a shell
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

const EXAMPLES: &str = "\
Examples:
  # In this shell
  source <(trainmaster completion bash)

  # In every shell
  trainmaster completion fish > ~/.config/fish/completions/trainmaster.fish";

pub(crate) fn run(args: &Args, output: &mut Output) -> io::Result<Exit> {
    // Written to memory first: clap_complete panics where it cannot write.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "trainmaster", &mut script);
    output.data(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Fine)
}
