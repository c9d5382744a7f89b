//! Resource lists: counting devices, adding up, and what a pod requests.
//!
//! A resource list is a map from names of resources to amounts, which may be quantities or, as in JSON, texts and
//! numbers. What is computed has quantities.

use super::{
    call::{Arguments, Cost, Size, Work, no_overload},
    library, quantity,
};
use crate::{
    cel::{
        budget::Budget,
        error::{Error, ErrorKind},
        value::{Key, List, Map, Str, Val},
    },
    quantity::Quantity,
};
use std::collections::BTreeMap;

type Result<T> = std::result::Result<T, Error>;

const WALK: Cost = Cost::new(Work::Walk, Size::AtMost(1));
const LIST: Cost = Cost::new(Work::Walk, Size::First);

library! {
    Resources;
    "resources.count": "How much of the resource a container gets, rounded up to a whole number: its request, or its limit if there is no request or it is zero; 0 if there is neither. The first argument is an object with `requests` and `limits`.",
        "when an amount is no quantity, or does not fit in 64 bits" {
        "resources.count(dyn, string) -> int" => |a| { let name = a.str(1)?; count(a, |found| found == name) }, WALK;
    }
    "resources.countContaining": "The same for the first resource, in the order of names, that has the text in its name, in lower case: `gpu` finds `nvidia.com/gpu`.",
        "when an amount is no quantity, or does not fit in 64 bits" {
        "resources.countContaining(dyn, string) -> int" => |a| { let part = a.str(1)?; count(a, |found| found.to_lowercase().contains(part)) }, WALK;
    }
    "resources.sum": "The sum of resource lists, name by name.", "when an amount is no quantity" {
        "resources.sum(list(map(string, T))) -> map(string, quantity)" => sum, LIST;
    }
    "resources.multiply": "The resource list so many times.", "when an amount is no quantity, or becomes absurdly large" {
        "resources.multiply(map(string, T), int) -> map(string, quantity)" => multiply, LIST;
    }
    "pod.requests": "What a pod with this spec requests, as the scheduler counts it: containers and sidecars together, or an init container with the sidecars before it if that is more; resources of the pod as a whole in their place; its overhead. With `true`, a limit counts where there is no request, which is what the API server fills in; with a resource list, a container gets that of it for which it has neither request nor limit.",
        "when an amount is no quantity" {
        "pod.requests(dyn) -> map(string, quantity)" => |a| pod_requests(a, &Filled::default()), Cost::new(Work::Walk, Size::AtMost(64));
        "pod.requests(dyn, bool) -> map(string, quantity)" => |a| { let limits = a.bool(1)?; pod_requests(a, &Filled { limits, ..Filled::default() }) }, Cost::new(Work::Walk, Size::AtMost(64));
        "pod.requests(dyn, map(string, T)) -> map(string, quantity)" => |a| { let defaults = amounts(&a.map(1)?, a.budget)?; pod_requests(a, &Filled { limits: false, defaults }) }, Cost::new(Work::Walk, Size::AtMost(64));
    }
    "resources.containerDefaults": "What LimitRanges, by name, give a container that asks for nothing: their default requests; of several for one resource the first's, in the order of names.",
        "when an amount is no quantity" {
        "resources.containerDefaults(map(string, T)) -> map(string, quantity)" => container_defaults, Cost::new(Work::Walk, Size::AtMost(64));
    }
}

/// Amounts by name of resource.
type Amounts = BTreeMap<String, Quantity>;

/// A value as an object; null and absent stand for one without fields.
fn object<'a>(value: &Val<'a>) -> Result<Option<Map<'a>>> {
    match value {
        Val::Map(map) => Ok(Some(map.clone())),
        Val::Null | Val::Optional(None) => Ok(None),
        Val::Optional(Some(value)) => object(value),
        _ => Err(no_overload()),
    }
}

/// The object in the field `name`, if there is one.
fn field<'a>(map: &Map<'a>, name: &str) -> Result<Option<Map<'a>>> {
    map.field(name).map_or(Ok(None), |value| object(&value)).map_err(|_| not(name, "an object"))
}

/// The items of the list in the field `name`, if there is one.
fn items<'a>(map: &Map<'a>, name: &str) -> Result<Option<List<'a>>> {
    match map.field(name) {
        Some(Val::List(list)) => Ok(Some(list)),
        None | Some(Val::Null) => Ok(None),
        Some(_) => Err(not(name, "a list")),
    }
}

