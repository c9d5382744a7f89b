//! Results for programs.

use super::{Figures, Report, Tested, Verdict};
use crate::cli::Output;
use serde_json::{Value, json};
use std::io;
use trainmaster::{
    diagnostic::{Span, render},
    policy::{Coverage, coverage::Covered},
};

pub(super) fn print(report: &Report, output: &mut Output) -> io::Result<()> {
    let mut value = json!({
        "cases": report.tested.iter().map(case).collect::<Vec<_>>(),
        "failed": report.failed(),
        "total": report.tested.len(),
    });
    if let Some(Coverage { policies }) = &report.coverage {
        value["coverage"] = policies.iter().map(policy).collect();
    }
    output.data(&format!("{value:#}\n"))
}

fn case(tested: &Tested) -> Value {
    let name = &tested.name;
    match &tested.verdict {
        Verdict::Passed => json!({ "name": name, "result": "passed" }),
        Verdict::Updated => json!({ "name": name, "result": "updated" }),
        Verdict::Broken(why) => {
            let diagnostics: Vec<Value> = why.iter().map(render::json).collect();
            json!({ "name": name, "result": "broken", "diagnostics": diagnostics })
        }
        Verdict::Differs(differences) => {
            let differences = differences
                .iter()
                .map(|it| json!({ "file": it.file, "difference": it.text, "writers": it.writers }));
            json!({ "name": name, "result": "failed", "differences": differences.collect::<Vec<_>>() })
        }
    }
}

fn policy(policy: &Covered) -> Value {
    let Figures { rules, reached, ways, taken } = Figures::of(policy);
    let unreached = policy.unreached().into_iter().map(|it| place(&it.span, &it.text));
    json!({
        "policy": *policy.name,
        "rules": { "total": rules, "reached": reached },
        "ways": { "total": ways, "taken": taken },
        "unreached": unreached.collect::<Vec<_>>(),
    })
}

fn place(span: &Span, message: &str) -> Value {
    let position = span.position();
    json!({
        "file": span.source().name(),
        "line": position.line,
        "column": position.column,
        "message": message,
    })
}
