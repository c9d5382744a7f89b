//! How a function gets its arguments, and what a call costs.

use crate::cel::{
    budget::Budget,
    error::{Error, ErrorKind},
    types::Type,
    value::{Duration, List, Map, Str, Time, Val},
};

/// What an overload does.
pub(in crate::cel) type Run = for<'a> fn(&mut Arguments<'_, 'a>) -> Result<Val<'a>, Error>;

/// The arguments of one call, and what it may spend.
pub(in crate::cel) struct Arguments<'c, 'a> {
    pub(in crate::cel) values: &'c [Val<'a>],
    pub(in crate::cel) budget: &'c mut Budget,
    /// What was made of constant arguments beforehand.
    pub(in crate::cel) prepared: Option<&'a Prepared>,
}

/// What can be made of constant arguments before the first call.
#[derive(Debug)]
pub(in crate::cel) enum Prepared {
    /// The regular expression in the second argument.
    Regex(regex::Regex),
}

/// What a call costs, as a function of the sizes of its arguments: bytes of text, items of lists, entries of maps. The
/// evaluator charges it before the call, the checker estimates with it.
#[derive(Clone, Copy, Debug)]
pub(in crate::cel) struct Cost {
    pub(in crate::cel) work: Work,
    pub(in crate::cel) size: Size,
}

/// How many steps a call takes.
#[derive(Clone, Copy, Debug)]
pub(in crate::cel) enum Work {
    /// Always as many.
    Steps(u64),
    /// A tenth of the sizes of all arguments: reading text.
    Read,
    /// The size of the first argument: visiting its items.
    Visit,
    /// Sorting the items of the first argument.
    Sort,
    /// Reading the first argument with the regular expression in the second.
    Match,
    /// What the call itself charges as it goes, at most the product of the first two sizes.
    Pairs,
    /// What the call itself charges as it goes, for an object that nobody declared the size of.
    Walk,
}

/// How large the result of a call is.
#[derive(Clone, Copy, Debug)]
pub(in crate::cel) enum Size {
    /// Always at most so many bytes or items.
    AtMost(u64),
    /// As large as the first argument.
    First,
    /// As all arguments together.
    Sum,
    /// As the first argument says, a number. The items are made when they are read.
    Number,
    /// As the third argument times the fourth, numbers, of items as long as the first two arguments and the fifth. The
    /// items are made when they are read.
    Pods,
    /// As the first argument times the third: replacing each byte.
    Replace,
    /// As the items of the first argument with the second between them.
    Join,
    /// As the items of the first argument, each quoted for a shell.
    Words,
    /// As the items of the items of the first argument.
    Flatten,
    /// As the text in the first argument with the items of the second in it.
    Format,
    /// As one of the items of the first argument.
    Item,
}

impl Cost {
    /// A call that takes no time and gives a scalar.
    pub(in crate::cel) const FLAT: Cost = Cost { work: Work::Steps(0), size: Size::AtMost(1) };
    /// A call that reads text and gives a scalar.
    pub(in crate::cel) const READ: Cost = Cost { work: Work::Read, size: Size::AtMost(1) };
    /// A call that reads text and gives text of the same size or smaller.
    pub(in crate::cel) const COPY: Cost = Cost { work: Work::Read, size: Size::First };
    /// A call that visits the items of a list and gives a scalar.
    pub(in crate::cel) const VISIT: Cost = Cost { work: Work::Visit, size: Size::AtMost(1) };

    pub(in crate::cel) const fn new(work: Work, size: Size) -> Cost {
        Cost { work, size }
    }
}

impl Work {
    /// The steps before the call for arguments of these sizes.
    pub(in crate::cel) fn charge(self, size: impl Fn(usize) -> u64) -> u64 {
        match self {
            Work::Steps(steps) => steps,
            Work::Read => (size(0) + size(1) + size(2)) / 10,
            Work::Visit => size(0),
            Work::Sort => sort_steps(size(0)),
            Work::Match => match_steps(size(0), size(1)),
            Work::Pairs | Work::Walk => 0,
        }
    }
}

/// Steps to sort `items`.
pub(in crate::cel) fn sort_steps(items: u64) -> u64 {
    items.saturating_mul(u64::from(u64::BITS - items.leading_zeros()))
}

/// Steps to search `text` bytes with a regular expression of `pattern` bytes: Kubernetes' formula.
pub(in crate::cel) fn match_steps(text: u64, pattern: u64) -> u64 {
    (text / 10 + 1).saturating_mul(pattern / 4 + 1)
}

