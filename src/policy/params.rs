//! The short form of a schema, `integer | default=29500 minimum=1`, as facts that `schema` makes types of.

use crate::{
    cel,
    diagnostic::{Code, Diagnostic, codes},
    yaml::Node,
};
use serde_json::{Map, Value, json};
use std::ops::Range;

/// Types by the names that authors use, and what `schema` calls them.
const TYPES: [(&str, &str); 7] = [
    ("string", "string"),
    ("integer", "int64"),
    ("number", "number"),
    ("boolean", "boolean"),
    ("quantity", "quantity"),
    ("object", "{}any"),
    ("any", "any"),
];

/// The facts of `params.schema`: an object type whose fields are the parameters.
pub(super) fn facts(schema: &Node, diagnostics: &mut Vec<Diagnostic>) -> Value {
    let mut fields = Map::new();
    let entries = schema.as_map().unwrap_or_else(|| {
        diagnostics.push(super::fields::wrong_type(schema, "schema", "a map of names to types"));
        &[]
    });
    for entry in entries {
        if !cel::is_identifier(&entry.key) {
            let message = format!("`{}` cannot be a parameter: expressions could not name it", entry.key);
            diagnostics.push(Diagnostic::error(codes::BAD_NAME, entry.key_span.clone(), message));
        }
        let facts = match entry.value.as_map() {
            Some(_) => facts(&entry.value, diagnostics),
            None => field(&entry.value, diagnostics),
        };
        fields.insert(entry.key.clone(), facts);
    }
    let mut facts = json!({ "type": "object", "fields": fields });
    // So that the defaults within count where nobody says anything; what is required cannot be made up.
    let required = |field: &Value| field["type"].as_str().is_some_and(|ty| ty.ends_with('!'));
    if !facts["fields"].as_object().into_iter().flatten().any(|(_, field)| required(field)) {
        facts["default"] = json!({});
    }
    facts
}

fn field(node: &Node, diagnostics: &mut Vec<Diagnostic>) -> Value {
    let Some(text) = node.as_str() else {
        diagnostics.push(super::fields::wrong_type(
            node,
            "schema",
            "a type such as `integer | default=1`, or a map",
        ));
        return json!("any");
    };
    let (name, markers) = text.split_once('|').unwrap_or((text, ""));
    let start = text.len() - markers.len();
    let mut problems = Vec::new();
    let facts = type_facts(name.trim(), &mut problems, trimmed(text, 0..name.len()))
        .map(|facts| add_markers(facts, text, start, &mut problems));
    for Problem { code, range, message, help } in problems {
        diagnostics.push(Diagnostic::error(code, node.inside(range), message).maybe_help(help));
    }
    facts.unwrap_or_else(|| json!("any"))
}

struct Problem {
    code: Code,
    range: Range<usize>,
    message: String,
    help: Option<String>,
}

fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let part = text.get(range.clone()).unwrap_or_default();
    let start = range.start + part.len() - part.trim_start().len();
    start..start + part.trim().len()
}

fn type_facts(name: &str, problems: &mut Vec<Problem>, range: Range<usize>) -> Option<Map<String, Value>> {
    let mut marks = String::new();
    let mut rest = name;
    loop {
        if let Some(item) = rest.strip_prefix("[]") {
            marks.push_str("[]");
            rest = item;
        } else if let Some(value) = rest.strip_prefix("map[string]") {
            marks.push_str("{}");
            rest = value;
        } else {
            break;
        }
    }
    let Some((_, known)) = TYPES.iter().find(|(known, _)| *known == rest) else {
        let message = format!("`{name}` is no type");
        let help = format!("types: {}, []TYPE, map[string]TYPE", TYPES.map(|(name, _)| name).join(", "));
        problems.push(Problem { code: codes::BAD_PARAMETER, range, message, help: Some(help) });
        return None;
    };
    let mut facts = Map::new();
    facts.insert("type".to_owned(), json!(format!("{marks}{known}")));
    Some(facts)
}

/// Adds what stands behind the `|`, from byte `start` of `text`.
fn add_markers(
    mut facts: Map<String, Value>,
    text: &str,
    start: usize,
    problems: &mut Vec<Problem>,
) -> Value {
    let mut at = start;
    while let Some(offset) = text.get(at..).and_then(|rest| rest.find(|c: char| !c.is_whitespace())) {
        at += offset;
        let end = end_of_marker(text, at);
        let marker = text.get(at..end).unwrap_or_default();
        if let Err((message, help)) = add_marker(&mut facts, marker) {
            problems.push(Problem { code: codes::BAD_PARAMETER, range: at..end, message, help });
        }
        at = end;
    }
    Value::Object(facts)
}

/// Markers end at white space that stands outside quotes.
fn end_of_marker(text: &str, start: usize) -> usize {
    let mut quoted = false;
    let rest = text.get(start..).unwrap_or_default();
    let end = rest.find(|c: char| {
        quoted ^= c == '"';
        c.is_whitespace() && !quoted
    });
    end.map_or(text.len(), |end| start + end)
}

type MarkerError = (String, Option<String>);