fn not(name: &str, what: &str) -> Error {
    Error::new(ErrorKind::InvalidArgument, format!("`{name}` is not {what}")).in_argument(0)
}

/// The quantity that an amount is.
fn amount(name: &str, value: &Val) -> Result<Quantity> {
    let parsed = match value {
        Val::Quantity(quantity) => return Ok((**quantity).clone()),
        Val::String(text) => Quantity::parse(text),
        Val::Int(number) => Quantity::from_json(&(*number).into()),
        Val::UInt(number) => Quantity::from_json(&(*number).into()),
        Val::Double(number) => Quantity::from_json(&(*number).into()),
        other => return Err(not(name, &format!("a quantity but of type {}", other.kind()))),
    };
    parsed
        .map_err(|error| Error::new(ErrorKind::InvalidArgument, format!("`{name}`: {error}")).in_argument(0))
}

fn count<'a>(a: &mut Arguments<'_, 'a>, wanted: impl Fn(&str) -> bool) -> Result<Val<'a>> {
    let Some(resources) = object(&a.value(0)?)? else { return Ok(Val::Int(0)) };
    for list in ["requests", "limits"] {
        let Some(list) = field(&resources, list)? else { continue };
        if let Some(found) = first(&list, &wanted, a.budget)?
            && !found.is_zero()
        {
            let rounded = found.value().map(Val::Int);
            let overflow =
                || Error::new(ErrorKind::Overflow, format!("{found} does not fit in int")).in_argument(0);
            return rounded.ok_or_else(overflow);
        }
    }
    Ok(Val::Int(0))
}

/// The amount of the first resource, in the order of names, whose name is `wanted`.
fn first(list: &Map, wanted: &impl Fn(&str) -> bool, budget: &mut Budget) -> Result<Option<Quantity>> {
    let mut found: Option<(Str, Val)> = None;
    for (key, value) in list {
        budget.charge(1)?;
        if let Key::String(name) = key
            && wanted(&name)
            && found.as_ref().is_none_or(|(before, _)| *name < **before)
        {
            found = Some((name, value));
        }
    }
    found.map(|(name, value)| amount(&name, &value)).transpose()
}

/// The amounts of a resource list.
fn amounts(list: &Map, budget: &mut Budget) -> Result<Amounts> {
    let mut amounts = Amounts::new();
    for (key, value) in list {
        budget.charge(5)?;
        let Key::String(name) = key else { return Err(no_overload()) };
        amounts.insert(name.to_string(), amount(&name, &value)?);
    }
    Ok(amounts)
}

fn add(total: &mut Amounts, more: &Amounts) {
    for (name, quantity) in more {
        match total.get_mut(name) {
            Some(sum) => *sum = &*sum + quantity,
            None => {
                total.insert(name.clone(), quantity.clone());
            }
        }
    }
}

/// Raises each amount to that of `other`.
fn raise(total: &mut Amounts, other: &Amounts) {
    for (name, quantity) in other {
        if total.get(name).is_none_or(|found| found < quantity) {
            total.insert(name.clone(), quantity.clone());
        }
    }
}

fn to_value<'a>(amounts: Amounts, budget: &mut Budget) -> Result<Val<'a>> {
    budget.create_items(amounts.len())?;
    let entry = |(name, quantity): (String, Quantity)| {
        (Key::String(Str::Owned(name.into())), quantity::value(quantity))
    };
    Map::new(amounts.into_iter().map(entry).collect()).map(Val::Map)
}

fn sum<'a>(a: &mut Arguments<'_, 'a>) -> Result<Val<'a>> {
    let mut total = Amounts::new();
    for item in a.list(0)?.iter() {
        if let Some(list) = object(&item)? {
            add(&mut total, &amounts(&list, a.budget)?);
        }
    }
    to_value(total, a.budget)
}

fn multiply<'a>(a: &mut Arguments<'_, 'a>) -> Result<Val<'a>> {
    let factor = a.int(1)?;
    let mut entries = Vec::new();
    for (name, quantity) in amounts(&a.map(0)?, a.budget)? {
        entries.push((Key::String(Str::Owned(name.into())), quantity::times(&quantity, factor)?));
    }
    a.budget.create_items(entries.len())?;
    Map::new(entries).map(Val::Map)
}

// Pods.

