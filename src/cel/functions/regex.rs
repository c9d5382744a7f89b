//! Regular expressions in the syntax of RE2, which Go and so Kubernetes have.
//!
//! The `regex` crate differs in small ways, which [`translate`] evens out: classes such as `\d` are ASCII only, a class
//! has no set operations, `\z` and `\Q…\E` exist, a repetition goes up to 1000.

use super::{
    call::{Arguments, Cost, Prepared, Size, Work, invalid},
    library,
};
use crate::cel::{
    error::Error,
    functions::{Function, Library, Overload},
    value::{List, Val},
};
use regex::{Regex, RegexBuilder};

type Result<T> = std::result::Result<T, Error>;

/// Most bytes of a compiled expression.
const MAX_COMPILED: usize = 1 << 20;

/// Steps to compile a byte of an expression that is not a constant.
const COMPILE_STEPS: u64 = 100;

const MATCH: Cost = Cost::new(Work::Match, Size::AtMost(1));

/// `matches` belongs to the core of the language.
pub(super) const MATCHES: &[Function] = &[Function {
    name: "matches",
    library: Library::Core,
    doc: "Whether a part of the text matches the regular expression, in the syntax of RE2.",
    errors: "when the second text is no regular expression, or one that is too large",
    overloads: &[
        Overload { signature: "matches(string, string) -> bool", run: matches, cost: MATCH },
        Overload { signature: "string.matches(string) -> bool", run: matches, cost: MATCH },
    ],
}];

library! {
    Regex;
    "find": "The first part of the text that matches the regular expression; empty if there is none.",
        "when the second text is no regular expression, or one that is too large" {
        "string.find(string) -> string" => find, Cost::new(Work::Match, Size::First);
    }
    "findAll": "The parts of the text that match the regular expression, at most so many if a number is given.",
        "when the second text is no regular expression, or one that is too large" {
        "string.findAll(string) -> list(string)" => find_all, Cost::new(Work::Match, Size::First);
        "string.findAll(string, int) -> list(string)" => find_all, Cost::new(Work::Match, Size::First);
    }
}

/// The regular expression among constant arguments, compiled.
pub(in crate::cel) fn prepare(
    overload: &Overload,
    args: &[Option<Val<'static>>],
) -> Result<Option<Prepared>> {
    match (overload.cost.work, args.get(1)) {
        (Work::Match, Some(Some(Val::String(pattern)))) => compile(pattern).map(Prepared::Regex).map(Some),
        _ => Ok(None),
    }
}

fn compile(pattern: &str) -> Result<Regex> {
    let wrong = |reason: String| invalid(1, format!("`{pattern}` is no regular expression: {reason}"));
    let translated = translate(pattern).map_err(|reason| wrong(reason.into()))?;
    let built = RegexBuilder::new(&translated).size_limit(MAX_COMPILED).dfa_size_limit(MAX_COMPILED).build();
    built.map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => wrong("it is too large".into()),
        // The last line of the message says what is wrong, those before it draw where.
        error => {
            wrong(error.to_string().lines().last().unwrap_or_default().trim_start_matches("error: ").into())
        }
    })
}

/// Calls `use_it` with the expression in the second argument.
fn with_regex<T>(a: &mut Arguments, use_it: impl FnOnce(&Regex) -> T) -> Result<T> {
    if let Some(Prepared::Regex(regex)) = a.prepared {
        return Ok(use_it(regex));
    }
    let pattern = a.str(1)?;
    a.budget.charge((pattern.len() as u64).saturating_mul(COMPILE_STEPS))?;
    Ok(use_it(&compile(pattern)?))
}

fn matches<'a>(a: &mut Arguments<'_, 'a>) -> Result<Val<'a>> {
    let text = a.str(0)?;
    with_regex(a, |regex| regex.is_match(text)).map(Val::Bool)
}

fn find<'a>(a: &mut Arguments<'_, 'a>) -> Result<Val<'a>> {
    let text = a.text(0)?;
    let (start, end) =
        with_regex(a, |regex| regex.find(&text).map_or((0, 0), |found| (found.start(), found.end())))?;
    a.part(&text, start, end)
}

fn find_all<'a>(a: &mut Arguments<'_, 'a>) -> Result<Val<'a>> {
    let text = a.text(0)?;
    let limit =
        if a.values.len() > 2 { usize::try_from(a.int(2)?).unwrap_or(usize::MAX) } else { usize::MAX };
    a.budget.create_items(limit.min(text.len()))?;
    let found = with_regex(a, |regex| {
        let found = regex.find_iter(&text).map(|found| (found.start(), found.end()));
        found.take(limit).collect::<Vec<_>>()
    })?;
    let parts = found.into_iter().map(|(start, end)| a.part(&text, start, end)).collect::<Result<_>>()?;
    List::new(parts).map(Val::List)
}

