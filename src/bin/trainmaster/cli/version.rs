//! `version`: what this build knows.

use super::output::Output;
use crate::exit::Exit;
use serde_json::{Value, json};
use std::{fmt::Write as _, io};
use trainmaster::{
    api,
    policy::{self, PolicySet},
};

/// Print versions
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How to print
    #[arg(short, long, value_enum, default_value_t = Format::Text, value_name = "FORMAT")]
    output: Format,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Format {
    /// Lines
    Text,
    /// One JSON object
    Json,
}

/// The modules that the schemas are made from.
const MODULES: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/conformance/schemas/go.mod"));

pub(crate) fn run(args: &Args, output: &mut Output) -> io::Result<Exit> {
    let facts = facts();
    output.data(&match args.output {
        Format::Text => text(&facts),
        Format::Json => format!("{:#}\n", facts.into_iter().collect::<Value>()),
    })?;
    Ok(Exit::Fine)
}

fn facts() -> Vec<(&'static str, Value)> {
    let policies = PolicySet::builtin();
    let policies: Value = policies
        .iter()
        .map(|policy| (policy.name().to_owned(), json!(policy.version().to_string())))
        .collect();
    vec![
        ("version", json!(env!("CARGO_PKG_VERSION"))),
        ("api", json!(format!("{}/{}", api::GROUP, api::VERSION))),
        ("policyApi", json!(policy::API_VERSION)),
        ("policyLanguages", json!([policy::LANGUAGE])),
        (
            "schemas",
            json!({ "kubernetes": module("k8s.io/kubernetes"), "jobset": module("sigs.k8s.io/jobset") }),
        ),
        ("policies", policies),
    ]
}

/// The version of a module, as `v1.2.3`.
fn module(name: &str) -> Option<&'static str> {
    MODULES.lines().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix(' '))
}

fn text(facts: &[(&str, Value)]) -> String {
    let mut text = String::new();
    for (name, value) in facts {
        _ = writeln!(text, "{name}: {}", line(value));
    }
    text
}

fn line(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(line).collect::<Vec<_>>().join(", "),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| format!("{name} {}", line(value)));
            fields.collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}
