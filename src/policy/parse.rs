//! From YAML to documents: the form of a policy, every problem of it reported, in source order.

use super::{
    document::{
        Activation, ConfigMapRef, ContainerSelector, ContainerType, Document, ForEach, KindRef, Message,
        Mutation, OnConflict, OnMissing, OnNoMatch, Params, Phase, Reference, Resource, Selector, Slot,
        Status, StatusCondition, Text, Update, Validation, Variable, Watch,
    },
    fields::Fields,
};
use crate::{
    diagnostic::{self, Diagnostic, Reason, Source, codes},
    yaml::{self, Node},
};

/// `apiVersion` of a policy.
pub const API_VERSION: &str = "policy.trainmaster.dev/v1alpha1";
/// The language that policies are written in, `spec.language`.
pub const LANGUAGE: &str = "1";
/// `kind` of a policy.
pub const KIND: &str = "TrainingPolicy";

/// The policies of `source`, and everything wrong with their form. A document that lacks what makes it a policy (its
/// kind, name or spec) is left out; any other is returned with its readable parts, so that they can be checked too.
pub fn parse(source: &Source) -> (Vec<Document>, Vec<Diagnostic>) {
    let (nodes, mut diagnostics) = yaml::parse(source);
    let problems = diagnostics.clone();
    let mut documents = Vec::new();
    for (index, node) in nodes.iter().enumerate() {
        // What the parser leaves out of a value, as it does with a key that stands twice, lies outside its span.
        let end = nodes.get(index + 1).map_or(usize::MAX, |next| next.span.start());
        let extent = node.span.start()..end;
        // A document that has come to its end has no error of syntax: that is one of what follows.
        let is_its_own = |it: &&Diagnostic| {
            it.is_error()
                && it.code != codes::YAML_SYNTAX
                && it.place.span().is_some_and(|span| extent.contains(&span.start()))
        };
        let flawed = problems.iter().any(|it| is_its_own(&it));
        let (document, found) = parse_node(node);
        diagnostics.extend(found);
        documents.extend(document.map(|it| Document { flawed: it.flawed || flawed, ..it }));
    }
    diagnostic::sort(&mut diagnostics);
    (documents, diagnostics)
}

/// The same of a document that is already read as YAML.
pub fn parse_node(node: &Node) -> (Option<Document>, Vec<Diagnostic>) {
    let mut diagnostics = Vec::new();
    let mut document = document(node, &mut diagnostics);
    if let Some(document) = &mut document {
        document.flawed = diagnostic::has_errors(&diagnostics);
    }
    diagnostic::sort(&mut diagnostics);
    (document, diagnostics)
}

fn document(node: &Node, diagnostics: &mut Vec<Diagnostic>) -> Option<Document> {
    let mut fields = Fields::of(node, "document", diagnostics)?;
    expect(&mut fields, "apiVersion", API_VERSION)?;
    expect(&mut fields, "kind", KIND)?;
    let metadata = fields.required("metadata");
    let spec = fields.required("spec");
    fields.finish();
    let name = metadata.and_then(|node| self::metadata(node, diagnostics));
    let mut document = self::spec(spec?, name?, diagnostics)?;
    document.span = node.span.clone();
    Some(document)
}

fn expect(fields: &mut Fields, name: &'static str, wanted: &str) -> Option<()> {
    let node = fields.required(name)?;
    if node.as_str() == Some(wanted) {
        return Some(());
    }
    let message = format!("this is no policy: `{name}` is not `{wanted}`");
    fields.report(Diagnostic::error(codes::NOT_A_POLICY, node.span.clone(), message));
    None
}

fn metadata(node: &Node, diagnostics: &mut Vec<Diagnostic>) -> Option<Text> {
    let mut fields = Fields::of(node, "metadata", diagnostics)?;
    let name = fields.required_text("name");
    // What a cluster adds when a policy is read back from it.
    for other in [
        "labels",
        "annotations",
        "namespace",
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "managedFields",
        "ownerReferences",
        "finalizers",
    ] {
        fields.get(other);
    }
    fields.finish();
    let name = name?;
    if !is_name(name.as_str()) {
        let message = format!("`{}` is not a valid name", name.as_str());
        let help = "lower-case letters, digits and `-`, beginning with a letter, at most 63 characters";
        diagnostics.push(Diagnostic::error(codes::BAD_NAME, name.span().clone(), message).help(help));
    }
    Some(name)
}

