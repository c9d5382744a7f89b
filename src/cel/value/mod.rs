//! Values at run time: [`Val`].
//!
//! A value of a JSON document is borrowed from the document, never converted; what an expression creates is shared by
//! counted reference. So every value is cheap to clone and none can change. How deep values nest is bounded when they
//! are made ([`MAX_VALUE_DEPTH`]), so that they can be walked and dropped by recursion.

mod compare;
mod json;
mod list;
mod map;
mod net;
mod number;
mod time;
mod url;

pub use list::{Lazy, List};
pub use map::{Key, Map};
pub use net::Cidr;
pub use time::{Duration, Time};
pub use url::Url;

pub(super) use compare::{Comparison, compare, equal};
pub(super) use net::parse_ip;
pub(super) use number::{double_text, double_to_int, double_to_uint};

use super::{
    error::{Error, ErrorKind},
    functions::NamedFormat,
};
use crate::quantity::Quantity;
use std::{fmt, net::IpAddr, ops::Deref, sync::Arc};

/// How deep created lists, maps and optionals may nest; Kubernetes' own objects stay below thirty.
pub const MAX_VALUE_DEPTH: usize = 100;

/// How deep a value with the JSON in it may be where it is walked as a whole: to compare, to print, to convert. A JSON
/// text is read no deeper.
pub(super) const MAX_WALK_DEPTH: usize = 128;

/// A value. `'a` is the life of the JSON documents and of the program it may borrow from.
///
/// The wide tag has every value moved by whole words: with a tag of one byte, moves in odd pieces wait for each other,
/// and an evaluation takes twice as long.
#[derive(Clone)]
#[repr(u64)]
pub enum Val<'a> {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A signed integer; every JSON integer that fits is one.
    Int(i64),
    /// An unsigned integer.
    UInt(u64),
    /// A floating-point number.
    Double(f64),
    /// Text.
    String(Str<'a>),
    /// Bytes.
    Bytes(Arc<[u8]>),
    /// A point in time.
    Timestamp(Time),
    /// A span of time.
    Duration(Duration),
    /// A list.
    List(List<'a>),
    /// A map; every JSON object is one.
    Map(Map<'a>),
    /// A value that may be absent.
    Optional(Option<Arc<Val<'a>>>),
    /// A type, by the name CEL gives it.
    Type(&'static str),
    /// A Kubernetes quantity.
    Quantity(Arc<Quantity>),
    /// A semantic version.
    Semver(Arc<semver::Version>),
    /// A URL.
    Url(Arc<Url>),
    /// An IP address.
    Ip(IpAddr),
    /// A block of IP addresses.
    Cidr(Cidr),
    /// A named format.
    Format(&'static NamedFormat),
}

/// Text: part of a document or program, or created.
#[derive(Clone)]
pub enum Str<'a> {
    /// Part of something that outlives the evaluation.
    Borrowed(&'a str),
    /// Created, and shared.
    Owned(Arc<str>),
}

impl Deref for Str<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Str::Borrowed(text) => text,
            Str::Owned(text) => text,
        }
    }
}

impl<'a> Val<'a> {
    /// Created text.
    pub fn text(text: impl Into<Arc<str>>) -> Val<'a> {
        Val::String(Str::Owned(text.into()))
    }

    /// Text that lives long enough.
    pub fn borrowed(text: &'a str) -> Val<'a> {
        Val::String(Str::Borrowed(text))
    }

    /// An optional with `value` in it.
    pub fn present(value: Val<'a>) -> Result<Val<'a>, Error> {
        nest([&value])?;
        Ok(Val::Optional(Some(Arc::new(value))))
    }

    /// The name of its type, as `type(x)` gives it.
    pub fn type_name(&self) -> &'static str {
        match self {
            Val::Null => "null_type",
            Val::Bool(_) => "bool",
            Val::Int(_) => "int",
            Val::UInt(_) => "uint",
            Val::Double(_) => "double",
            Val::String(_) => "string",
            Val::Bytes(_) => "bytes",
            Val::Timestamp(_) => "google.protobuf.Timestamp",
            Val::Duration(_) => "google.protobuf.Duration",
            Val::List(_) => "list",
            Val::Map(_) => "map",
            Val::Optional(_) => "optional_type",
            Val::Type(_) => "type",
            Val::Quantity(_) => "kubernetes.Quantity",
            Val::Semver(_) => "kubernetes.Semver",
            Val::Url(_) => "kubernetes.URL",
            Val::Ip(_) => "net.IP",
            Val::Cidr(_) => "net.CIDR",
            Val::Format(_) => "kubernetes.NamedFormat",
        }
    }

    /// The name of its type in messages and signatures.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Val::Null => "null",
            Val::Timestamp(_) => "timestamp",
            Val::Duration(_) => "duration",
            Val::Optional(_) => "optional",
            Val::Quantity(_) => "quantity",
            Val::Semver(_) => "semver",
            Val::Url(_) => "url",
            Val::Ip(_) => "ip",
            Val::Cidr(_) => "cidr",
            Val::Format(_) => "format",
            other => other.type_name(),
        }
    }

    /// The text, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Val::String(text) => Some(text),
            _ => None,
        }
    }

    /// The same value, borrowing what it can from `self` instead of sharing it.
    pub(super) fn borrow(&'a self) -> Val<'a> {
        match self {
            Val::String(text) => Val::borrowed(text),
            other => other.clone(),
        }
    }

    /// The same value without a life of its own; `None` if part of it is borrowed from a document.
    pub(super) fn into_owned(self) -> Option<Val<'static>> {
        Some(match self {
            Val::Null => Val::Null,
            Val::Bool(value) => Val::Bool(value),
            Val::Int(value) => Val::Int(value),
            Val::UInt(value) => Val::UInt(value),
            Val::Double(value) => Val::Double(value),
            Val::String(text) => Val::text(&*text),
            Val::Bytes(bytes) => Val::Bytes(bytes),
            Val::Timestamp(time) => Val::Timestamp(time),
            Val::Duration(duration) => Val::Duration(duration),
            Val::List(List::Lazy(list)) => Val::List(List::Lazy(list)),
            Val::List(list @ List::Owned(_)) => {
                let items: Option<_> = list.iter().map(Val::into_owned).collect();
                Val::List(List::new(items?).ok()?)
            }
            Val::Map(map @ Map::Owned(_)) => {
                let entries: Option<_> =
                    map.iter().map(|(key, value)| Some((key.into_owned(), value.into_owned()?))).collect();
                Val::Map(Map::new(entries?).ok()?)
            }
            Val::List(List::Json(_)) | Val::Map(Map::Json(_)) => return None,
            Val::Optional(None) => Val::Optional(None),
            Val::Optional(Some(value)) => Val::Optional(Some(Arc::new((*value).clone().into_owned()?))),
            Val::Type(name) => Val::Type(name),
            Val::Quantity(quantity) => Val::Quantity(quantity),
            Val::Semver(version) => Val::Semver(version),
            Val::Url(url) => Val::Url(url),
            Val::Ip(ip) => Val::Ip(ip),
            Val::Cidr(cidr) => Val::Cidr(cidr),
            Val::Format(format) => Val::Format(format),
        })
    }

    /// How many created containers are nested in it, itself included.
    fn depth(&self) -> usize {
        match self {
            Val::List(List::Owned(items)) => items.depth(),
            Val::Map(Map::Owned(entries)) => entries.depth(),
            Val::Optional(Some(value)) => value.depth() + 1,
            _ => 0,
        }
    }
}

