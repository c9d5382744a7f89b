//! Feature gates: upstream's names for what is off until somebody asks for it.

use std::collections::BTreeSet;
use trainmaster::diagnostic::{Diagnostic, Place, codes};

/// Lets training code tell its progress.
pub(crate) const TRAIN_JOB_STATUS: &str = "TrainJobStatus";
/// All that there are.
const GATES: [&str; 1] = [TRAIN_JOB_STATUS];

/// Opens and shuts gates of `on` as `text` says: `NAME=true,NAME=false`.
pub(crate) fn switch(on: &mut BTreeSet<String>, text: &str) -> Result<(), Box<Diagnostic>> {
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        match part.split_once('=') {
            Some((name, value @ ("true" | "false"))) => {
                check(name, Place::Nowhere)?;
                set(on, name, value == "true");
            }
            _ => {
                let message = format!("`{part}` is no feature gate with a value: NAME=true or NAME=false");
                return Err(Box::new(Diagnostic::error(codes::YAML_VALUE, Place::Nowhere, message)));
            }
        }
    }
    Ok(())
}

/// Opens or shuts one.
pub(crate) fn set(on: &mut BTreeSet<String>, name: &str, is_on: bool) {
    if is_on {
        on.insert(name.to_owned());
    } else {
        on.remove(name);
    }
}

/// Whether there is such a gate.
pub(crate) fn check(name: &str, place: Place) -> Result<(), Box<Diagnostic>> {
    if GATES.contains(&name) {
        return Ok(());
    }
    let diagnostic =
        Diagnostic::error(codes::UNKNOWN_WORD, place, format!("there is no feature gate `{name}`"));
    Err(Box::new(diagnostic.help(format!("known feature gates: {}", GATES.join(", ")))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn feature_gates_are_known_and_have_a_value() {
        let switched = |texts: &[&str]| {
            let mut on = BTreeSet::new();
            texts
                .iter()
                .try_for_each(|text| switch(&mut on, text))
                .map(|()| on.into_iter().collect::<Vec<_>>())
        };
        assert_eq!(switched(&["TrainJobStatus=true"]).unwrap(), ["TrainJobStatus"]);
        assert!(switched(&["TrainJobStatus=true", "TrainJobStatus=false,"]).unwrap().is_empty());
        for wrong in ["TrainJobStatus", "Other=true", "TrainJobStatus=yes"] {
            assert!(switched(&[wrong]).is_err(), "{wrong}");
        }
    }
}
