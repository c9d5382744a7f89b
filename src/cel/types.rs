//! Static types: what the checker knows about a value before there is one.

use std::{fmt, sync::Arc};

/// How deep types of variables and results nest before the rest is `dyn`.
const MAX_TYPE_DEPTH: usize = 32;

/// A static type.
///
/// Types of JSON documents come in through [`Struct`]; a declared scalar type is also kept at run time: a JSON integer
/// read where [`Type::Double`] is declared becomes a double, a JSON string where a timestamp, duration or quantity is
/// declared becomes one.
#[derive(Clone)]
pub enum Type {
    /// Known only at run time: every operation on it checks, every result of one fits anywhere.
    Dyn,
    /// The type of `null` alone.
    Null,
    /// `true` or `false`.
    Bool,
    /// 64-bit signed integer.
    Int,
    /// 64-bit unsigned integer.
    UInt,
    /// 64-bit floating point.
    Double,
    /// Unicode text; its size is counted in code points.
    String,
    /// A sequence of bytes.
    Bytes,
    /// A point in time.
    Timestamp,
    /// A span of time in nanoseconds.
    Duration,
    /// A Kubernetes quantity: `quantity("1.5Gi")`.
    Quantity,
    /// A semantic version: `semver("1.2.3")`.
    Semver,
    /// A URL: `url("https://example.com")`.
    Url,
    /// An IP address: `ip("10.0.0.1")`.
    Ip,
    /// A block of IP addresses: `cidr("10.0.0.0/8")`.
    Cidr,
    /// A named format: `format.dns1123Label()`.
    Format,
    /// What `type(x)` gives, and what `int`, `list` … are.
    Type,
    /// A value that may be absent.
    Optional(Arc<Type>),
    /// A list.
    List(Arc<Type>),
    /// A map: keys and values.
    Map(Arc<Type>, Arc<Type>),
    /// An object with known fields.
    Struct(Arc<dyn Struct>),
    /// A type parameter of a function's signature (`T` of `list(T)`); no value has it.
    Param(u32),
}

/// An object type: its fields by name.
///
/// At run time its values are maps with string keys. A field that is not declared is an error of the check.
pub trait Struct: Send + Sync {
    /// The name that messages print: `TrainJob.spec.trainer`.
    fn name(&self) -> &str;

    /// The field with this name.
    fn field(&self, name: &str) -> Option<Field>;

    /// The names of all fields, for "did you mean".
    fn field_names(&self) -> Vec<String>;
}

/// A field of a [`Struct`].
#[derive(Clone, Debug)]
pub struct Field {
    /// The type of its value.
    pub ty: Type,
    /// Whether an object may lack it: reading it without `has()`, `.?` or the like earns a warning.
    pub optional: bool,
    /// How large the value can get.
    pub bounds: Bounds,
}

/// How large a value can get, as far as anyone declared it. It feeds the static cost estimate, nothing is enforced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// Most bytes of a string, items of a list, entries of a map.
    pub size: Option<u64>,
    /// The bounds of each item of a list or value of a map.
    pub items: Option<Arc<Bounds>>,
}

impl Bounds {
    /// At most `size` bytes, items or entries.
    pub fn size(size: u64) -> Self {
        Bounds { size: Some(size), items: None }
    }

    /// The same with `items` for each item or value.
    #[must_use]
    pub fn of(mut self, items: Bounds) -> Self {
        self.items = Some(Arc::new(items));
        self
    }
}

impl Type {
    /// A list of `item`.
    pub fn list(item: Type) -> Type {
        Type::List(Arc::new(item))
    }

    /// A map from `key` to `value`.
    pub fn map(key: Type, value: Type) -> Type {
        Type::Map(Arc::new(key), Arc::new(value))
    }

    /// An optional `value`.
    pub fn optional(value: Type) -> Type {
        Type::Optional(Arc::new(value))
    }

    /// Whether nothing is known about it.
    pub fn is_dyn(&self) -> bool {
        matches!(self, Type::Dyn)
    }

    /// The same with `dyn` for what is nested too deeply, so that types can be walked by recursion however variables
    /// build on each other.
    pub(super) fn bounded(&self) -> Type {
        self.cut(MAX_TYPE_DEPTH)
    }

    fn cut(&self, depth: usize) -> Type {
        let Some(depth) = depth.checked_sub(1) else { return Type::Dyn };
        match self {
            Type::List(item) => Type::list(item.cut(depth)),
            Type::Optional(value) => Type::optional(value.cut(depth)),
            Type::Map(key, value) => Type::map(key.cut(depth), value.cut(depth)),
            other => other.clone(),
        }
    }

    /// Types that have no parts and no parameters, under the names that signatures and messages use.
    pub(super) const SIMPLE: [(&'static str, Type); 17] = [
        ("dyn", Type::Dyn),
        ("null", Type::Null),
        ("bool", Type::Bool),
        ("int", Type::Int),
        ("uint", Type::UInt),
        ("double", Type::Double),
        ("string", Type::String),
        ("bytes", Type::Bytes),
        ("timestamp", Type::Timestamp),
        ("duration", Type::Duration),
        ("quantity", Type::Quantity),
        ("semver", Type::Semver),
        ("url", Type::Url),
        ("ip", Type::Ip),
        ("cidr", Type::Cidr),
        ("format", Type::Format),
        ("type", Type::Type),
    ];
}

impl PartialEq for Type {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Type::List(a), Type::List(b)) | (Type::Optional(a), Type::Optional(b)) => a == b,
            (Type::Map(key, value), Type::Map(other, with)) => key == other && value == with,
            (Type::Struct(a), Type::Struct(b)) => a.name() == b.name(),
            (Type::Param(a), Type::Param(b)) => a == b,
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }
}

impl Eq for Type {}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Optional(value) => write!(f, "optional({value})"),
            Type::List(item) => write!(f, "list({item})"),
            Type::Map(key, value) => write!(f, "map({key}, {value})"),
            Type::Struct(object) => f.write_str(object.name()),
            Type::Param(number) => f.write_str(["T", "U", "V"].get(*number as usize).unwrap_or(&"dyn")),
            simple => {
                let name = Type::SIMPLE.iter().find(|(_, ty)| ty == simple).map(|(name, _)| *name);
                f.write_str(name.unwrap_or("dyn"))
            }
        }
    }
}

impl fmt::Debug for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
