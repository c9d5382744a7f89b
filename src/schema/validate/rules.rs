//! The CEL rules of schemas (`x-kubernetes-validations`).
//!
//! Rules see JSON, not types: the CRDs they come from have been checked by an API server, and by our tests with types.
//! What the API server's types add is that the order of sets and list-maps means nothing when two values are compared;
//! so where old and new meet, both are put in one order first.

use std::sync::{LazyLock, OnceLock};

use serde_json::Value;

use super::error::{Errors, Reason};
use super::lists;
use crate::cel::{Bindings, Bounds, Budget, Env, Error, Program, Type as CelType, Val};
use crate::object::FieldPath;
use crate::object::path::At;
use crate::schema::{ListKind, MAX_DEPTH, Rule, Schemas, Shape, Type, TypeId};

/// What rules may name. The slots are [`SELF`] and [`OLD_SELF`].
static ENV: LazyLock<Env> = LazyLock::new(|| {
    let mut env = Env::new();
    env.declare("self", &CelType::Dyn, Bounds::default());
    env.declare("oldSelf", &CelType::Dyn, Bounds::default());
    env
});
const SELF: usize = 0;
const OLD_SELF: usize = 1;

/// The programs of a rule, compiled at its first use.
#[derive(Debug, Default)]
pub(in crate::schema) struct Programs {
    rule: OnceLock<Option<Program>>,
    message: OnceLock<Option<Program>>,
}

impl Clone for Programs {
    fn clone(&self) -> Self {
        Programs::default()
    }
}

fn compile(source: &str) -> Option<Program> {
    ENV.compile(source).program
}

/// A value and what it was before, as rules see them.
pub(super) struct Subject<'a> {
    pub(super) ty: TypeId,
    pub(super) value: &'a Value,
    pub(super) old: Option<&'a Value>,
    /// Whether the value did not change: then it may break rules, unless they are about changes.
    pub(super) unchanged: bool,
}

/// Checks every rule of a type, reporting those that are broken and those that cannot tell.
pub(super) fn check(
    schemas: &Schemas,
    subject: &Subject<'_>,
    budget: &mut Budget,
    errors: &mut Errors,
    at: &At<'_>,
) {
    let ty = schemas.get(subject.ty);
    if ty.rules.is_empty() {
        return;
    }
    let ordered: LazyLock<_, _> = LazyLock::new(|| {
        let ordered = |value: &Value| in_order(schemas, subject.ty, value, 0);
        (ordered(subject.value), subject.old.map(ordered))
    });
    for rule in &ty.rules {
        let Some(program) = rule.programs.rule.get_or_init(|| compile(&rule.rule)) else {
            errors.invalid(at, None, format!("rule cannot be compiled: {}", rule.rule));
            continue;
        };
        let about_change = program.variables().contains(&OLD_SELF);
        if about_change && subject.old.is_none() && rule.optional_old_self != Some(true) {
            continue;
        }
        let scope = if about_change {
            Scope {
                value: &ordered.0,
                old: ordered.1.as_ref(),
                optional: rule.optional_old_self == Some(true),
            }
        } else {
            Scope { value: subject.value, old: None, optional: false }
        };
        match program.eval(&scope, budget) {
            Ok(Val::Bool(true)) => {}
            Ok(_) if subject.unchanged && !about_change => {}
            Ok(_) => broken(rule, ty, &scope, budget, errors, at),
            Err(error) => {
                let rule = rule.message.as_deref().unwrap_or(&rule.rule);
                errors.invalid(at, None, format!("{} evaluating rule: {rule}", error.message()));
            }
        }
    }
}

fn broken(rule: &Rule, ty: &Type, scope: &Scope<'_>, budget: &mut Budget, errors: &mut Errors, at: &At<'_>) {
    let computed = rule.message_expression.as_deref().and_then(|source| {
        let program = rule.programs.message.get_or_init(|| compile(source)).as_ref()?;
        match program.eval(scope, budget) {
            Ok(Val::String(message)) if !message.trim().is_empty() => Some(message.trim().to_owned()),
            _ => None,
        }
    });
    let message =
        computed.or_else(|| rule.message.clone()).unwrap_or_else(|| format!("failed rule: {}", rule.rule));
    let reason = match rule.reason.as_deref() {
        Some("FieldValueRequired") => Reason::Required,
        Some("FieldValueForbidden") => Reason::Forbidden,
        Some("FieldValueDuplicate") => Reason::Duplicate,
        _ => Reason::Invalid,
    };
    let scalar = !matches!(ty.shape, Shape::Object(_) | Shape::Map(_) | Shape::List(_));
    let below = rule.field_path.as_deref().and_then(|path| FieldPath::parse(path).ok()).unwrap_or_default();
    errors.push_path(|| at.path().join(&below), reason, scalar.then_some(scope.value), || message);
}

/// The values of `self` and `oldSelf`.
struct Scope<'v> {
    value: &'v Value,
    old: Option<&'v Value>,
    /// Whether `oldSelf` is an optional.
    optional: bool,
}

impl<'v> Bindings<'v> for Scope<'v> {
    fn get(&self, slot: usize, _budget: &mut Budget) -> Result<Val<'v>, Error> {
        let old = self.old.map(Val::from_json);
        Ok(match (slot, self.optional) {
            (SELF, _) => Val::from_json(self.value),
            (_, true) => Val::Optional(old.map(std::sync::Arc::new)),
            (_, false) => old.unwrap_or(Val::Null),
        })
    }
}

/// The value with the items of sets and list-maps sorted.
fn in_order(schemas: &Schemas, ty: TypeId, value: &Value, depth: usize) -> Value {
    if depth > MAX_DEPTH {
        return value.clone();
    }
    match (&schemas.get(ty).shape, value) {
        (Shape::Object(object), Value::Object(map)) => {
            let part = |(name, value): (&String, &Value)| {
                let value = object
                    .field(name)
                    .map_or_else(|| value.clone(), |field| in_order(schemas, field.ty, value, depth + 1));
                (name.clone(), value)
            };
            Value::Object(map.iter().map(part).collect())
        }
        (Shape::Map(values), Value::Object(map)) => {
            let part = |(key, value): (&String, &Value)| {
                (key.clone(), in_order(schemas, values.values, value, depth + 1))
            };
            Value::Object(map.iter().map(part).collect())
        }
        (Shape::List(list), Value::Array(items)) => {
            let mut items: Vec<Value> =
                items.iter().map(|item| in_order(schemas, list.item, item, depth + 1)).collect();
            match &list.kind {
                ListKind::Atomic => {}
                ListKind::Set => items.sort_by_cached_key(Value::to_string),
                ListKind::Map(keys) => items.sort_by_cached_key(|item| lists::key(keys, item)),
            }
            Value::Array(items)
        }
        _ => value.clone(),
    }
}
