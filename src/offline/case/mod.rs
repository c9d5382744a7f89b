//! Cases: folders of plain files that say what shall come of policies. [`Case::run`] is the entry point.
//!
//! What is in a folder tells what it is about; `conformance/README.md` describes the files:
//!
//! | kind | files that tell | what comes out |
//! |---|---|---|
//! | check | `policy.yaml` and no other object | all that is said about it, and what serves |
//! | watch | `events.yaml` | the TrainJobs that each change concerns |
//! | status | `now.yaml` | the TrainJob's status |
//! | render | none of these | the objects to apply, and what is said |
//!
//! Reading and writing files, and showing what differs, are left to the edges.

mod inputs;
mod outcome;
mod writer;

pub use inputs::Inputs;
pub use outcome::{Difference, Outcome};

use super::Manifest;
use crate::{
    diagnostic::{Diagnostic, Place, Source, codes, has_errors},
    object::ObjectRef,
    plan,
    policy::{PolicySet, parse},
    status::{Problem, status},
    yaml::{self, Node},
};
use outcome::shown;
use serde_json::json;
use std::fmt::Write as _;

/// The namespace of objects that name none.
pub const NAMESPACE: &str = "ml";

/// What keys are made of: always the same, so that the same keys come out.
pub const RANDOM: [u8; 32] = *b"the same keys for every run here";

/// What came out in objects and lists.
pub const EXPECTED_OBJECTS: &str = "expected.yaml";
/// What came out in words.
pub const EXPECTED_WORDS: &str = "expected.txt";

const POLICY: &str = "policy.yaml";
const SERVED: &str = "served.yaml";
const CONFIG: &str = "config.yaml";
const OLD: &str = "old.yaml";
const NOW: &str = "now.yaml";
const EVENTS: &str = "events.yaml";

/// A folder of files that belong together.
#[derive(Clone, Debug)]
pub struct Case {
    /// What it is called.
    pub name: String,
    /// Its files, named without the folder, sorted.
    pub files: Vec<Source>,
}

/// What a case is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// What is said about a policy.
    Check,
    /// What TrainJobs become.
    Render,
    /// What a TrainJob's status is.
    Status,
    /// Which TrainJobs a change concerns.
    Watch,
}

impl Case {
    /// What it is about.
    pub fn kind(&self) -> Kind {
        if self.file(EVENTS).is_some() {
            Kind::Watch
        } else if self.file(NOW).is_some() {
            Kind::Status
        } else if self.file(POLICY).is_some() && self.manifests().next().is_none() {
            Kind::Check
        } else {
            Kind::Render
        }
    }

    /// The file of that name.
    pub fn file(&self, name: &str) -> Option<&Source> {
        self.files.iter().find(|file| file.name() == name)
    }

    /// What comes of the case by `policies` and its own. Fails if it says no case: its files cannot be read as what they
    /// are for.
    pub fn run(&self, policies: &PolicySet) -> Result<Outcome, Vec<Diagnostic>> {
        match self.kind() {
            Kind::Check => Ok(self.check(policies)),
            Kind::Render => self.render(policies),
            Kind::Status => self.status(policies),
            Kind::Watch => self.watch(policies),
        }
    }

    /// The files with the objects that there are.
    fn manifests(&self) -> impl Iterator<Item = &Source> {
        const OTHERS: [&str; 8] =
            [POLICY, SERVED, CONFIG, OLD, NOW, EVENTS, EXPECTED_OBJECTS, EXPECTED_WORDS];
        self.files.iter().filter(|file| !OTHERS.contains(&file.name()))
    }

    fn check(&self, policies: &PolicySet) -> Outcome {
        let Some(source) = self.file(POLICY) else { return Outcome::default() };
        let (set, said) = policies.extended([parse(source)]);
        let serving = set.iter().filter(|it| it.span().source() == source).map(|it| it.name().to_owned());
        let serving: Vec<String> = serving.collect();
        let serving = if serving.is_empty() { "none".to_owned() } else { serving.join(", ") };
        let separator = if said.is_empty() { "" } else { "\n" };
        let words = format!("{}{separator}serving: {serving}\n", shown(&said));
        Outcome { files: vec![(EXPECTED_WORDS, Some(words))], plans: Vec::new(), said }
    }

    fn render(&self, policies: &PolicySet) -> Result<Outcome, Vec<Diagnostic>> {
        let (inputs, said) = self.inputs(policies)?;
        if inputs.manifests.found_train_jobs() == 0 {
            let message = "there is no TrainJob in this case, nor any other file that says what it is about";
            return Err(vec![Diagnostic::error(codes::BAD_CASE, Place::Nowhere, message)]);
        }
        let mut outcome = Outcome { said, ..Outcome::default() };
        for train_job in inputs.manifests.train_jobs() {
            match inputs.plan(train_job) {
                Ok(plan) => {
                    outcome.said.extend(plan.warnings.iter().cloned());
                    outcome.plans.push(plan);
                }
                Err(why) => outcome.said.extend(why),
            }
        }
        let objects = outcome.objects(self);
        let words = outcome.words();
        outcome.files = vec![(EXPECTED_OBJECTS, objects), (EXPECTED_WORDS, words)];
        Ok(outcome)
    }

