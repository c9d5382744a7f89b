//! From JSON and to JSON.

use super::{Error, ErrorKind, Key, List, Map, Val, walk};
use crate::cel::budget::Budget;
use serde_json::{Number, Value};

impl<'a> Val<'a> {
    /// The JSON value, borrowed. A number is an int if it is an integer that fits one, else a double, as for
    /// Kubernetes.
    #[inline]
    #[allow(clippy::cast_precision_loss, reason = "what does not fit an int is a double for Kubernetes too")]
    pub fn from_json(json: &'a Value) -> Val<'a> {
        match json {
            Value::Null => Val::Null,
            Value::Bool(value) => Val::Bool(*value),
            Value::Number(number) => match number.as_i64() {
                Some(int) => Val::Int(int),
                None => Val::Double(number.as_f64().unwrap_or(f64::NAN)),
            },
            Value::String(text) => Val::borrowed(text),
            Value::Array(items) => Val::List(List::Json(items)),
            Value::Object(object) => Val::Map(Map::Json(object)),
        }
    }

    /// The value as JSON; `None` for an absent optional. Within lists and maps an absent optional is left out with its
    /// key. Quantities, times, durations, versions, addresses and URLs become their text.
    ///
    /// Fails for what JSON has no form for (bytes, types, numbers that are not finite, keys that are no text), for what
    /// is nested too deeply, and when `budget` does not allow the size.
    pub fn to_json(&self, budget: &mut Budget) -> Result<Option<Value>, Error> {
        budget.expression(|budget| self.json_at(0, budget))
    }

    fn json_at(&self, depth: usize, budget: &mut Budget) -> Result<Option<Value>, Error> {
        budget.charge(1)?;
        let depth = walk(depth)?;
        Ok(Some(match self {
            Val::Optional(None) => return Ok(None),
            Val::Optional(Some(value)) => return value.json_at(depth + 1, budget),
            Val::Null => Value::Null,
            Val::Bool(value) => Value::Bool(*value),
            Val::Int(value) => Value::from(*value),
            Val::UInt(value) => Value::from(*value),
            Val::Double(value) => double(*value)?,
            Val::String(text) => {
                budget.create(text.len())?;
                Value::from(&**text)
            }
            Val::List(List::Json(items)) => {
                pay_items(items, depth + 1, budget)?;
                Value::Array(items.to_vec())
            }
            Val::Map(Map::Json(object)) => {
                pay_fields(object, depth + 1, budget)?;
                Value::Object((*object).clone())
            }
            Val::List(list) => json_list(list, depth + 1, budget)?,
            Val::Map(map) => json_map(map, depth + 1, budget)?,
            Val::Timestamp(time) => Value::from(time.to_string()),
            Val::Duration(duration) => Value::from(duration.to_string()),
            Val::Quantity(quantity) => Value::from(quantity.to_string()),
            Val::Semver(version) => Value::from(version.to_string()),
            Val::Url(url) => Value::from(url.to_string()),
            Val::Ip(ip) => Value::from(ip.to_string()),
            Val::Cidr(cidr) => Value::from(cidr.to_string()),
            Val::Bytes(_) | Val::Type(_) | Val::Format(_) => {
                return Err(no_form(format!("a value of type {} has no form in JSON", self.type_name())));
            }
        }))
    }
}

fn no_form(message: String) -> Error {
    Error::new(ErrorKind::NotRepresentable, message)
}

fn double(value: f64) -> Result<Value, Error> {
    let number = Number::from_f64(value);
    number.map(Value::Number).ok_or_else(|| no_form("a number that is not finite has no form in JSON".into()))
}

/// Pays for a copy of `json`, which is then made at once.
fn pay(json: &Value, depth: usize, budget: &mut Budget) -> Result<(), Error> {
    budget.charge(1)?;
    let depth = walk(depth)?;
    match json {
        Value::String(text) => budget.create(text.len()),
        Value::Array(items) => pay_items(items, depth + 1, budget),
        Value::Object(object) => pay_fields(object, depth + 1, budget),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
    }
}

fn pay_items(items: &[Value], depth: usize, budget: &mut Budget) -> Result<(), Error> {
    budget.create_items(items.len())?;
    items.iter().try_for_each(|item| pay(item, depth, budget))
}

fn pay_fields(
    object: &serde_json::Map<String, Value>,
    depth: usize,
    budget: &mut Budget,
) -> Result<(), Error> {
    budget.create_items(object.len())?;
    for (name, value) in object {
        pay(value, depth, budget)?;
        budget.create(name.len())?;
    }
    Ok(())
}

fn json_list(list: &List, depth: usize, budget: &mut Budget) -> Result<Value, Error> {
    budget.create_items(list.len())?;
    let mut items = Vec::with_capacity(list.len());
    for item in list.iter() {
        items.extend(item.json_at(depth, budget)?);
    }
    Ok(Value::Array(items))
}

fn json_map(map: &Map, depth: usize, budget: &mut Budget) -> Result<Value, Error> {
    budget.create_items(map.len())?;
    let mut object = serde_json::Map::new();
    for (key, value) in map {
        let Key::String(name) = &key else {
            return Err(no_form(format!("the key {key:?} is no text, and JSON has no other keys")));
        };
        if let Some(value) = value.json_at(depth, budget)? {
            budget.create(name.len())?;
            object.insert(name.to_string(), value);
        }
    }
    Ok(Value::Object(object))
}
