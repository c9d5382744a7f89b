//! Lists: Kubernetes' functions and CEL's extended ones.

use super::{
    call::{Arguments, Cost, Size, Work, no_overload, sort_steps},
    library,
};
use crate::cel::{
    budget::Budget,
    error::{Error, ErrorKind},
    value::{Comparison, Duration, Key, Lazy, List, Val, compare, equal, walk},
};
use std::{cmp::Ordering, collections::BTreeSet, sync::Arc};

type Result<T> = std::result::Result<T, Error>;

const COPY: Cost = Cost::new(Work::Steps(1), Size::First);
const ITEM: Cost = Cost::new(Work::Visit, Size::Item);
const PAIRS: Cost = Cost::new(Work::Pairs, Size::AtMost(1));
const SORT: Cost = Cost::new(Work::Sort, Size::First);

library! {
    Lists;
    "isSorted": "Whether no item comes before the one in front of it.", "when the items have no order" {
        "list(int).isSorted() -> bool" => is_sorted, Cost::VISIT;
        "list(uint).isSorted() -> bool" => is_sorted, Cost::VISIT;
        "list(double).isSorted() -> bool" => is_sorted, Cost::VISIT;
        "list(bool).isSorted() -> bool" => is_sorted, Cost::VISIT;
        "list(duration).isSorted() -> bool" => is_sorted, Cost::VISIT;
        "list(timestamp).isSorted() -> bool" => is_sorted, Cost::VISIT;
        "list(string).isSorted() -> bool" => is_sorted, Cost::VISIT;
        "list(bytes).isSorted() -> bool" => is_sorted, Cost::VISIT;
    }
    "sum": "The sum of the items; zero if there are none.", "when it does not fit the type" {
        "list(int).sum() -> int" => |a| sum(a, Val::Int(0)), Cost::VISIT;
        "list(uint).sum() -> uint" => |a| sum(a, Val::UInt(0)), Cost::VISIT;
        "list(double).sum() -> double" => |a| sum(a, Val::Double(0.0)), Cost::VISIT;
        "list(duration).sum() -> duration" => |a| sum(a, Val::Duration(Duration::ZERO)), Cost::VISIT;
    }
    "min": "The least item.", "when the list is empty" {
        "list(int).min() -> int" => |a| extreme(a, Ordering::Less), ITEM;
        "list(uint).min() -> uint" => |a| extreme(a, Ordering::Less), ITEM;
        "list(double).min() -> double" => |a| extreme(a, Ordering::Less), ITEM;
        "list(bool).min() -> bool" => |a| extreme(a, Ordering::Less), ITEM;
        "list(duration).min() -> duration" => |a| extreme(a, Ordering::Less), ITEM;
        "list(timestamp).min() -> timestamp" => |a| extreme(a, Ordering::Less), ITEM;
        "list(string).min() -> string" => |a| extreme(a, Ordering::Less), ITEM;
        "list(bytes).min() -> bytes" => |a| extreme(a, Ordering::Less), ITEM;
    }
    "max": "The greatest item.", "when the list is empty" {
        "list(int).max() -> int" => |a| extreme(a, Ordering::Greater), ITEM;
        "list(uint).max() -> uint" => |a| extreme(a, Ordering::Greater), ITEM;
        "list(double).max() -> double" => |a| extreme(a, Ordering::Greater), ITEM;
        "list(bool).max() -> bool" => |a| extreme(a, Ordering::Greater), ITEM;
        "list(duration).max() -> duration" => |a| extreme(a, Ordering::Greater), ITEM;
        "list(timestamp).max() -> timestamp" => |a| extreme(a, Ordering::Greater), ITEM;
        "list(string).max() -> string" => |a| extreme(a, Ordering::Greater), ITEM;
        "list(bytes).max() -> bytes" => |a| extreme(a, Ordering::Greater), ITEM;
    }
    "indexOf": "The first position of an item that is equal to the value, or -1.", "" {
        "list(T).indexOf(T) -> int" => |a| position(a, false), PAIRS;
    }
    "lastIndexOf": "The last position of an item that is equal to the value, or -1.", "" {
        "list(T).lastIndexOf(T) -> int" => |a| position(a, true), PAIRS;
    }
    "slice": "The items from one position up to, but not with, another.", "when the positions are not in order or not in the list" {
        "list(T).slice(int, int) -> list(T)" => slice, COPY;
    }
    "flatten": "The items of the lists in the list in their place, once or so many levels deep.", "when the number of levels is negative" {
        "list(list(T)).flatten() -> list(T)" => |a| flatten(a, 1), Cost::new(Work::Visit, Size::Flatten);
        "list(dyn).flatten(int) -> list(dyn)" => |a| { let levels = a.int(1)?; flatten(a, levels) }, Cost::new(Work::Visit, Size::Flatten);
    }
    "sort": "The items in order.", "when the items have no order, or are of several types" {
        "list(int).sort() -> list(int)" => sort, SORT;
        "list(uint).sort() -> list(uint)" => sort, SORT;
        "list(double).sort() -> list(double)" => sort, SORT;
        "list(bool).sort() -> list(bool)" => sort, SORT;
        "list(duration).sort() -> list(duration)" => sort, SORT;
        "list(timestamp).sort() -> list(timestamp)" => sort, SORT;
        "list(string).sort() -> list(string)" => sort, SORT;
        "list(bytes).sort() -> list(bytes)" => sort, SORT;
    }
    "reverse": "The items in the opposite order.", "" {
        "list(T).reverse() -> list(T)" => reverse, COPY;
    }
    "distinct": "The items without those that are equal to an earlier one.", "" {
        "list(T).distinct() -> list(T)" => distinct, Cost::new(Work::Sort, Size::First);
    }
    "lists.range": "The integers from 0 up to, but not with, the number; none if it is negative.", "" {
        "lists.range(int) -> list(int)" => range, Cost::new(Work::Steps(1), Size::Number);
    }
}

