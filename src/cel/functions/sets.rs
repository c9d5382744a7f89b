//! Lists as sets: neither order nor repetition of their items matters.

use super::{
    call::{Arguments, Cost, Size, Work},
    library,
    lists::Members,
};
use crate::cel::{error::Error, value::Val};

type Result<T> = std::result::Result<T, Error>;

const PAIRS: Cost = Cost::new(Work::Pairs, Size::AtMost(1));

library! {
    Sets;
    "sets.contains": "Whether the first list has every item of the second.", "" {
        "sets.contains(list(T), list(T)) -> bool" => |a| contains(a, 0, 1).map(Val::Bool), PAIRS;
    }
    "sets.equivalent": "Whether each list has every item of the other.", "" {
        "sets.equivalent(list(T), list(T)) -> bool" => |a| Ok(Val::Bool(contains(a, 0, 1)? && contains(a, 1, 0)?)), PAIRS;
    }
    "sets.intersects": "Whether the lists have an item in common.", "" {
        "sets.intersects(list(T), list(T)) -> bool" => intersects, PAIRS;
    }
}

/// Whether the list at `outer` has every item of the one at `inner`.
fn contains(a: &mut Arguments, outer: usize, inner: usize) -> Result<bool> {
    let (outer, inner) = (a.list(outer)?, a.list(inner)?);
    let members = Members::of(&outer, a.budget)?;
    for item in inner.iter() {
        if !members.contains(&item, a.budget)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn intersects<'a>(a: &mut Arguments<'_, 'a>) -> Result<Val<'a>> {
    let (first, second) = (a.list(0)?, a.list(1)?);
    let members = Members::of(&first, a.budget)?;
    for item in second.iter() {
        if members.contains(&item, a.budget)? {
            return Ok(Val::Bool(true));
        }
    }
    Ok(Val::Bool(false))
}
