//! Reading files as users name them: files, folders, `-` for standard input.

use std::{
    fs, io,
    io::Read,
    path::{Path, PathBuf},
};
use trainmaster::diagnostic::{Diagnostic, Place, Source, codes};

/// Largest text read, in bytes; the API server stores nothing above 1.5 MiB.
const MAX_BYTES: u64 = 4 << 20;
/// The files that count in a folder.
pub(super) const EXTENSIONS: [&str; 3] = ["yaml", "yml", "json"];

/// The texts that `paths` name, in that order, those of a folder by name, and a diagnostic for each that cannot be
/// read. Folders below a folder count only if `recursive`.
pub(crate) fn read(paths: &[PathBuf], recursive: bool) -> (Vec<Source>, Vec<Diagnostic>) {
    let mut reading = Reading { recursive, ..Reading::default() };
    for path in paths {
        reading.path(path);
    }
    (reading.sources, reading.diagnostics)
}

/// What has been read so far.
#[derive(Default)]
pub(super) struct Reading {
    recursive: bool,
    pub(super) sources: Vec<Source>,
    pub(super) diagnostics: Vec<Diagnostic>,
}

impl Reading {
    fn path(&mut self, path: &Path) {
        if path == Path::new("-") {
            self.text("<stdin>", io::stdin());
        } else if path.is_dir() {
            self.folder(path);
        } else {
            self.file(path, &path.display().to_string());
        }
    }

    /// Reads a file, which messages call `name`.
    pub(super) fn file(&mut self, path: &Path, name: &str) {
        match fs::File::open(path) {
            Ok(file) => self.text(name, file),
            Err(error) => self.unreadable(&path.display().to_string(), &error.to_string()),
        }
    }

    fn folder(&mut self, folder: &Path) {
        let before = self.sources.len() + self.diagnostics.len();
        let entries = fs::read_dir(folder).and_then(Iterator::collect::<io::Result<Vec<_>>>);
        let mut paths: Vec<PathBuf> = match entries {
            Ok(entries) => entries.into_iter().map(|entry| entry.path()).collect(),
            Err(error) => return self.unreadable(&folder.display().to_string(), &error.to_string()),
        };
        paths.sort();
        for path in paths {
            // A link to a folder is not followed, so that no loop is.
            let folder = path.is_dir() && !path.is_symlink();
            let known = path.extension().is_some_and(|it| EXTENSIONS.iter().any(|known| it == *known));
            if (folder && self.recursive) || (!path.is_dir() && known) {
                self.path(&path);
            }
        }
        if self.sources.len() + self.diagnostics.len() == before {
            self.unreadable(&folder.display().to_string(), "the folder holds no .yaml, .yml or .json file");
        }
    }

    fn text(&mut self, name: &str, from: impl Read) {
        let mut bytes = Vec::new();
        if let Err(error) = from.take(MAX_BYTES + 1).read_to_end(&mut bytes) {
            return self.unreadable(name, &error.to_string());
        }
        if bytes.len() as u64 > MAX_BYTES {
            return self.unreadable(name, "larger than 4 MiB");
        }
        match String::from_utf8(bytes) {
            Ok(text) => self.sources.push(Source::new(name, text)),
            Err(error) => {
                let at = error.utf8_error().valid_up_to();
                self.unreadable(name, &format!("not UTF-8: byte {at} begins no character"));
            }
        }
    }

    pub(super) fn unreadable(&mut self, name: &str, why: &str) {
        self.diagnostics.push(Diagnostic::error(codes::UNREADABLE, Place::Nowhere, format!("{name}: {why}")));
    }
}
