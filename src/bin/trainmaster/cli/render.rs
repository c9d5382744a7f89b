//! `render`: the objects that the controller would apply.

use super::{input, output::Output};
use crate::{exit::Exit, gates, random};
use serde_json::{Value, json};
use std::{io, path::PathBuf};
use trainmaster::{
    diagnostic,
    offline::{self, Manifest, Manifests},
    plan::{Child, Config, Plan, Standing, standing},
    policy::PolicySet,
    yaml,
};

/// Show the objects that TrainJobs become, without a cluster
///
/// Reads TrainJobs, the runtimes they refer to and whatever else policies look at, and prints the objects that the
/// controller would apply, byte for byte, in the order in which it would. Each object goes through what an API server
/// does first: fields that it does not know are dropped, defaults filled in, the rest validated. Objects that exist
/// already, a JobSet for one, may be given as well: what needs no change is not printed. So may policies.
///
/// Objects without a namespace are taken for objects of the one that -n names, and a name that the server would
/// generate ends in `xxxxx`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// File or folder with manifests, `-` for standard input; may be repeated
    #[arg(short, long, required = true, value_name = "FILE")]
    filename: Vec<PathBuf>,
    /// Read the folders below a folder, too
    #[arg(short = 'R', long)]
    recursive: bool,
    /// Folder or file with policies, which are added to the built-in ones or replace those of the same name
    #[arg(long, value_name = "DIR")]
    policy_dir: Vec<PathBuf>,
    /// Namespace of objects that name none
    #[arg(short, long, default_value = "default")]
    namespace: String,
    /// Feature gates: NAME=true,NAME=false
    #[arg(long, value_name = "GATES", value_delimiter = ',')]
    feature_gates: Vec<String>,
    /// What to print
    #[arg(short, long, value_enum, default_value_t = Format::Yaml, value_name = "FORMAT")]
    output: Format,
    /// Show the data of Secrets and of what else a policy calls sensitive
    #[arg(long)]
    show_secrets: bool,
}

const EXAMPLES: &str = "\
Examples:
  # What a TrainJob becomes
  trainmaster render -f trainjob.yaml -f runtime.yaml

  # All TrainJobs of a folder, by your own policies
  trainmaster render -f manifests/ --policy-dir policies/

  # What would be applied for the TrainJobs of a namespace
  kubectl get trainjobs,clustertrainingruntimes -n ml -o yaml | trainmaster render -f -";

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Format {
    /// YAML documents
    Yaml,
    /// One object, or a List of them
    Json,
    /// The names
    Name,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> io::Result<Exit> {
    let (sources, unreadable) = input::read(&args.filename, args.recursive);
    let (policy_sources, unreadable_policies) = input::read(&args.policy_dir, false);
    let (manifests, problems) = offline::read(&sources, &args.namespace);
    let (policies, policy_problems) = manifests.policies(&PolicySet::builtin(), &policy_sources);
    output.show(unreadable.iter().chain(&unreadable_policies).chain(&policy_problems).chain(&problems));

    let mut config = Config::default();
    if let Err(wrong) = gates::switch(&mut config.feature_gates, &args.feature_gates.join(",")) {
        output.show([&*wrong]);
        return Ok(Exit::Usage);
    }
    let mut printer = Printer { format: args.output, shows_secrets: args.show_secrets, items: Vec::new() };
    for train_job in manifests.train_jobs() {
        match manifests.plan(train_job, &policies, &config, seed(args.show_secrets)) {
            Ok(plan) => printer.plan(train_job, &plan, output)?,
            Err(diagnostics) => output.show(&diagnostics),
        }
    }
    printer.finish(output)?;
    if let Some(tally) = output.tally() {
        output.say(&tally);
    }
    let is_unreadable = diagnostic::has_errors(&unreadable) || diagnostic::has_errors(&unreadable_policies);
    Ok(outcome(is_unreadable, &manifests, output))
}

/// What keys are made from. Only those that are shown are worth anything: masked ones are the same each time, so that
/// what is derived from them can be compared.
fn seed(shows_secrets: bool) -> Option<[u8; 32]> {
    if shows_secrets { random::fresh() } else { Some([0; 32]) }
}

fn outcome(is_unreadable: bool, manifests: &Manifests, output: &mut Output) -> Exit {
    if is_unreadable {
        return Exit::Usage;
    }
    if output.errors > 0 {
        return Exit::Findings;
    }
    if manifests.found_train_jobs() == 0 {
        output.say("there is no TrainJob to render");
        return Exit::Nothing;
    }
    Exit::Fine
}

struct Printer {
    format: Format,
    shows_secrets: bool,
    items: Vec<Value>,
}

impl Printer {
    fn plan(&mut self, train_job: &Manifest, plan: &Plan, output: &mut Output) -> io::Result<()> {
        output.show(&plan.warnings);
        if plan.children.is_empty() {
            output.say(&format!("{}: nothing to apply, {}", train_job.reference, reason(train_job)));
        }
        plan.children.iter().try_for_each(|child| self.child(child, output))
    }

    fn child(&mut self, child: &Child, output: &mut Output) -> io::Result<()> {
        match self.format {
            Format::Name => output.data(&format!("{}\n", resource_name(child))),
            Format::Yaml => {
                let object = self.shown(child, output);
                output.data(&format!("---\n{}", yaml::emit(&object)))
            }
            Format::Json => {
                let object = self.shown(child, output);
                self.items.push(object);
                Ok(())
            }
        }
    }

    /// The object, its data masked if it must not be seen.
    fn shown(&self, child: &Child, output: &mut Output) -> Value {
        let mut object = child.object.clone();
        let is_secret = child.sensitive || (child.reference.gvk.kind == "Secret");
        if is_secret && !self.shows_secrets && mask(&mut object) {
            output.say(&format!("{}: its data is masked; --show-secrets shows it", child.reference));
        }
        object
    }

    fn finish(self, output: &mut Output) -> io::Result<()> {
        let object = match (self.format, <[Value; 1]>::try_from(self.items)) {
            (Format::Yaml | Format::Name, _) => return Ok(()),
            (Format::Json, Ok([one])) => one,
            (Format::Json, Err(items)) => json!({ "apiVersion": "v1", "kind": "List", "items": items }),
        };
        output.data(&format!("{object:#}\n"))
    }
}

/// Why nothing is to be applied.
fn reason(train_job: &Manifest) -> &'static str {
    match standing(&train_job.object) {
        Standing::Active => "all is as it should be",
        Standing::Foreign => "spec.managedBy leaves it to another controller",
        Standing::Deleted => "it is being deleted",
        Standing::Finished => "it is finished",
    }
}

/// The name as `kubectl -o name` prints it: `jobset.jobset.x-k8s.io/bert`.
fn resource_name(child: &Child) -> String {
    let kind = child.reference.gvk.kind.to_lowercase();
    match child.reference.gvk.group() {
        "" => format!("{kind}/{}", child.reference.name),
        group => format!("{kind}.{group}/{}", child.reference.name),
    }
}

/// Puts asterisks in the place of every value but those that say what the object is. False if there is none.
fn mask(object: &mut Value) -> bool {
    const KEPT: [&str; 5] = ["apiVersion", "kind", "metadata", "type", "immutable"];
    let fields = object.as_object_mut().into_iter().flatten();
    let masked = fields.filter(|(name, _)| !KEPT.contains(&name.as_str())).map(|(_, value)| hide(value));
    masked.count() > 0
}

fn hide(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(hide),
        Value::Object(fields) => fields.values_mut().for_each(hide),
        scalar => *scalar = json!("***"),
    }
}
