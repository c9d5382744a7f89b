//! The policies of a folder, beside those that are part of the program; read again when they change.
//!
//! A file with errors does not take its policies away: as they last were without, they go on serving, and so does
//! everything else.

use super::{metrics::RELOADS, shared::Shared};
use crate::cli::read;
use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use trainmaster::{
    diagnostic::{Color, Diagnostic, Source, render},
    policy::PolicySet,
};

/// How often the folder is read. Kubelets take a minute to bring a changed ConfigMap, so this is soon enough.
const INTERVAL: Duration = Duration::from_secs(2);
const EXTENSIONS: [&str; 3] = ["yaml", "yml", "json"];

/// A folder with policies.
pub(super) struct Folder {
    path: PathBuf,
    /// The files as they were last read, by name.
    seen: Option<Reading>,
    /// Their texts as they last were without errors.
    good: BTreeMap<String, Source>,
}

type Reading = (Vec<Source>, Vec<Diagnostic>);

impl Folder {
    pub(super) fn new(path: &Path) -> Folder {
        Folder { path: path.to_owned(), seen: None, good: BTreeMap::new() }
    }

    /// The policies that serve from now on, and what is wrong with those that do not; `None` if nothing has changed.
    pub(super) fn load(&mut self) -> io::Result<Option<(PolicySet, Vec<Diagnostic>)>> {
        let reading = read(&files(&self.path)?, false);
        if self.seen.as_ref() == Some(&reading) {
            return Ok(None);
        }
        let loaded = self.take(&reading);
        self.seen = Some(reading);
        Ok(Some(loaded))
    }

    /// Puts the last good text in the place of each bad one until all fit together.
    fn take(&mut self, (sources, unreadable): &Reading) -> (PolicySet, Vec<Diagnostic>) {
        let mut serving: BTreeMap<String, Source> =
            sources.iter().map(|source| (source.name().to_owned(), source.clone())).collect();
        if !unreadable.is_empty() {
            // Which file cannot be read is not told, so none is taken for deleted.
            let missing = self.good.iter().filter(|(name, _)| !serving.contains_key(*name));
            let missing: Vec<_> = missing.map(|(name, good)| (name.clone(), good.clone())).collect();
            serving.extend(missing);
        }
        let mut said: Vec<Diagnostic> = unreadable.clone();
        // Each turn puts back or drops one file at least.
        for _ in 0..=2 * serving.len() {
            let texts: Vec<Source> = serving.values().cloned().collect();
            let (policies, diagnostics) = PolicySet::with(&texts);
            let bad: Vec<String> = bad_files(&diagnostics).map(str::to_owned).collect();
            let new = diagnostics.into_iter().filter(|it| !said.contains(it)).collect::<Vec<_>>();
            said.extend(new);
            if bad.is_empty() {
                self.good = serving;
                return (policies, said);
            }
            for name in bad {
                let good = self.good.get(&name).filter(|good| serving.get(&name) != Some(*good)).cloned();
                match good {
                    Some(good) => serving.insert(name, good),
                    None => serving.remove(&name),
                };
            }
        }
        (PolicySet::builtin(), said)
    }
}

/// The files that errors are in.
fn bad_files(diagnostics: &[Diagnostic]) -> impl Iterator<Item = &str> {
    let errors = diagnostics.iter().filter(|it| it.is_error());
    errors.filter_map(|it| it.place.span()).map(|span| span.source().name())
}

/// The files of a folder that hold policies, by name. What begins with a point is how kubelets swap a whole folder.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let hidden = path.file_name().is_none_or(|name| name.to_string_lossy().starts_with('.'));
        let known = path.extension().is_some_and(|it| EXTENSIONS.iter().any(|known| it == *known));
        if known && !hidden && path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Lets the policies of the folder serve, for ever; TrainJobs that do not run yet are planned by the new ones.
