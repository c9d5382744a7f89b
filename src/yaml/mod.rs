//! YAML with positions: text in, a tree of [`Node`]s out, each with its place in the text.
//!
//! [`parse`] is the entry point. Scalars mean what they mean to `kubectl` (`on` is true, `0444` is octal, `1e3` is
//! 1000), because the same text may be given to both. A place inside a scalar, in a block or with escapes, is found by
//! [`Node::inside`]. [`emit`] writes JSON trees as YAML. What the nodes mean is left to others.

mod emit;
mod node;
mod parse;
mod resolve;
mod within;

pub use emit::{emit, emit_map};
pub use node::{Entry, Kind, Node, Step};
pub use parse::parse;

#[cfg(test)]
mod tests;
