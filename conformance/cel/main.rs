//! The expression language against cases of our own, the language definition's, another implementation, and
//! Kubernetes' own.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a test fails by panicking, reads its data from files and says what it skips"
)]

mod bounds;
mod cases;
mod differential;
mod kubernetes;
mod policies;
mod spec;
mod support;
mod types;
