//! Policy documents: from text to something that can only be valid.
//!
//! [`parse`] reads the form of a document, [`check`] its meaning; each reports every problem at once. The language is
//! described in `policies/README.md`. What a policy does to a `TrainJob` is the business of `plan`.

pub mod builtin;
mod check;
pub mod compiled;
pub mod coverage;
pub mod document;
mod fields;
mod holes;
mod observe;
mod params;
mod parse;
pub(crate) mod scope;
mod set;

pub use check::check;
pub use compiled::Policy;
pub use coverage::Coverage;
pub use document::Document;
pub use parse::{API_VERSION, KIND, LANGUAGE, parse, parse_node};
pub use set::{Kinds, PolicySet};
