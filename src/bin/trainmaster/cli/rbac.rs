//! `rbac`: what the controller must be granted.

use super::{input, output::Output};
use crate::{
    controller::access::{self, Access},
    exit::Exit,
};
use serde_json::{Value, json};
use std::{io, path::PathBuf};
use trainmaster::{diagnostic, policy::PolicySet, yaml};

/// Show the RBAC rules that the controller needs
///
/// Prints a ClusterRole and a Role with the least that the controller needs to serve the built-in policies and those
/// given, and binds both to its service account. What the built-in policies need is in the chart; of your own
/// policies, `-o values` prints what they need beyond that, as values of the chart.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Folder or file with policies, which are added to the built-in ones or replace those of the same name
    #[arg(long, value_name = "DIR")]
    policy_dir: Vec<PathBuf>,
    /// Name of the roles, of their bindings and of the service account
    #[arg(long, default_value = "kubeflow-trainer-controller-manager")]
    name: String,
    /// Namespace of the controller
    #[arg(short, long, default_value = "kubeflow-system")]
    namespace: String,
    /// What to print
    #[arg(short, long, value_enum, default_value_t = Format::Yaml, value_name = "FORMAT")]
    output: Format,
}

const EXAMPLES: &str = "\
Examples:
  # Grant it
  trainmaster rbac | kubectl apply -f -

  # What your own policies need, for the chart
  trainmaster rbac --policy-dir policies/ -o values > rbac.yaml
  helm upgrade kubeflow-trainer charts/trainmaster --reset-then-reuse-values -f rbac.yaml";

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Format {
    /// YAML documents
    Yaml,
    /// A List
    Json,
    /// Values of the chart: what the policies given need beyond the built-in ones
    Values,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> io::Result<Exit> {
    let (sources, unreadable) = input::read(&args.policy_dir, false);
    let (policies, problems) = PolicySet::with(&sources);
    output.show(unreadable.iter().chain(&problems));
    if diagnostic::has_errors(&unreadable) {
        return Ok(Exit::Usage);
    }
    let access = Access::of(&policies);
    for kind in &access.guessed {
        output.say(&format!(
            "{kind}: its resource is taken to be `{}`; correct it if it is not",
            access::guess(kind)
        ));
    }
    match args.output {
        Format::Yaml => {
            for object in objects(&access, args) {
                output.data(&format!("---\n{}", yaml::emit(&object)))?;
            }
        }
        Format::Json => {
            let list = json!({ "apiVersion": "v1", "kind": "List", "items": objects(&access, args) });
            output.data(&format!("{list:#}\n"))?;
        }
        Format::Values => {
            let rules = access.beyond(&Access::of(&PolicySet::builtin())).cluster_rules();
            output.data(&yaml::emit(&json!({ "rbac": { "extraRules": rules } })))?;
        }
    }
    if let Some(tally) = output.tally() {
        output.say(&tally);
    }
    Ok(if output.errors == 0 { Exit::Fine } else { Exit::Findings })
}

/// The roles that are needed, each with its binding.
fn objects(access: &Access, args: &Args) -> Vec<Value> {
    let roles =
        [("ClusterRole", access.cluster_rules(), None), ("Role", access.own_rules(), Some(&*args.namespace))];
    let needed = roles.into_iter().filter(|(_, rules, _)| *rules != json!([]));
    needed.flat_map(|(kind, rules, namespace)| role(kind, &rules, namespace, args)).collect()
}

fn role(kind: &str, rules: &Value, namespace: Option<&str>, args: &Args) -> [Value; 2] {
    const GROUP: &str = "rbac.authorization.k8s.io";
    let metadata = match namespace {
        Some(namespace) => json!({ "name": args.name, "namespace": namespace }),
        None => json!({ "name": args.name }),
    };
    [
        json!({
            "apiVersion": format!("{GROUP}/v1"),
            "kind": kind,
            "metadata": metadata,
            "rules": rules,
        }),
        json!({
            "apiVersion": format!("{GROUP}/v1"),
            "kind": format!("{kind}Binding"),
            "metadata": metadata,
            "roleRef": { "apiGroup": GROUP, "kind": kind, "name": args.name },
            "subjects": [{ "kind": "ServiceAccount", "name": args.name, "namespace": args.namespace }],
        }),
    ]
}
