//! Macros: what looks like a call but binds names or does not evaluate all of its arguments.

use super::{Amount, Checked, Checker, Node, Op, Shape};
use crate::{
    cel::{
        program::{Bind, Fold, FoldKind},
        syntax::{Expr, Kind, Name, Span},
        types::Type,
    },
    diagnostic::codes,
};

/// A macro, for the documentation and the check.
#[derive(Debug)]
pub struct Macro {
    /// As it is called.
    pub name: &'static str,
    /// The ways to write it.
    pub forms: &'static [&'static str],
    /// What it gives, in one sentence.
    pub doc: &'static str,
}

/// Every macro.
pub fn macros() -> &'static [Macro] {
    MACROS
}

pub(super) const MACROS: &[Macro] = &[
    Macro { name: "has", forms: &["has(object.field)"], doc: "whether the object has the field" },
    Macro {
        name: "all",
        forms: &["list.all(x, condition)", "list.all(i, x, condition)", "map.all(key, value, condition)"],
        doc: "whether the condition holds for every item, or for every key of a map",
    },
    Macro {
        name: "exists",
        forms: &[
            "list.exists(x, condition)",
            "list.exists(i, x, condition)",
            "map.exists(key, value, condition)",
        ],
        doc: "whether the condition holds for an item, or for a key of a map",
    },
    Macro {
        name: "exists_one",
        forms: &["list.exists_one(x, condition)", "list.exists_one(i, x, condition)"],
        doc: "whether the condition holds for exactly one item, or for one key of a map",
    },
    Macro {
        name: "existsOne",
        forms: &["list.existsOne(x, condition)", "list.existsOne(i, x, condition)"],
        doc: "the same as exists_one",
    },
    Macro {
        name: "filter",
        forms: &["list.filter(x, condition)"],
        doc: "the items for which the condition holds, or the keys of a map",
    },
    Macro {
        name: "map",
        forms: &["list.map(x, value)", "list.map(x, condition, value)"],
        doc: "the list of the values, for each item for which the condition holds, or for each key of a map",
    },
    Macro {
        name: "transformList",
        forms: &["list.transformList(i, x, value)", "map.transformList(key, value, condition, item)"],
        doc: "the list of the values, for each position and item, or each key and value, for which the condition holds",
    },
    Macro {
        name: "transformMap",
        forms: &["list.transformMap(i, x, value)", "map.transformMap(key, value, condition, item)"],
        doc: "a map with the same keys, or with the positions as keys, and new values",
    },
    Macro {
        name: "transformMapEntry",
        forms: &[
            "list.transformMapEntry(i, x, {key: value})",
            "map.transformMapEntry(key, value, condition, entry)",
        ],
        doc: "a map of the entries of the maps that are made for each item; an error when a key occurs twice",
    },
    Macro {
        name: "sortBy",
        forms: &["list.sortBy(x, key)"],
        doc: "the items in the order of their keys, which must be of one ordered type; items with equal keys stay in order",
    },
    Macro {
        name: "optMap",
        forms: &["optional.optMap(x, value)"],
        doc: "an optional with the value made of the value in the optional; absent if that is absent",
    },
    Macro {
        name: "optFlatMap",
        forms: &["optional.optFlatMap(x, optional)"],
        doc: "the optional made of the value in the optional; absent if that is absent",
    },
    Macro {
        name: "cel.bind",
        forms: &["cel.bind(x, value, result)"],
        doc: "the result, in which x stands for the value",
    },
];

