//! What the project ships besides policies: the runtimes that the chart installs, and the examples, of runtimes of their own
//! or of the chart's. An API server takes them as they are, and the TrainJobs become JobSets about which there is nothing to
//! say.

use crate::support::{NAMESPACE, RANDOM, shown};
use std::{fs, path::PathBuf};
use trainmaster::{diagnostic::Source, offline, plan::Config, policy::PolicySet};

/// The files of a folder of the tree, or its folders.
fn entries(folder: &str) -> Vec<PathBuf> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut entries: Vec<_> = fs::read_dir(root).unwrap().map(|it| it.unwrap().path()).collect();
    entries.retain(|path| !path.ends_with("Kustomization"));
    entries.sort();
    entries
}

fn source(path: &PathBuf) -> Source {
    Source::new(path.display().to_string(), fs::read_to_string(path).unwrap())
}

/// What is wrong with the plans of the TrainJobs in `sources`, or with what they are made of.
fn problems(sources: &[Source]) -> String {
    let (manifests, mut said) = offline::read(sources, NAMESPACE);
    let (policies, config) = (PolicySet::builtin(), Config::default());
    let mut job_sets = 0;
    for train_job in manifests.train_jobs() {
        match manifests.plan(train_job, &policies, &config, Some(RANDOM)) {
            Ok(plan) => {
                job_sets += plan.children.iter().filter(|child| child.workload).count();
                said.extend(plan.warnings);
            }
            Err(why) => said.extend(why),
        }
    }
    match (said.as_slice(), job_sets) {
        ([], 0) => "no JobSet\n".to_owned(),
        _ => shown(&said),
    }
}

#[test]
fn shipped_runtimes_are_taken_whole_and_run_a_train_job_that_says_nothing() {
    let mut found = String::new();
    for path in entries("charts/trainmaster/runtimes") {
        let name = path.file_stem().unwrap().to_str().unwrap();
        let train_job = format!(
            "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {{name: minimal}}\n\
             spec:\n  runtimeRef: {{name: {name}}}\n"
        );
        found += &problems(&[source(&path), Source::new(format!("a TrainJob of {name}"), train_job)]);
    }
    assert!(found.is_empty(), "{found}");
}

#[test]
fn examples_are_taken_whole_and_planned_without_a_warning() {
    let mut found = String::new();
    for folder in entries("examples") {
        let folder = folder.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap().display().to_string();
        let mut sources: Vec<Source> = entries(&folder).iter().map(source).collect();
        if !sources.iter().any(|it| it.name().ends_with("runtime.yaml")) {
            sources.extend(entries("charts/trainmaster/runtimes").iter().map(source));
        }
        found += &problems(&sources);
    }
    assert!(found.is_empty(), "{found}");
}
