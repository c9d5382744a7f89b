//! Changes to expressions: operands and operators that appear, vanish, change places and are nested.

use crate::random::Random;
use std::{collections::BTreeSet, ops::Range, sync::LazyLock};
use trainmaster::cel;

/// Whole operands.
const OPERANDS: &[&str] = &[
    "0",
    "1",
    "-1",
    "1u",
    "1.5",
    "9223372036854775807",
    "-9223372036854775808",
    "true",
    "false",
    "null",
    "\"\"",
    "\"a\"",
    "'é日'",
    "b\"\\xff\"",
    "r\"\\d+\"",
    "[]",
    "[1, 2]",
    "{}",
    "{\"a\": 1}",
    "{\"a\": ?x.?a}",
    "[?x.?a]",
    "x",
    "x.a",
    "x[0]",
    "x.?a",
    "x[?0]",
    "job",
    "job.spec.trainer.env",
    "n",
    "s",
    "items",
    "counts",
    "items[0]",
    "has(x.a)",
    "duration(\"1h\")",
    "timestamp(\"2020-01-01T00:00:00Z\")",
    "quantity(\"1Gi\")",
    "optional.none()",
    "optional.of(1)",
    "[1, 2].map(i, i * 2)",
    "items.filter(i, i > 1)",
    "items.exists(i, i == 1)",
    "cel.bind(y, x, y)",
    "\"%s %d\".format([s, n])",
    "ip(\"10.0.0.1\")",
    "cidr(\"10.0.0.0/8\")",
    "semver(\"1.2.3\")",
    "url(\"https://a.b:1/c?d=e\")",
    "dyn(x)",
    "type(x)",
];

const OPERATORS: &[&str] = &[
    "+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "&&", "||", "in", "?", ":", ".", ".?", ",",
    "!",
];

/// Ways to put something around an operand.
const AROUND: &[(&str, &str)] = &[
    ("(", ")"),
    ("[", "]"),
    ("{\"a\": ", "}"),
    ("!", ""),
    ("-", ""),
    ("size(", ")"),
    ("string(", ")"),
    ("int(", ")"),
    ("dyn(", ")"),
    ("[", "][0]"),
    ("has(", ".a)"),
    ("", ".map(v, v)"),
    ("", ".filter(v, true)"),
    ("", ".all(v, v == 1)"),
    ("", ".exists_one(v, true)"),
    ("", ".transformList(i, v, v)"),
    ("", ".transformMap(k, v, v)"),
    ("", ".sortBy(v, v)"),
    ("optional.of(", ")"),
    ("", ".orValue(1)"),
    ("", ".optMap(v, v)"),
    ("cel.bind(z, ", ", z)"),
    ("true ? ", " : 1"),
    ("\"%s\".format([", "])"),
    ("", " + 1"),
    ("", "[0]"),
    ("", "[?0]"),
    ("", ".a"),
    ("quantity(", ")"),
    ("", ".join(\",\")"),
];

/// Changes an expression a few times.
pub fn change(input: &[u8], random: &mut Random) -> Option<String> {
    let mut source = std::str::from_utf8(input).ok()?.to_owned();
    for _ in 0..=random.below(3) {
        let pieces = pieces(&source);
        let place = if pieces.is_empty() { 0..0 } else { random.pick(&pieces).clone() };
        let other = if pieces.is_empty() { 0..0 } else { random.pick(&pieces).clone() };
        let old = &source[place.clone()];
        let new = match random.below(8) {
            0 | 1 => (*random.pick(OPERANDS)).to_owned(),
            2 => (*random.pick(OPERATORS)).to_owned(),
            3 => source[other].to_owned(),
            4 => String::new(),
            5 => format!("{old} {} {}", random.pick(OPERATORS), random.pick(OPERANDS)),
            6 => call(old, random),
            _ => around(old, random),
        };
        source.replace_range(place, &new);
    }
    Some(source)
}

fn around(old: &str, random: &mut Random) -> String {
    let (before, after) = random.pick(AROUND);
    let times = if random.chance(3) { random.below(200) } else { 1 };
    format!("{}{old}{}", before.repeat(times), after.repeat(times))
}

/// A call of any function there is with any operands.
fn call(receiver: &str, random: &mut Random) -> String {
    static NAMES: LazyLock<Vec<&str>> = LazyLock::new(|| {
        cel::functions().map(|function| function.name).collect::<BTreeSet<_>>().into_iter().collect()
    });
    let name = random.pick(&NAMES);
    let args: Vec<&str> = (0..random.below(3)).map(|_| *random.pick(OPERANDS)).collect();
    if random.chance(50) {
        format!("{receiver}.{name}({})", args.join(", "))
    } else {
        format!("{name}({})", [&[receiver], args.as_slice()].concat().join(", "))
    }
}

/// The tokens, and the groups that brackets make, of a text that need not be an expression.
fn pieces(source: &str) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    let mut open = Vec::new();
    let mut at = 0;
    while let Some(first) = source[at..].chars().next() {
        let rest = &source[at..];
        let alike: fn(char) -> bool = match first {
            c if c.is_whitespace() => char::is_whitespace,
            c if c.is_alphanumeric() => |c| c.is_alphanumeric() || c == '_',
            _ => |_| false,
        };
        let length = match first {
            '"' | '\'' => rest[1..].find(first).map_or(rest.len(), |end| end + 2),
            _ => rest.find(|c| !alike(c)).unwrap_or(rest.len()).max(first.len_utf8()),
        };
        match first {
            '(' | '[' | '{' => open.push(at),
            ')' | ']' | '}' => pieces.extend(open.pop().map(|start| start..at + 1)),
            _ => {}
        }
        pieces.push(at..at + length);
        at += length;
    }
    pieces
}
