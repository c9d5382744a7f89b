//! Results for people.

use super::{Figures, Report, Verdict, shown, texts};
use crate::cli::Output;
use std::{fmt::Write as _, io};
use trainmaster::policy::{Coverage, coverage::Covered};

pub(super) fn print(report: &Report, output: &mut Output) -> io::Result<()> {
    for tested in &report.tested {
        let (word, more) = match &tested.verdict {
            Verdict::Passed => ("ok", String::new()),
            Verdict::Updated => ("updated", String::new()),
            Verdict::Differs(differences) => ("FAILED", differences.iter().map(shown).collect()),
            Verdict::Broken(why) => ("FAILED", texts(why)),
        };
        output.data(&format!("{word:<8}{}\n", tested.name))?;
        for line in more.lines() {
            output.data(&format!("{}\n", format!("        {line}").trim_end()))?;
        }
    }
    match &report.coverage {
        Some(coverage) => output.data(&text(coverage)),
        None => Ok(()),
    }
}

/// A line for each policy, then one for each rule that did nothing and for each branch with a way that was never taken.
pub(super) fn text(coverage: &Coverage) -> String {
    let longest = coverage.policies.iter().map(|policy| policy.name.len()).max().unwrap_or(0);
    let width = longest.max("POLICY".len()) + 3;
    let mut text = format!("{:<width$}{:<10}WAYS\n", "POLICY", "RULES");
    for policy in &coverage.policies {
        let Figures { rules, reached, ways, taken } = Figures::of(policy);
        let rules = format!("{reached}/{rules}");
        _ = writeln!(text, "{:<width$}{rules:<10}{taken}/{ways}", policy.name);
    }
    for place in coverage.policies.iter().flat_map(Covered::unreached) {
        _ = writeln!(text, "{}: {}", place.span, place.text);
    }
    text
}