/// The depth of a container of `parts`.
fn nest<'v, 'a: 'v>(parts: impl IntoIterator<Item = &'v Val<'a>>) -> Result<usize, Error> {
    let depth = parts.into_iter().map(Val::depth).max().unwrap_or(0) + 1;
    if depth > MAX_VALUE_DEPTH { Err(too_deep(MAX_VALUE_DEPTH)) } else { Ok(depth) }
}

fn too_deep(limit: usize) -> Error {
    Error::new(ErrorKind::NotRepresentable, format!("the value is nested deeper than {limit} levels"))
}

/// `depth` if a walk may go that deep.
pub(super) fn walk(depth: usize) -> Result<usize, Error> {
    if depth > MAX_WALK_DEPTH { Err(too_deep(MAX_WALK_DEPTH)) } else { Ok(depth) }
}

impl fmt::Debug for Val<'_> {
    /// For tests and traces: like the literal, cut short when it is long.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Val::Null => f.write_str("null"),
            Val::Bool(value) => write!(f, "{value}"),
            Val::Int(value) => write!(f, "{value}"),
            Val::UInt(value) => write!(f, "{value}u"),
            Val::Double(value) => write!(f, "{value:?}"),
            Val::String(text) => write!(f, "{:?}", &**text),
            Val::Bytes(bytes) => write!(f, "b{bytes:?}"),
            Val::Timestamp(time) => write!(f, "timestamp(\"{time}\")"),
            Val::Duration(duration) => write!(f, "duration(\"{duration}\")"),
            Val::List(list) => f.debug_list().entries(list.iter()).finish(),
            Val::Map(map) => f.debug_map().entries(map.iter()).finish(),
            Val::Optional(None) => f.write_str("optional.none()"),
            Val::Optional(Some(value)) => write!(f, "optional.of({value:?})"),
            Val::Type(name) => f.write_str(name),
            Val::Quantity(quantity) => write!(f, "quantity(\"{quantity}\")"),
            Val::Semver(version) => write!(f, "semver(\"{version}\")"),
            Val::Url(url) => write!(f, "url(\"{url}\")"),
            Val::Ip(ip) => write!(f, "ip(\"{ip}\")"),
            Val::Cidr(cidr) => write!(f, "cidr(\"{cidr}\")"),
            Val::Format(format) => write!(f, "format.{}()", format.name),
        }
    }
}