fn is_sorted<'a>(a: &mut Arguments<'_, 'a>) -> Result<Val<'a>> {
    let list = a.list(0)?;
    let mut before: Option<Val> = None;
    for item in list.iter() {
        if let Some(before) = &before
            && order(before, &item, a.budget)? == Some(Ordering::Greater)
        {
            return Ok(Val::Bool(false));
        }
        before = Some(item);
    }
    Ok(Val::Bool(true))
}

/// The order of two items, paid for; `None` if one is not a number.
fn order(a: &Val, b: &Val, budget: &mut Budget) -> Result<Option<Ordering>> {
    if let (Val::String(a), Val::String(b)) = (a, b) {
        budget.traverse(a.len().min(b.len()))?;
    }
    match compare(a, b) {
        Comparison::Ordered(order) => Ok(Some(order)),
        Comparison::NotANumber => Ok(None),
        Comparison::Unsupported => {
            let message = format!("items of type {} and {} have no order", a.kind(), b.kind());
            Err(Error::new(ErrorKind::NoSuchOverload, message).in_argument(0))
        }
    }
}

fn sum<'a>(a: &mut Arguments<'_, 'a>, zero: Val<'a>) -> Result<Val<'a>> {
    let overflow = || Error::new(ErrorKind::Overflow, "the sum does not fit its type").in_argument(0);
    let items = a.list(0)?;
    let mut total: Option<Val> = None;
    for item in items.iter() {
        total = Some(match (total.as_ref(), &item) {
            (None, Val::Int(_) | Val::UInt(_) | Val::Double(_) | Val::Duration(_)) => item,
            (Some(Val::Int(a)), Val::Int(b)) => Val::Int(a.checked_add(*b).ok_or_else(overflow)?),
            (Some(Val::UInt(a)), Val::UInt(b)) => Val::UInt(a.checked_add(*b).ok_or_else(overflow)?),
            (Some(Val::Double(a)), Val::Double(b)) => Val::Double(a + b),
            (Some(Val::Duration(a)), Val::Duration(b)) => Val::Duration(a.checked_add(*b)?),
            #[allow(clippy::cast_precision_loss, reason = "JSON writes whole doubles without a fraction")]
            (Some(Val::Double(a)), Val::Int(b)) => Val::Double(a + *b as f64),
            #[allow(clippy::cast_precision_loss, reason = "JSON writes whole doubles without a fraction")]
            (Some(Val::Int(a)), Val::Double(b)) => Val::Double(*a as f64 + b),
            _ => {
                let message = format!("an item of type {} cannot be part of the sum", item.kind());
                return Err(Error::new(ErrorKind::NoSuchOverload, message).in_argument(0));
            }
        });
    }
    Ok(total.unwrap_or(zero))
}