pub(super) async fn follow(shared: Arc<Shared>, mut folder: Folder) {
    let mut failed = false;
    loop {
        tokio::time::sleep(INTERVAL).await;
        match folder.load() {
            Ok(Some((policies, diagnostics))) => {
                tell(&policies, &diagnostics);
                let result = if diagnostics.iter().any(Diagnostic::is_error) { "error" } else { "success" };
                shared.metrics.count(&RELOADS, &[result]);
                let mut cache = shared.cache();
                cache.replace_policies(policies);
                let all = cache.all_jobs();
                drop(cache);
                shared.discover.notify_one();
                shared.wake(all);
                failed = false;
            }
            Err(error) if !failed => {
                tracing::error!(folder = %folder.path.display(), %error, "cannot read the folder of policies");
                failed = true;
            }
            Ok(None) | Err(_) => {}
        }
    }
}

/// Says which policies serve, and what is wrong with the others.
pub(super) fn tell(policies: &PolicySet, diagnostics: &[Diagnostic]) {
    for diagnostic in diagnostics {
        let text = render::text(diagnostic, Color::Never);
        if diagnostic.is_error() {
            tracing::error!(
                code = diagnostic.code.id,
                "a policy is wrong; it serves as it last was without errors, if ever\n{text}"
            );
        } else {
            tracing::warn!(code = diagnostic.code.id, "a policy serves, but\n{text}");
        }
    }
    let serving = policies.iter().map(|it| format!("{}@{}", it.name(), it.version()));
    tracing::info!(policies = serving.collect::<Vec<_>>().join(" "), "policies serve");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(name: &str, version: &str, expression: &str) -> String {
        format!(
            "apiVersion: policy.trainmaster.dev/v1alpha1\nkind: TrainingPolicy\nmetadata: {{name: {name}}}\n\
             spec:\n  version: {version}\n  language: \"1\"\n  description: One for a test.\n  activation: {{expression: '{expression}'}}\n"
        )
    }

    /// Loads files in turn; says which versions of policies that are not built in serve after each, and how many errors
    /// there were.
    fn serving(folder: &mut Folder, files: &[(&str, String)]) -> (Vec<String>, usize) {
        let sources = files.iter().map(|(name, text)| Source::new(*name, text.as_str())).collect();
        let (policies, diagnostics) = folder.take(&(sources, Vec::new()));
        let builtin = PolicySet::builtin();
        let own = policies.iter().filter(|it| builtin.get(it.name()).is_none());
        let own = own.map(|it| format!("{}@{}", it.name(), it.version())).collect();
        (own, diagnostics.iter().filter(|it| it.is_error()).count())
    }

    #[test]
    fn a_file_with_errors_serves_as_it_last_was_and_takes_nobody_down() {
        let mut folder = Folder::new(Path::new("unused"));
        let good = policy("one", "1.0.0", "true");
        let other = policy("two", "1.0.0", "true");
        let bad = policy("one", "2.0.0", "tru");
        let check = |folder: &mut Folder, files: &[(&str, &String)], expected: &[&str], errors: usize| {
            let files: Vec<_> = files.iter().map(|(name, text)| (*name, (*text).clone())).collect();
            assert_eq!(
                serving(folder, &files),
                (expected.iter().map(|it| (*it).to_owned()).collect(), errors)
            );
        };
        check(&mut folder, &[("a.yaml", &bad), ("b.yaml", &other)], &["two@1.0.0"], 1);
        check(&mut folder, &[("a.yaml", &good), ("b.yaml", &other)], &["one@1.0.0", "two@1.0.0"], 0);
        check(&mut folder, &[("a.yaml", &bad), ("b.yaml", &other)], &["one@1.0.0", "two@1.0.0"], 1);
        let mended = policy("one", "2.0.0", "true");
        check(&mut folder, &[("a.yaml", &mended), ("b.yaml", &other)], &["one@2.0.0", "two@1.0.0"], 0);
        check(&mut folder, &[("b.yaml", &other)], &["two@1.0.0"], 0);
    }

    #[test]
    fn of_two_files_with_one_name_the_older_serves() {
        let mut folder = Folder::new(Path::new("unused"));
        let (first, second) = (policy("one", "1.0.0", "true"), policy("one", "2.0.0", "true"));
        serving(&mut folder, &[("b.yaml", first.clone())]);
        let (own, errors) = serving(&mut folder, &[("b.yaml", first), ("c.yaml", second)]);
        assert_eq!((own, errors), (vec!["one@1.0.0".to_owned()], 1));
    }
}
