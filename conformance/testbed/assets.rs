//! Programs and manifests as files: found, or built once and kept.
//!
//! [`Assets::ensure`] makes sure of some, [`Assets::path`] says where one is: in `KUBEBUILDER_ASSETS` if it is there,
//! else in the cache (`TRAINMASTER_CACHE`, or `trainmaster` in `XDG_CACHE_HOME` or `~/.cache`), built when missing.
//!
//! A cache folder is named after the version and a hash of all that decides what is built, so another version or flag
//! gets another folder and nothing is ever stale. A file appears in it under its name only when it is whole.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::builds::{self, Asset, Build};
use super::go::{self, Go};

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Builds(#[from] builds::Error),
    #[error("no place for the cache: set TRAINMASTER_CACHE or HOME")]
    NoCache,
    #[error("cannot write {}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("cannot make {name}")]
    Go { name: &'static str, source: go::Error },
}

/// Where programs and manifests are found.
pub(crate) struct Assets {
    /// `KUBEBUILDER_ASSETS`, the convention of envtest: a folder with some of the programs.
    given: Option<PathBuf>,
    cache: PathBuf,
}

impl Assets {
    pub(crate) fn from_environment() -> Result<Self, Error> {
        // Programs and `go` run in folders of their own, so a relative path would mislead them.
        let folder = |name| std::env::var_os(name).and_then(|value| std::path::absolute(value).ok());
        let cache = folder("TRAINMASTER_CACHE")
            .or_else(|| folder("XDG_CACHE_HOME").map(|path| path.join("trainmaster")))
            .or_else(|| folder("HOME").map(|path| path.join(".cache/trainmaster")))
            .ok_or(Error::NoCache)?;
        Ok(Self { given: folder("KUBEBUILDER_ASSETS"), cache })
    }

    pub(crate) fn cache(&self) -> &Path {
        &self.cache
    }

    /// Where the program or manifest `name` is, or will be once [`Assets::ensure`] has seen to it.
    pub(crate) fn path(&self, name: &str) -> Result<PathBuf, Error> {
        let (build, _) = builds::find(name)?;
        let given = self.given.as_ref().map(|folder| folder.join(name)).filter(|path| path.is_file());
        match given {
            Some(path) => Ok(path),
            None => Ok(self.cache.join(build.pin()?.folder).join(name)),
        }
    }

    /// Builds or copies each of `names` that is missing. Two processes that need the same one build it once.
    pub(crate) fn ensure(&self, names: &[&str]) -> Result<(), Error> {
        let mut missing = Vec::new();
        for name in names {
            let path = self.path(name)?;
            if !path.exists() {
                missing.push((builds::find(name)?, path));
            }
        }
        let seconds: Vec<u64> = missing.iter().filter_map(|((_, asset), _)| asset.seconds()).collect();
        if !seconds.is_empty() {
            go::announce(seconds.len(), seconds.iter().sum(), &self.cache);
        }
        let mut number = 0;
        for ((build, asset), path) in missing {
            number += usize::from(asset.seconds().is_some());
            make(build, asset, &path, &format!("[{number}/{}]", seconds.len()))?;
        }
        Ok(())
    }
}

/// Makes one asset under the lock of its folder, first under another name, so that a build that is killed leaves
/// nothing that looks finished. Returns whether it had to: another process may have made it meanwhile.
fn make(build: &Build, asset: &Asset, path: &Path, number: &str) -> Result<bool, Error> {
    let write = |path: &Path| {
        let path = path.to_owned();
        |source| Error::Write { path, source }
    };
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).map_err(write(folder))?;
    let _lock = lock(&folder.join(LOCK), asset.name()).map_err(write(folder))?;
    if path.exists() {
        return Ok(false);
    }
    remove_unfinished(folder);
    let unfinished = folder.join(format!("{UNFINISHED}{}-{}", asset.name(), std::process::id()));
    let pin = build.pin()?;
    let go = Go { module: &build.source(), flags: &go::build_flags(build.version_package, &pin.version) };
    let made = match asset {
        Asset::Program { name, package, seconds } => {
            go.build(package, &unfinished, &format!("{number} {name} {}", pin.version), *seconds)
        }
        Asset::Manifest { module, path, .. } => go.copy(module, path, &unfinished),
    };
    made.map_err(|source| Error::Go { name: asset.name(), source })?;
    fs::rename(&unfinished, path).map_err(write(path))?;
    Ok(true)
}

/// Takes the lock; says so if another process has it for longer than it takes to copy a manifest. It is released when
/// the file is dropped or the process ends.
fn lock(path: &Path, name: &str) -> io::Result<File> {
    let file = File::create(path)?;
    for _ in 0..10 {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(100)),
        }
    }
    go::say(&format!("Waiting for another process that builds {name} …"));
    file.lock()?;
    Ok(file)
}

/// The file that is locked while something is made in its folder.
const LOCK: &str = ".lock";
/// Starts the names of files that are not whole yet.
const UNFINISHED: &str = ".unfinished-";

/// Removes what killed builds left. The caller holds the folder's lock.
fn remove_unfinished(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
            let path = entry.path();
            _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An empty cache in a folder of its own, removed with the value.
    struct Empty(Assets);

    impl Empty {
        fn new(name: &str) -> Self {
            let cache = std::env::temp_dir().join(format!("trainmaster-{name}-{}", std::process::id()));
            fs::create_dir_all(&cache).expect("makes the cache");
            Self(Assets { given: None, cache })
        }
    }

    impl Drop for Empty {
        fn drop(&mut self) {
            _ = fs::remove_dir_all(&self.0.cache);
        }
    }

    #[test]
    fn several_that_need_one_asset_make_it_once() {
        let empty = Empty::new("once");
        let name = "scheduler-plugins-podgroup-crd.yaml";
        let (build, asset) = builds::find(name).expect("is in the table");
        let path = empty.0.path(name).expect("has a place");
        let made: usize = std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..4).map(|_| scope.spawn(|| make(build, asset, &path, "").expect("makes it"))).collect();
            threads.into_iter().map(|thread| usize::from(thread.join().expect("ends"))).sum()
        });
        assert_eq!(made, 1);
        assert!(fs::read_to_string(path).expect("is there").contains("kind: CustomResourceDefinition"));
    }

    #[test]
    fn what_a_killed_build_left_is_removed_by_the_next() {
        let empty = Empty::new("killed");
        let path = empty.0.path("volcano-podgroup-crd.yaml").expect("has a place");
        let folder = path.parent().expect("has a folder");
        let left = folder.join(format!("{UNFINISHED}volcano-podgroup-crd.yaml-1"));
        fs::create_dir_all(folder).and_then(|()| fs::write(&left, "half")).expect("writes");
        empty.0.ensure(&["volcano-podgroup-crd.yaml"]).expect("makes it");
        assert!(path.is_file() && !left.exists());
    }

    #[test]
    fn programs_given_by_the_environment_come_before_the_cache() {
        let mut empty = Empty::new("given");
        let given = empty.0.cache.join("given");
        fs::create_dir_all(&given).and_then(|()| fs::write(given.join("etcd"), "")).expect("writes");
        empty.0.given = Some(given.clone());
        assert_eq!(empty.0.path("etcd").expect("has a place"), given.join("etcd"));
        let cached = empty.0.path("kwok").expect("has a place");
        assert!(cached.starts_with(&empty.0.cache) && !cached.starts_with(&given), "{}", cached.display());
    }
}