/// What is filled in where there is no request.
#[derive(Default)]
struct Filled {
    /// Whether the limit is.
    limits: bool,
    /// What a container gets, where there is no limit either.
    defaults: Amounts,
}

fn container_defaults<'a>(a: &mut Arguments<'_, 'a>) -> Result<Val<'a>> {
    let ranges = a.map(0)?;
    let named = ranges.iter().map(|(name, range)| match name {
        Key::String(name) => Ok((name.to_string(), range)),
        _ => Err(no_overload()),
    });
    let mut defaults = Amounts::new();
    for range in named.collect::<Result<BTreeMap<_, _>>>()?.values() {
        let Some(spec) = object(range)?.map(|range| field(&range, "spec")).transpose()?.flatten() else {
            continue;
        };
        for limit in items(&spec, "limits")?.iter().flat_map(List::iter) {
            a.budget.charge(1)?;
            let Some(limit) = object(&limit)? else { continue };
            let is_container = limit.field("type").as_ref().and_then(Val::as_str) == Some("Container");
            let Some(list) = field(&limit, "defaultRequest")?.filter(|_| is_container) else { continue };
            for (name, quantity) in amounts(&list, a.budget)? {
                defaults.entry(name).or_insert(quantity);
            }
        }
    }
    to_value(defaults, a.budget)
}

fn pod_requests<'a>(a: &mut Arguments<'_, 'a>, filled: &Filled) -> Result<Val<'a>> {
    let Some(pod) = object(&a.value(0)?)? else { return to_value(Amounts::new(), a.budget) };
    let mut total = Amounts::new();
    for container in items(&pod, "containers")?.iter().flat_map(List::iter) {
        add(&mut total, &container_requests(&container, filled, a.budget)?);
    }
    let most = init_containers(&pod, filled, &mut total, a.budget)?;
    raise(&mut total, &most);
    for (name, quantity) in requests(&Val::Map(pod.clone()), filled.limits, a.budget)? {
        if name == "cpu" || name == "memory" || name.starts_with("hugepages-") {
            total.insert(name, quantity);
        }
    }
    if let Some(overhead) = field(&pod, "overhead")? {
        add(&mut total, &amounts(&overhead, a.budget)?);
    }
    to_value(total, a.budget)
}

/// What the init containers need at most at once. Those that are restarted always, which run on beside the containers,
/// are added to `total` too.
fn init_containers(pod: &Map, filled: &Filled, total: &mut Amounts, budget: &mut Budget) -> Result<Amounts> {
    let (mut running, mut most) = (Amounts::new(), Amounts::new());
    for container in items(pod, "initContainers")?.iter().flat_map(List::iter) {
        let own = container_requests(&container, filled, budget)?;
        let policy = object(&container)?.and_then(|container| container.field("restartPolicy"));
        if policy.as_ref().and_then(Val::as_str) == Some("Always") {
            add(total, &own);
            add(&mut running, &own);
            raise(&mut most, &running);
        } else {
            let mut now = own;
            add(&mut now, &running);
            raise(&mut most, &now);
        }
    }
    Ok(most)
}

/// The requests of a container, with what is filled in.
fn container_requests(container: &Val, filled: &Filled, budget: &mut Budget) -> Result<Amounts> {
    let mut found = requests(container, filled.limits, budget)?;
    if filled.defaults.is_empty() {
        return Ok(found);
    }
    let limited = requests(container, true, budget)?;
    for (name, quantity) in filled.defaults.iter().filter(|(name, _)| !limited.contains_key(*name)) {
        budget.charge(1)?;
        found.insert(name.clone(), quantity.clone());
    }
    Ok(found)
}

/// The requests of a container, or of a pod as a whole; with the limits where there is no request, if `limits` is set.
fn requests(holder: &Val, limits: bool, budget: &mut Budget) -> Result<Amounts> {
    budget.charge(1)?;
    let Some(holder) = object(holder).map_err(|_| not("containers", "a list of objects"))? else {
        return Ok(Amounts::new());
    };
    let Some(resources) = field(&holder, "resources")? else { return Ok(Amounts::new()) };
    let mut found =
        field(&resources, "requests")?.map_or(Ok(Amounts::new()), |list| amounts(&list, budget))?;
    if limits && let Some(list) = field(&resources, "limits")? {
        for (name, quantity) in amounts(&list, budget)? {
            found.entry(name).or_insert(quantity);
        }
    }
    Ok(found)
}
