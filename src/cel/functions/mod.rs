//! The functions of the language: one table per library, read by the checker, the evaluator and the documentation.
//!
//! [`functions`] lists them all. A function is written down once: its overloads with their signatures as text, what it
//! does in one line, when it fails, and what it costs. Operators and macros are part of the language itself; for the
//! documentation they are listed by [`operators`](super::operators) and [`macros`](super::macros).

mod call;
mod conversions;
mod encoders;
mod env;
mod format;
mod formats;
mod jobset;
mod keys;
mod lists;
mod math;
mod net;
mod optional;
mod quantity;
mod regex;
mod resources;
mod semver;
mod sets;
mod shell;
mod signature;
mod strings;
mod time;
mod url;

pub use formats::NamedFormat;
pub use signature::Signature;

pub(super) use call::{
    Arguments, Cost, Prepared, Run, Size, Work, accepts, match_steps, size_of, sort_steps,
};
pub(super) use format::{Piece, pieces};
pub(super) use lists::sort_by_keys;
pub(super) use quantity::{from_json as quantity_from_json, make as quantity};
pub(super) use regex::prepare;

use std::{collections::BTreeMap, sync::OnceLock};

/// A function or method.
#[derive(Debug)]
pub struct Function {
    /// As it is called: `size`, `sets.contains`.
    pub name: &'static str,
    /// The library it belongs to.
    pub library: Library,
    /// What it gives, in one sentence.
    pub doc: &'static str,
    /// When it fails, in one sentence; empty if it never does.
    pub errors: &'static str,
    /// The types it takes.
    pub overloads: &'static [Overload],
}

/// One way to call a function.
#[derive(Debug)]
pub struct Overload {
    /// Name and types: `string.indexOf(string) -> int` is a method of string, `size(string) -> int` stands alone.
    pub signature: &'static str,
    pub(super) run: Run,
    pub(super) cost: Cost,
}

/// Where a function comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Library {
    /// CEL's own.
    Core,
    /// Optional values.
    Optional,
    /// CEL's extended strings.
    Strings,
    /// Lists: Kubernetes' and CEL's extended ones.
    Lists,
    /// Lists as sets.
    Sets,
    /// Mathematics: not part of Kubernetes' CEL.
    Math,
    /// Base64: not part of Kubernetes' CEL.
    Encoders,
    /// Kubernetes' regular expressions.
    Regex,
    /// Kubernetes' quantities.
    Quantity,
    /// Kubernetes' semantic versions.
    Semver,
    /// Kubernetes' URLs.
    Url,
    /// Kubernetes' IP addresses and blocks of them.
    Network,
    /// Kubernetes' named formats.
    Format,
    /// Kubernetes' escaping for JSON Patch.
    JsonPatch,
    /// Names of what a JobSet makes.
    JobSet,
    /// Resource lists, and what pods request.
    Resources,
    /// Hashes.
    Hash,
    /// Keys.
    Keys,
    /// Words for a shell.
    Shell,
}

/// The table of a library: per function its name, what it gives, when it fails, and its overloads with what they do
/// and cost.
macro_rules! library {
    ($library:ident; $($name:literal: $doc:literal, $errors:literal { $($signature:literal => $run:expr, $cost:expr;)* })*) => {
        pub(super) const FUNCTIONS: &[super::Function] = &[$(super::Function {
            name: $name,
            library: super::Library::$library,
            doc: $doc,
            errors: $errors,
            overloads: &[$(super::Overload { signature: $signature, run: $run, cost: $cost }),*],
        }),*];
    };
}
use library;

/// Every function, library by library.
pub fn functions() -> impl Iterator<Item = &'static Function> {
    [
        conversions::FUNCTIONS,
        time::FUNCTIONS,
        optional::FUNCTIONS,
        strings::FUNCTIONS,
        lists::FUNCTIONS,
        sets::FUNCTIONS,
        math::FUNCTIONS,
        encoders::FUNCTIONS,
        regex::MATCHES,
        regex::FUNCTIONS,
        quantity::FUNCTIONS,
        semver::FUNCTIONS,
        url::FUNCTIONS,
        net::FUNCTIONS,
        formats::FUNCTIONS,
        jobset::FUNCTIONS,
        resources::FUNCTIONS,
        env::FUNCTIONS,
        keys::FUNCTIONS,
        shell::FUNCTIONS,
    ]
    .into_iter()
    .flatten()
}

/// An overload with its types.
#[derive(Debug)]
pub(super) struct Declared {
    pub(super) function: &'static Function,
    pub(super) overload: &'static Overload,
    pub(super) signature: Signature,
}

/// The overloads of every function by its name.
pub(super) fn declared() -> &'static BTreeMap<&'static str, Vec<Declared>> {
    static DECLARED: OnceLock<BTreeMap<&'static str, Vec<Declared>>> = OnceLock::new();
    DECLARED.get_or_init(|| {
        let mut declared: BTreeMap<_, Vec<Declared>> = BTreeMap::new();
        for function in functions() {
            let overloads = function.overloads.iter().filter_map(|overload| {
                let signature = Signature::parse(function.name, overload.signature)?;
                Some(Declared { function, overload, signature })
            });
            declared.entry(function.name).or_default().extend(overloads);
        }
        declared
    })
}