/// The first item that comes before (`wanted` less) or after all others.
fn extreme<'a>(a: &mut Arguments<'_, 'a>, wanted: Ordering) -> Result<Val<'a>> {
    let list = a.list(0)?;
    let mut found: Option<Val> = None;
    for item in list.iter() {
        let better = match &found {
            Some(found) => order(&item, found, a.budget)? == Some(wanted),
            None => true,
        };
        if better {
            found = Some(item);
        }
    }
    found.ok_or_else(|| Error::new(ErrorKind::OutOfRange, "the list is empty").in_argument(0))
}

fn position<'a>(a: &mut Arguments<'_, 'a>, from_end: bool) -> Result<Val<'a>> {
    let (list, wanted) = (a.list(0)?, a.value(1)?);
    let length = list.len();
    for step in 0..length {
        let index = if from_end { length - 1 - step } else { step };
        a.budget.charge(1)?;
        if let Some(item) = list.get(index)
            && equal(&item, &wanted, a.budget)?
        {
            return Ok(Val::Int(i64::try_from(index).unwrap_or(i64::MAX)));
        }
    }
    Ok(Val::Int(-1))
}

fn slice<'a>(a: &mut Arguments<'_, 'a>) -> Result<Val<'a>> {
    let (list, from, to) = (a.list(0)?, a.int(1)?, a.int(2)?);
    let bounds = usize::try_from(from).ok().zip(usize::try_from(to).ok());
    let bounds = bounds.filter(|(from, to)| from <= to && *to <= list.len());
    let Some((from, to)) = bounds else {
        let message = format!("there is no slice from {from} to {to} in a list of {}", list.len());
        return Err(Error::new(ErrorKind::OutOfRange, message));
    };
    if let List::Json(items) = &list {
        return Ok(Val::List(List::Json(items.get(from..to).unwrap_or_default())));
    }
    a.budget.create_items(to - from)?;
    List::new((from..to).filter_map(|index| list.get(index)).collect()).map(Val::List)
}

fn flatten<'a>(a: &mut Arguments<'_, 'a>, levels: i64) -> Result<Val<'a>> {
    let levels = usize::try_from(levels)
        .map_err(|_| Error::new(ErrorKind::OutOfRange, "the number of levels is negative").in_argument(1))?;
    let (list, mut items) = (a.list(0)?, Vec::new());
    flatten_into(&list, levels, 0, &mut items, a.budget)?;
    List::new(items).map(Val::List)
}

fn flatten_into<'a>(
    list: &List<'a>,
    levels: usize,
    depth: usize,
    items: &mut Vec<Val<'a>>,
    budget: &mut Budget,
) -> Result<()> {
    walk(depth)?;
    for item in list.iter() {
        match item {
            Val::List(inner) if depth < levels => {
                budget.charge(1)?;
                flatten_into(&inner, levels, depth + 1, items, budget)?;
            }
            item => {
                budget.create_items(1)?;
                items.push(item);
            }
        }
    }
    Ok(())
}

fn sort<'a>(a: &mut Arguments<'_, 'a>) -> Result<Val<'a>> {
    let list = a.list(0)?;
    a.budget.create_items(list.len())?;
    let items: Vec<_> = list.iter().collect();
    List::new(sort_by_keys(items.clone(), &items, a.budget)?).map(Val::List)
}

