//! The names an expression mentions, before anything about them is known.

use super::syntax::{self, Expr, Kind};

/// Every name in `source`, with the fields selected from it: `variables.nodes`, `trainJob.spec`. What a comprehension
/// declares is among them. Nothing if `source` is no expression.
pub fn names(source: &str) -> Vec<String> {
    let mut names = Vec::new();
    if let Ok(expr) = syntax::parse(source) {
        collect(&expr, &mut names);
    }
    names
}

fn collect(expr: &Expr, names: &mut Vec<String>) {
    if let Some(name) = dotted(expr) {
        return names.push(name);
    }
    match &expr.kind {
        Kind::Literal(_) | Kind::Ident { .. } => {}
        Kind::Select { operand, .. } | Kind::Unary { operand, .. } => collect(operand, names),
        Kind::Index { operand, index, .. } => [operand, index].into_iter().for_each(|it| collect(it, names)),
        Kind::Call { target, args, .. } => {
            for part in target.iter().map(AsRef::as_ref).chain(args) {
                collect(part, names);
            }
        }
        Kind::Binary { operands, .. } => operands.iter().for_each(|it| collect(it, names)),
        Kind::Logic { operands, .. } => operands.iter().for_each(|it| collect(it, names)),
        Kind::Conditional(parts) => parts.iter().for_each(|it| collect(it, names)),
        Kind::List(elements) => elements.iter().for_each(|it| collect(&it.value, names)),
        Kind::Map(entries) => {
            for entry in entries {
                collect(&entry.key, names);
                collect(&entry.value, names);
            }
        }
    }
}

/// `a.b.c`, if the expression is that and nothing more.
fn dotted(expr: &Expr) -> Option<String> {
    match &expr.kind {
        Kind::Ident { name, .. } => Some(name.clone()),
        Kind::Select { operand, field, optional: false } => {
            Some(format!("{}.{}", dotted(operand)?, field.text))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn names_are_found_wherever_they_stand() {
        let check = |source: &str, want: &[&str]| assert_eq!(names(source), want, "{source}");
        check("variables.a.b + f(variables.c)[d]", &["variables.a.b", "variables.c", "d"]);
        check("x.?y.z ? [e] : {k: -v}", &["x", "e", "k", "v"]);
        check("l.exists(i, i == 'variables.no') && !m", &["l", "i", "i", "m"]);
        check("1 +", &[]);
    }
}
