//! Fields, keys and positions.

use super::{Amount, Checked, Checker, Known, Node, Op, Severity, Shape, did_you_mean};
use crate::{
    cel::{
        syntax::{Expr, Kind, Name, Span},
        types::{Field, Struct, Type},
    },
    diagnostic::codes,
};

impl Checker<'_> {
    /// `operand.field` or `operand.?field`, or a name with dots.
    pub(super) fn select(&mut self, expr: &Expr, operand: &Expr, field: &Name, optional: bool) -> Checked {
        if let Some(checked) = self.dotted_name(expr, operand, field, optional) {
            return checked;
        }
        let object = self.check(operand);
        self.selected(expr, object, field, optional)
    }

    /// The variable with a dotted name that the selection is, or the report that there is none.
    fn dotted_name(&mut self, expr: &Expr, operand: &Expr, field: &Name, optional: bool) -> Option<Checked> {
        let variable = if optional { None } else { self.qualified(expr) };
        variable.or_else(|| self.undeclared_below(operand, &field.text, field.at))
    }

    fn selected(&mut self, expr: &Expr, object: Checked, field: &Name, optional: bool) -> Checked {
        let (inner, in_optional) = self.unwrap(&object.ty);
        let (ty, shape, may_lack) = self.field(&inner, &object.shape, field);
        if may_lack && !optional && !in_optional {
            self.warn_unguarded(expr, field);
        }
        let (at, steps) = (field.at, object.steps + Amount::ONE);
        let (operand, field) = (Box::new(object.node), field.text.as_str().into());
        if optional || in_optional {
            let op =
                if optional { Op::OptionalSelect { operand, field } } else { Op::Select { operand, field } };
            return Known::new(Type::optional(ty), Node { span: expr.span, at, op }, shape, steps);
        }
        self.read((expr.span, at), Op::Select { operand, field }, ty, shape, steps)
    }

    /// `has(operand.field)`.
    pub(super) fn has(&mut self, span: Span, args: &[Expr]) -> Checked {
        let [Expr { kind: Kind::Select { operand, field, optional: false }, .. }] = args else {
            let help = Some("for a key that is no name, write `\"key\" in map`".into());
            self.error(codes::MACRO_ARGUMENT, span, "has() takes a field: has(object.field)", help);
            return Self::unknown(span);
        };
        let object = self.check(operand);
        self.tested(span, object, field)
    }

    fn tested(&mut self, span: Span, object: Checked, field: &Name) -> Checked {
        let (inner, _) = self.unwrap(&object.ty);
        self.field(&inner, &object.shape, field);
        let steps = object.steps + Amount::ONE;
        let op = Op::Has { operand: Box::new(object.node), field: field.text.as_str().into() };
        Known::new(Type::Bool, Node::new(span, op), Shape::SCALAR, steps)
    }

    /// The type in an optional, or the type itself, with what is known filled in.
    fn unwrap(&self, ty: &Type) -> (Type, bool) {
        match self.types.known(ty) {
            Type::Optional(value) => ((*value).clone(), true),
            other => (other, false),
        }
    }

    /// Type and shape of the field, and whether an object may lack it.
    fn field(&mut self, ty: &Type, shape: &Shape, field: &Name) -> (Type, Shape, bool) {
        match ty {
            Type::Struct(object) => match object.field(&field.text) {
                Some(Field { ty, optional, bounds }) => (ty.clone(), Shape::declared(&ty, &bounds), optional),
                None => self.unknown_field(&**object, field),
            },
            Type::Map(key, value) => {
                self.expect(&Type::String, key, field.at, "the key of this map");
                ((**value).clone(), shape.item(value), false)
            }
            Type::Dyn => (Type::Dyn, shape.item(&Type::Dyn), false),
            Type::Param(_) => {
                self.types.assign(&Type::Dyn, ty);
                (Type::Dyn, shape.item(&Type::Dyn), false)
            }
            other => {
                let message = format!("a value of type {} has no fields", self.shown(other));
                self.error(codes::TYPE_MISMATCH, field.at, message, None);
                (Type::Dyn, Shape::of(&Type::Dyn), false)
            }
        }
    }

    fn unknown_field(&mut self, object: &dyn Struct, field: &Name) -> (Type, Shape, bool) {
        let names = object.field_names();
        let help = did_you_mean(&field.text, names.iter().map(String::as_str)).or_else(|| {
            (!names.is_empty() && names.len() <= 12).then(|| format!("it has {}", names.join(", ")))
        });
        let message = format!("{} has no field `{}`", object.name(), field.text);
        self.error(codes::NO_SUCH_FIELD, field.at, message, help);
        (Type::Dyn, Shape::of(&Type::Dyn), false)
    }

    fn warn_unguarded(&mut self, expr: &Expr, field: &Name) {
        let path = self.path(expr);
        if self.guards.warns(path) {
            let message = format!("`{}` may be missing, and reading it fails then", field.text);
            let help = format!("write `.?{0}`, or test it before: `has(….{0}) && …`", field.text);
            self.report(Severity::Warning, codes::UNGUARDED_FIELD, field.at, message, Some(help));
        }
    }

    /// `operand[index]` or `operand[?index]`.
    pub(super) fn index(&mut self, span: Span, operand: &Expr, index: &Expr, optional: bool) -> Checked {
        let (container, key) = (self.check(operand), self.check(index));
        self.indexed(span, container, key, optional)
    }

    fn indexed(&mut self, span: Span, container: Checked, key: Checked, optional: bool) -> Checked {
        let (inner, in_optional) = self.unwrap(&container.ty);
        let (ty, shape) = self.item(&inner, &container.shape, &key, container.node.span);
        let steps = container.steps + key.steps + Amount::ONE;
        let operands = Box::new([container.node, key.node]);
        if optional || in_optional {
            let op = if optional { Op::OptionalIndex(operands) } else { Op::Index(operands) };
            return Known::new(Type::optional(ty), Node::new(span, op), shape, steps);
        }
        self.read((span, span), Op::Index(operands), ty, shape, steps)
    }

    fn item(&mut self, ty: &Type, shape: &Shape, key: &Known, operand: Span) -> (Type, Shape) {
        let at = key.node.span;
        match ty {
            Type::List(item) => {
                self.expect(&key.ty, &Type::Int, at, "a position in a list");
                ((**item).clone(), shape.item(item))
            }
            Type::Map(wanted, value) => {
                let wanted = (**wanted).clone();
                self.expect(&key.ty, &wanted, at, "a key of this map");
                ((**value).clone(), shape.item(value))
            }
            Type::Dyn => (Type::Dyn, shape.item(&Type::Dyn)),
            Type::Param(_) => {
                self.types.assign(&Type::Dyn, ty);
                (Type::Dyn, shape.item(&Type::Dyn))
            }
            other => {
                let message = format!("a value of type {} has no items", self.shown(other));
                let help =
                    matches!(other, Type::Struct(_)).then(|| "write `.field` or .`field-name`".to_owned());
                self.error(codes::TYPE_MISMATCH, operand, message, help);
                (Type::Dyn, Shape::of(&Type::Dyn))
            }
        }
    }
}
