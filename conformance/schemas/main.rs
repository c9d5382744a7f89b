//! What is generated must be what its source would generate now, and what the API server makes of it.
//!
//! `UPDATE_GOLDENS=1 cargo test --test schemas` writes the generated files again.

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test reads files, says what it skips, and fails by a panic"
)]
#![allow(unreachable_pub, reason = "nothing is reachable from outside a test")]

mod cases;
mod corpus;
mod generated;
mod judged;
mod properties;
mod random;
mod support;
mod versions;