    fn status(&self, policies: &PolicySet) -> Result<Outcome, Vec<Diagnostic>> {
        let (inputs, said) = self.inputs(policies)?;
        if has_errors(&said) {
            return Err(said);
        }
        let (now, problem) = self.now()?;
        let Some(train_job) = inputs.manifests.train_jobs().next() else {
            return Err(vec![Diagnostic::error(codes::BAD_CASE, Place::Nowhere, "there is no TrainJob")]);
        };
        let mut snapshot = inputs.snapshot(train_job)?;
        // Children are observed also where the runtime is gone, without which it cannot be told what is wanted.
        let children = inputs.manifests.iter().map(|it| (it.reference.clone(), it.object.clone()));
        snapshot.live.extend(children);
        let found = match status(&snapshot, &inputs.policies, problem.as_ref(), now) {
            Ok(decision) => json!({
                "status": decision.status,
                "expired": decision.expired,
                "lookAgainSeconds": decision.look_again.map(|it| it.as_secs()),
            }),
            Err(refusal) => json!({ "refused": shown(refusal.diagnostics()) }),
        };
        let files = vec![(EXPECTED_OBJECTS, Some(yaml::emit(&found)))];
        Ok(Outcome { files, plans: Vec::new(), said })
    }

    fn watch(&self, policies: &PolicySet) -> Result<Outcome, Vec<Diagnostic>> {
        let (inputs, said) = self.inputs(policies)?;
        let mut words = String::new();
        for event in self.nodes(EVENTS)? {
            let object = event.to_json();
            let Some(reference) = ObjectRef::of(&object) else {
                return Err(bad(&event, "this is no Kubernetes object: a name or a kind is missing"));
            };
            let is_concerned =
                |job: &&Manifest| plan::concerns(&object, &job.object, &inputs.policies, &inputs.config);
            let jobs = inputs.manifests.train_jobs().filter(is_concerned);
            let jobs: Vec<String> = jobs.map(|job| job.reference.to_string()).collect();
            let jobs = if jobs.is_empty() { "none".to_owned() } else { jobs.join(", ") };
            _ = writeln!(words, "{reference}: {jobs}");
        }
        Ok(Outcome { files: vec![(EXPECTED_WORDS, Some(words))], plans: Vec::new(), said })
    }

    /// The moment of a status, and what kept the TrainJob from being planned or applied.
    fn now(&self) -> Result<(jiff::Timestamp, Option<Problem>), Vec<Diagnostic>> {
        let Some(node) = self.node(NOW)? else {
            return Err(vec![Diagnostic::error(codes::BAD_CASE, Place::Nowhere, "there is no now.yaml")]);
        };
        let written = node.get("now").unwrap_or(&node);
        let Some(now) = written.as_str().and_then(|text| text.parse().ok()) else {
            return Err(bad(written, "`now` must be a moment, like \"2026-01-01T00:00:00Z\""));
        };
        let Some(problem) = node.get("problem") else { return Ok((now, None)) };
        let text = |field: &str| problem.get(field).and_then(Node::as_str).map(str::to_owned);
        let (Some(reason), Some(message)) = (text("reason"), text("message")) else {
            return Err(bad(problem, "a problem has a `reason` and a `message`"));
        };
        let is_final = problem.get("final").and_then(Node::as_bool) == Some(true);
        Ok((now, Some(Problem { reason, message, is_final })))
    }

    /// The one document of a file, if there is the file.
    fn node(&self, file: &'static str) -> Result<Option<Node>, Vec<Diagnostic>> {
        let nodes = self.nodes(file)?;
        match <[Node; 1]>::try_from(nodes) {
            Ok([node]) => Ok(Some(node)),
            Err(nodes) => match (nodes.get(1), self.file(file)) {
                (Some(second), _) => Err(bad(second, "only one document can stand here")),
                (None, Some(source)) => {
                    let problem = Diagnostic::error(codes::BAD_CASE, source.span(0..0), "the file is empty");
                    Err(vec![problem])
                }
                (None, None) => Ok(None),
            },
        }
    }

    fn nodes(&self, file: &str) -> Result<Vec<Node>, Vec<Diagnostic>> {
        let Some(source) = self.file(file) else { return Ok(Vec::new()) };
        let (nodes, problems) = yaml::parse(source);
        if has_errors(&problems) { Err(problems) } else { Ok(nodes) }
    }
}

fn bad(node: &Node, message: &str) -> Vec<Diagnostic> {
    vec![Diagnostic::error(codes::BAD_CASE, node.span.clone(), message)]
}
