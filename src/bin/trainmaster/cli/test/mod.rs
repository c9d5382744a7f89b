//! `test`: whether policies do what cases expect.

mod json;
mod junit;
mod table;

use super::{
    cases::{self, Found},
    input,
    output::{Output, counted},
};
use crate::exit::Exit;
use std::{io, path::PathBuf};
use trainmaster::{
    diagnostic::{self, Color, Diagnostic, Place, Source, codes, render},
    offline::case::{Difference, Outcome},
    policy::{Coverage, PolicySet, coverage::Covered},
};

/// Test policies by cases
///
/// A case is a folder of YAML files: what goes in, and what shall come out. In go a TrainJob, its runtime and other objects, in
/// files of any names; `expected.yaml` has the objects that shall be applied, `expected.txt` what shall be said. A
/// `policy.yaml` of its own goes before the policies of --policy-dir, these before the built-in ones. With a `now.yaml` the
/// TrainJob's status comes out, with an `events.yaml` the TrainJobs that each change concerns. Objects without a namespace
/// are in `ml`.
///
/// Where something else comes out, the difference is shown with the rule that set the field. --coverage lists the rules
/// that did nothing in any case, and the ways that no case took: conditions never true or never false, loops never
/// empty, optional values never absent. Write a new case without what it expects, then run with --update and read what
/// has been written.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Folders with cases, in them or in folders below
    #[arg(required = true, value_name = "DIR")]
    folders: Vec<PathBuf>,
    /// Folder or file with policies, which are added to the built-in ones or replace those of the same name
    #[arg(long, value_name = "DIR")]
    policy_dir: Vec<PathBuf>,
    /// Run only the cases with this in their path
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// How to report
    #[arg(short, long, value_enum, default_value_t = Format::Table, value_name = "FORMAT")]
    output: Format,
    /// Tell what no case reaches, of the policies of --policy-dir or, without, of the built-in ones
    #[arg(long)]
    coverage: bool,
    /// Write what comes out to where it is expected
    #[arg(long)]
    update: bool,
}

const EXAMPLES: &str = "\
Examples:
  # Test your own policies
  trainmaster test cases/ --policy-dir policies/

  # What no case reaches
  trainmaster test cases/ --policy-dir policies/ --coverage

  # The same in continuous integration
  trainmaster test cases/ --policy-dir policies/ -o junit > junit.xml";

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Format {
    /// A line for each case, and what differs
    Table,
    /// `JUnit` XML
    Junit,
    /// One JSON object
    Json,
}

/// What became of a case.
struct Tested {
    name: String,
    verdict: Verdict,
}

enum Verdict {
    /// All is as expected.
    Passed,
    /// Something else is expected now.
    Updated,
    /// Something else came out.
    Differs(Vec<Difference>),
    /// It is no case, or cannot be written.
    Broken(Vec<Diagnostic>),
}

