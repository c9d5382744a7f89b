//! The test data of the language definition, `tests/simple` of cel-spec, as JSON: `cel-spec/cases.json` in the folder
//! that `TRAINMASTER_TEST_DATA` names. Cases that need protocol buffers are not run.
//!
//! `spec-differences.yaml` lists every case that ends otherwise here, with the reason. The reason `unchecked` says that
//! the case is about expressions that no check accepts, and passes without one. A case that is listed and passes fails
//! the test as much as one that is not listed and does not.

use crate::support::{Values, data, issues, normal, read, tag, tagged};
use serde_json::Value;
use std::{collections::BTreeMap, path::Path};
use trainmaster::cel::{Bounds, Budget, Env, Type};

/// What became of a case: a value, or the message of an error.
fn outcome(case: &Value, checked: bool) -> Result<Value, String> {
    let bindings = case["bindings"].as_array().unwrap();
    let mut env = Env::new().with_mixed_literals();
    for binding in bindings {
        env.declare(binding[0].as_str().unwrap(), &Type::Dyn, Bounds::default());
    }
    let env = if checked { env } else { env.unchecked() };
    let values = Values(bindings.iter().map(|binding| tagged(&binding[1])).collect());
    let compiled = env.compile(case["expr"].as_str().unwrap());
    let program = compiled.program.as_ref().ok_or_else(|| issues(&compiled))?;
    let value = program.eval(&values, &mut Budget::default());
    value.map(|value| tag(&value)).map_err(|error| format!("{error:?}"))
}

fn passes(case: &Value, checked: bool) -> Result<(), String> {
    let wanted = &case["want"];
    match (outcome(case, checked), wanted.get("error").is_some()) {
        (Err(_), true) => Ok(()),
        (Ok(found), false) if found == normal(wanted) => Ok(()),
        (found, _) => Err(format!("{}\n    wanted {wanted}, found {found:?}", case["expr"])),
    }
}

#[test]
fn the_cases_of_the_language_definition_end_as_they_should() {
    let Some(folder) = std::env::var_os("TRAINMASTER_TEST_DATA") else {
        println!(
            "SKIPPED: TRAINMASTER_TEST_DATA is not set, so the cases of the language definition are not run"
        );
        return;
    };
    let cases: Vec<Value> =
        serde_json::from_str(&read(&Path::new(&folder).join("cel-spec/cases.json"))).unwrap();
    let mut listed = differences(&read(&data("spec-differences.yaml")));
    let (mut run, mut passed, mut problems) = (0, 0, Vec::new());
    for case in cases.iter().filter(|case| case["skip"].is_null()) {
        run += 1;
        let name = format!("{}/{}/{}", case["file"], case["section"], case["name"]).replace('"', "");
        match (passes(case, true), listed.remove(&name).as_deref()) {
            (Ok(()), None) => passed += 1,
            (Err(problem), None) => problems.push(format!("{name}: {problem}")),
            (Ok(()), Some(_)) => problems.push(format!("{name} is listed as different and passes")),
            (Err(_), Some("unchecked")) => match passes(case, false) {
                Ok(()) => passed += 1,
                Err(problem) => problems.push(format!("{name} fails without a check too: {problem}")),
            },
            (Err(_), Some(_)) => {}
        }
    }
    problems.extend(listed.into_keys().map(|name| format!("{name} is listed as different and is no case")));
    println!("{passed} of {run} cases of the language definition pass");
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
    assert!(passed * 100 >= run * 98, "{passed} of {run}");
}

/// The reason by the name of the case.
fn differences(text: &str) -> BTreeMap<String, String> {
    let lines = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    let lines = lines.map(|line| line.split_once(": ").unwrap_or_else(|| panic!("no reason: {line}")));
    lines.map(|(name, reason)| (name.to_owned(), reason.to_owned())).collect()
}
