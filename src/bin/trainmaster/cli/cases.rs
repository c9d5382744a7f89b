//! Folders of cases: reading them, and writing what they expect.

use super::input::{EXTENSIONS, Reading};
use std::{
    fs, io,
    path::{Path, PathBuf},
};
use trainmaster::{
    diagnostic::Diagnostic,
    offline::case::{Case, EXPECTED_WORDS, Outcome},
};

/// A case and the folder that it was read from.
pub(crate) struct Found {
    pub(crate) case: Case,
    folder: PathBuf,
}

/// The cases in `folders` and in all folders below them, by path, and a diagnostic for each file that cannot be read. A
/// folder is a case if it holds a YAML or JSON file.
pub(crate) fn read(folders: &[PathBuf]) -> (Vec<Found>, Vec<Diagnostic>) {
    let mut reading = Reading::default();
    let mut found = Vec::new();
    for folder in folders {
        // Without a slash at the end, which would double in the names of cases.
        collect(&folder.components().collect::<PathBuf>(), &mut reading, &mut found);
    }
    (found, reading.diagnostics)
}

fn collect(folder: &Path, reading: &mut Reading, found: &mut Vec<Found>) {
    let name = folder.display().to_string();
    let entries = fs::read_dir(folder).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let mut paths: Vec<PathBuf> = match entries {
        Ok(entries) => entries.into_iter().map(|entry| entry.path()).collect(),
        Err(error) => return reading.unreadable(&name, &error.to_string()),
    };
    paths.sort();
    let is_yaml =
        |path: &Path| path.extension().is_some_and(|it| EXTENSIONS.iter().any(|known| it == *known));
    let is_file = |path: &&PathBuf| !path.is_dir() && (is_yaml(path) || path.ends_with(EXPECTED_WORDS));
    let files: Vec<&PathBuf> = paths.iter().filter(is_file).collect();
    if files.iter().any(|path| is_yaml(path)) {
        for path in files {
            let file = path.file_name().unwrap_or_default().to_string_lossy();
            reading.file(path, &file);
        }
        let files = std::mem::take(&mut reading.sources);
        found.push(Found { case: Case { name, files }, folder: folder.to_owned() });
    }
    // A link to a folder is not followed, so that no loop is; what is hidden holds no cases.
    let is_hidden =
        |path: &Path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
    for below in paths.iter().filter(|path| path.is_dir() && !path.is_symlink() && !is_hidden(path)) {
        collect(below, reading, found);
    }
}

impl Found {
    /// Puts what came out in the place of what was expected.
    pub(crate) fn update(&self, outcome: &Outcome) -> io::Result<()> {
        for (file, text) in &outcome.files {
            let path = self.folder.join(file);
            match text {
                Some(text) => fs::write(path, text)?,
                None if self.case.file(file).is_some() => fs::remove_file(path)?,
                None => {}
            }
        }
        Ok(())
    }
}