/// `items` in the order of `keys`, which are as many; items with equal keys stay in order. Fails when the keys are of
/// several types, or have no order.
pub(in crate::cel) fn sort_by_keys<'a>(
    items: Vec<Val<'a>>,
    keys: &[Val<'a>],
    budget: &mut Budget,
) -> Result<Vec<Val<'a>>> {
    budget.charge(sort_steps(items.len() as u64))?;
    for key in keys {
        budget.traverse(key.as_str().map_or(0, str::len))?;
    }
    let unordered = |message: String| Error::new(ErrorKind::NoSuchOverload, message).in_argument(0);
    if let Some(first) = keys.first() {
        if compare(first, first) == Comparison::Unsupported {
            return Err(unordered(format!("values of type {} have no order", first.kind())));
        }
        if let Some(other) = keys.iter().find(|key| key.kind() != first.kind()) {
            return Err(unordered(format!(
                "{} and {} cannot be sorted together",
                first.kind(),
                other.kind()
            )));
        }
    }
    let mut pairs: Vec<(&Val, Val)> = keys.iter().zip(items).collect();
    pairs.sort_by(|(a, _), (b, _)| match (a, b) {
        (Val::Double(a), Val::Double(b)) => a.total_cmp(b),
        (a, b) => compare(a, b).order().unwrap_or(Ordering::Equal),
    });
    Ok(pairs.into_iter().map(|(_, item)| item).collect())
}

fn reverse<'a>(a: &mut Arguments<'_, 'a>) -> Result<Val<'a>> {
    let list = a.list(0)?;
    a.budget.create_items(list.len())?;
    let mut items: Vec<_> = list.iter().collect();
    items.reverse();
    List::new(items).map(Val::List)
}

fn distinct<'a>(a: &mut Arguments<'_, 'a>) -> Result<Val<'a>> {
    let list = a.list(0)?;
    let (mut members, mut items) = (Members::default(), Vec::new());
    for item in list.iter() {
        if members.insert(&item, a.budget)? {
            items.push(item);
        }
    }
    List::new(items).map(Val::List)
}

/// Items by what they are equal to: scalars in a search tree, anything else compared one by one and paid for.
#[derive(Default)]
pub(super) struct Members<'a> {
    keys: BTreeSet<Key<'a>>,
    others: Vec<Val<'a>>,
}

impl<'a> Members<'a> {
    pub(super) fn of(list: &List<'a>, budget: &mut Budget) -> Result<Members<'a>> {
        let mut members = Members::default();
        for item in list.iter() {
            members.insert(&item, budget)?;
        }
        Ok(members)
    }

    /// Adds the item; false if an equal one is there.
    pub(super) fn insert(&mut self, item: &Val<'a>, budget: &mut Budget) -> Result<bool> {
        if self.contains(item, budget)? {
            return Ok(false);
        }
        budget.create_items(1)?;
        match Key::from_val(item) {
            Some(key) => {
                self.keys.insert(key);
            }
            None => self.others.push(item.clone()),
        }
        Ok(true)
    }

    pub(super) fn contains(&self, item: &Val<'a>, budget: &mut Budget) -> Result<bool> {
        budget.charge(1)?;
        if let Some(key) = Key::from_val(item) {
            budget.traverse(item.as_str().map_or(0, str::len))?;
            return Ok(self.keys.contains(&key));
        }
        for other in &self.others {
            budget.charge(1)?;
            if equal(other, item, budget)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn range<'a>(a: &mut Arguments<'_, 'a>) -> Result<Val<'a>> {
    let length = usize::try_from(a.int(0)?.max(0)).map_err(|_| no_overload())?;
    Ok(Val::List(List::Lazy(Arc::new(Range(length)))))
}

/// The integers below a number.
#[derive(Debug)]
struct Range(usize);

impl Lazy for Range {
    fn len(&self) -> usize {
        self.0
    }

    fn get(&self, index: usize) -> Val<'static> {
        Val::Int(i64::try_from(index).unwrap_or(i64::MAX))
    }

    fn item_bytes(&self) -> usize {
        0
    }
}
