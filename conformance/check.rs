//! Policies, and all that is said about them.
//!
//! A case has `policy.yaml` and `expected.txt`: the diagnostics in full, then which of its policies serve.

use crate::support::Report;
use trainmaster::{offline::case::Kind, policy::PolicySet};

#[test]
fn policies_are_checked_as_written() {
    let mut report = Report::new("check");
    report.run(Kind::Check, &PolicySet::builtin(), |_, _| ());
    report.finish();
}
