//! Parameters: defaults, then the policy's values, then a ConfigMap's, then the runtime's.

use super::{
    Refusal,
    snapshot::{Config, Snapshot},
};
use crate::{
    diagnostic::{Diagnostic, Place, Source, codes},
    object::{FieldPath, Gvk, ObjectRef, path::Step},
    policy::compiled::{ConfigMapRef, Params, Policy},
    schema::{self, Shape},
    yaml,
};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// The ConfigMap with parameters that `reference` means.
pub fn config_map(reference: &ConfigMapRef, config: &Config) -> ObjectRef {
    let namespace = reference.namespace.as_ref().unwrap_or(&config.namespace);
    ObjectRef {
        gvk: Gvk::new("v1", "ConfigMap"),
        namespace: Some(namespace.clone()),
        name: reference.name.clone(),
    }
}

/// The parameters of `policy` for a TrainJob with this runtime.
pub(crate) fn params<'p>(
    policy: &'p Policy,
    snapshot: &Snapshot,
    runtime: &Value,
) -> Result<Cow<'p, Value>, Refusal> {
    let Some(params) = &policy.params else { return Ok(Cow::Owned(Value::Object(Map::new()))) };
    let in_runtime = params.runtime.as_ref().map(|path| (path, path.get(runtime)));
    if let (None, None | Some((_, None)), Some(alone)) = (&params.config_map, &in_runtime, &params.alone) {
        return Ok(Cow::Borrowed(alone));
    }
    let nowhere = Place::Source(policy.span.clone());
    let mut given = Given { values: params.values.clone(), from: Vec::new(), missing: nowhere };
    if let Some(reference) = &params.config_map {
        let values = from_config_map(params, reference, snapshot, policy)?;
        let object = config_map(reference, &snapshot.config).to_string();
        given.add(values, &Origin::Keys { object });
    }
    if let Some((path, found)) = in_runtime {
        let (object, path) = (super::reference(runtime).to_string(), path.clone());
        let origin = match found {
            Some(Value::String(_)) => Origin::Text { object, path },
            _ => Origin::Block { object, path },
        };
        given.missing = origin.place(&FieldPath::root());
        if let Some(found) = found {
            given.add(from_runtime(found, &origin)?, &origin);
        }
    }
    given.checked(params, policy).map(Cow::Owned)
}

/// What is said of parameters, and where.
struct Given {
    values: Value,
    from: Vec<(String, Origin)>,
    /// Where one that is missing would stand.
    missing: Place,
}

/// What holds parameters.
#[derive(Clone)]
enum Origin {
    /// A ConfigMap with a key for each.
    Keys { object: String },
    /// A field with all of them as YAML in a string.
    Text { object: String, path: FieldPath },
    /// A field with all of them.
    Block { object: String, path: FieldPath },
}

impl Given {
    /// Adds values, which go before those that are there.
    fn add(&mut self, more: Value, origin: &Origin) {
        if let (Value::Object(values), Value::Object(more)) = (&mut self.values, more) {
            self.from.extend(more.keys().map(|name| (name.clone(), origin.clone())));
            values.extend(more);
        }
    }

    /// The values with defaults, if the schema allows all of them.
    fn checked(mut self, params: &Params, policy: &Policy) -> Result<Value, Refusal> {
        let mut diagnostics = Vec::new();
        let mut report = |path: &FieldPath, message: String| {
            diagnostics.push(Diagnostic::error(codes::BAD_PARAMETER_VALUE, self.place(path), message));
        };
        let mut values = self.values.clone();
        for path in schema::prune(&params.schemas, params.ty, &mut values) {
            report(&path, format!("the policy `{}` has no parameter `{path}`", policy.name));
        }
        schema::default(&params.schemas, params.ty, &mut values);
        for error in schema::validate(&params.schemas, params.ty, &values, None) {
            let what = format!("parameter {} of policy `{}`", error.path, policy.name);
            report(&error.path, format!("{what}: {}", error.message()));
        }
        self.values = values;
        if diagnostics.is_empty() { Ok(self.values) } else { Err(Refusal::Refused(diagnostics)) }
    }

    /// Where the value of a parameter comes from: the last that says it.
    fn place(&self, path: &FieldPath) -> Place {
        let name = match path.steps().first() {
            Some(Step::Field(name) | Step::Key(name)) => &**name,
            _ => "",
        };
        match self.from.iter().rev().find(|(known, _)| known == name) {
            None => self.missing.clone(),
            Some((_, origin)) => origin.place(path),
        }
    }
}

impl Origin {
    /// The place of the parameter at `path`.
    fn place(&self, path: &FieldPath) -> Place {
        let (object, path) = match self {
            Origin::Keys { object } => {
                let key = path.steps().first().into_iter().cloned();
                (object, key.fold(FieldPath::root().field("data"), FieldPath::then))
            }
            Origin::Text { object, path } => (object, path.clone()),
            Origin::Block { object, path: block } => (object, block.clone().join(path)),
        };
        Place::Field { object: object.clone(), path: path.to_string() }
    }
}

/// One key per parameter; a value is text where the parameter is, else YAML.
fn from_config_map(
    params: &Params,
    reference: &ConfigMapRef,
    snapshot: &Snapshot,
    policy: &Policy,
) -> Result<Value, Refusal> {
    let object = config_map(reference, &snapshot.config);
    let Some(found) = snapshot.others.get(&object) else {
        if reference.optional {
            return Ok(Value::Null);
        }
        let message = format!("{object} with the parameters of policy `{}` is not there", policy.name);
        let place = super::runtime_ref_of(&snapshot.train_job);
        let diagnostic = Diagnostic::error(codes::MISSING_OBJECT, place, message);
        return Err(Refusal::Waiting(Box::new(diagnostic)));
    };
    let data = found.get("data").and_then(Value::as_object);
    let values = data.into_iter().flatten().map(|(name, text)| {
        let ty = params.schemas.child(params.ty, name);
        let is_text =
            ty.is_some_and(|ty| matches!(params.schemas.get(ty).shape, Shape::String(_) | Shape::Quantity));
        let text = text.as_str().unwrap_or_default();
        let place = Place::Field { object: object.to_string(), path: format!("data.{name}") };
        Ok((name.clone(), if is_text { Value::from(text) } else { parse(text, &place)? }))
    });
    Ok(Value::Object(values.collect::<Result<_, Refusal>>()?))
}

/// A block of the runtime, or YAML in an annotation.
fn from_runtime(found: &Value, origin: &Origin) -> Result<Value, Refusal> {
    let place = origin.place(&FieldPath::root());
    let values = match found {
        Value::String(text) => parse(text, &place)?,
        other => other.clone(),
    };
    if values.is_object() || values.is_null() {
        return Ok(values);
    }
    let message = "parameters are a map of their names to values";
    Err(Refusal::Refused(vec![Diagnostic::error(codes::BAD_PARAMETER_VALUE, place, message)]))
}

fn parse(text: &str, place: &Place) -> Result<Value, Refusal> {
    let (documents, diagnostics) = yaml::parse(&Source::new("value", text));
    match (documents.as_slice(), diagnostics.as_slice()) {
        ([], []) => Ok(Value::Null),
        ([one], []) => Ok(one.to_json()),
        _ => {
            let why = diagnostics.first().map_or("more than one document", |it| it.message.as_str());
            let message = format!("not one value in YAML: {why}");
            Err(Refusal::Refused(vec![Diagnostic::error(codes::BAD_PARAMETER_VALUE, place.clone(), message)]))
        }
    }
}