impl Checker<'_> {
    /// What the call is if it is a macro. A call of a macro's name with another number of arguments is reported if no
    /// function has that name.
    pub(super) fn expand(
        &mut self,
        expr: &Expr,
        target: Option<&Expr>,
        name: &Name,
        args: &[Expr],
    ) -> Option<Checked> {
        let Some(target) = target else {
            return (name.text == "has" && args.len() == 1).then(|| self.has(expr.span, args));
        };
        if is_name(target, "cel") && name.text == "bind" && !self.is_local("cel") {
            return Some(self.bind(expr.span, name.at, args));
        }
        if is_name(target, "math") && matches!(name.text.as_str(), "greatest" | "least") && args.len() > 2 {
            return Some(self.of_list(expr, target, name, args));
        }
        let (kind, two, filtered) = match (name.text.as_str(), args.len()) {
            ("optMap" | "optFlatMap", 2) => return Some(self.optional_map(expr.span, target, name, args)),
            ("all", 2 | 3) => (FoldKind::All, args.len() == 3, false),
            ("exists", 2 | 3) => (FoldKind::Exists, args.len() == 3, false),
            ("exists_one" | "existsOne", 2 | 3) => (FoldKind::ExistsOne, args.len() == 3, false),
            ("filter", 2) => (FoldKind::Filter, false, false),
            ("map", 2 | 3) => (FoldKind::List, false, args.len() == 3),
            ("transformList", 3 | 4) => (FoldKind::List, true, args.len() == 4),
            ("transformMap", 3 | 4) => (FoldKind::Map, true, args.len() == 4),
            ("transformMapEntry", 3 | 4) => (FoldKind::MapEntry, true, args.len() == 4),
            ("sortBy", 2) => (FoldKind::SortBy, false, false),
            (other, _) => return self.wrong_form(expr.span, other, name.at),
        };
        Some(self.fold(expr.span, kind, two, filtered, target, args))
    }

    fn wrong_form(&mut self, span: Span, name: &str, at: Span) -> Option<Checked> {
        let known = MACROS.iter().find(|known| known.name == name && name != "has")?;
        let help = Some(format!("write {}", known.forms.join(" or ")));
        self.error(
            codes::MACRO_ARGUMENT,
            at,
            format!("{name}() does not take this number of arguments"),
            help,
        );
        Some(Self::unknown(span))
    }

    /// The name that the argument declares.
    fn declared(&mut self, arg: &Expr) -> Option<String> {
        if let Kind::Ident { name, absolute: false } = &arg.kind {
            return Some(name.clone());
        }
        self.error(codes::MACRO_ARGUMENT, arg.span, "here stands a name for the variable of the loop", None);
        None
    }

    fn fold(
        &mut self,
        span: Span,
        kind: FoldKind,
        two: bool,
        filtered: bool,
        target: &Expr,
        args: &[Expr],
    ) -> Checked {
        let range = self.check(target);
        let (key, value) = self.elements(&range, target.span);
        let names = if two { args.get(..2) } else { args.get(..1) }.unwrap_or_default();
        let names: Vec<_> = names.iter().map(|arg| self.declared(arg)).collect();
        if let [Some(first), Some(second)] = names.as_slice()
            && first == second
        {
            let at = args.get(1).map_or(span, |arg| arg.span);
            self.error(codes::MACRO_ARGUMENT, at, format!("both variables have the name `{first}`"), None);
        }
        let is_map = matches!(self.types.known(&range.ty), Type::Map(..));
        let element = if is_map { key.clone() } else { value.clone() };
        let declared = if two { vec![key.clone(), value] } else { vec![element.clone()] };
        let locals =
            names.into_iter().zip(declared).map(|(name, (ty, shape))| (name.unwrap_or_default(), ty, shape));
        let rest = args.get(if two { 2 } else { 1 }..).unwrap_or_default();
        let (filter, body) = match rest {
            [filter, body] if filtered => (Some(filter), body),
            [body, ..] => (None, body),
            [] => return Self::unknown(span),
        };
        let (slot, (filter, body)) = self.with_locals(locals.collect(), |checker| {
            let before = checker.known_present();
            let filter = filter.map(|filter| checker.condition(filter));
            let body = match kind {
                FoldKind::All | FoldKind::Exists | FoldKind::ExistsOne | FoldKind::Filter => {
                    checker.condition(body)
                }
                _ => checker.check(body),
            };
            checker.forget(before);
            (filter, body)
        });
        let (ty, shape) = self.folded(kind, &element, &key.0, &body, range.shape.size, span);
        let filter_steps = filter.as_ref().map_or(Amount::exactly(0), |filter| filter.steps);
        let each = Amount::exactly(3) + filter_steps + body.steps;
        let steps = Amount::ONE + range.steps + range.shape.size * each;
        let fold = Fold {
            kind,
            range: range.node,
            slot,
            two,
            filter: filter.map(|filter| filter.node),
            body: body.node,
        };
        Checked { ty, node: Node::new(span, Op::Fold(Box::new(fold))), shape, steps }
    }

    /// A condition: what it makes certain is known from then on.
    fn condition(&mut self, expr: &Expr) -> Checked {
        let checked = self.check(expr);
        self.expect(&checked.ty, &Type::Bool, expr.span, "the condition");
        self.learn(expr, true);
        checked
    }

    /// Types and shapes of positions and items, or of keys and values.
    fn elements(&mut self, range: &Checked, span: Span) -> ((Type, Shape), (Type, Shape)) {
        let number = || (Type::Int, Shape::SCALAR);
        match self.types.known(&range.ty) {
            Type::List(item) => (number(), ((*item).clone(), range.shape.item(&item))),
            Type::Map(key, value) => {
                (((*key).clone(), Shape::of(&key)), ((*value).clone(), range.shape.item(&value)))
            }
            Type::Dyn => ((Type::Dyn, Shape::of(&Type::Dyn)), (Type::Dyn, range.shape.item(&Type::Dyn))),
            Type::Param(_) => {
                self.types.assign(&Type::Dyn, &range.ty);
                ((Type::Dyn, Shape::of(&Type::Dyn)), (Type::Dyn, Shape::of(&Type::Dyn)))
            }
            other => {
                let message =
                    format!("a list or a map is wanted to go through, this is {}", self.shown(&other));
                let help =
                    matches!(other, Type::Optional(_)).then(|| "write `.orValue([])` before".to_owned());
                self.error(codes::TYPE_MISMATCH, span, message, help);
                ((Type::Dyn, Shape::SCALAR), (Type::Dyn, Shape::SCALAR))
            }
        }
    }

    /// Type and shape of the result.
    fn folded(
        &mut self,
        kind: FoldKind,
        element: &(Type, Shape),
        key: &Type,
        body: &Checked,
        size: Amount,
        span: Span,
    ) -> (Type, Shape) {
        match kind {
            FoldKind::All | FoldKind::Exists | FoldKind::ExistsOne => (Type::Bool, Shape::SCALAR),
            FoldKind::Filter => (Type::list(element.0.clone()), Shape::with_items(size, element.1.clone())),
            FoldKind::List => (Type::list(body.ty.clone()), Shape::with_items(size, body.shape.clone())),
            FoldKind::Map => {
                (Type::map(key.clone(), body.ty.clone()), Shape::with_items(size, body.shape.clone()))
            }
            FoldKind::MapEntry => {
                let ty = Type::map(self.types.fresh(), self.types.fresh());
                self.expect(&body.ty, &ty, body.node.span, "each entry");
                (ty, Shape::sized(size * body.shape.size))
            }
            FoldKind::SortBy => {
                self.check_sort_key(&body.ty, body.node.span, span);
                (Type::list(element.0.clone()), Shape::with_items(size, element.1.clone()))
            }
        }
    }

    fn check_sort_key(&mut self, ty: &Type, at: Span, _span: Span) {
        let ty = self.types.resolve(ty);
        let ordered = matches!(
            ty,
            Type::Dyn
                | Type::Bool
                | Type::Int
                | Type::UInt
                | Type::Double
                | Type::String
                | Type::Bytes
                | Type::Timestamp
                | Type::Duration
        );
        if !ordered {
            self.error(
                codes::TYPE_MISMATCH,
                at,
                format!("values of type {ty} have no order to sort by"),
                None,
            );
        }
    }

    fn optional_map(&mut self, span: Span, target: &Expr, name: &Name, args: &[Expr]) -> Checked {
        let [variable, body] = args else { return Self::unknown(span) };
        let init = self.check(target);
        let ty = self.inside_optional(&init.ty, target.span, &name.text);
        let variable = self.declared(variable).unwrap_or_default();
        let (slot, checked) =
            self.with_locals(vec![(variable, ty, init.shape.clone())], |checker| checker.check(body));
        let flat = name.text == "optFlatMap";
        let ty = if flat {
            let inner = self.inside_optional(&checked.ty, body.span, "the result of optFlatMap");
            Type::optional(inner)
        } else {
            Type::optional(checked.ty)
        };
        let steps = init.steps + checked.steps + Amount::ONE;
        let bind = Box::new(Bind { slot, init: init.node, body: checked.node });
        Checked { ty, node: Node::new(span, Op::OptionalMap { bind, flat }), shape: checked.shape, steps }
    }

    fn inside_optional(&mut self, ty: &Type, span: Span, what: &str) -> Type {
        match self.types.known(ty) {
            Type::Optional(value) => (*value).clone(),
            Type::Dyn => Type::Dyn,
            other => {
                let message = format!("{what} wants an optional, this is {}", self.shown(&other));
                self.error(codes::TYPE_MISMATCH, span, message, None);
                Type::Dyn
            }
        }
    }

    fn bind(&mut self, span: Span, at: Span, args: &[Expr]) -> Checked {
        let [variable, init, body] = args else {
            let help = Some("write cel.bind(x, value, result)".into());
            self.error(codes::MACRO_ARGUMENT, at, "cel.bind() takes a name, its value, and a result", help);
            return Self::unknown(span);
        };
        let name = self.declared(variable).unwrap_or_default();
        let init = self.check(init);
        let locals = vec![(name, init.ty.clone(), init.shape.clone())];
        let (slot, body) = self.with_locals(locals, |checker| checker.check(body));
        let steps = init.steps + body.steps + Amount::ONE;
        let bind = Box::new(Bind { slot, init: init.node, body: body.node });
        Checked { ty: body.ty, node: Node::new(span, Op::Bind(bind)), shape: body.shape, steps }
    }

    /// `math.greatest(a, b, c)` is `math.greatest([a, b, c])`, and its numbers may be of different types.
    fn of_list(&mut self, expr: &Expr, target: &Expr, name: &Name, args: &[Expr]) -> Checked {
        let mut list = Vec::with_capacity(args.len());
        let mut steps = Amount::ONE;
        let mut ty: Option<Type> = None;
        for arg in args {
            let checked = self.check(arg);
            let found = self.types.resolve(&checked.ty);
            if !matches!(found, Type::Int | Type::UInt | Type::Double | Type::Dyn) {
                let message = format!("math.{} takes numbers, this is {found}", name.text);
                self.error(codes::NO_OVERLOAD, arg.span, message, None);
            }
            ty = Some(match ty {
                Some(before) if before != found => Type::Dyn,
                _ => found,
            });
            steps = steps + checked.steps + Amount::ONE;
            list.push(crate::cel::program::Element { value: checked.node, optional: false });
        }
        let ty = ty.unwrap_or(Type::Dyn);
        let shape = Shape::sized(Amount::exactly(args.len() as u64));
        let node = Node::new(expr.span, Op::List(list.into()));
        let arg = Checked { ty: Type::list(ty), node, shape, steps };
        self.function_of(&format!("math.{}", name.text), target.span.to(name.at), arg)
    }
}

fn is_name(expr: &Expr, wanted: &str) -> bool {
    matches!(&expr.kind, Kind::Ident { name, absolute: false } if name == wanted)
}