/// Size of a value as costs count it.
pub(in crate::cel) fn size_of(value: &Val) -> u64 {
    let size = match value {
        Val::String(text) => text.len(),
        Val::Bytes(bytes) => bytes.len(),
        Val::List(list) => list.len(),
        Val::Map(map) => map.len(),
        Val::Optional(Some(value)) => return size_of(value),
        _ => 1,
    };
    size as u64
}

/// Whether a value of the static type `ty` can be `value`, as far as the outermost type tells.
pub(in crate::cel) fn accepts(ty: &Type, value: &Val) -> bool {
    matches!(
        (ty, value),
        (Type::Dyn | Type::Param(_), _)
            | (Type::Null, Val::Null)
            | (Type::Bool, Val::Bool(_))
            | (Type::Int, Val::Int(_))
            | (Type::UInt, Val::UInt(_))
            | (Type::Double, Val::Double(_))
            | (Type::String, Val::String(_))
            | (Type::Bytes, Val::Bytes(_))
            | (Type::Timestamp, Val::Timestamp(_))
            | (Type::Duration, Val::Duration(_))
            | (Type::Quantity, Val::Quantity(_))
            | (Type::Semver, Val::Semver(_))
            | (Type::Url, Val::Url(_))
            | (Type::Ip, Val::Ip(_))
            | (Type::Cidr, Val::Cidr(_))
            | (Type::Format, Val::Format(_))
            | (Type::Type, Val::Type(_))
            | (Type::Optional(_), Val::Optional(_))
            | (Type::List(_), Val::List(_))
            | (Type::Map(..) | Type::Struct(_), Val::Map(_))
    )
}

/// The error of an argument of a type that no overload takes.
pub(in crate::cel) fn no_overload() -> Error {
    Error::new(ErrorKind::NoSuchOverload, "no such overload")
}

/// One getter per type: the argument at `index`, which the choice of the overload has found to be of that type.
macro_rules! getters {
    ($($(#[$doc:meta])* $name:ident: $variant:ident => $type:ty;)*) => {$(
        $(#[$doc])*
        pub(in crate::cel) fn $name(&self, index: usize) -> Result<$type, Error> {
            match self.values.get(index) {
                Some(Val::$variant(value)) => Ok(value.clone().into()),
                _ => Err(no_overload()),
            }
        }
    )*};
}

impl<'c, 'a> Arguments<'c, 'a> {
    getters! {
        bool: Bool => bool;
        int: Int => i64;
        uint: UInt => u64;
        double: Double => f64;
        text: String => Str<'a>;
        list: List => List<'a>;
        map: Map => Map<'a>;
        timestamp: Timestamp => Time;
        duration: Duration => Duration;
        ip: Ip => std::net::IpAddr;
        cidr: Cidr => crate::cel::value::Cidr;
        format: Format => &'static super::NamedFormat;
        url: Url => std::sync::Arc<crate::cel::value::Url>;
        quantity: Quantity => std::sync::Arc<crate::quantity::Quantity>;
        semver: Semver => std::sync::Arc<semver::Version>;
        bytes: Bytes => std::sync::Arc<[u8]>;
    }

    /// The text at `index`.
    pub(in crate::cel) fn str(&self, index: usize) -> Result<&'c str, Error> {
        match self.values.get(index) {
            Some(Val::String(text)) => Ok(text),
            _ => Err(no_overload()),
        }
    }

    /// The value at `index`, whatever it is.
    pub(in crate::cel) fn value(&self, index: usize) -> Result<Val<'a>, Error> {
        self.values.get(index).cloned().ok_or_else(no_overload)
    }

    /// `text` as a value, paid for.
    pub(in crate::cel) fn make_text(&mut self, text: String) -> Result<Val<'a>, Error> {
        self.budget.create(text.len())?;
        Ok(Val::text(text))
    }

    /// The part of the text at `index` between two byte offsets; borrowed when the text is.
    pub(in crate::cel) fn part(
        &mut self,
        text: &Str<'a>,
        start: usize,
        end: usize,
    ) -> Result<Val<'a>, Error> {
        match text {
            Str::Borrowed(text) => Ok(Val::borrowed(text.get(start..end).unwrap_or_default())),
            Str::Owned(text) => self.make_text(text.get(start..end).unwrap_or_default().to_owned()),
        }
    }
}

/// An error of the argument at `index`, a text that is not what the function wants.
pub(in crate::cel) fn invalid(index: usize, message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidArgument, message.into()).in_argument(index)
}
