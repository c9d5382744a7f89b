//! From documents to policies: names, types, targets, conflicts; every problem reported.
//!
//! [`check`] is the entry point. Expressions are typed against the schemas of what they read, holes against the
//! schemas of the fields they fill; nothing is tried out on made-up data.

pub(super) mod conflicts;
mod expression;
mod fit;
mod resources;
mod rules;
mod templates;
mod variables;
mod writes;

use super::{
    LANGUAGE,
    compiled::{Params, Policy},
    document::{self, Document, KindRef, Text},
    params,
    scope::{self, Place, types},
};
use crate::{
    cel::{self, Bounds, Env, Type},
    diagnostic::{self, Code, Diagnostic, Span, codes},
    object::{FieldPath, Gvk, path::Step},
    schema::{self, Schemas, TypeId},
    yaml::Node,
};
use expression::Loops;
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// Most variables, and most rules of each kind, that a policy may have.
const MAX_RULES: usize = 128;

/// The policy that `document` is, and everything wrong with it in source order: no policy if there is an error, of its
/// meaning or, reported before, of its form.
pub fn check(document: &Document) -> (Option<Policy>, Vec<Diagnostic>) {
    let mut checker = Checker::new(document);
    let policy = checker.policy();
    let mut diagnostics = checker.diagnostics;
    diagnostic::sort(&mut diagnostics);
    let policy = policy.filter(|_| !document.flawed && !diagnostic::has_errors(&diagnostics));
    (policy, diagnostics)
}

/// What is wrong has been reported.
#[derive(Clone, Copy, Debug)]
struct Reported;

type Checked<T> = Result<T, Reported>;

struct Checker<'d> {
    document: &'d Document,
    /// Our types, and the policy's parameters.
    schemas: Arc<Schemas>,
    params: TypeId,
    /// The slots that any expression reads.
    used: BTreeSet<usize>,
    /// The variables that have been checked, with their types; the others are dynamic.
    variables: Vec<(Type, Bounds)>,
    /// Slots of the variables that read what rules change.
    drafty: BTreeSet<usize>,
    diagnostics: Vec<Diagnostic>,
}

impl<'d> Checker<'d> {
    fn new(document: &'d Document) -> Self {
        let mut diagnostics = Vec::new();
        let mut schemas = Schemas::extend(&types().schemas);
        let facts = document.params.as_ref().map(|params| params::facts(&params.schema, &mut diagnostics));
        let facts = facts.unwrap_or_else(|| serde_json::json!({ "type": "object" }));
        let added = schemas.add_facts(Some("params"), &facts);
        let params = added.unwrap_or_else(|error| {
            let span = document.params.as_ref().map_or(&document.span, |params| &params.schema.span);
            diagnostics.push(Diagnostic::error(codes::BAD_PARAMETER, span.clone(), error.to_string()));
            types().pod_set
        });
        let variables = vec![(Type::Dyn, Bounds::default()); document.variables.len()];
        let schemas = Arc::new(schemas);
        Checker {
            document,
            schemas,
            params,
            used: BTreeSet::new(),
            variables,
            drafty: BTreeSet::new(),
            diagnostics,
        }
    }

