//! What the process says when it ends.

use std::process::ExitCode;

/// The exit codes of every verb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// All is well.
    Fine = 0,
    /// The input was read and something is wrong with it: errors found, a TrainJob refused.
    Findings = 1,
    /// Wrong usage, or an input that cannot be read.
    Usage = 2,
    /// The cluster could not be reached or answered with an error.
    #[allow(dead_code, reason = "a build without the verbs that need a cluster never says so")]
    Cluster = 3,
    /// Nothing was there to work on.
    Nothing = 4,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}
