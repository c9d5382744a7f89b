//! What is generated must be what its source would generate now, and what the API server makes of it.
//!
//! `UPDATE_GOLDENS=1 cargo test --test schemas` writes the generated files again.

mod generated;
mod judged;
mod random;
mod support;
