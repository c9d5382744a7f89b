//! Calls of functions: which overloads fit.

use super::{Amount, Checked, Checker, Known, Node, Op, Shape, did_you_mean, literals, names, shape};
use crate::{
    cel::{
        budget::{Budget, Limits},
        eval,
        functions::{Declared, Piece, Signature, declared, pieces, prepare},
        program::{self, Bindings},
        syntax::{Expr, Name, Span},
        types::Type,
        value::Val,
    },
    diagnostic::codes,
};

/// The signature of an operator.
pub(super) fn signature(symbol: &str, text: &str) -> Option<Signature> {
    let (params, result) = text.split_once(" -> ")?;
    Signature::parse(symbol, &format!("{symbol}({params}) -> {result}"))
}

impl Checker<'_> {
    /// A macro, a function, or a method.
    pub(super) fn call(&mut self, expr: &Expr, target: Option<&Expr>, name: &Name, args: &[Expr]) -> Checked {
        if let Some(form) = self.form(target, name, args) {
            return self.expand(form, expr, target, name, args);
        }
        match self.qualified_function(target, name) {
            None => {
                let mut checked = Vec::with_capacity(args.len() + 1);
                checked.extend(target.map(|target| self.check(target)));
                self.function(&name.text, name.at, expr.span, target.is_some(), checked, args)
            }
            Some(Ok((qualified, at))) => self.function(&qualified, at, expr.span, false, Vec::new(), args),
            Some(Err(qualified)) => {
                self.unknown_function(&qualified, name.at, false);
                Self::unknown(expr.span)
            }
        }
    }

    /// The function with a dotted name that the call is of, and the bytes of the name; or the name, if there are
    /// functions with that beginning but not this one. `None` for the call of a method, or of a simple name.
    fn qualified_function(
        &self,
        target: Option<&Expr>,
        name: &Name,
    ) -> Option<Result<(String, Span), String>> {
        let target = target?;
        let (namespace, _) = names::dotted(target)?;
        let qualified = format!("{namespace}.{}", name.text);
        if self.functions(&qualified).next().is_some() {
            return Some(Ok((qualified, target.span.to(name.at))));
        }
        self.is_namespace(&namespace).then_some(Err(qualified))
    }

    /// The overloads of `name` in enabled libraries.
    fn functions(&self, name: &str) -> impl Iterator<Item = &'static Declared> {
        let all = declared().get(name).map_or(&[][..], Vec::as_slice);
        let env = self.env;
        let enabled: Vec<_> = all.iter().filter(|declared| env.has(declared.function.library)).collect();
        enabled.into_iter()
    }

    /// Whether functions have names that begin with `name.`, and no variable has that name.
    fn is_namespace(&self, name: &str) -> bool {
        let prefix = format!("{name}.");
        let mut functions = declared().keys().copied().chain(["cel.bind"]);
        functions.any(|function| function.starts_with(&prefix))
            && !self.is_local(name)
            && self.env.slot(name).is_none()
    }

    /// The call of `name` with the receiver, if it has one, in `checked`.
    fn function(
        &mut self,
        name: &str,
        at: Span,
        span: Span,
        is_method: bool,
        mut checked: Vec<Checked>,
        args: &[Expr],
    ) -> Checked {
        // The values of a format may be of any types, as in Kubernetes.
        let mixed = self.mixed_literals;
        self.mixed_literals |= is_method && name == "format";
        for arg in args {
            checked.push(self.check(arg));
        }
        self.mixed_literals = mixed;
        self.resolve_call(name, at, span, is_method, checked)
    }

    /// The call of the function `name` on `arg`.
    pub(super) fn function_of(&mut self, name: &str, at: Span, arg: Checked) -> Checked {
        let span = at.to(arg.node.span);
        self.resolve_call(name, at, span, false, vec![arg])
    }

    fn resolve_call(
        &mut self,
        name: &str,
        at: Span,
        span: Span,
        is_method: bool,
        checked: Vec<Checked>,
    ) -> Checked {
        let types: Vec<Type> = checked.iter().map(|arg| arg.ty.clone()).collect();
        let candidates: Vec<_> = self.functions(name).collect();
        let fitting = candidates.iter().filter(|declared| declared.signature.method == is_method);
        let fitting = fitting.map(|declared| (declared.signature.clone(), *declared)).collect();
        let Some((ty, overloads)) = self.choose(fitting, &types) else {
            self.no_overload(name, at, &types, is_method, &candidates);
            return Self::unknown(span);
        };
        for declared in &overloads {
            if !self.overloads.iter().any(|known| std::ptr::eq(*known, declared.overload)) {
                self.overloads.push(declared.overload);
            }
        }
        self.finish_call(span, at, overloads, checked, ty)
    }

    /// The overloads that take these types, and what they give; that is `dyn` when they give different types. What the
    /// choice of an overload says about a type is known from then on if there is but one.
    pub(super) fn choose<T>(
        &mut self,
        candidates: Vec<(Signature, T)>,
        types: &[Type],
    ) -> Option<(Type, Vec<T>)> {
        let before = self.types.clone();
        let (mut result, mut chosen, mut learnt) = (None, Vec::new(), None);
        for (signature, candidate) in candidates {
            let mut fresh = Vec::new();
            let params: Vec<_> =
                signature.params.iter().map(|ty| self.types.instantiate(ty, &mut fresh)).collect();
            if !self.types.assign_all(types, &params) {
                continue;
            }
            let ty = self.types.instantiate(&signature.result, &mut fresh);
            let ty = self.types.known(&ty);
            result = Some(match result {
                Some(before) if before != ty => Type::Dyn,
                _ => ty,
            });
            chosen.push(candidate);
            learnt = Some(self.types.clone());
            self.types.forget(&before);
        }
        if let (Some(learnt), [_]) = (learnt, chosen.as_slice()) {
            self.types = learnt;
        }
        result.map(|ty| (ty, chosen))
    }

    fn finish_call(
        &mut self,
        span: Span,
        at: Span,
        overloads: Vec<&'static Declared>,
        args: Vec<Checked>,
        ty: Type,
    ) -> Checked {
        let types: Vec<_> = args.iter().map(|arg| self.types.resolve(&arg.ty)).collect();
        let mut steps = args.iter().fold(Amount::ONE, |sum, arg| sum + arg.steps);
        let (nodes, shapes): (Vec<_>, Vec<_>) = args.into_iter().map(|arg| (arg.node, arg.shape)).unzip();
        let resolved = self.types.resolve(&ty);
        let costs =
            overloads.iter().map(|declared| shape::call(declared.overload.cost, &shapes, &types, &resolved));
        let (shape, work) = costs
            .reduce(|(shape, work), (other, more)| (shape.or(&other), work.max(more)))
            .unwrap_or((Shape::SCALAR, Amount::ONE));
        steps = steps + work;
        let name = overloads.first().map_or("", |declared| declared.function.name);
        let constants: Vec<_> = nodes.iter().map(literals::constant).collect();
        let prepared = overloads.first().and_then(|declared| match prepare(declared.overload, &constants) {
            Ok(prepared) => prepared,
            Err(error) => {
                let at = error.argument().and_then(|index| nodes.get(index)).map_or(at, |node| node.span);
                self.error(codes::INVALID_LITERAL, at, error.message().to_owned(), None);
                None
            }
        });
        let issues = self.issues.len();
        if name == "format"
            && let [Some(Val::String(format)), _] = constants.as_slice()
        {
            self.check_format(format, &nodes, &types);
        }
        let nodes = match lazily(name, span, nodes) {
            Ok(node) => return Known::new(ty, node, shape, steps),
            Err(nodes) => nodes,
        };
        let call = program::Call { name, overloads, args: nodes.into(), prepared };
        let node = self.fold_constant(
            Node { span, at, op: Op::Call(Box::new(call)) },
            constants.iter().all(Option::is_some) && self.issues.len() == issues,
        );
        Known::new(ty, node, shape, steps)
    }

    /// Checks the verbs of a constant format, and as far as the list is written out, its items.
    fn check_format(&mut self, format: &str, nodes: &[Node], types: &[Type]) {
        let [text, list] = nodes else { return };
        let pieces = match pieces(format) {
            Ok(pieces) => pieces,
            Err(message) => return self.error(codes::INVALID_LITERAL, text.span, message, None),
        };
        let verbs = pieces.into_iter().filter_map(|piece| match piece {
            Piece::Verb(verb) => Some(verb),
            Piece::Text(_) => None,
        });
        let verbs: Vec<_> = verbs.collect();
        let (count, spans) = match &list.op {
            Op::List(elements) if elements.iter().all(|element| !element.optional) => {
                (elements.len(), elements.iter().map(|element| element.value.span).collect())
            }
            Op::Const(Val::List(items)) => (items.len(), Vec::new()),
            _ => return,
        };
        if count != verbs.len() {
            let message = format!("verbs in the format: {}, items in the list: {count}", verbs.len());
            return self.error(codes::INVALID_LITERAL, list.span, message, None);
        }
        let Some(Type::List(item)) = types.get(1) else { return };
        if let Some((verb, at)) =
            verbs.iter().enumerate().find_map(|(at, verb)| (!verb.takes_type(item)).then_some((verb, at)))
        {
            let span = spans.get(at).copied().unwrap_or(list.span);
            let message = format!("`%{}` does not take {item}", verb.letter);
            self.error(codes::INVALID_LITERAL, span, message, None);
        }
    }

    /// The call's value in its place if all arguments are constants. A call that can only fail is reported here
    /// instead of at each evaluation.
    fn fold_constant(&mut self, node: Node, is_constant: bool) -> Node {
        const SMALL: Limits = Limits { cost: 2_000, bytes: 4_096 };
        if !is_constant {
            return node;
        }
        let value = {
            let mut budget = Budget::new(SMALL, SMALL);
            let evaluate = |budget: &mut Budget| eval::evaluate(&node, 0, &NoVariables, budget);
            budget.expression(evaluate).map(Val::into_owned)
        };
        match value {
            Ok(Some(value)) => Node::new(node.span, Op::Const(value)),
            Err(error) if !error.is_budget() => {
                let span = Span::from(error.span());
                self.error(codes::INVALID_LITERAL, span, error.message().to_owned(), None);
                node
            }
            Ok(None) | Err(_) => node,
        }
    }

    fn no_overload(
        &mut self,
        name: &str,
        at: Span,
        types: &[Type],
        is_method: bool,
        candidates: &[&'static Declared],
    ) {
        if candidates.is_empty() {
            return self.unknown_function(name, at, is_method);
        }
        let mut shown: Vec<String> = types.iter().map(|ty| self.shown(ty).to_string()).collect();
        let receiver =
            if is_method && !shown.is_empty() { format!("{}.", shown.remove(0)) } else { String::new() };
        let message = format!("no overload takes this: {receiver}{name}({})", shown.join(", "));
        self.error(
            codes::NO_OVERLOAD,
            at,
            message,
            Some(format!("there is {}", listed(candidates, is_method))),
        );
    }

    fn unknown_function(&mut self, name: &str, at: Span, is_method: bool) {
        let what = if is_method { "method" } else { "function" };
        let macros = super::macros().iter().map(|known| known.name);
        let env = self.env;
        let functions =
            declared().iter().filter(|(_, all)| all.iter().any(|one| env.has(one.function.library)));
        let help = did_you_mean(name, functions.map(|(name, _)| *name).chain(macros));
        self.error(codes::UNKNOWN_FUNCTION, at, format!("there is no {what} `{name}`"), help);
    }
}

