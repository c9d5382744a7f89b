//! Tests on a real control plane: `cargo test --test cluster`.
//!
//! One control plane serves all tests of a run that need no other ([`support::control_plane`]); each works in a
//! namespace of its own. `../testbed/README.md` says what it consists of and how to look inside.

#![allow(clippy::expect_used, clippy::panic, reason = "a test that cannot go on says why and ends")]
#![allow(clippy::disallowed_methods, reason = "tests wait, and start processes")]
#![allow(clippy::print_stdout, reason = "some tests print figures")]

#[path = "../testbed/mod.rs"]
mod testbed;

mod support;

mod chart;
mod columns;
mod control_plane;
mod controller;
mod crds;
mod kueue;
mod pods;
mod proxy;
mod takeover;
