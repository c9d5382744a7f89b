//! Resources, status and watches: the objects around the pods.

use super::{Checked, Checker, Reported, expression::Loops};
use crate::{
    cel::Type,
    diagnostic::{Diagnostic, codes},
    object::{FieldPath, Gvk},
    policy::{
        compiled::{Expr, Piece, Resource, Status, TakenOver, Template, Update, Watch},
        document::{self, Text},
        fields::wrong_type,
        scope::{Place, slot, types},
    },
    schema::{self, TypeId},
    yaml::{Kind, Node},
};

impl Checker<'_> {
    /// The type of `live.ID`: the object if it exists, or those that exist by name.
    pub(super) fn live_type(&self, resource: &document::Resource) -> Type {
        let text = |name| resource.template.get(name).and_then(Node::as_str).unwrap_or_default();
        let ty = self.schemas.kind(text("apiVersion"), text("kind"));
        let object = ty.map_or(Type::Dyn, |ty| schema::cel_type(&self.schemas, ty));
        if resource.for_each.is_empty() { Type::optional(object) } else { Type::map(Type::String, object) }
    }

    pub(super) fn resource(&mut self, resource: &document::Resource) -> Checked<Resource> {
        let place = Place::Resource;
        let kind = self.resource_kind(&resource.template);
        // The loops decide which objects there are, so like the name they must not depend on what rules change.
        let (compiled, loops) = self.loops(&resource.for_each, Place::ResourceName)?;
        let include_when = self.maybe_condition("includeWhen", resource.include_when.as_ref(), place, &loops);
        let update = match &resource.update {
            document::Update::Always => Ok(Update::Always),
            document::Update::WhenSuspended => Ok(Update::WhenSuspended),
            document::Update::Never => Ok(Update::Never),
            document::Update::When(text) => {
                self.condition("when", text, Place::ResourceName, &loops).map(Update::When)
            }
        };
        let name = self.resource_name(resource, &loops);
        let (kind, ty) = kind?;
        let once = matches!(update, Ok(Update::Never));
        let place = if once { Place::ResourceOnce } else { place };
        let mut template = self.template(&resource.template, ty, place, &loops)?;
        let mut taken_over = Vec::new();
        take_out(&mut template, &FieldPath::root(), &mut taken_over);
        Ok(Resource {
            id: resource.id.as_str().to_owned(),
            span: resource.id.span().clone(),
            kind,
            ty,
            include_when: include_when?,
            loops: compiled,
            update: update?,
            sensitive: resource.sensitive,
            name: name?,
            template,
            taken_over,
        })
    }

    /// What kind of object a template makes. It must be written out: permissions and watches follow from it.
    fn resource_kind(&mut self, template: &Node) -> Checked<(Gvk, Option<TypeId>)> {
        let api_version = self.literal_field(template, "apiVersion");
        let kind = self.literal_field(template, "kind");
        let (api_version, kind) = (api_version?, kind?);
        let ty = self.schemas.kind(api_version.as_str(), kind.as_str());
        if ty.is_none() {
            let message = format!("no schema of {} {} is known", api_version.as_str(), kind.as_str());
            let help = "the template is not checked beyond its expressions; the API server will";
            self.report(Diagnostic::warning(codes::UNKNOWN_KIND, kind.span().clone(), message).help(help));
        } else if ty
            .and_then(|ty| self.schemas.object(ty)?.kind.as_ref())
            .is_some_and(|kind| !kind.namespaced)
        {
            let message = format!("{} lives in no namespace, so no TrainJob can own it", kind.as_str());
            self.error(codes::FORBIDDEN_FIELD, kind.span().clone(), message);
        }
        Ok((Gvk::new(api_version.as_str(), kind.as_str()), ty))
    }

    fn literal_field(&mut self, template: &Node, name: &str) -> Checked<Text> {
        let text = template.get(name).and_then(Text::string).filter(|text| !text.as_str().contains("${"));
        if text.is_none() {
            let span = template.get(name).map_or(&template.span, |node| &node.span);
            let message = format!("the template's `{name}` must be there, and without holes");
            self.error(codes::MISSING_FIELD, span.clone(), message);
        }
        text.ok_or(Reported)
    }

    /// The name of the object, known before any rule has run. The namespace and the owners are not the policy's.
    fn resource_name(&mut self, resource: &document::Resource, loops: &Loops) -> Checked<Vec<Piece>> {
        let metadata = resource.template.get("metadata");
        for field in ["namespace", "ownerReferences"] {
            if let Some(node) = metadata.and_then(|metadata| metadata.get(field)) {
                let message = format!("`metadata.{field}` is the TrainJob's, not the policy's");
                self.error(codes::FORBIDDEN_FIELD, node.span.clone(), message);
            }
        }
        if let Some(node) = resource.template.get("status") {
            let message = "`status` is what the object's own controller says";
            self.error(codes::FORBIDDEN_FIELD, node.span.clone(), message);
        }
        let Some(name) = metadata.and_then(|metadata| metadata.get("name")).and_then(Text::string) else {
            let message = "the template needs `metadata.name`";
            self.error(codes::MISSING_FIELD, resource.template.span.clone(), message);
            return Err(Reported);
        };
        self.pieces(&name, Place::ResourceName, loops)
    }

    pub(super) fn status(&mut self, status: &document::Status) -> Checked<Status> {
        let (place, loops) = (Place::Status, Loops::none());
        let resource =
            self.document.resources.iter().position(|it| it.id.as_str() == status.resource.as_str());
        if resource.is_none() {
            let name = status.resource.as_str();
            let message = format!("the policy has no resource `{name}`");
            let diagnostic =
                Diagnostic::error(codes::UNKNOWN_RESOURCE, status.resource.span().clone(), message);
            let known: Vec<&str> = self.document.resources.iter().map(|it| it.id.as_str()).collect();
            self.report(diagnostic.did_you_mean(name, known));
        }
        let conditions: Vec<Checked<_>> =
            status.conditions.iter().map(|it| self.status_condition(it)).collect();
        let wanted = Some(types().jobs_status);
        let jobs =
            status.jobs_status.as_ref().map(|node| self.template(node, wanted, place, &loops)).transpose();
        Ok(Status {
            resource: resource.ok_or(Reported)?,
            conditions: conditions.into_iter().collect::<Checked<_>>()?,
            jobs: jobs?,
            on_missing: status.on_missing,
        })
    }

    fn status_condition(&mut self, condition: &document::StatusCondition) -> Checked<(String, Expr)> {
        let is_list = |ty: &Type| matches!(ty, Type::List(_));
        let wanted = "a list of conditions";
        let from = self.typed("from", wanted, &condition.from, Place::Status, &Loops::none(), is_list)?;
        Ok((condition.r#type.as_str().to_owned(), from))
    }

    pub(super) fn watch(&mut self, watch: &document::Watch) -> Checked<Watch> {
        let filter = self.maybe_condition("filter", watch.filter.as_ref(), Place::Watch, &Loops::none())?;
        Ok(Watch { kind: self.kind(&watch.kind).0, filter })
    }

    /// JSON Patch operations: a list of maps with `op`, `path` and, as the operation wants, `value` or `from`.
    pub(super) fn json_patch(&mut self, node: &Node, place: Place, loops: &Loops) -> Checked<Template> {
        let Kind::List(items) = &node.kind else {
            self.report(wrong_type(node, "jsonPatch", "a list of operations"));
            return Err(Reported);
        };
        let mut valid = true;
        for item in items {
            valid &= self.patch_operation(item);
        }
        let template = self.template(node, None, place, loops)?;
        valid.then_some(template).ok_or(Reported)
    }

    fn patch_operation(&mut self, item: &Node) -> bool {
        let operation = item.get("op").and_then(Node::as_str).unwrap_or_default();
        let needs: &[&str] = match operation {
            "add" | "replace" | "test" => &["path", "value"],
            "remove" => &["path"],
            "move" | "copy" => &["path", "from"],
            _ => {
                let span = item.get("op").map_or(&item.span, |node| &node.span).clone();
                let message = "`op` is one of add, remove, replace, move, copy, test";
                self.error(codes::UNKNOWN_WORD, span, message);
                return false;
            }
        };
        let missing = needs.iter().find(|name| item.get(name).is_none());
        if let Some(missing) = missing {
            let message = format!("the operation `{operation}` needs `{missing}`");
            self.error(codes::MISSING_FIELD, item.span.clone(), message);
        }
        let known = |key: &str| key == "op" || needs.contains(&key);
        let unknown = item.as_map().and_then(|entries| entries.iter().find(|entry| !known(&entry.key)));
        if let Some(entry) = unknown {
            let message = format!("the operation `{operation}` has no field `{}`", entry.key);
            self.error(codes::UNKNOWN_FIELD, entry.key_span.clone(), message);
        }
        missing.is_none() && unknown.is_none()
    }
}

/// Takes the fields out of a template, of which `path` leads to it, that are a part of the runtime's template as it stands;
/// of parts that overlap only the first.
fn take_out(template: &mut Template, path: &FieldPath, taken: &mut Vec<TakenOver>) {
    let Template::Map { when: None, entries } = template else { return };
    for (field, value) in std::mem::take(entries) {
        let to = path.clone().field(field.as_str());
        match (part(&value, taken), value) {
            (Some(from), Template::Hole(hole)) => taken.push(TakenOver { to, from, hole }),
            (_, mut value) => {
                take_out(&mut value, &to, taken);
                entries.push((field, value));
            }
        }
    }
}

/// The part of the runtime's template that a value is, if it is one and overlaps with none of `taken`.
fn part(value: &Template, taken: &[TakenOver]) -> Option<FieldPath> {
    let Template::Hole(hole) = value else { return None };
    let fields = hole.expr.program.optional_path(slot::TEMPLATE)?;
    let part = fields.into_iter().fold(FieldPath::root(), FieldPath::field);
    let overlaps = |it: &TakenOver| it.from.contains(&part) || part.contains(&it.from);
    (!hole.as_text && !part.is_root() && !taken.iter().any(overlaps)).then_some(part)
}
