//! Values that may be absent.

use super::{
    call::{Arguments, Cost, Size, Work, no_overload},
    library,
};
use crate::cel::{
    error::{Error, ErrorKind},
    value::{Duration, Val},
};

type Result<T> = std::result::Result<T, Error>;

const FIRST: Cost = Cost::new(Work::Steps(1), Size::First);
const ITEM: Cost = Cost::new(Work::Steps(1), Size::Item);

library! {
    Optional;
    "optional.of": "An optional with the value in it.", "" {
        "optional.of(T) -> optional(T)" => |a| Val::present(a.value(0)?), FIRST;
    }
    "optional.none": "An optional without a value.", "" {
        "optional.none() -> optional(T)" => |_| Ok(Val::Optional(None)), Cost::FLAT;
    }
    "optional.ofNonZeroValue": "An optional with the value in it, absent if that is null, false, zero or empty.", "" {
        "optional.ofNonZeroValue(T) -> optional(T)" => of_non_zero_value, FIRST;
    }
    "hasValue": "Whether there is a value in the optional.", "" {
        "optional(T).hasValue() -> bool" => |_| Err(no_overload()), Cost::FLAT;
    }
    "value": "The value in the optional.", "when it is absent" {
        "optional(T).value() -> T" => value, FIRST;
    }
    "or": "The optional, or the other if it is absent; the other is evaluated only then.", "" {
        "optional(T).or(optional(T)) -> optional(T)" => |_| Err(no_overload()), FIRST;
    }
    "orValue": "The value in the optional, or the other value if it is absent; the other is evaluated only then.", "" {
        "optional(T).orValue(T) -> T" => |_| Err(no_overload()), FIRST;
    }
    "first": "The first item of the list; absent if the list is empty.", "" {
        "list(T).first() -> optional(T)" => first, ITEM;
    }
    "last": "The last item of the list; absent if the list is empty.", "" {
        "list(T).last() -> optional(T)" => last, ITEM;
    }
    "optional.unwrap": "The values in the optionals of the list, without the absent ones.", "" {
        "optional.unwrap(list(optional(T))) -> list(T)" => unwrap, Cost::new(Work::Visit, Size::First);
    }
    "unwrapOpt": "The values in the optionals of the list, without the absent ones.", "" {
        "list(optional(T)).unwrapOpt() -> list(T)" => unwrap, Cost::new(Work::Visit, Size::First);
    }
}

fn of_non_zero_value<'a>(a: &mut Arguments<'_, 'a>) -> Result<Val<'a>> {
    let value = a.value(0)?;
    let zero = match &value {
        Val::Null | Val::Bool(false) | Val::Int(0) | Val::UInt(0) | Val::Duration(Duration::ZERO) => true,
        Val::Double(value) => *value == 0.0,
        Val::String(text) => text.is_empty(),
        Val::Bytes(bytes) => bytes.is_empty(),
        Val::List(list) => list.is_empty(),
        Val::Map(map) => map.is_empty(),
        _ => false,
    };
    if zero { Ok(Val::Optional(None)) } else { Val::present(value) }
}

fn value<'a>(a: &mut Arguments<'_, 'a>) -> Result<Val<'a>> {
    match a.value(0)? {
        Val::Optional(Some(value)) => Ok((*value).clone()),
        _ => Err(Error::new(ErrorKind::Absent, "this optional is absent and has no value").in_argument(0)),
    }
}

fn first<'a>(a: &mut Arguments<'_, 'a>) -> Result<Val<'a>> {
    a.list(0)?.get(0).map_or(Ok(Val::Optional(None)), Val::present)
}

fn last<'a>(a: &mut Arguments<'_, 'a>) -> Result<Val<'a>> {
    let list = a.list(0)?;
    let item = list.len().checked_sub(1).and_then(|at| list.get(at));
    item.map_or(Ok(Val::Optional(None)), Val::present)
}

fn unwrap<'a>(a: &mut Arguments<'_, 'a>) -> Result<Val<'a>> {
    let list = a.list(0)?;
    a.budget.create_items(list.len())?;
    let mut values = Vec::with_capacity(list.len());
    for item in list.iter() {
        match item {
            Val::Optional(value) => values.extend(value.map(|value| (*value).clone())),
            other => {
                let message = format!("an item of the list is of type {}, not an optional", other.kind());
                return Err(Error::new(ErrorKind::NoSuchOverload, message).in_argument(0));
            }
        }
    }
    crate::cel::value::List::new(values).map(Val::List)
}