/// The same expression in the syntax of the `regex` crate.
fn translate(pattern: &str) -> std::result::Result<String, &'static str> {
    let mut out = String::with_capacity(pattern.len() + 16);
    let mut chars = pattern.chars().peekable();
    // Whether we are in a class, and whether its first item is still to come.
    let (mut class, mut first) = (false, false);
    while let Some(c) = chars.next() {
        let at_start = std::mem::take(&mut first);
        match c {
            '\\' => match chars.next() {
                Some('Q') if !class => quote(&mut chars, &mut out),
                Some(letter) => escape(letter, class, &mut out),
                None => return Err("a backslash at the end escapes nothing"),
            },
            '[' if class => {
                if chars.peek() == Some(&':') {
                    out.push('[');
                    while let Some(c) = chars.next_if(|c| *c != ']') {
                        out.push(c);
                    }
                    out.extend(chars.next());
                } else {
                    out.push_str("\\[");
                }
            }
            '[' => {
                class = true;
                first = true;
                out.push('[');
                out.extend(chars.next_if_eq(&'^'));
            }
            ']' if class && at_start => out.push_str("\\]"),
            ']' => {
                class = false;
                out.push(']');
            }
            '&' | '~' if class => {
                out.push('\\');
                out.push(c);
            }
            '-' if class && chars.peek() == Some(&'-') => out.push_str("\\-"),
            '{' if !class => repetition(&mut chars, &mut out)?,
            c => out.push(c),
        }
    }
    Ok(out)
}

type Rest<'p> = std::iter::Peekable<std::str::Chars<'p>>;

/// `\Q…\E`: every character stands for itself.
fn quote(chars: &mut Rest, out: &mut String) {
    let mut quoted = String::new();
    while let Some(c) = chars.next() {
        if c == '\\' && chars.next_if_eq(&'E').is_some() {
            break;
        }
        quoted.push(c);
    }
    out.push_str(&regex::escape(&quoted));
}

fn escape(letter: char, class: bool, out: &mut String) {
    let (inside, outside) = match letter {
        'd' => ("0-9", "[0-9]"),
        'D' => ("[^0-9]", "[^0-9]"),
        'w' => ("0-9A-Za-z_", "[0-9A-Za-z_]"),
        'W' => ("[^0-9A-Za-z_]", "[^0-9A-Za-z_]"),
        's' => ("\\t\\n\\f\\r ", "[\\t\\n\\f\\r ]"),
        'S' => ("[^\\t\\n\\f\\r ]", "[^\\t\\n\\f\\r ]"),
        'b' if !class => ("", "(?-u:\\b)"),
        'B' if !class => ("", "(?-u:\\B)"),
        letter => {
            out.push('\\');
            out.push(letter);
            return;
        }
    };
    out.push_str(if class { inside } else { outside });
}

/// `{2,5}`, or a brace that stands for itself.
fn repetition(chars: &mut Rest, out: &mut String) -> std::result::Result<(), &'static str> {
    let rest: String = chars.clone().take_while(|c| *c != '}').collect();
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (least, most) = rest.split_once(',').unwrap_or((&rest, ""));
    if !is_number(least)
        || !(most.is_empty() || is_number(most))
        || chars.clone().nth(rest.chars().count()).is_none()
    {
        out.push_str("\\{");
        return Ok(());
    }
    if [least, most]
        .iter()
        .any(|count| !count.is_empty() && count.parse().map_or(true, |count: u32| count > 1000))
    {
        return Err("something is repeated more than 1000 times");
    }
    out.push('{');
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_mean_what_they_mean_in_go() {
        let cases = [
            (r"^\d+$", "१२३", false),
            (r"^\w+$", "é", false),
            (r"^[[a]+$", "[a", true),
            (r"^[a&&b]+$", "a&b", true),
            (r"^[]a]+$", "]a", true),
            (r"^[^]a]+$", "xy", true),
            (r"^\Qa.b\E$", "a.b", true),
            (r"^\Qa.b\E$", "axb", false),
            (r"^[\d.]+\z", "1.5", true),
            (r"^[[:alpha:]-]+$", "a-b", true),
            (r"^a{2,3}$", "aaa", true),
            (r"^a{x}$", "a{x}", true),
            (r"\bcat\b", "écaté", true),
            (r"(?i)HELLO", "hello", true),
        ];
        for (pattern, text, expected) in cases {
            assert_eq!(compile(pattern).unwrap().is_match(text), expected, "{pattern} on {text}");
        }
    }

    #[test]
    fn a_large_expression_is_refused_in_small_space() {
        for pattern in ["a{1001}", "((a{1000}){1000}){1000}", "(", "a**{", "\\"] {
            let result = compile(pattern);
            assert!(pattern == "a**{" || result.is_err(), "{pattern}");
        }
    }
}
