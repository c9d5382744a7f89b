//! TrainJobs with their runtimes, and what would be applied for them.
//!
//! A case has any number of `*.yaml` with the objects, of which a reviewer can `kubectl apply` those that are no children
//! of a TrainJob, and of these files those that it needs:
//!
//! | file | what |
//! |---|---|
//! | `policy.yaml` | policies besides the built-in ones |
//! | `served.yaml` | the only kinds that the cluster serves, a list of `apiVersion` and `kind` |
//! | `old.yaml` | the TrainJob before an update |
//! | `expected.yaml` | the objects to apply, in order |
//! | `expected.txt` | what is said: warnings, or why there is nothing to apply |
//!
//! The ConfigMap that pins the runtime is in every plan and so left out where it is not all there
//! is, but in the cases of `pin/`. Every rule of the
//! built-in policies must be reached by a case, and every code that plans have.

use crate::{
    explain::writers,
    support::{Case, RANDOM, Report, cases, namespace, policies, shown},
};
use serde_json::Value;
use std::collections::BTreeSet;
use trainmaster::{
    diagnostic::{Diagnostic, Label, codes::ALL},
    object::{Gvk, ObjectRef},
    offline::{self, Manifest, Manifests},
    plan::{self, Child, Config, Plan, Served, Snapshot},
    policy::{Document, PolicySet, builtin, parse},
    yaml,
};

/// Files that are no manifests.
const OTHERS: [&str; 5] = ["policy.yaml", "served.yaml", "old.yaml", "expected.yaml", "expected.txt"];

#[test]
fn train_jobs_are_planned_as_written_and_every_rule_and_code_is_reached() {
    let mut report = Report::new();
    let (mut reached, mut codes) = (BTreeSet::new(), BTreeSet::new());
    for case in cases("render") {
        let outcome = match Outcome::of(&case) {
            Ok(outcome) => outcome,
            Err(problem) => {
                report.problem(&problem);
                continue;
            }
        };
        reached.extend(outcome.rules());
        codes.extend(outcome.said.iter().map(|it| it.code));
        let files = [("expected.yaml", outcome.objects(&case)), ("expected.txt", outcome.said())];
        report.compare(&case, &files, |expected, found| writers(expected, found, &outcome.plans));
    }
    for rule in rules() {
        if !reached.contains(&rule) {
            report.problem(&format!("no case of conformance/render reaches {}", rule.join(" ")));
        }
    }
    for code in ALL.iter().filter(|it| is_of_plans(it.id) && !codes.contains(it)) {
        report.problem(&format!("no case of conformance/render produces {code}"));
    }
    report.finish();
}

fn is_of_plans(id: &str) -> bool {
    id >= "TM0500" || matches!(id, "TM0220" | "TM0221")
}

/// What becomes of a case.
#[derive(Default)]
struct Outcome {
    said: Vec<Diagnostic>,
    plans: Vec<Plan>,
}

impl Outcome {
    fn of(case: &Case) -> Result<Outcome, String> {
        let (inputs, said) = Inputs::of(case)?;
        let mut outcome = Outcome { said, plans: Vec::new() };
        for train_job in inputs.manifests.train_jobs() {
            match inputs.plan(train_job) {
                Ok(plan) => {
                    outcome.said.extend(plan.warnings.iter().cloned());
                    outcome.plans.push(plan);
                }
                Err(why) => outcome.said.extend(why),
            }
        }
        Ok(outcome)
    }

    /// The objects to apply, one document each.
    fn objects(&self, case: &Case) -> Option<String> {
        let all = case.name.starts_with("pin/");
        let children = self.plans.iter().flat_map(|plan| {
            let only = plan.children.len() == 1;
            plan.children.iter().filter(move |child| all || only || !child.policy.is_empty())
        });
        let documents: Vec<String> = children.map(document).collect();
        (!documents.is_empty()).then(|| documents.join("---\n"))
    }

    fn said(&self) -> Option<String> {
        let nothing = self.plans.iter().all(|plan| plan.children.is_empty());
        match (self.said.is_empty(), nothing) {
            (true, false) => None,
            (true, true) => Some("nothing to apply\n".to_owned()),
            (false, _) => Some(shown(&self.said)),
        }
    }

    /// The rules that did something, each as sort, policy and name.
    fn rules(&self) -> BTreeSet<Rule> {
        let mut rules = BTreeSet::new();
        for plan in &self.plans {
            let written = plan.trace.writes();
            rules.extend(
                written.map(|it| ["mutation".to_owned(), it.policy().to_owned(), it.rule().to_owned()]),
            );
            let resource = |it: &Child| ["resource".to_owned(), it.policy.clone(), it.resource.clone()];
            rules.extend(plan.children.iter().map(resource));
        }
        let labels = self.said.iter().flat_map(|it| &it.labels);
        rules.extend(labels.filter_map(validation));
        rules
    }
}

