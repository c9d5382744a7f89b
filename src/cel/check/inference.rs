//! Type inference: which types the parameters of signatures stand for.

use crate::cel::types::{Field, Struct, Type};
use std::sync::Arc;

/// Numbers below are the parameters that signatures write as `T`, `U`, `V`; the checker's own variables begin here.
const FIRST: u32 = 16;

/// What is known of the type variables of one expression.
#[derive(Clone, Default)]
pub(super) struct Inference {
    bound: Vec<Option<Type>>,
}

impl Inference {
    /// A type of which nothing is known yet: that of the items of `[]`.
    pub(super) fn fresh(&mut self) -> Type {
        self.bound.push(None);
        let number = u32::try_from(self.bound.len() - 1).unwrap_or(u32::MAX - FIRST);
        Type::Param(FIRST + number)
    }

    /// Forgets what became known since `before`, but not that there are variables which there were not then.
    pub(super) fn forget(&mut self, before: &Inference) {
        for (number, bound) in self.bound.iter_mut().enumerate() {
            *bound = before.bound.get(number).cloned().flatten();
        }
    }

    fn binding(&self, number: u32) -> Option<&Type> {
        self.bound.get(number.checked_sub(FIRST)? as usize)?.as_ref()
    }

    fn bind(&mut self, number: u32, ty: Type) {
        if let Some(bound) = number.checked_sub(FIRST).and_then(|number| self.bound.get_mut(number as usize))
        {
            *bound = Some(ty);
        }
    }

    /// `ty` with its parameters replaced by `fresh`, which grows as needed.
    pub(super) fn instantiate(&mut self, ty: &Type, fresh: &mut Vec<(u32, Type)>) -> Type {
        match ty {
            Type::Param(number) => match fresh.iter().find(|(known, _)| known == number) {
                Some((_, variable)) => variable.clone(),
                None => {
                    let variable = self.fresh();
                    fresh.push((*number, variable.clone()));
                    variable
                }
            },
            Type::List(item) => Type::list(self.instantiate(item, fresh)),
            Type::Optional(value) => Type::optional(self.instantiate(value, fresh)),
            Type::Map(key, value) => Type::map(self.instantiate(key, fresh), self.instantiate(value, fresh)),
            other => other.clone(),
        }
    }

    /// `ty` with what is known filled in, and variables left where nothing is.
    pub(super) fn known(&self, ty: &Type) -> Type {
        match ty {
            Type::Param(number) => match self.binding(*number) {
                Some(bound) => self.known(bound),
                None => ty.clone(),
            },
            Type::List(item) => Type::list(self.known(item)),
            Type::Optional(value) => Type::optional(self.known(value)),
            Type::Map(key, value) => Type::map(self.known(key), self.known(value)),
            other => other.clone(),
        }
    }

    /// `ty` with what is known filled in, and `dyn` where nothing is.
    pub(super) fn resolve(&self, ty: &Type) -> Type {
        match ty {
            Type::Param(number) => self.binding(*number).map_or(Type::Dyn, |bound| self.resolve(bound)),
            Type::List(item) => Type::list(self.resolve(item)),
            Type::Optional(value) => Type::optional(self.resolve(value)),
            Type::Map(key, value) => Type::map(self.resolve(key), self.resolve(value)),
            other => other.clone(),
        }
    }

    /// Whether a value of type `found` can stand where `wanted` is; if so, both are known to agree from now on.
    pub(super) fn assign(&mut self, found: &Type, wanted: &Type) -> bool {
        self.assign_all(std::slice::from_ref(found), std::slice::from_ref(wanted))
    }

    /// The same for several at once; all or nothing becomes known.
    pub(super) fn assign_all(&mut self, found: &[Type], wanted: &[Type]) -> bool {
        let before = self.bound.clone();
        let agrees = found.len() == wanted.len()
            && found.iter().zip(wanted).all(|(found, wanted)| self.agree(found, wanted, false));
        if !agrees {
            self.bound = before;
        }
        agrees
    }

    /// The type that both values have, if there is one.
    pub(super) fn join(&mut self, a: &Type, b: &Type) -> Option<Type> {
        let before = self.bound.clone();
        if self.agree(b, a, true) {
            return Some(self.general(a, b));
        }
        self.bound = before;
        None
    }

