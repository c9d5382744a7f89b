//! How large values can get, and what an evaluation can cost.
//!
//! Each amount is counted twice: with the sizes that are declared or follow from the expression, one for what nobody
//! declared; and with an assumption for that. So an expression that must be refused is told from one that may be slow.

use crate::cel::{
    functions::{Cost, Size, Work, match_steps, sort_steps},
    types::{Bounds, Type},
};
use std::{
    ops::{Add, Mul},
    sync::Arc,
};

/// Items that a list or map of undeclared size is assumed to have.
pub const ASSUMED_ITEMS: u64 = 128;

/// Bytes that a text of undeclared size is assumed to have.
pub const ASSUMED_BYTES: u64 = 1024;

/// Bytes of the largest object that can be stored. The items of a list share them, whatever each may have for itself.
const MAX_OBJECT: u64 = 1_572_864;

/// A number of steps, bytes or items, at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Amount {
    /// With one for each size that nobody declared.
    pub(super) declared: u64,
    /// With an assumption for each.
    pub(super) assumed: u64,
}

impl Amount {
    pub(super) const ONE: Amount = Amount::exactly(1);

    pub(super) const fn exactly(amount: u64) -> Amount {
        Amount { declared: amount, assumed: amount }
    }

    fn declared_or(size: Option<u64>, assumed: u64) -> Amount {
        size.map_or(Amount { declared: 1, assumed }, Amount::exactly)
    }

    fn map2(self, other: Amount, f: impl Fn(u64, u64) -> u64) -> Amount {
        Amount { declared: f(self.declared, other.declared), assumed: f(self.assumed, other.assumed) }
    }

    fn map(self, f: impl Fn(u64) -> u64) -> Amount {
        self.map2(self, |amount, _| f(amount))
    }

    pub(super) fn max(self, other: Amount) -> Amount {
        self.map2(other, u64::max)
    }

    pub(super) fn min(self, other: Amount) -> Amount {
        self.map2(other, u64::min)
    }

    /// Steps to go over so many bytes.
    pub(super) fn tenth(self) -> Amount {
        self.map(|amount| amount.div_ceil(10))
    }
}

impl Add for Amount {
    type Output = Amount;

    fn add(self, other: Amount) -> Amount {
        self.map2(other, u64::saturating_add)
    }
}

impl Mul for Amount {
    type Output = Amount;

    fn mul(self, other: Amount) -> Amount {
        self.map2(other, u64::saturating_mul)
    }
}

/// How large a value can get.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    /// Bytes of a text, items of a list, entries of a map; one for anything else.
    pub(super) size: Amount,
    /// The shape of each item of a list or value of a map; `None` if it follows from the type alone.
    items: Option<Arc<Shape>>,
    /// The number, if it is known.
    number: Option<i64>,
}

impl Shape {
    pub(super) const SCALAR: Shape = Shape { size: Amount::ONE, items: None, number: None };

    /// The shape of a value of which the type alone is known.
    pub(super) fn of(ty: &Type) -> Shape {
        Shape::declared(ty, &Bounds::default())
    }

    /// The shape of a value of type `ty` with declared bounds.
    pub(super) fn declared(ty: &Type, bounds: &Bounds) -> Shape {
        let size = match ty {
            Type::String | Type::Bytes => {
                Amount::declared_or(bounds.size.map(|size| size.min(MAX_OBJECT)), ASSUMED_BYTES)
            }
            Type::List(_) | Type::Map(..) | Type::Struct(_) | Type::Dyn | Type::Param(_) => {
                Amount::declared_or(bounds.size, ASSUMED_ITEMS)
            }
            Type::Optional(value) => return Shape::declared(value, bounds),
            _ => Amount::ONE,
        };
        let share = |items: &Bounds| {
            let share = bounds.size.map_or(MAX_OBJECT, |count| MAX_OBJECT / count.max(1)).max(1);
            Bounds { size: items.size.map(|size| size.min(share)), ..items.clone() }
        };
        let items = bounds.items.as_ref().map(|items| match ty {
            Type::List(item) | Type::Map(_, item) => Arc::new(Shape::declared(item, &share(items))),
            _ => Arc::new(Shape::declared(&Type::Dyn, items)),
        });
        Shape { size, items, number: None }
    }

    pub(super) fn sized(size: Amount) -> Shape {
        Shape { size, ..Shape::SCALAR }
    }

    pub(super) fn number(number: i64) -> Shape {
        Shape { number: Some(number), ..Shape::SCALAR }
    }

    pub(super) fn with_items(size: Amount, items: Shape) -> Shape {
        Shape { size, items: Some(Arc::new(items)), number: None }
    }

    /// As many as the number says; a number that is not known is taken for that of the items of a list.
    fn count(&self) -> Amount {
        Amount::declared_or(self.number.map(|number| u64::try_from(number).unwrap_or(0)), ASSUMED_ITEMS)
    }

    /// The shape of each item, which is of type `ty`.
    pub(super) fn item(&self, ty: &Type) -> Shape {
        self.items.as_ref().map_or_else(|| Shape::of(ty), |items| (**items).clone())
    }