/// What goes into the plans of a case.
pub struct Inputs {
    pub manifests: Manifests,
    pub policies: PolicySet,
    served: Option<Served>,
    old: Option<Value>,
}

impl Inputs {
    /// The files of a case, and what is said about its manifests.
    pub fn of(case: &Case) -> Result<(Inputs, Vec<Diagnostic>), String> {
        let files = case.files().into_iter().filter(|file| !OTHERS.contains(&file.as_str()));
        let sources: Vec<_> = files.filter_map(|file| case.source(&file)).collect();
        let (manifests, said) = offline::read(&sources, namespace());
        let kinds = |list: Value| list.as_array().unwrap().iter().map(|it| Gvk::of(it).unwrap()).collect();
        let served = case.tree("served.yaml").map(|list| Served::Only(kinds(list)));
        Ok((Inputs { manifests, policies: policies(case)?, served, old: case.tree("old.yaml") }, said))
    }

    /// What a plan for the TrainJob may know.
    pub fn snapshot(&self, train_job: &Manifest) -> Result<Snapshot, Vec<Diagnostic>> {
        let config = Config::default();
        let mut snapshot = self.manifests.snapshot(train_job, &self.policies, &config, Some(RANDOM))?;
        snapshot.old_train_job.clone_from(&self.old);
        snapshot.served = self.served.clone().unwrap_or(snapshot.served);
        Ok(snapshot)
    }

    fn plan(&self, train_job: &Manifest) -> Result<Plan, Vec<Diagnostic>> {
        if self.served.is_none() && self.old.is_none() {
            return self.manifests.plan(train_job, &self.policies, &Config::default(), Some(RANDOM));
        }
        let snapshot = self.snapshot(train_job)?;
        plan::plan(&snapshot, &self.policies).map_err(|refusal| refusal.diagnostics().to_vec())
    }
}

fn document(child: &Child) -> String {
    assert_eq!(ObjectRef::of(&child.object).as_ref(), Some(&child.reference));
    let mut object = child.object.clone();
    if child.sensitive {
        mask(&mut object);
    }
    yaml::emit(&object)
}

/// Says of secret values only how long they are: a key in a file looks like one that somebody uses.
fn mask(object: &mut Value) {
    for field in ["data", "stringData"] {
        for (_, value) in object.get_mut(field).and_then(Value::as_object_mut).into_iter().flatten() {
            *value = format!("({} secret characters)", value.as_str().unwrap().chars().count()).into();
        }
    }
}

/// Sort, policy and name.
type Rule = [String; 3];

/// The rules of the built-in policies.
fn rules() -> Vec<Rule> {
    documents().iter().flat_map(rules_of).collect()
}

fn documents() -> Vec<Document> {
    builtin::sources().flat_map(|source| parse(&source).0).collect()
}

fn rules_of(document: &Document) -> Vec<Rule> {
    let rule = |sort: &str, name: &str| [sort, document.name.as_str(), name].map(str::to_owned);
    let mutations = document.mutations.iter().map(|it| rule("mutation", it.name.as_str()));
    let validations = document.validations.iter().map(|it| rule("validation", it.name.as_str()));
    let resources = document.resources.iter().map(|it| rule("resource", it.id.as_str()));
    mutations.chain(validations).chain(resources).collect()
}

/// The built-in validation that a diagnostic points at.
fn validation(label: &Label) -> Option<Rule> {
    let is_meant = |span: &trainmaster::diagnostic::Span| {
        span.start() == label.span.start() && span.source().name() == label.span.source().name()
    };
    documents().iter().find_map(|document| {
        let found = document.validations.iter().find(|it| is_meant(it.name.span()))?;
        Some(["validation", document.name.as_str(), found.name.as_str()].map(str::to_owned))
    })
}

#[test]
fn a_field_that_differs_is_traced_to_its_rule() {
    let case = cases("render").into_iter().find(|case| case.name == "torch/two-nodes").unwrap();
    let outcome = Outcome::of(&case).unwrap();
    let found = outcome.objects(&case).unwrap();
    let differs = |from: &str, to: &str| {
        let expected = found.replace(from, to);
        assert_ne!(expected, found);
        writers(&expected, &found, &outcome.plans)
    };
    let port = differs("value: \"29500\"", "value: \"1\"");
    assert!(port.contains("env[name=PET_MASTER_PORT].value is set by `master` of policy `torch`"), "{port}");
    let count = differs("parallelism: 2", "parallelism: 3");
    assert!(count.contains("parallelism is set by `nodes` of policy `torch`"), "{count}");
    let subdomain = differs("restartPolicy: Never", "restartPolicy: Always");
    assert!(subdomain.contains("restartPolicy is the runtime's"), "{subdomain}");
}