    /// `joined` says that both are values of one type variable, where a map may stand for an object.
    fn agree(&mut self, a: &Type, b: &Type, joined: bool) -> bool {
        if let Type::Param(number) = b {
            match self.substitute(a, *number) {
                (true, _) => return true,
                (false, true) => return false,
                (false, false) => {}
            }
        }
        if let Type::Param(number) = a {
            return self.substitute(b, *number).0;
        }
        match (a, b) {
            (Type::Dyn, _) | (_, Type::Dyn) => true,
            (Type::Null, other) | (other, Type::Null) => is_nullable(other),
            (Type::List(a), Type::List(b)) | (Type::Optional(a), Type::Optional(b)) => {
                self.agree(a, b, joined)
            }
            (Type::Map(key, value), Type::Map(other, with)) => {
                self.agree(key, other, joined) && self.agree(value, with, joined)
            }
            (Type::Struct(_), Type::Map(key, _)) | (Type::Map(key, _), Type::Struct(_)) => {
                joined && self.agree(key, &Type::String, joined)
            }
            (a, b) => a == b,
        }
    }

    /// Whether `ty` can be what the variable stands for, and whether it stood for something before.
    fn substitute(&mut self, ty: &Type, number: u32) -> (bool, bool) {
        if *ty == Type::Param(number) {
            return (true, true);
        }
        if let Some(bound) = self.binding(number).cloned() {
            if *ty == bound {
                return (true, true);
            }
            if !self.agree(ty, &bound, true) {
                return (false, true);
            }
            let general = self.general(&bound, ty);
            if !self.occurs(number, &general) {
                self.bind(number, general);
            }
            return (true, true);
        }
        if self.occurs(number, ty) {
            return (false, false);
        }
        self.bind(number, ty.clone());
        (true, false)
    }

    fn occurs(&self, number: u32, ty: &Type) -> bool {
        match ty {
            Type::Param(other) if *other == number => true,
            Type::Param(other) => self.binding(*other).is_some_and(|bound| self.occurs(number, bound)),
            Type::List(part) | Type::Optional(part) => self.occurs(number, part),
            Type::Map(key, value) => self.occurs(number, key) || self.occurs(number, value),
            _ => false,
        }
    }

    /// The more general of two types that agree.
    fn general(&self, a: &Type, b: &Type) -> Type {
        match (a, b) {
            (Type::Dyn, _) | (_, Type::Dyn) => Type::Dyn,
            (Type::Null, other) | (other, Type::Null) => other.clone(),
            (Type::Param(number), other) | (other, Type::Param(number)) => match self.binding(*number) {
                Some(bound) if bound != other => self.general(&bound.clone(), other),
                _ => other.clone(),
            },
            (Type::List(a), Type::List(b)) => Type::list(self.general(a, b)),
            (Type::Optional(a), Type::Optional(b)) => Type::optional(self.general(a, b)),
            (Type::Map(key, value), Type::Map(other, with)) => {
                Type::map(self.general(key, other), self.general(value, with))
            }
            (Type::Struct(object), Type::Map(_, value)) | (Type::Map(_, value), Type::Struct(object)) => {
                match self.known(value) {
                    Type::Param(_) => Type::Struct(Arc::new(Partial(object.clone()))),
                    _ => Type::map(Type::String, Type::Dyn),
                }
            }
            (a, _) => a.clone(),
        }
    }
}

/// Types that `null` can stand for, as in Kubernetes: objects, but neither lists, maps nor simple values.
fn is_nullable(ty: &Type) -> bool {
    !matches!(
        ty,
        Type::Bool
            | Type::Int
            | Type::UInt
            | Type::Double
            | Type::String
            | Type::Bytes
            | Type::List(_)
            | Type::Map(..)
            | Type::Type
    )
}

/// An object or, in its place, the empty map: each field may be missing.
struct Partial(Arc<dyn Struct>);

impl Struct for Partial {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn field(&self, name: &str) -> Option<Field> {
        self.0.field(name).map(|field| Field { optional: true, ..field })
    }

    fn field_names(&self) -> Vec<String> {
        self.0.field_names()
    }
}
