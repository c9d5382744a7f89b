//! Environment variables as typed clients write them.

use super::{
    call::{Arguments, Cost, Size, Work},
    library,
};
use crate::cel::{
    error::Error,
    value::{Key, List, Map, Str, Val},
};
use std::sync::Arc;

type Result<T> = std::result::Result<T, Error>;

library! {
    Resources;
    "env.explicit": "The environment variables with everything said that upstream's controller says of those it copies from a TrainJob: one without a source has a value, if need be an empty one, one with a source has none, and a reference to a container's resources names a container, if need be none, and a divisor, if need be zero.",
        "" {
        "env.explicit(list(T)) -> list(T)" => explicit, Cost::new(Work::Visit, Size::First);
    }
}

fn explicit<'a>(a: &mut Arguments<'_, 'a>) -> Result<Val<'a>> {
    let variables = a.list(0)?;
    let mut changed = false;
    let mut items = Vec::with_capacity(variables.len());
    for variable in variables.iter() {
        let explicit = complete(&variable)?;
        changed |= explicit.is_some();
        items.push(explicit.unwrap_or(variable));
    }
    if !changed {
        return a.value(0);
    }
    a.budget.create_items(items.len())?;
    Ok(Val::List(List::new(items)?))
}

/// The variable with what it lacks; nothing if it lacks nothing.
fn complete<'a>(variable: &Val<'a>) -> Result<Option<Val<'a>>> {
    let Val::Map(map) = variable else { return Ok(None) };
    let Some(Val::Map(source)) = map.field("valueFrom") else {
        return if map.has_field("value") {
            Ok(None)
        } else {
            with(map, "value", Val::borrowed("")).map(|variable| Some(Val::Map(variable)))
        };
    };
    let with_value = map.has_field("value");
    let Some(Val::Map(mut resource)) = source.field("resourceFieldRef") else {
        return if with_value { without(map, "value").map(|it| Some(Val::Map(it))) } else { Ok(None) };
    };
    let mut changed = with_value;
    for (name, default) in [("containerName", ""), ("divisor", "0")] {
        if !resource.has_field(name) {
            resource = with(&resource, name, Val::borrowed(default))?;
            changed = true;
        }
    }
    if !changed {
        return Ok(None);
    }
    let source = with(&source, "resourceFieldRef", Val::Map(resource))?;
    with(&without(map, "value")?, "valueFrom", Val::Map(source)).map(|variable| Some(Val::Map(variable)))
}

/// The map without a field.
fn without<'a>(map: &Map<'a>, name: &'static str) -> Result<Map<'a>> {
    let key = Key::String(Str::Borrowed(name));
    Map::new(map.iter().filter(|(other, _)| *other != key).collect())
}

/// The map with a field set.
fn with<'a>(map: &Map<'a>, name: &'static str, value: Val<'a>) -> Result<Map<'a>> {
    let key = Key::String(Str::Owned(Arc::from(name)));
    let others = map.iter().filter(|(other, _)| *other != key);
    Map::new(others.chain([(key.clone(), value)]).collect())
}