/// Everything there is to report.
struct Report {
    tested: Vec<Tested>,
    coverage: Option<Coverage>,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> io::Result<Exit> {
    let (mut found, unreadable) = cases::read(&args.folders);
    let (sources, unreadable_policies) = input::read(&args.policy_dir, false);
    if let Some(filter) = &args.filter {
        found.retain(|it| it.case.name.contains(filter.as_str()));
    }
    let (policies, coverage, problems) = policies(args, &sources);
    output.show(unreadable.iter().chain(&unreadable_policies).chain(&problems));
    let is_unreadable = diagnostic::has_errors(&unreadable) || diagnostic::has_errors(&unreadable_policies);
    if diagnostic::has_errors(&problems) {
        output.say("no case is run while a policy is wrong");
        return Ok(if is_unreadable { Exit::Usage } else { Exit::Findings });
    }
    let report = Report::of(&found, args.update, &policies, coverage);
    match args.output {
        Format::Table => table::print(&report, output)?,
        Format::Junit => junit::print(&report, output)?,
        Format::Json => json::print(&report, output)?,
    }
    say(&report, args, output);
    Ok(match (report.failed(), report.tested.len()) {
        _ if is_unreadable => Exit::Usage,
        (0, 0) => Exit::Nothing,
        (0, _) => Exit::Fine,
        _ => Exit::Findings,
    })
}

/// The policies; those that are meant, observed, if it is asked what is reached of them.
fn policies(args: &Args, sources: &[Source]) -> (PolicySet, Option<Coverage>, Vec<Diagnostic>) {
    if !args.coverage {
        let (policies, problems) = PolicySet::with(sources);
        return (policies, None, problems);
    }
    let (policies, mut coverage, problems) = PolicySet::observed(sources);
    if !args.policy_dir.is_empty() {
        coverage.policies.retain(|policy| sources.contains(policy.span.source()));
    }
    (policies, Some(coverage), problems)
}

impl Report {
    fn of(found: &[Found], update: bool, policies: &PolicySet, mut coverage: Option<Coverage>) -> Report {
        let tested = found.iter().map(|found| {
            let verdict = match found.case.run(policies) {
                Ok(outcome) => {
                    if let Some(coverage) = &mut coverage {
                        outcome.cover(coverage);
                    }
                    verdict(found, &outcome, update)
                }
                Err(why) => Verdict::Broken(why),
            };
            Tested { name: found.case.name.clone(), verdict }
        });
        Report { tested: tested.collect(), coverage }
    }

    fn failed(&self) -> usize {
        self.tested.iter().filter(|it| it.verdict.is_failure()).count()
    }
}

fn verdict(found: &Found, outcome: &Outcome, update: bool) -> Verdict {
    let differences = outcome.differences(&found.case);
    match (differences.is_empty(), update) {
        (true, _) => Verdict::Passed,
        (false, false) => Verdict::Differs(differences),
        (false, true) => match found.update(outcome) {
            Ok(()) => Verdict::Updated,
            Err(error) => {
                let message = format!("what came out cannot be written: {error}");
                Verdict::Broken(vec![Diagnostic::error(codes::UNREADABLE, Place::Nowhere, message)])
            }
        },
    }
}

fn texts(diagnostics: &[Diagnostic]) -> String {
    let texts: Vec<String> = diagnostics.iter().map(|it| render::text(it, Color::Never)).collect();
    texts.join("\n")
}

impl Verdict {
    fn is_failure(&self) -> bool {
        matches!(self, Verdict::Differs(_) | Verdict::Broken(_))
    }
}

/// What differs in one file, for people.
fn shown(difference: &Difference) -> String {
    let writers: String = difference.writers.iter().flat_map(|it| ["  ", it, "\n"]).collect();
    format!("{}:\n{}{writers}", difference.file, difference.text)
}

fn say(report: &Report, args: &Args, output: &mut Output) {
    let all = report.tested.len();
    if all == 0 {
        output.say(&match &args.filter {
            Some(filter) => format!("there is no case with `{filter}` in its path"),
            None => "there is no case: a folder with a TrainJob, its runtime and `expected.yaml`".to_owned(),
        });
        return;
    }
    let (failed, updated) =
        (report.failed(), report.tested.iter().filter(|it| matches!(it.verdict, Verdict::Updated)).count());
    let parts = [(all - failed - updated, "passed"), (failed, "failed"), (updated, "updated")];
    let parts: Vec<String> =
        parts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
    output.say(&format!("{}: {}", counted(all, "case"), parts.join(", ")));
    if report.tested.iter().any(|it| matches!(it.verdict, Verdict::Differs(_))) {
        output.say("`-` is expected, `+` came out; where that is right, --update writes it");
    }
}

/// What has been reached of a policy, in figures.
struct Figures {
    rules: usize,
    reached: usize,
    /// The ways on from its branches.
    ways: usize,
    taken: usize,
}

impl Figures {
    fn of(policy: &Covered) -> Figures {
        let ways = policy.branches.len() * 2;
        let never: usize = policy.branches.iter().map(|branch| branch.never().len()).sum();
        Figures {
            rules: policy.rules.len(),
            reached: policy.rules.iter().filter(|rule| rule.reached).count(),
            ways,
            taken: ways - never,
        }
    }
}
