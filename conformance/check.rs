//! Policies, and all that is said about them.
//!
//! A case has `policy.yaml` and `expected.txt`: the diagnostics in full, then which of its policies serve.

use crate::support::{Report, cases, check, shown};

#[test]
fn policies_are_checked_as_written() {
    let mut report = Report::new();
    for case in cases("check") {
        let Some(source) = case.source("policy.yaml") else {
            report.problem(&format!("{}: there is no policy.yaml", case.name));
            continue;
        };
        let (diagnostics, serving) = check(&source);
        let serving = if serving.is_empty() { "none".to_owned() } else { serving.join(", ") };
        let separator = if diagnostics.is_empty() { "" } else { "\n" };
        let found = format!("{}{separator}serving: {serving}\n", shown(&diagnostics));
        report.compare(&case, &[("expected.txt", Some(found))], |_, _| String::new());
    }
    report.finish();
}