    /// The shape of a value that is either.
    pub(super) fn or(&self, other: &Shape) -> Shape {
        let items = match (&self.items, &other.items) {
            (Some(a), Some(b)) => Some(Arc::new(a.or(b))),
            _ => None,
        };
        Shape { size: self.size.max(other.size), items, number: None }
    }

    /// The shape of both, one after the other.
    pub(super) fn and(&self, other: &Shape) -> Shape {
        Shape { size: self.size + other.size, ..self.or(other) }
    }

    /// Steps to go over the whole value of type `ty`, as far down as its shape is known.
    pub(super) fn walk(&self, ty: &Type) -> Amount {
        match ty {
            Type::String | Type::Bytes => self.size.tenth(),
            Type::List(item) | Type::Map(_, item) => self.size * (Amount::ONE + self.item(item).walk(item)),
            Type::Optional(value) => self.walk(value),
            Type::Dyn | Type::Struct(_) | Type::Param(_) => self.size,
            _ => Amount::ONE,
        }
    }

    /// What is certain about the size.
    pub(super) fn bounds(&self) -> Bounds {
        let certain = self.size.declared == self.size.assumed;
        Bounds {
            size: certain.then_some(self.size.declared),
            items: self.items.as_ref().map(|items| Arc::new(items.bounds())),
        }
    }
}

/// The shape of a call's result of type `ty`, and the steps of the call itself.
pub(super) fn call(cost: Cost, args: &[Shape], types: &[Type], ty: &Type) -> (Shape, Amount) {
    let shape = result(cost.size, args, types, ty);
    let created = match ty {
        _ if matches!(cost.size, Size::Number | Size::Pods) => Amount::ONE,
        Type::String | Type::Bytes => shape.size.tenth(),
        Type::List(_) | Type::Map(..) | Type::Dyn | Type::Param(_) => shape.size,
        _ => Amount::ONE,
    };
    (shape, work(cost.work, args, types) + created)
}

fn arg(args: &[Shape], index: usize) -> Shape {
    args.get(index).cloned().unwrap_or(Shape::SCALAR)
}

fn arg_type(types: &[Type], index: usize) -> &Type {
    types.get(index).unwrap_or(&Type::Dyn)
}

fn work(work: Work, args: &[Shape], types: &[Type]) -> Amount {
    let size = |index| arg(args, index).size;
    match work {
        Work::Steps(steps) => Amount::exactly(steps),
        Work::Read => args.iter().fold(Amount::ONE, |sum, arg| sum + arg.size.tenth()),
        Work::Visit => arg(args, 0).walk(arg_type(types, 0)),
        Work::Sort => size(0).map(sort_steps),
        Work::Match => size(0).map2(size(1), match_steps),
        Work::Pairs => {
            let each = |index: usize| match arg_type(types, index) {
                Type::List(item) => arg(args, index).item(item).walk(item),
                other => arg(args, index).walk(other),
            };
            let second = if matches!(arg_type(types, 1), Type::List(_)) { size(1) } else { Amount::ONE };
            size(0) * second * (Amount::ONE + each(0).min(each(1)))
        }
        Work::Walk => args.iter().fold(Amount::ONE, |sum, arg| sum + arg.size * Amount::exactly(10)),
    }
}

fn result(size: Size, args: &[Shape], types: &[Type], ty: &Type) -> Shape {
    let first = arg(args, 0);
    let list_item = match arg_type(types, 0) {
        Type::List(item) => first.item(item),
        _ => Shape::of(&Type::Dyn),
    };
    match size {
        Size::AtMost(size) => Shape { size: Amount::exactly(size), ..Shape::of(ty) },
        Size::First => first,
        Size::Sum => Shape {
            items: first.items.clone(),
            ..Shape::sized(args.iter().fold(Amount::exactly(0), |sum, arg| sum + arg.size))
        },
        Size::Number => Shape::with_items(first.count(), Shape::SCALAR),
        Size::Pods => {
            let names = arg(args, 0).size + arg(args, 1).size + arg(args, 4).size;
            let digits = Amount::exactly(44);
            // Replicas that nobody declared are one: it is their pods that are many.
            let replicas = arg(args, 2).number.map_or(Amount::ONE, |_| arg(args, 2).count());
            Shape::with_items(replicas * arg(args, 3).count(), Shape::sized(names + digits))
        }
        Size::Replace => Shape::sized((first.size + Amount::ONE) * (arg(args, 2).size + Amount::ONE)),
        Size::Join => Shape::sized(first.size * (list_item.size + arg(args, 1).size)),
        Size::Words => Shape::sized(first.size * (list_item.size * Amount::exactly(4) + Amount::exactly(3))),
        Size::Flatten => match arg_type(types, 0) {
            Type::List(inner) => match &**inner {
                Type::List(item) => Shape::with_items(first.size * list_item.size, list_item.item(item)),
                _ => Shape::sized(first.size * list_item.size),
            },
            _ => Shape::sized(first.size),
        },
        Size::Format => {
            let items = match arg_type(types, 1) {
                Type::List(item) => arg(args, 1).item(item),
                _ => Shape::of(&Type::Dyn),
            };
            Shape::sized(first.size + arg(args, 1).size * (items.size + Amount::exactly(32)))
        }
        Size::Item => list_item,
    }
}
