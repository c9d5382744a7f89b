//! Our own cases, in `cases/*.txt`: what the check says about an expression, and how it ends.
//!
//! ```text
//! === the name of the case
//! let x: list(int) = [1, 2]
//! x.map(y, y + "a")
//! ---
//! x.map(y, y + "a")
//!            ^ error TM0206: `+` does not take int and string
//! ```
//!
//! The expression stands after the variables, on one line or several. What follows `---` is expected: each issue under
//! the very bytes it is about, then the type and the value, or where and how the evaluation fails.
//! `UPDATE_GOLDENS=1` writes it anew.

use crate::support::{Variable, env, files, read, values};
use std::{fmt::Write, ops::Range};
use trainmaster::cel::{Budget, Compiled};

struct Case {
    name: String,
    /// The lines before `---`: variables and expression.
    input: String,
    expected: String,
}

fn parse(text: &str) -> Vec<Case> {
    let cases = text.split("\n=== ").skip(1);
    let case = |case: &str| {
        let (name, rest) = case.split_once('\n').unwrap();
        let (input, expected) = rest.split_once("\n---\n").unwrap_or((rest, ""));
        Case { name: name.into(), input: input.trim_end().into(), expected: expected.trim_end().into() }
    };
    cases.map(case).collect()
}

/// What becomes of the case, as it should stand after `---`.
fn outcome(input: &str) -> String {
    let variables: Vec<_> = input.lines().map_while(Variable::parse).collect();
    let expression = input.lines().skip(variables.len()).collect::<Vec<_>>().join("\n");
    let compiled = env(&variables).compile(&expression);
    let mut out = marked(&expression, &compiled);
    let Some(program) = &compiled.program else { return out.trim_end().to_owned() };
    match program.eval(&values(&variables), &mut Budget::default()) {
        Ok(value) => write!(out, "{}: {value:?}", compiled.ty).unwrap(),
        Err(error) => {
            let mut message = format!("fails: {error}");
            if let Some(variable) = error.variable() {
                write!(message, " (variable {variable})").unwrap();
            }
            mark(&mut out, &expression, error.span(), &message);
        }
    }
    out.trim_end().to_owned()
}

fn marked(expression: &str, compiled: &Compiled) -> String {
    let mut out = String::new();
    for issue in &compiled.issues {
        let mut message = format!("{} {}: {}", issue.severity, issue.code, issue.message);
        if let Some(help) = &issue.help {
            write!(message, "; {help}").unwrap();
        }
        mark(&mut out, expression, issue.span.clone(), &message);
    }
    out
}

/// The line of the expression with the bytes of `span` underlined, and the message behind.
fn mark(out: &mut String, expression: &str, span: Range<usize>, message: &str) {
    let start = expression[..span.start].rfind('\n').map_or(0, |at| at + 1);
    let line = expression[start..].lines().next().unwrap_or_default();
    let before = expression[start..span.start].chars().count();
    let width =
        expression[span.start..span.end.min(start + line.len()).max(span.start)].chars().count().max(1);
    writeln!(out, "{line}\n{:before$}{} {message}", "", "^".repeat(width)).unwrap();
}

#[test]
fn cases_end_as_written() {
    let update = std::env::var_os("UPDATE_GOLDENS").is_some();
    let (mut count, mut problems) = (0, String::new());
    for path in files("cases", "txt") {
        let text = read(&path);
        let mut written = text.split("\n=== ").next().unwrap_or_default().trim_end().to_owned();
        written.push_str("\n\n");
        for Case { name, input, expected } in parse(&text) {
            count += 1;
            let found = outcome(&input);
            if found != expected {
                write!(problems, "\n{}: {name}\nwritten:\n{expected}\nfound:\n{found}\n", path.display())
                    .unwrap();
            }
            write!(written, "=== {name}\n{input}\n---\n{found}\n\n").unwrap();
        }
        if update {
            std::fs::write(&path, format!("{}\n", written.trim_end())).unwrap();
        }
    }
    assert!(update || problems.is_empty(), "UPDATE_GOLDENS=1 writes what was found:\n{problems}");
    assert!(count > 100, "{count} cases");
}
