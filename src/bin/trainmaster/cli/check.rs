//! `check`: everything that is wrong with policies.

use super::{
    input,
    output::{Output, counted},
};
use crate::exit::Exit;
use serde_json::{Value, json};
use std::{io, path::PathBuf};
use trainmaster::{
    diagnostic::{self, Diagnostic, Severity, render},
    policy::{self, PolicySet},
};

/// Check policies
///
/// Reports everything that is wrong with policies at once: their form, the types of their expressions against the schemas
/// of what these read and write, worst-case costs, and conflicts with each other and with the built-in policies. A
/// cluster loads a policy only if it passes.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Files or folders with policies, `-` for standard input
    #[arg(required = true, value_name = "FILE")]
    paths: Vec<PathBuf>,
    /// Read the folders below a folder, too
    #[arg(short = 'R', long)]
    recursive: bool,
    /// Take warnings for errors
    #[arg(long)]
    strict: bool,
    /// How to report
    #[arg(short, long, value_enum, default_value_t = Format::Human, value_name = "FORMAT")]
    output: Format,
}

const EXAMPLES: &str = "\
Examples:
  # Check the policies of a folder
  trainmaster check policies/

  # The same in continuous integration, warnings included
  trainmaster check --strict -o json policies/ | jq '.diagnostics[]'";

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Format {
    /// Messages with the source lines, on standard error
    Human,
    /// One JSON object, on standard output
    Json,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> io::Result<Exit> {
    let (sources, unreadable) = input::read(&args.paths, args.recursive);
    let policies = sources.iter().map(|source| policy::parse(source).0.len()).sum();
    let (_, found) = PolicySet::with(&sources);
    let is_unreadable = diagnostic::has_errors(&unreadable);
    let mut diagnostics = unreadable;
    diagnostics.extend(found);
    if args.strict {
        for diagnostic in &mut diagnostics {
            diagnostic.severity = Severity::Error;
        }
    }
    match args.output {
        Format::Human => human(&diagnostics, policies, output),
        Format::Json => {
            output.count(&diagnostics);
            let report = report(&diagnostics, policies, output);
            output.data(&format!("{report:#}\n"))?;
        }
    }
    Ok(match (output.errors, policies) {
        _ if is_unreadable => Exit::Usage,
        (0, 0) => Exit::Nothing,
        (0, _) => Exit::Fine,
        _ => Exit::Findings,
    })
}

fn human(diagnostics: &[Diagnostic], policies: usize, output: &mut Output) {
    output.show(diagnostics);
    let policies = counted(policies, "policy");
    output.say(&match output.tally() {
        Some(tally) => format!("{tally} in {policies}; `trainmaster explain CODE` tells more"),
        None => format!("{policies} checked, nothing to report"),
    });
}

fn report(diagnostics: &[Diagnostic], policies: usize, output: &Output) -> Value {
    json!({
        "diagnostics": diagnostics.iter().map(render::json).collect::<Vec<_>>(),
        "errors": output.errors,
        "warnings": output.warnings,
        "policies": policies,
    })
}