fn add_marker(facts: &mut Map<String, Value>, marker: &str) -> Result<(), MarkerError> {
    let (name, written) = marker.split_once('=').ok_or_else(|| (format!("`{marker}` has no value"), None))?;
    let text = written.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(written);
    let ty = facts.get("type").and_then(Value::as_str).unwrap_or_default().trim_end_matches('!').to_owned();
    let wrong = |what: &str| (format!("`{name}` takes {what}, not `{written}`"), None);
    match name {
        "default" => {
            let value = default_value(&ty, text, written)
                .ok_or_else(|| wrong(&format!("a value of type `{}`", written_type(&ty))))?;
            facts.insert("default".to_owned(), value);
        }
        "required" => match text {
            "true" => _ = facts.insert("type".to_owned(), json!(format!("{ty}!"))),
            "false" => {}
            _ => return Err(wrong("true or false")),
        },
        "enum" => {
            let values: Vec<&str> = text.split(',').map(str::trim).collect();
            facts.insert("enum".to_owned(), json!(values));
        }
        "minimum" | "maximum" => {
            let bound: i64 = text.parse().map_err(|_| wrong("a whole number"))?;
            facts.insert(name.to_owned(), json!(bound));
        }
        "minLength" | "maxLength" | "minItems" | "maxItems" => {
            let bound: u64 = text.parse().map_err(|_| wrong("a whole number that is not negative"))?;
            facts.insert(name.to_owned(), json!(bound));
        }
        "pattern" => {
            if let Err(error) = regex::Regex::new(text) {
                return Err((format!("`{text}` is no regular expression"), Some(error.to_string())));
            }
            facts.insert("pattern".to_owned(), json!(text));
        }
        _ => {
            let known = "default, required, enum, minimum, maximum, minLength, maxLength, minItems, maxItems, pattern";
            return Err((format!("`{name}` says nothing of a parameter"), Some(format!("known: {known}"))));
        }
    }
    Ok(())
}

/// The type as authors write it.
fn written_type(ty: &str) -> String {
    match TYPES.iter().find(|(_, known)| *known == ty) {
        Some((name, _)) => (*name).to_owned(),
        None => match (ty.strip_prefix("[]"), ty.strip_prefix("{}")) {
            (Some(item), _) => format!("[]{}", written_type(item)),
            (_, Some(value)) => format!("map[string]{}", written_type(value)),
            (None, None) => ty.to_owned(),
        },
    }
}

/// The default as JSON: as it stands for text, as JSON for the rest.
fn default_value(ty: &str, text: &str, written: &str) -> Option<Value> {
    match ty {
        "string" | "quantity" => Some(json!(text)),
        "any" => serde_json::from_str(written).ok(),
        _ => {
            let value: Value = serde_json::from_str(written).ok()?;
            let fits = match ty {
                "int64" => value.is_i64(),
                "number" => value.is_number(),
                "boolean" => value.is_boolean(),
                _ if ty.starts_with("[]") => value.is_array(),
                _ => value.is_object(),
            };
            fits.then_some(value)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{diagnostic::Source, yaml};

    fn read(text: &str) -> (Value, Vec<String>) {
        let (nodes, mut diagnostics) = yaml::parse(&Source::new("p", text));
        let facts = facts(&nodes[0], &mut diagnostics);
        let shown = diagnostics.iter().map(|d| format!("{:?} {} {}", d.place, d.code, d.message)).collect();
        (facts["fields"].clone(), shown)
    }

    #[test]
    fn the_short_form_says_types_defaults_and_limits() {
        let (facts, problems) = read(
            "port: integer | default=29500 minimum=1 maximum=65535\n\
             name: string | required=true pattern=\"^[a-z ]+$\" maxLength=63\n\
             mode: string | enum=\"a, b\" default=a\n\
             hosts: '[]string'\n\
             labels: map[string]string\n\
             memory: quantity | default=1Gi\n\
             nested: {debug: boolean | default=true}\n",
        );
        assert_eq!(problems, [""; 0]);
        let want = json!({
            "port": {"type": "int64", "default": 29500, "minimum": 1, "maximum": 65535},
            "name": {"type": "string!", "pattern": "^[a-z ]+$", "maxLength": 63},
            "mode": {"type": "string", "enum": ["a", "b"], "default": "a"},
            "hosts": {"type": "[]string"},
            "labels": {"type": "{}string"},
            "memory": {"type": "quantity", "default": "1Gi"},
            "nested": {"type": "object", "fields": {"debug": {"type": "boolean", "default": true}}, "default": {}},
        });
        assert_eq!(facts, want);
    }

    #[test]
    fn each_problem_stands_at_its_word() {
        let check = |text: &str, want: &[&str]| assert_eq!(read(text).1, want, "{text}");
        check("a: int", &["Source(p:1:4) TM0108 `int` is no type"]);
        check("a: '[]int | x=1'", &["Source(p:1:5) TM0108 `[]int` is no type"]);
        check(
            "a: integer | default=x",
            &["Source(p:1:14) TM0108 `default` takes a value of type `integer`, not `x`"],
        );
        check(
            "a: >-\n  integer |\n  minimum=1.5  maximal=3",
            &[
                "Source(p:3:3) TM0108 `minimum` takes a whole number, not `1.5`",
                "Source(p:3:16) TM0108 `maximal` says nothing of a parameter",
            ],
        );
        check(
            "a: string | pattern=( required",
            &[
                "Source(p:1:13) TM0108 `(` is no regular expression",
                "Source(p:1:23) TM0108 `required` has no value",
            ],
        );
        check(
            "a-b: string",
            &["Source(p:1:1) TM0106 `a-b` cannot be a parameter: expressions could not name it"],
        );
        check("[a]", &["Source(p:1:1) TM0104 `schema` must be a map of names to types, not a list"]);
        check(
            "a: [b]",
            &[
                "Source(p:1:4) TM0104 `schema` must be a type such as `integer | default=1`, or a map, not a list",
            ],
        );
    }
}
