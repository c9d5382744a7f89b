//! Macros: what looks like a call but binds names or does not evaluate all of its arguments.

use super::{Amount, Checked, Checker, Known, Node, Op, Shape, loops::Loop};
use crate::{
    cel::{
        program::{self, Bind, FoldKind},
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

/// What a call is that is no call.
#[derive(Clone, Copy)]
pub(super) enum Form {
    Has,
    Bind,
    OptionalMap,
    /// `math.greatest` or `math.least` of three or more numbers.
    Extreme,
    Loop(Loop),
    /// The name of a macro with another number of arguments.
    Wrong(&'static Macro),
}

impl Checker<'_> {
    /// The macro that the call is; `None` for a call of a function.
    pub(super) fn form(&self, target: Option<&Expr>, name: &Name, args: &[Expr]) -> Option<Form> {
        let count = args.len();
        let Some(target) = target else { return (name.text == "has" && count == 1).then_some(Form::Has) };
        let new = |kind, two, filtered| Some(Form::Loop(Loop { kind, two, filtered }));
        match (name.text.as_str(), count) {
            ("bind", _) if is_name(target, "cel") && !self.is_local("cel") => Some(Form::Bind),
            ("greatest" | "least", 3..) if is_name(target, "math") => Some(Form::Extreme),
            ("optMap" | "optFlatMap", 2) => Some(Form::OptionalMap),
            ("all", 2 | 3) => new(FoldKind::All, count == 3, false),
            ("exists", 2 | 3) => new(FoldKind::Exists, count == 3, false),
            ("exists_one" | "existsOne", 2 | 3) => new(FoldKind::ExistsOne, count == 3, false),
            ("filter", 2) => new(FoldKind::Filter, false, false),
            ("map", 2 | 3) => new(FoldKind::List, false, count == 3),
            ("transformList", 3 | 4) => new(FoldKind::List, true, count == 4),
            ("transformMap", 3 | 4) => new(FoldKind::Map, true, count == 4),
            ("transformMapEntry", 3 | 4) => new(FoldKind::MapEntry, true, count == 4),
            ("sortBy", 2) => new(FoldKind::SortBy, false, false),
            (other, _) => MACROS.iter().find(|known| known.name == other && other != "has").map(Form::Wrong),
        }
    }

    pub(super) fn expand(
        &mut self,
        form: Form,
        expr: &Expr,
        target: Option<&Expr>,
        name: &Name,
        args: &[Expr],
    ) -> Checked {
        match (form, target) {
            (Form::Has, _) => self.has(expr.span, args),
            (Form::Bind, _) => self.bind(expr.span, name.at, args),
            (Form::OptionalMap, Some(target)) => self.optional_map(expr.span, target, name, args),
            (Form::Extreme, _) => self.extreme(expr.span, name, args),
            (Form::Loop(kind), Some(target)) => self.go_through(expr.span, kind, target, args),
            (Form::Wrong(known), _) => self.wrong_form(expr.span, known, name.at),
            (Form::OptionalMap | Form::Loop(_), None) => Self::unknown(expr.span),
        }
    }

    fn wrong_form(&mut self, span: Span, known: &Macro, at: Span) -> Checked {
        let help = Some(format!("write {}", known.forms.join(" or ")));
        let message = format!("{}() does not take this number of arguments", known.name);
        self.error(codes::MACRO_ARGUMENT, at, message, help);
        Self::unknown(span)
    }

    /// The name that the argument declares; an empty one, which nothing has, if it is no name.
    pub(super) fn declared_name(&mut self, arg: &Expr) -> String {
        if let Kind::Ident { name, absolute: false } = &arg.kind {
            return name.clone();
        }
        self.error(codes::MACRO_ARGUMENT, arg.span, "here stands a name for the variable of the loop", None);
        String::new()
    }

    fn optional_map(&mut self, span: Span, target: &Expr, name: &Name, args: &[Expr]) -> Checked {
        let [variable, body] = args else { return Self::unknown(span) };
        let init = self.check(target);
        let slot = self.declare_inside(&init, variable, &name.text);
        let body = self.check(body);
        self.drop_locals(slot);
        self.optional_mapped(span, slot, init, body, name.text == "optFlatMap")
    }

    /// Declares the variable that has the value in the optional.
    fn declare_inside(&mut self, optional: &Known, variable: &Expr, what: &str) -> usize {
        let ty = self.inside_optional(&optional.ty, optional.node.span, what);
        let name = self.declared_name(variable);
        self.declare_local(name, ty, optional.shape.clone())
    }

    fn optional_mapped(
        &mut self,
        span: Span,
        slot: usize,
        init: Checked,
        body: Checked,
        flat: bool,
    ) -> Checked {
        let ty = if flat {
            self.inside_optional(&body.ty, body.node.span, "the result of optFlatMap")
        } else {
            body.ty
        };
        let steps = init.steps + body.steps + Amount::ONE;
        let bind = Box::new(Bind { slot, init: init.node, body: body.node });
        Known::new(Type::optional(ty), Node::new(span, Op::OptionalMap { bind, flat }), body.shape, steps)
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
        let init = self.check(init);
        let name = self.declared_name(variable);
        let slot = self.declare_local(name, init.ty.clone(), init.shape.clone());
        let body = self.check(body);
        self.drop_locals(slot);
        let Known { ty, node, shape, steps } = *body;
        let steps = init.steps + steps + Amount::ONE;
        let bind = Box::new(Bind { slot, init: init.node, body: node });
        Known::new(ty, Node::new(span, Op::Bind(bind)), shape, steps)
    }

    /// `math.greatest(a, b, c)` is `math.greatest([a, b, c])`, and its numbers may be of different types.
    fn extreme(&mut self, span: Span, name: &Name, args: &[Expr]) -> Checked {
        let numbers: Vec<_> = args.iter().map(|arg| self.check(arg)).collect();
        let list = self.list_of_numbers(span, name, numbers);
        self.function_of(&format!("math.{}", name.text), name.at, list)
    }

    fn list_of_numbers(&mut self, span: Span, name: &Name, numbers: Vec<Checked>) -> Checked {
        let size = Amount::exactly(numbers.len() as u64);
        let (mut list, mut steps, mut ty) = (Vec::with_capacity(numbers.len()), size, None);
        for number in numbers {
            let found = self.types.resolve(&number.ty);
            if !matches!(found, Type::Int | Type::UInt | Type::Double | Type::Dyn) {
                let message = format!("math.{} takes numbers, this is {found}", name.text);
                self.error(codes::NO_OVERLOAD, number.node.span, message, None);
            }
            ty = Some(match ty {
                Some(before) if before != found => Type::Dyn,
                _ => found,
            });
            steps = steps + number.steps;
            list.push(program::Element { value: number.node, optional: false });
        }
        let node = Node::new(span, Op::List(list.into()));
        Known::new(Type::list(ty.unwrap_or(Type::Dyn)), node, Shape::sized(size), steps)
    }
}

fn is_name(expr: &Expr, wanted: &str) -> bool {
    matches!(&expr.kind, Kind::Ident { name, absolute: false } if name == wanted)
}