    fn policy(&mut self) -> Option<Policy> {
        let document = self.document;
        if self.too_many() {
            return None;
        }
        self.language();
        let version = self.version();
        self.names();
        let variables = self.check_variables();
        let activation = document.activation.expression.as_ref();
        let policy = Policy {
            name: document.name.as_str().into(),
            version: semver::Version::new(0, 0, 0),
            span: document.span.clone(),
            order: document.order,
            slot: document.activation.slot.as_ref().map(|(slot, _)| *slot),
            activation: activation
                .and_then(|text| self.condition("expression", text, Place::Activation, &Loops::none()).ok()),
            requires: document.activation.requires.iter().map(|kind| self.kind(kind).0).collect(),
            params: self.check_params(),
            variables,
            validations: document.validations.iter().filter_map(|rule| self.validation(rule).ok()).collect(),
            mutations: self.mutations(),
            resources: document
                .resources
                .iter()
                .filter_map(|resource| self.resource(resource).ok())
                .collect(),
            status: document.status.as_ref().and_then(|status| self.status(status).ok()),
            watches: document.watches.iter().filter_map(|watch| self.watch(watch).ok()).collect(),
            references: document
                .references
                .iter()
                .map(|reference| (reference.name.as_str().to_owned(), self.kind(&reference.kind).0))
                .collect(),
        };
        conflicts::within(&policy, &mut self.diagnostics);
        // What is wrong may be the very expression that uses one.
        if !document.flawed && !diagnostic::has_errors(&self.diagnostics) {
            self.unused_variables();
        }
        version.map(|version| Policy { version, ..policy })
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    fn error(&mut self, code: Code, span: Span, message: impl Into<String>) {
        self.report(Diagnostic::error(code, span, message));
    }

    /// Whether there are more rules than a policy may have. Nothing else is looked at then.
    fn too_many(&mut self) -> bool {
        let Document { variables, validations, mutations, resources, watches, .. } = self.document;
        let first_too_many = [
            ("variables", variables.get(MAX_RULES).map(|it| it.name.span())),
            ("validations", validations.get(MAX_RULES).map(|it| it.name.span())),
            ("mutations", mutations.get(MAX_RULES).map(|it| it.name.span())),
            ("resources", resources.get(MAX_RULES).map(|it| it.id.span())),
            ("watches", watches.get(MAX_RULES).map(|it| it.name.span())),
        ];
        let before = self.diagnostics.len();
        for (what, span) in first_too_many {
            if let Some(span) = span {
                self.error(codes::TOO_MANY, span.clone(), format!("a policy has at most {MAX_RULES} {what}"));
            }
        }
        self.diagnostics.len() > before
    }

    /// An expression that has an error may be the one that uses them.
    fn unused_variables(&mut self) {
        if diagnostic::has_errors(&self.diagnostics) {
            return;
        }
        for (index, variable) in self.document.variables.iter().enumerate() {
            if !self.used.contains(&(scope::NAMES.len() + index)) {
                let message = format!("the variable `{}` is never used", variable.name.as_str());
                self.report(Diagnostic::warning(
                    codes::UNUSED_VARIABLE,
                    variable.name.span().clone(),
                    message,
                ));
            }
        }
    }

    fn language(&mut self) {
        if let Some(language) = &self.document.language
            && language.as_str() != LANGUAGE
        {
            let message = format!("the language `{}` is not known here", language.as_str());
            let diagnostic = Diagnostic::error(codes::BAD_VERSION, language.span().clone(), message);
            self.report(diagnostic.help(format!("this program reads language \"{LANGUAGE}\"")));
        }
    }

    fn version(&mut self) -> Option<semver::Version> {
        let text = self.document.version.as_ref()?;
        match semver::Version::parse(text.as_str()) {
            Ok(version) => Some(version),
            Err(error) => {
                let message = format!("`{}` is no semantic version: {error}", text.as_str());
                let diagnostic = Diagnostic::error(codes::BAD_VERSION, text.span().clone(), message);
                self.report(diagnostic.help("for example `1.0.0`"));
                None
            }
        }
    }

    /// Names are unique among their kind, and identifiers where expressions use them.
    fn names(&mut self) {
        let document = self.document;
        let variables: Vec<&Text> = document.variables.iter().map(|it| &it.name).collect();
        let resources: Vec<&Text> = document.resources.iter().map(|it| &it.id).collect();
        let references: Vec<&Text> = document.references.iter().map(|it| &it.name).collect();
        for name in variables.iter().chain(&resources).chain(&references) {
            self.identifier(name);
        }
        self.unique(variables);
        self.unique(resources);
        self.unique(document.validations.iter().map(|it| &it.name).collect());
        self.unique(document.mutations.iter().map(|it| &it.name).collect());
        self.unique(references);
        self.unique(document.watches.iter().map(|it| &it.name).collect());
    }

    fn unique(&mut self, names: Vec<&Text>) {
        let mut seen: BTreeMap<&str, &Text> = BTreeMap::new();
        for name in names {
            if let Some(first) = seen.insert(name.as_str(), name) {
                let message = format!("the name `{}` is taken", name.as_str());
                let diagnostic = Diagnostic::error(codes::DUPLICATE_NAME, name.span().clone(), message);
                self.report(diagnostic.label(first.span().clone(), "by this one"));
            }
        }
    }

    /// Whether expressions can use `name`; reports it if not.
    fn identifier(&mut self, name: &Text) -> bool {
        let valid = cel::is_identifier(name.as_str());
        if !valid {
            let message = format!("`{}` is no name that expressions can use", name.as_str());
            let diagnostic = Diagnostic::error(codes::BAD_NAME, name.span().clone(), message);
            let help =
                "letters, digits and `_`, not beginning with a digit, and none of the language's own words";
            self.report(diagnostic.help(help));
        }
        valid
    }

    /// The kind, and its type if it is known.
    fn kind(&self, kind: &KindRef) -> (Gvk, Option<TypeId>) {
        let (api_version, kind) = (kind.api_version.as_str(), kind.kind.as_str());
        (Gvk::new(api_version, kind), self.schemas.kind(api_version, kind))
    }

    fn check_params(&mut self) -> Option<Params> {
        let params = self.document.params.as_ref()?;
        let values = params.values.as_ref().map_or_else(|| serde_json::json!({}), Node::to_json);
        if let Some(node) = &params.values {
            self.parameter_values(&values, node);
        }
        let mut defaults = serde_json::json!({});
        schema::default(&self.schemas, self.params, &mut defaults);
        self.parameter_values(&defaults, &params.schema);
        let mut alone = values.clone();
        schema::default(&self.schemas, self.params, &mut alone);
        let enough = schema::validate(&self.schemas, self.params, &alone, None).is_empty();
        let alone = enough.then_some(alone);
        let runtime = params.runtime.as_ref().and_then(|text| match FieldPath::parse(text.as_str()) {
            Ok(path) => Some(path),
            Err(error) => {
                self.error(codes::NO_SUCH_PATH, text.span().clone(), error.to_string());
                None
            }
        });
        let config_map =
            params.config_map.as_ref().map(|map: &document::ConfigMapRef| super::compiled::ConfigMapRef {
                namespace: map.namespace.as_ref().map(|text| text.as_str().to_owned()),
                name: map.name.as_str().to_owned(),
                optional: map.optional,
            });
        Some(Params {
            ty: self.params,
            schemas: Arc::clone(&self.schemas),
            values,
            alone,
            config_map,
            runtime,
        })
    }

    /// Holds values of parameters, which `node` says, against their types. One that is missing may come later.
    fn parameter_values(&mut self, values: &Value, node: &Node) {
        let mut known = values.clone();
        for path in schema::prune(&self.schemas, self.params, &mut known) {
            let message = format!("the policy has no parameter `{path}`");
            self.error(codes::UNKNOWN_FIELD, at(node, &path).span.clone(), message);
        }
        let errors = schema::validate(&self.schemas, self.params, &known, None);
        for error in errors.into_iter().filter(|error| error.reason != schema::validate::Reason::Required) {
            let message = format!("{}: {}", error.path, error.message());
            self.error(codes::BAD_PARAMETER, at(node, &error.path).span.clone(), message);
        }
    }

    /// The environment at `place`, within `loops`.
    fn env(&self, place: Place, loops: &Loops) -> Env {
        let mut env = scope::base(place, &self.schemas, self.params);
        for (variable, (ty, bounds)) in self.document.variables.iter().zip(&self.variables) {
            let name = format!("variables.{}", variable.name.as_str());
            env.declare(if place.has_variables() { name } else { String::new() }, ty, bounds.clone());
        }
        for resource in &self.document.resources {
            let ty = self.live_type(resource);
            let name = format!("live.{}", resource.id.as_str());
            env.declare(if place.has_live() { name } else { String::new() }, &ty, Bounds::default());
        }
        for reference in &self.document.references {
            let ty = self.kind(&reference.kind).1.map_or(Type::Dyn, |ty| schema::cel_type(&self.schemas, ty));
            let name = format!("objects.{}", reference.name.as_str());
            let name = if place.has_live() { name } else { String::new() };
            env.declare(name, &Type::map(Type::String, ty), Bounds::default());
        }
        loops.declare(&mut env);
        env
    }
}

/// The node at `path` below `node`, or the last on the way there.
fn at<'n>(node: &'n Node, path: &FieldPath) -> &'n Node {
    let step = |node: &'n Node, step: &Step| match step {
        Step::Field(name) | Step::Key(name) => node.get(name),
        Step::Index(index) => node.as_list()?.get(*index),
        Step::Item(_) => None,
    };
    path.steps().iter().try_fold(node, |node, it| step(node, it).ok_or(node)).unwrap_or_else(|last| last)
}
