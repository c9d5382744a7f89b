//! Behaviour as data: each case is a folder of plain files, what goes in and what comes out.
//!
//! | folder | what goes in | what comes out |
//! |---|---|---|
//! | `admission/` | an object, what it was before, what else exists | `expected.txt`: what admission answers |
//! | `check/` | `policy.yaml` | `expected.txt`: everything that `trainmaster check` says of it |
//! | `render/` | objects, policies | `expected.yaml`: what would be applied; `expected.txt`: what is said about it |
//! | `status/` | objects, the time | `expected.yaml`: the TrainJob's status |
//! | `watch/` | TrainJobs, objects that change | `expected.txt`: which are planned again |
//!
//! `UPDATE_GOLDENS=1` writes what comes out anew; read the difference before it is kept.

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test reads files and fails by a panic"
)]
#![allow(unreachable_pub, reason = "nothing is reachable from outside a test")]

mod support;

mod admission;
mod again;
mod check;
mod codes;
mod coverage;
mod render;
mod shipped;
mod status;
mod watch;
