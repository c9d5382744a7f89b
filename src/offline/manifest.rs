//! One object on its way in.

use super::locate::{self, located};
use crate::{
    api,
    diagnostic::{Diagnostic, Place, Span, codes},
    object::{FieldPath, Gvk, ObjectRef, metadata},
    policy,
    schema::{self, Schemas, TypeId},
    yaml::Node,
};
use serde_json::{Value, json};

/// What the API server adds to a `generateName` is five letters; these stand for them.
const GENERATED: &str = "xxxxx";

/// An object as an API server would store it, and where it comes from.
#[derive(Debug)]
pub struct Manifest {
    /// Which object it is.
    pub reference: ObjectRef,
    /// The object.
    pub object: Value,
    pub(super) node: Node,
}

impl Manifest {
    /// Its place in the text.
    pub fn span(&self) -> Span {
        locate::head(&self.node)
    }

    /// Where the field at `path` stands in the text, or what comes nearest around it.
    pub fn locate(&self, path: &str) -> Span {
        locate::span(&self.node, path)
    }
}

/// What becomes of an object.
pub(super) enum Admission {
    /// It is stored.
    Accepted(Manifest),
    /// It is a policy, which other checks are for.
    Policy,
    /// It is refused, for a reason that has been reported.
    Refused(Option<ObjectRef>),
    /// It is nothing that a plan could look at.
    Ignored,
}

/// Takes the object in `node` in, as an API server would. `is_flawed` says that its text has errors already.
pub(super) fn admit(
    node: &Node,
    namespace: &str,
    is_flawed: bool,
    diagnostics: &mut Vec<Diagnostic>,
) -> Admission {
    let Some(kind) = kind(node, diagnostics) else { return Admission::Refused(None) };
    let mut object = node.to_json();
    if kind.api_version == policy::API_VERSION && kind.kind == policy::KIND {
        return if is_flawed { Admission::Ignored } else { Admission::Policy };
    }
    let schemas = api::schemas();
    let found = schemas.kind(&kind.api_version, &kind.kind);
    let Some(ty) = found else {
        return match ObjectRef::of(&object) {
            Some(reference) if !is_flawed => {
                Admission::Accepted(Manifest { reference, object, node: node.clone() })
            }
            _ => Admission::Ignored,
        };
    };
    name(schemas, ty, &mut object, namespace);
    let reference = ObjectRef::of(&object);
    let shown = reference.as_ref().map_or_else(|| kind.kind.clone(), ToString::to_string);
    let in_order = store(ty, &mut object, &shown, node, diagnostics);
    match reference {
        Some(reference) if in_order && !is_flawed => {
            Admission::Accepted(Manifest { reference, object, node: node.clone() })
        }
        reference => Admission::Refused(reference),
    }
}

/// Which kind of object it says to be.
fn kind(node: &Node, diagnostics: &mut Vec<Diagnostic>) -> Option<Gvk> {
    let text = |field: &str| node.get(field).and_then(Node::as_str).filter(|text| !text.is_empty());
    let problem = match (node.as_map(), text("kind"), text("apiVersion")) {
        (Some(_), Some(kind), Some(api_version)) => return Some(Gvk::new(api_version, kind)),
        (None, ..) => format!(", but {}", node.type_name()),
        (Some(_), None, _) => ": it has no `kind`".to_owned(),
        (Some(_), Some(_), None) => ": it has no `apiVersion`".to_owned(),
    };
    let span = node.as_map().and_then(<[_]>::first).map_or(&node.span, |entry| &entry.key_span);
    let message = format!("this is no Kubernetes object{problem}");
    diagnostics.push(Diagnostic::error(codes::REFUSED_FIELD, span.clone(), message));
    None
}

/// Gives the object the namespace that its author leaves to the command line, and the name that he leaves to the server.
fn name(schemas: &Schemas, ty: TypeId, object: &mut Value, namespace: &str) {
    let namespaced = schemas.object(ty).and_then(|it| it.kind.as_ref()).is_some_and(|kind| kind.namespaced);
    let has_namespace = metadata(object).namespace().is_some();
    let has_name = metadata(object).name().is_some();
    let Some(Value::Object(metadata)) = object.get_mut("metadata") else { return };
    if namespaced && !has_namespace {
        metadata.insert("namespace".to_owned(), json!(namespace));
    }
    if let (false, Some(Value::String(prefix))) = (has_name, metadata.get("generateName")) {
        let name = format!("{prefix}{GENERATED}");
        metadata.insert("name".to_owned(), json!(name));
    }
}

/// Brings the object into the form in which it is stored, and says whether it can be.
fn store(
    ty: TypeId,
    object: &mut Value,
    shown: &str,
    node: &Node,
    diagnostics: &mut Vec<Diagnostic>,
) -> bool {
    let schemas = api::schemas();
    for path in schema::prune(schemas, ty, object) {
        let mut diagnostic = schema::diagnostics::dropped(schemas, ty, shown, &path);
        if let (Some(span), Place::Field { object, path }) =
            (locate::key_span(node, &path), diagnostic.place.clone())
        {
            diagnostic.place = Place::SourceField { span, object, path };
        }
        diagnostics.push(diagnostic);
    }
    schema::default(schemas, ty, object);
    // Of an amount that cannot be read, why it cannot says more than the server's pattern does.
    let mut errors = schema::unreadable_quantities(schemas, ty, object);
    let unreadable: Vec<FieldPath> = errors.iter().map(|error| error.path.clone()).collect();
    let further = schema::validate(schemas, ty, object, None);
    errors.extend(further.into_iter().filter(|error| !unreadable.contains(&error.path)));
    for error in &errors {
        diagnostics.push(located(schema::diagnostics::refused(shown, error), node));
    }
    errors.is_empty()
}