/// A DNS label that begins with a letter: policy names become labels and metric values.
fn is_name(name: &str) -> bool {
    name.len() <= 63
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && !name.ends_with('-')
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

fn spec(node: &Node, name: Text, diagnostics: &mut Vec<Diagnostic>) -> Option<Document> {
    let mut fields = Fields::of(node, "spec", diagnostics)?;
    let (version, language) = (fields.required_text("version"), fields.required_text("language"));
    let activation = fields.get("activation").map(|node| activation(node, fields.diagnostics()));
    let params = fields.get("params").and_then(|node| params(node, fields.diagnostics()));
    let status = fields.get("status").and_then(|node| status(node, fields.diagnostics()));
    let document = Document {
        version,
        language,
        span: node.span.clone(),
        flawed: false,
        name,
        description: fields.text("description"),
        links: fields.texts("links"),
        order: fields.integer("order"),
        activation: activation.unwrap_or_default(),
        params,
        references: fields.items("references", reference),
        variables: fields.items("variables", variable),
        validations: fields.items("validations", validation),
        mutations: fields.items("mutations", mutation),
        resources: fields.items("resources", resource),
        status,
        watches: fields.items("watches", watch),
    };
    fields.finish();
    Some(document)
}

fn activation(node: &Node, diagnostics: &mut Vec<Diagnostic>) -> Activation {
    let Some(mut fields) = Fields::of(node, "activation", diagnostics) else { return Activation::default() };
    let slots = [
        ("mlPolicy", Slot::MlPolicy),
        ("podGroupPolicy", Slot::PodGroupPolicy),
        ("podSpec", Slot::PodSpec),
        ("workload", Slot::Workload),
    ];
    let activation = Activation {
        slot: fields.word("slot", &slots),
        expression: fields.expression("expression"),
        requires: fields.items("requires", |node, diagnostics| {
            let mut fields = Fields::of(node, "requires", diagnostics)?;
            let kind = kind_ref(&mut fields);
            fields.finish();
            kind
        }),
    };
    fields.finish();
    activation
}

fn kind_ref(fields: &mut Fields) -> Option<KindRef> {
    let (api_version, kind) = (fields.required_text("apiVersion"), fields.required_text("kind"));
    Some(KindRef { api_version: api_version?, kind: kind? })
}

fn params(node: &Node, diagnostics: &mut Vec<Diagnostic>) -> Option<Params> {
    let mut fields = Fields::of(node, "params", diagnostics)?;
    let schema = fields.required("schema").cloned();
    let config_map = fields.get("configMap").and_then(|node| config_map(node, fields.diagnostics()));
    let (values, runtime) = (fields.get("values").cloned(), fields.text("runtime"));
    fields.finish();
    Some(Params { schema: schema?, values, config_map, runtime })
}

fn config_map(node: &Node, diagnostics: &mut Vec<Diagnostic>) -> Option<ConfigMapRef> {
    let mut fields = Fields::of(node, "configMap", diagnostics)?;
    let (name, namespace) = (fields.required_text("name"), fields.text("namespace"));
    let optional = fields.flag("optional");
    fields.finish();
    Some(ConfigMapRef { name: name?, namespace, optional })
}

fn reference(node: &Node, diagnostics: &mut Vec<Diagnostic>) -> Option<Reference> {
    let mut fields = Fields::of(node, "references", diagnostics)?;
    let (name, kind) = (fields.required_text("name"), kind_ref(&mut fields));
    fields.finish();
    Some(Reference { name: name?, kind: kind? })
}

fn variable(node: &Node, diagnostics: &mut Vec<Diagnostic>) -> Option<Variable> {
    let mut fields = Fields::of(node, "variables", diagnostics)?;
    let (name, expression) = (fields.required_text("name"), fields.required_expression("expression"));
    fields.finish();
    Some(Variable { name: name?, expression: expression? })
}

fn for_each(node: &Node, diagnostics: &mut Vec<Diagnostic>) -> Option<ForEach> {
    let mut fields = Fields::of(node, "forEach", diagnostics)?;
    let (var, index) = (fields.required_text("var"), fields.text("index"));
    let items = fields.required_expression("in");
    fields.finish();
    Some(ForEach { var: var?, index, items: items? })
}

fn validation(node: &Node, diagnostics: &mut Vec<Diagnostic>) -> Option<Validation> {
    let mut fields = Fields::of(node, "validations", diagnostics)?;
    let reasons = [
        ("Invalid", Reason::Invalid),
        ("Forbidden", Reason::Forbidden),
        ("Required", Reason::Required),
        ("Duplicate", Reason::Duplicate),
        ("NotSupported", Reason::NotSupported),
    ];
    let name = fields.required_text("name");
    let (when, for_each) = (fields.expression("when"), fields.items("forEach", for_each));
    let (path, value) = (fields.required_text("path"), fields.expression("value"));
    let expression = fields.required_expression("expression");
    let message = message(&mut fields);
    let reason = fields.word("reason", &reasons).map_or(Reason::Invalid, |(reason, _)| reason);
    let phases = [("template", Phase::Template), ("override", Phase::Override)];
    let phase = fields.word("phase", &phases).map_or(Phase::Template, |(phase, _)| phase);
    let severities = [("Error", false), ("Warning", true)];
    let warning = fields.word("severity", &severities).is_some_and(|(warning, _)| warning);
    fields.finish();
    let (name, path, expression) = (name?, path?, expression?);
    Some(Validation { name, phase, when, for_each, path, value, expression, message, reason, warning })
}

fn message(fields: &mut Fields) -> Message {
    match (fields.text("message"), fields.expression("messageExpression")) {
        (Some(fixed), None) => Message::Fixed(fixed),
        (None, Some(expression)) => Message::Expression(expression),
        (None, None) => Message::None,
        (Some(fixed), Some(expression)) => {
            let message = "`message` and `messageExpression` exclude each other";
            let diagnostic = Diagnostic::error(codes::EXCLUSIVE_FIELDS, expression.span().clone(), message);
            fields.report(diagnostic.label(fixed.span().clone(), "the other one"));
            Message::Fixed(fixed)
        }
    }
}

fn mutation(node: &Node, diagnostics: &mut Vec<Diagnostic>) -> Option<Mutation> {
    let mut fields = Fields::of(node, "mutations", diagnostics)?;
    let phases = [
        ("template", Phase::Template),
        ("ml", Phase::Ml),
        ("podGroup", Phase::PodGroup),
        ("podSpec", Phase::PodSpec),
        ("override", Phase::Override),
    ];
    let name = fields.required_text("name");
    let has_phase = fields.required("phase").is_some();
    let phase = fields.word("phase", &phases).map(|(phase, _)| phase);
    let pod_sets = fields.get("podSets").and_then(|node| selector(node, fields.diagnostics()));
    let containers = fields.get("containers").and_then(|node| container_selector(node, fields.diagnostics()));
    let on_no_match = fields
        .word("onNoMatch", &[("Ignore", OnNoMatch::Ignore), ("Fail", OnNoMatch::Fail)])
        .map(|(word, _)| word);
    let conflicts =
        [("Fail", OnConflict::Fail), ("Override", OnConflict::Override), ("Keep", OnConflict::Keep)];
    let mutation = Mutation {
        phase: phase.unwrap_or(Phase::Ml),
        when: fields.expression("when"),
        for_each: fields.items("forEach", for_each),
        on_no_match: on_no_match.unwrap_or(OnNoMatch::Ignore),
        on_conflict: fields.word("onConflict", &conflicts).map_or(OnConflict::Fail, |(word, _)| word),
        set: fields.get("set").cloned(),
        append: fields.get("append").cloned(),
        upsert: fields.get("upsert").cloned(),
        remove: fields.texts("remove"),
        json_patch: fields.get("jsonPatch").cloned(),
        span: node.span.clone(),
        pod_sets,
        containers,
        name: name?,
    };
    operations(&mutation, &mut fields);
    fields.finish();
    has_phase.then_some(mutation)
}

/// A mutation does something, and containers are those of PodSets.
fn operations(mutation: &Mutation, fields: &mut Fields) {
    let Mutation { set, append, upsert, remove, json_patch, .. } = mutation;
    if [set, append, upsert, json_patch].iter().all(|node| node.is_none()) && remove.is_empty() {
        let message = format!("the mutation `{}` does nothing", mutation.name.as_str());
        let help = "it needs at least one of set, append, upsert, remove, jsonPatch";
        fields.report(
            Diagnostic::error(codes::MISSING_FIELD, mutation.name.span().clone(), message).help(help),
        );
    }
    if mutation.containers.is_some() && mutation.pod_sets.is_none() {
        let message = "`containers` selects within PodSets: `podSets` is missing";
        let help = "`podSets: {all: true}` selects every PodSet";
        fields.report(
            Diagnostic::error(codes::MISSING_FIELD, mutation.name.span().clone(), message).help(help),
        );
    }
}

fn selector(node: &Node, diagnostics: &mut Vec<Diagnostic>) -> Option<Selector> {
    let mut fields = Fields::of(node, "podSets", diagnostics)?;
    let selector = Selector {
        name: fields.text("name"),
        ancestor: fields.text("ancestor"),
        condition: fields.expression("where"),
        first: fields.flag("first"),
        span: node.span.clone(),
    };
    let Selector { name, ancestor, condition, .. } = &selector;
    let narrows = name.is_some() || ancestor.is_some() || condition.is_some();
    selects(&mut fields, node, narrows);
    fields.finish();
    Some(selector)
}

/// A selector says which, or says all: an empty one is more often a mistake than meant.
fn selects(fields: &mut Fields, node: &Node, narrows: bool) {
    let says_all = fields.flag("all");
    let is_readable = node.get("all").is_none_or(|all| all.as_bool().is_some());
    if is_readable && says_all == narrows {
        let message =
            if narrows { "`all` excludes the other selectors" } else { "the selector selects nothing" };
        let help = "say `all: true`, or one or more of name, ancestor, where";
        fields.report(Diagnostic::error(codes::EXCLUSIVE_FIELDS, node.span.clone(), message).help(help));
    }
}

fn container_selector(node: &Node, diagnostics: &mut Vec<Diagnostic>) -> Option<ContainerSelector> {
    let mut fields = Fields::of(node, "containers", diagnostics)?;
    let types = [("Main", ContainerType::Main), ("Init", ContainerType::Init), ("Any", ContainerType::Any)];
    let selector = ContainerSelector {
        name: fields.text("name"),
        condition: fields.expression("where"),
        of: fields.word("type", &types).map_or(ContainerType::Main, |(of, _)| of),
        first: fields.flag("first"),
    };
    let narrows = selector.name.is_some() || selector.condition.is_some();
    selects(&mut fields, node, narrows);
    fields.finish();
    Some(selector)
}

fn resource(node: &Node, diagnostics: &mut Vec<Diagnostic>) -> Option<Resource> {
    let mut fields = Fields::of(node, "resources", diagnostics)?;
    let id = fields.required_text("id");
    let template = fields.required("template").cloned();
    let update = fields.get("apply").and_then(|node| apply(node, fields.diagnostics()));
    let include_when = fields.expression("includeWhen");
    let for_each = fields.items("forEach", for_each);
    let sensitive = fields.flag("sensitive");
    fields.finish();
    let update = update.unwrap_or(Update::Always);
    Some(Resource { id: id?, include_when, for_each, update, sensitive, template: template? })
}

fn apply(node: &Node, diagnostics: &mut Vec<Diagnostic>) -> Option<Update> {
    let mut fields = Fields::of(node, "apply", diagnostics)?;
    let words =
        [("Always", Update::Always), ("WhenSuspended", Update::WhenSuspended), ("Never", Update::Never)];
    let update = match fields.required("update") {
        Some(node) if node.as_map().is_some() => update_when(node, fields.diagnostics()),
        _ => fields.word("update", &words).map(|(update, _)| update),
    };
    fields.finish();
    update
}

fn update_when(node: &Node, diagnostics: &mut Vec<Diagnostic>) -> Option<Update> {
    let mut fields = Fields::of(node, "update", diagnostics)?;
    let when = fields.required_expression("when");
    fields.finish();
    when.map(Update::When)
}

fn status(node: &Node, diagnostics: &mut Vec<Diagnostic>) -> Option<Status> {
    let mut fields = Fields::of(node, "status", diagnostics)?;
    let resource = fields.required_text("resource");
    let conditions = fields.items("conditions", |node, diagnostics| {
        let mut fields = Fields::of(node, "conditions", diagnostics)?;
        let (r#type, from) = (fields.required_text("type"), fields.required_expression("from"));
        fields.finish();
        Some(StatusCondition { r#type: r#type?, from: from? })
    });
    let jobs_status = fields.get("jobsStatus").cloned();
    let words = [("Keep", OnMissing::Keep), ("Clear", OnMissing::Clear)];
    let on_missing = fields.word("onMissing", &words).map_or(OnMissing::Keep, |(word, _)| word);
    fields.finish();
    Some(Status { resource: resource?, conditions, jobs_status, on_missing })
}

fn watch(node: &Node, diagnostics: &mut Vec<Diagnostic>) -> Option<Watch> {
    let mut fields = Fields::of(node, "watches", diagnostics)?;
    let (name, kind) = (fields.required_text("name"), kind_ref(&mut fields));
    let filter = fields.expression("filter");
    fields.finish();
    Some(Watch { name: name?, kind: kind?, filter })
}
