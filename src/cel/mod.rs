//! The Common Expression Language: parser, static checker, evaluator and libraries of functions.
//!
//! ```text
//! source ─Env::compile─▶ Compiled { program, type, issues } ─Program::eval(bindings, budget)─▶ Val ─to_json─▶ JSON
//! ```
//!
//! [`Env`] declares the variables and compiles; a [`Program`] is evaluated with [`Bindings`] and a [`Budget`]. The
//! dialect is Kubernetes' CEL: its types, its strictness, its libraries, and libraries of our own ([`functions`] lists
//! all). Values are borrowed from JSON documents.
//!
//! Nothing here knows schemas, policies or Kubernetes objects: types of documents come in through [`Struct`].
//!
//! What holds for any input: a source is at most [`MAX_SOURCE`] long and [`MAX_DEPTH`] deep, an evaluation takes no
//! more steps and makes no more data than its budget allows, no stack is exhausted, nothing panics.

mod budget;
mod check;
mod env;
mod error;
mod eval;
mod functions;
mod names;
mod observe;
mod program;
mod syntax;
mod types;
mod value;

pub use budget::{Budget, Limits, PER_EXPRESSION, PER_OBJECT};
pub use check::{ASSUMED_BYTES, ASSUMED_ITEMS, Macro, Operator, macros, operators};
pub use env::{Compiled, Env, Issue};
pub use error::{Error, ErrorKind};
pub use functions::{Function, Library, NamedFormat, Overload, Signature, functions};
pub use names::names;
pub use observe::{Branch, Purpose, Ways};
pub use program::{Bindings, Estimate, Program};
pub use syntax::{MAX_DEPTH, MAX_SOURCE, is_identifier};
pub use types::{Bounds, Field, Struct, Type};
pub use value::{Cidr, Duration, Key, Lazy, List, MAX_VALUE_DEPTH, Map, Str, Time, Url, Val};
