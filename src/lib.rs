//! Trainmaster's library: from policy text and a snapshot of the cluster to the objects that run a `TrainJob`.
//!
//! ```text
//! text ─parse─▶ Document ─check─▶ Policy ─┐
//! cluster ─read─▶ Snapshot ───────────────┴─plan─▶ Plan ──apply──▶ Applied ─status─▶ TrainJobStatus
//! ```
//!
//! Nothing here does I/O, reads a clock or draws randomness; what the world knows comes in as an argument.
//! The binary in `src/bin/trainmaster/` holds the edges. Modules in reading order:

pub mod admission;
pub mod api;
pub mod cel;
pub mod diagnostic;
pub mod object;
pub mod offline;
pub mod plan;
pub mod policy;
pub mod quantity;
pub mod schema;
pub mod status;
pub mod yaml;
