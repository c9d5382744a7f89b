//! Parameters: defaults, then the policy's values, then a ConfigMap's, then the runtime's.

use super::{
    Refusal,
    snapshot::{Config, Snapshot},
};
use crate::{
    diagnostic::{Diagnostic, Place, Source, codes},
    object::{Gvk, ObjectRef},
    policy::compiled::{ConfigMapRef, Params, Policy},
    schema::{self, Shape},
    yaml,
};
use serde_json::{Map, Value};

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
pub(crate) fn params(
    policy: &Policy,
    snapshot: &Snapshot,
    runtime: &Value,
    runtime_ref: &ObjectRef,
) -> Result<Value, Refusal> {
    let Some(params) = &policy.params else { return Ok(Value::Object(Map::new())) };
    let mut values = params.values.clone();
    if let Some(reference) = &params.config_map {
        merge(&mut values, from_config_map(params, reference, snapshot, policy)?);
    }
    let mut place = Place::Source(policy.span.clone());
    if let Some(path) = &params.runtime {
        place = Place::Field { object: runtime_ref.to_string(), path: path.to_string() };
        if let Some(found) = path.get(runtime) {
            merge(&mut values, from_runtime(found, &place)?);
        }
    }
    schema::default(&params.schemas, params.ty, &mut values);
    let errors = schema::validate(&params.schemas, params.ty, &values, None);
    let diagnostics: Vec<Diagnostic> = errors
        .into_iter()
        .map(|error| {
            let message =
                format!("parameter {} of policy `{}`: {}", error.path, policy.name, error.message());
            Diagnostic::error(codes::BAD_PARAMETER_VALUE, place.clone(), message)
        })
        .collect();
    if diagnostics.is_empty() { Ok(values) } else { Err(Refusal::Refused(diagnostics)) }
}

fn merge(values: &mut Value, more: Value) {
    if let (Value::Object(values), Value::Object(more)) = (values, more) {
        values.extend(more);
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
        let diagnostic = Diagnostic::error(codes::MISSING_OBJECT, Place::Nowhere, message);
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
fn from_runtime(found: &Value, place: &Place) -> Result<Value, Refusal> {
    match found {
        Value::String(text) => parse(text, place),
        other => Ok(other.clone()),
    }
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