/// The signatures of the overloads that are called in this way, or of all if there is none.
fn listed(candidates: &[&'static Declared], is_method: bool) -> String {
    const MOST: usize = 8;
    let same_way = candidates.iter().any(|declared| declared.signature.method == is_method);
    let shown = candidates.iter().filter(|declared| !same_way || declared.signature.method == is_method);
    let shown: Vec<_> = shown.map(|declared| declared.overload.signature).collect();
    let more = if shown.len() > MOST { ", …" } else { "" };
    format!("{}{more}", shown.get(..MOST).unwrap_or(&shown).join(", "))
}

/// Bindings of an expression without variables.
struct NoVariables;

impl<'a> Bindings<'a> for NoVariables {
    fn get(&self, _slot: usize, _budget: &mut Budget) -> Result<Val<'a>, crate::cel::Error> {
        Ok(Val::Null)
    }
}

/// Functions of optionals that evaluate their arguments themselves: a second one only where the first is absent, and
/// optionals without wrapping them. Any other gets its arguments back.
fn lazily(name: &str, span: Span, nodes: Vec<Node>) -> Result<Node, Vec<Node>> {
    let two =
        |op: fn(Box<[Node; 2]>) -> Op, nodes: Vec<Node>| Ok(op(Box::new(<[Node; 2]>::try_from(nodes)?)));
    let op = match name {
        "or" => two(Op::OptionalOr, nodes),
        "orValue" => two(Op::OrValue, nodes),
        "hasValue" => <[Node; 1]>::try_from(nodes).map(|[node]| Op::HasValue(Box::new(node))),
        _ => Err(nodes),
    };
    op.map(|op| Node::new(span, op))
}
