//! The expressions of the shipped policies, as far as they use no function of ours, judged by Kubernetes.
//!
//! `policies.json` holds what the expressions may see, a few times. Variables of a policy are bound to their own expressions,
//! variables of loops to the first item of their lists, so that each expression stands alone. Nothing is declared of the
//! names: the check of types has its own comparison.

use crate::{
    kubernetes::{Question, compare},
    support::{Variable, data, env, read},
};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use trainmaster::cel::{self, Compiled, Library, Program, functions};

/// A name and the expression it stands for.
type Bound = (String, String);

/// An expression and the loops around it.
struct Found {
    source: String,
    loops: Vec<Bound>,
}

/// The expressions of one policy.
#[derive(Default)]
struct Finder {
    found: Vec<Found>,
    loops: Vec<Bound>,
}

impl Finder {
    fn add(&mut self, source: &str) {
        self.found.push(Found { source: source.to_owned(), loops: self.loops.clone() });
    }

    /// A rule: its loops hold for everything in it; fields that are CEL are expressions, all others have holes.
    fn rule(&mut self, rule: &Value, cel: &[&str]) {
        let before = self.loops.len();
        for each in rule["forEach"].as_array().into_iter().flatten() {
            let (name, list) = (text(&each["var"]), text(&each["in"]));
            self.add(list);
            self.loops.push((name.to_owned(), format!("({list})[0]")));
            if let Some(index) = each["index"].as_str() {
                self.loops.push((index.to_owned(), "0".to_owned()));
            }
        }
        for (key, value) in rule.as_object().into_iter().flatten() {
            match key.as_str() {
                "forEach" => {}
                key if cel.contains(&key) => self.add(text(value)),
                "podSets" | "containers" | "apply" | "update" => self.rule(value, cel),
                _ => self.holes(value),
            }
        }
        self.loops.truncate(before);
    }

    fn holes(&mut self, value: &Value) {
        match value {
            Value::String(text) => {
                let mut rest = text.as_str();
                while let Some((_, hole)) = rest.split_once("${") {
                    let end = hole_end(hole);
                    self.add(&hole[..end]);
                    rest = &hole[end..];
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.holes(item)),
            Value::Object(entries) if entries.contains_key("$raw") => {}
            Value::Object(entries) => {
                for (key, value) in entries {
                    if key == "$when" { self.add(text(value)) } else { self.holes(value) }
                }
            }
            _ => {}
        }
    }
}

/// Where a hole ends: at the brace that closes it and is no part of a string.
fn hole_end(hole: &str) -> usize {
    let (mut depth, mut quote) = (1, None);
    for (at, char) in hole.char_indices() {
        match (quote, char) {
            (Some(open), char) if open == char => quote = None,
            (None, '"' | '\'') => quote = Some(char),
            (None, '{') => depth += 1,
            (None, '}') => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    panic!("no end: {hole}")
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("not text: {value}"))
}

fn expressions(spec: &Value) -> Vec<Found> {
    let mut finder = Finder::default();
    let items = |key: &str| spec[key].as_array().cloned().unwrap_or_default();
    finder.rule(&spec["activation"], &["expression"]);
    let rules = [
        ("variables", &["expression"][..]),
        ("validations", &["expression", "when", "value", "messageExpression"]),
        ("mutations", &["when", "where"]),
        ("resources", &["includeWhen", "when"]),
        ("watches", &["filter"]),
    ];
    for (key, cel) in rules {
        for rule in &items(key) {
            finder.rule(rule, cel);
        }
    }
    for condition in spec["status"]["conditions"].as_array().into_iter().flatten() {
        finder.rule(condition, &["from"]);
    }
    finder.holes(&spec["status"]["jobsStatus"]);
    finder.found
}

/// The expression with the policy's variables bound to theirs, as far as it mentions them.
fn alone(found: &Found, variables: &Map<String, Value>) -> String {
    let mut source = found.source.clone();
    for (name, list) in found.loops.iter().rev() {
        if cel::names(&source).iter().any(|used| used == name || used.starts_with(&format!("{name}."))) {
            source = format!("cel.bind({name}, {list}, {source})");
        }
    }
    // A variable's own expression may mention others, but never itself, directly or not.
    while let Some(name) = cel::names(&source)
        .into_iter()
        .find_map(|name| Some(name.strip_prefix("variables.")?.split('.').next()?.to_owned()))
    {
        let bound = format!("variable_{name}");
        let value = text(&variables[&name]);
        source = format!(
            "cel.bind({bound}, {value}, {})",
            replace_word(&source, &format!("variables.{name}"), &bound)
        );
    }
    source.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// `text` with `word` replaced wherever no letter, digit or underscore follows it.
fn replace_word(text: &str, word: &str, by: &str) -> String {
    let mut parts = text.split(word);
    let mut replaced = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let longer = part.starts_with(|char: char| char.is_alphanumeric() || char == '_');
        replaced.push_str(if longer { word } else { by });
        replaced.push_str(part);
    }
    replaced
}

fn policies() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("policies");
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries.filter(|path| path.extension().is_some_and(|it| it == "yaml")).collect();
    files.sort();
    files
}

/// Whether it calls a function that Kubernetes does not have.
fn uses_ours(compiled: &Compiled) -> bool {
    let ours = [Library::JobSet, Library::Resources, Library::Hash, Library::Keys, Library::Shell];
    let ours = functions().filter(|function| ours.contains(&function.library));
    let ours: Vec<_> = ours.flat_map(|function| function.overloads).map(|it| it.signature).collect();
    let called = compiled.program.iter().flat_map(Program::overloads);
    called.into_iter().any(|overload| ours.contains(&overload.signature))
}

fn questions(path: &Path, worlds: &[Vec<Variable>]) -> Vec<Question> {
    let policy: Value = serde_saphyr::from_str(&read(path)).unwrap();
    let variables = policy["spec"]["variables"].as_array().into_iter().flatten();
    let variables = variables
        .map(|variable| (text(&variable["name"]).to_owned(), variable["expression"].clone()))
        .collect();
    let mut questions = Vec::new();
    for found in expressions(&policy["spec"]) {
        let expression = alone(&found, &variables);
        for (number, world) in worlds.iter().enumerate() {
            if uses_ours(&env(world).compile(&expression)) {
                continue;
            }
            questions.push(Question {
                place: format!("{} in world {number}", path.display()),
                expression: expression.clone(),
                variables: world.clone(),
                differs: None,
            });
        }
    }
    questions
}

#[test]
fn expressions_of_policies_end_as_in_kubernetes() {
    let worlds: Vec<Map<String, Value>> = serde_json::from_str(&read(&data("policies.json"))).unwrap();
    let variables = |world: &Map<String, Value>| {
        let variable = |(name, value): (&String, &Value)| Variable {
            name: name.clone(),
            schema: None,
            value: value.clone(),
        };
        world.iter().map(variable).collect::<Vec<_>>()
    };
    let worlds: Vec<_> = worlds.iter().map(variables).collect();
    let questions: Vec<_> = policies().iter().flat_map(|path| questions(path, &worlds)).collect();
    assert!(questions.len() >= 100, "only {} questions", questions.len());
    if let Some(compared) = compare(&questions) {
        println!("{compared} expressions of policies compared with Kubernetes' own CEL");
    }
}
