//! Expressions: compiled in the environment of their place, problems placed in the file.

use super::{Checked, Checker, Reported};
use crate::{
    cel::{Bounds, Env, Type},
    diagnostic::{Diagnostic, Severity, codes},
    policy::{
        compiled::{Expr, Loop, Piece},
        document::{ForEach, Text},
        holes::{self, Part, Unclosed},
        scope::{NAMES, Place},
    },
};
use std::{ops::Range, sync::Arc};

/// The loops around an expression: names, types and sizes, outermost first.
#[derive(Clone, Debug, Default)]
pub(super) struct Loops(Vec<(String, Type, Bounds)>);

impl Loops {
    /// No loops.
    pub(super) fn none() -> Self {
        Loops::default()
    }

    fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(known, ..)| known == name)
    }

    pub(super) fn declare(&self, env: &mut Env) {
        for (name, ty, bounds) in &self.0 {
            env.declare(name.clone(), ty, bounds.clone());
        }
    }
}

impl Checker<'_> {
    /// A bare expression of any type.
    pub(super) fn expression(&mut self, text: &Text, place: Place, loops: &Loops) -> Checked<Expr> {
        self.compile(&Arc::new(text.clone()), 0..text.as_str().len(), place, loops).map(|(expr, _)| expr)
    }

    /// A bare expression that is true or false.
    pub(super) fn condition(
        &mut self,
        what: &str,
        text: &Text,
        place: Place,
        loops: &Loops,
    ) -> Checked<Expr> {
        self.typed(what, "true or false", text, place, loops, |ty| matches!(ty, Type::Bool))
    }

    /// The same for one that may be absent.
    pub(super) fn maybe_condition(
        &mut self,
        what: &str,
        text: Option<&Text>,
        place: Place,
        loops: &Loops,
    ) -> Checked<Option<Expr>> {
        text.map(|text| self.condition(what, text, place, loops)).transpose()
    }

    /// A bare expression whose type `fits`, or is known only at run time.
    pub(super) fn typed(
        &mut self,
        what: &str,
        wanted: &str,
        text: &Text,
        place: Place,
        loops: &Loops,
        fits: impl Fn(&Type) -> bool,
    ) -> Checked<Expr> {
        let (expr, _) = self.compile(&Arc::new(text.clone()), 0..text.as_str().len(), place, loops)?;
        let ty = expr.program.ty();
        if ty.is_dyn() || fits(ty) {
            return Ok(expr);
        }
        let message = format!("`{what}` must be {wanted}, this is {ty}");
        self.error(codes::WRONG_RESULT, text.span().clone(), message);
        Err(Reported)
    }

    /// Text with holes, each of which is text, a number, a truth value or a quantity.
    pub(super) fn pieces(&mut self, text: &Text, place: Place, loops: &Loops) -> Checked<Vec<Piece>> {
        let parts = self.split(text)?;
        let shared = Arc::new(text.clone());
        let pieces: Vec<Checked<Piece>> =
            parts.into_iter().map(|part| self.piece(&shared, part, place, loops)).collect();
        pieces.into_iter().collect()
    }

    pub(super) fn piece(
        &mut self,
        text: &Arc<Text>,
        part: Part,
        place: Place,
        loops: &Loops,
    ) -> Checked<Piece> {
        let range = match part {
            Part::Text(text) => return Ok(Piece::Text(text)),
            Part::Hole(range) => range,
        };
        let (expr, _) = self.compile(text, range.clone(), place, loops)?;
        let ty = expr.program.ty();
        if is_textual(ty) {
            return Ok(Piece::Hole(expr));
        }
        let message = format!("a hole within text must be text, a number, true or false; this is {ty}");
        let diagnostic = Diagnostic::error(codes::WRONG_RESULT, text.inside(range), message);
        self.report(diagnostic.maybe_help(match ty {
            Type::Optional(_) => Some("give it a value for when it is absent: `….orValue(\"\")`".to_owned()),
            _ => None,
        }));
        Err(Reported)
    }

    /// Where the holes of a text are.
    pub(super) fn split(&mut self, text: &Text) -> Checked<Vec<Part>> {
        match holes::split(text.as_str()) {
            Ok(parts) => Ok(parts),
            Err(Unclosed(at)) => {
                let diagnostic =
                    Diagnostic::error(codes::UNCLOSED_HOLE, text.inside(at..at + 2), "this hole has no end");
                self.report(
                    diagnostic.help("it ends with `}`; a `${` that is meant as text is written `$${`"),
                );
                Err(Reported)
            }
        }
    }

    /// The loops of a `forEach`, compiled, and those around what they repeat.
    pub(super) fn loops(&mut self, each: &[ForEach], place: Place) -> Checked<(Vec<Loop>, Loops)> {
        let mut loops = Loops::none();
        let mut compiled = Vec::new();
        let mut valid = true;
        for ForEach { var, index, items } in each {
            valid &= self.loop_name(var, &loops);
            let (ty, bounds) = match self.compile_list(items, place, &loops) {
                Ok((expr, item, bounds)) => {
                    compiled.push(Loop { items: expr, index: index.is_some() });
                    (item, bounds)
                }
                Err(Reported) => {
                    valid = false;
                    (Type::Dyn, Bounds::default())
                }
            };
            loops.0.push((var.as_str().to_owned(), ty, bounds));
            if let Some(index) = index {
                valid &= self.loop_name(index, &loops);
                loops.0.push((index.as_str().to_owned(), Type::Int, Bounds::default()));
            }
        }
        valid.then_some((compiled, loops)).ok_or(Reported)
    }

    /// Whether expressions can use the name of a loop and it hides no other; reports it if not.
    fn loop_name(&mut self, name: &Text, loops: &Loops) -> bool {
        const ROOTS: [&str; 3] = ["variables", "live", "objects"];
        let taken =
            NAMES.contains(&name.as_str()) || ROOTS.contains(&name.as_str()) || loops.has(name.as_str());
        if taken {
            let message = format!("the name `{}` is taken", name.as_str());
            self.error(codes::BAD_NAME, name.span().clone(), message);
        }
        self.identifier(name) && !taken
    }

    fn compile_list(&mut self, text: &Text, place: Place, loops: &Loops) -> Checked<(Expr, Type, Bounds)> {
        let (expr, bounds) = self.compile(&Arc::new(text.clone()), 0..text.as_str().len(), place, loops)?;
        let item = match expr.program.ty() {
            Type::List(item) => (**item).clone(),
            Type::Dyn => Type::Dyn,
            other => {
                let message = format!("`in` must be a list, this is {other}");
                self.error(codes::WRONG_RESULT, text.span().clone(), message);
                return Err(Reported);
            }
        };
        let bounds = bounds.items.as_deref().cloned().unwrap_or_default();
        Ok((expr, item, bounds))
    }

    /// The first of the variables in these slots that reads what rules change.
    fn drafty_variable(&self, slots: &[usize]) -> Option<&str> {
        let slot = slots.iter().find(|slot| self.drafty.contains(*slot))?;
        let variable = self.document.variables.get(slot.checked_sub(NAMES.len())?)?;
        Some(variable.name.as_str())
    }

    /// Compiles a part of a text. Problems are reported; with an error there is no expression.
    pub(super) fn compile(
        &mut self,
        text: &Arc<Text>,
        range: Range<usize>,
        place: Place,
        loops: &Loops,
    ) -> Checked<(Expr, Bounds)> {
        let source = text.as_str().get(range.clone()).unwrap_or_default();
        let compiled = self.env(place, loops).compile(source);
        for issue in compiled.issues {
            let at = text.inside(range.start + issue.span.start..range.start + issue.span.end);
            let elsewhere = source
                .get(issue.span)
                .filter(|_| issue.code == codes::UNDECLARED_NAME)
                .and_then(|name| Place::of(name).map(|places| format!("`{name}` is there only in {places}")));
            let diagnostic = match issue.severity {
                Severity::Error => Diagnostic::error(issue.code, at, issue.message),
                Severity::Warning => Diagnostic::warning(issue.code, at, issue.message),
            };
            self.report(diagnostic.maybe_help(elsewhere.or(issue.help)));
        }
        let program = compiled.program.ok_or(Reported)?;
        self.used.extend(program.variables());
        if !place.has("podSets")
            && let Some(name) = self.drafty_variable(program.variables())
        {
            let message =
                format!("`variables.{name}` reads `podSets` or `template`, which are not known here");
            let help = match place {
                Place::ResourceName => {
                    Some("which objects there are is told before any rule has run".to_owned())
                }
                _ => Place::of("podSets").map(|places| format!("it can be used only in {places}")),
            };
            let at = text.inside(range.clone());
            self.report(Diagnostic::error(codes::UNDECLARED_NAME, at, message).maybe_help(help));
            return Err(Reported);
        }
        Ok((Expr::new(program, Arc::clone(text), range.start), compiled.bounds))
    }
}

/// Whether a value of the type has a text.
fn is_textual(ty: &Type) -> bool {
    matches!(
        ty,
        Type::Dyn | Type::String | Type::Int | Type::UInt | Type::Double | Type::Bool | Type::Quantity
    )
}
