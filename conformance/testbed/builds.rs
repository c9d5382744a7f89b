//! The programs and manifests a control plane needs, and where each comes from.
//!
//! [`BUILDS`] is the table: one line a Go module of ours (a folder beside this file with go.mod and go.sum), the
//! programs built in it, the manifests taken from the modules it pins. [`Assets::ensure`] makes sure of some of them,
//! [`Assets::path`] says where one is: in `KUBEBUILDER_ASSETS` if it is there, else in the cache
//! (`TRAINMASTER_CACHE`, or `trainmaster` in `XDG_CACHE_HOME` or `~/.cache`), built when missing.
//!
//! A cache folder is named after the version and a hash of all that decides what is built, so another version or flag
//! gets another folder and nothing is ever stale. A file appears in it under its name only when it is whole.

use std::fmt::Write as _;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use super::go::{self, Go};

/// One Go module of ours.
pub(crate) struct Build {
    /// Its folder, beside this file.
    pub(crate) folder: &'static str,
    /// The module whose pinned version is the version of what is built.
    pub(crate) module: &'static str,
    /// The package that is told the version, where a program must report one that clients can parse.
    pub(crate) version_package: Option<&'static str>,
    pub(crate) assets: &'static [Asset],
}

/// A file of the cache.
pub(crate) enum Asset {
    /// A main package. `seconds`: what a build takes on two cores after those before it in the table.
    Program { name: &'static str, package: &'static str, seconds: u64 },
    /// A file of a module that go.mod pins.
    Manifest { name: &'static str, module: &'static str, path: &'static str },
}

pub(crate) const BUILDS: &[Build] = &[
    Build {
        folder: "etcd",
        module: "go.etcd.io/etcd/server/v3",
        version_package: None,
        assets: &[Asset::Program { name: "etcd", package: "go.etcd.io/etcd/server/v3", seconds: 60 }],
    },
    Build {
        folder: "kubernetes",
        module: "k8s.io/kubernetes",
        version_package: Some("k8s.io/component-base/version"),
        assets: &[
            Asset::Program {
                name: "kube-apiserver",
                package: "k8s.io/kubernetes/cmd/kube-apiserver",
                seconds: 220,
            },
            Asset::Program {
                name: "kube-controller-manager",
                package: "k8s.io/kubernetes/cmd/kube-controller-manager",
                seconds: 60,
            },
            Asset::Program {
                name: "kube-scheduler",
                package: "k8s.io/kubernetes/cmd/kube-scheduler",
                seconds: 10,
            },
        ],
    },
    Build {
        folder: "jobset",
        module: "sigs.k8s.io/jobset",
        version_package: None,
        assets: &[
            Asset::Program { name: "jobset", package: "sigs.k8s.io/jobset", seconds: 80 },
            Asset::Manifest {
                name: "jobset-crd.yaml",
                module: "sigs.k8s.io/jobset",
                path: "config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml",
            },
            Asset::Manifest {
                name: "jobset-webhooks.yaml",
                module: "sigs.k8s.io/jobset",
                path: "config/components/webhook/manifests.yaml",
            },
        ],
    },
    Build {
        folder: "kwok",
        module: "sigs.k8s.io/kwok",
        version_package: None,
        assets: &[Asset::Program { name: "kwok", package: "sigs.k8s.io/kwok/cmd/kwok", seconds: 80 }],
    },
    Build {
        folder: "podgroups",
        module: "volcano.sh/volcano",
        version_package: None,
        assets: &[
            Asset::Manifest {
                name: "scheduler-plugins-podgroup-crd.yaml",
                module: "sigs.k8s.io/scheduler-plugins",
                path: "manifests/coscheduling/crd.yaml",
            },
            Asset::Manifest {
                name: "volcano-podgroup-crd.yaml",
                module: "volcano.sh/volcano",
                path: "config/crd/volcano/bases/scheduling.volcano.sh_podgroups.yaml",
            },
        ],
    },
];

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("no build makes {0}")]
    Unknown(String),
    #[error("no place for the cache: set TRAINMASTER_CACHE or HOME")]
    NoCache,
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot write {}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("{} requires no version of {module}", path.display())]
    NoVersion { path: PathBuf, module: &'static str },
    #[error("cannot build {name}")]
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
        let folder = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let cache = folder("TRAINMASTER_CACHE")
            .or_else(|| folder("XDG_CACHE_HOME").map(|path| path.join("trainmaster")))
            .or_else(|| folder("HOME").map(|path| path.join(".cache/trainmaster")))
            .ok_or(Error::NoCache)?;
        Ok(Self { given: folder("KUBEBUILDER_ASSETS"), cache })
    }

    pub(crate) fn cache(&self) -> &Path {
        &self.cache
    }

    /// Where the program or manifest `name` is or will be once [`Assets::ensure`] has seen to it.
    pub(crate) fn path(&self, name: &str) -> Result<PathBuf, Error> {
        let (build, _) = find(name)?;
        if let Some(path) = self.given.as_ref().map(|folder| folder.join(name)).filter(|path| path.is_file())
        {
            return Ok(path);
        }
        Ok(self.cache.join(build.pin()?.folder).join(name))
    }

    /// Builds or copies each of `names` that is missing. Two processes that need the same one build it once.
    pub(crate) fn ensure(&self, names: &[&str]) -> Result<(), Error> {
        let mut missing = Vec::new();
        for name in names {
            let path = self.path(name)?;
            if !path.is_file() {
                missing.push((find(name)?, path));
            }
        }
        let programs: Vec<u64> = missing.iter().filter_map(|((_, asset), _)| asset.seconds()).collect();
        if !programs.is_empty() {
            go::announce(programs.len(), programs.iter().sum(), &self.cache);
        }
        let mut number = 0;
        for ((build, asset), path) in missing {
            number += usize::from(asset.seconds().is_some());
            build.make(asset, &path, (number, programs.len()))?;
        }
        Ok(())
    }
}

/// What a build's go.mod and go.sum say.
struct Pin {
    version: String,
    /// The name of its cache folder.
    folder: String,
}

impl Build {
    fn source(&self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance/testbed").join(self.folder)
    }

    fn pin(&self) -> Result<Pin, Error> {
        let read = |name| {
            let path = self.source().join(name);
            fs::read_to_string(&path).map_err(|source| Error::Read { path, source })
        };
        let (go_mod, go_sum) = (read("go.mod")?, read("go.sum")?);
        let no_version = || Error::NoVersion { path: self.source().join("go.mod"), module: self.module };
        let version = required_version(&go_mod, self.module).ok_or_else(no_version)?;
        let flags = go::build_flags(self.version_package, version).join(" ");
        let platform = [std::env::consts::OS, std::env::consts::ARCH];
        let hash = hash([go_mod.as_str(), &go_sum, &flags].into_iter().chain(platform));
        Ok(Pin { version: version.to_owned(), folder: format!("{}-{version}-{hash}", self.folder) })
    }

    /// Makes one asset under the lock of its folder, first under another name, so that a build that is killed leaves
    /// nothing that looks finished.
    fn make(&self, asset: &Asset, path: &Path, number: (usize, usize)) -> Result<(), Error> {
        let write = |path: &Path| {
            let path = path.to_owned();
            |source| Error::Write { path, source }
        };
        let folder = path.parent().unwrap_or(path);
        fs::create_dir_all(folder).map_err(write(folder))?;
        let lock = folder.join(".lock");
        let lock = File::create(&lock).and_then(|file| acquire(file, asset.name())).map_err(write(&lock))?;
        if path.is_file() {
            return Ok(());
        }
        remove_unfinished(folder);
        let unfinished = folder.join(format!("{UNFINISHED}{}-{}", asset.name(), std::process::id()));
        let pin = self.pin()?;
        let source = self.source();
        let go = Go { module: &source, flags: &go::build_flags(self.version_package, &pin.version) };
        let made = match asset {
            Asset::Program { name, package, seconds } => {
                let title = format!("[{}/{}] {name} {}", number.0, number.1, pin.version);
                go.build(package, &unfinished, &title, *seconds)
            }
            Asset::Manifest { module, path, .. } => go.copy(module, path, &unfinished),
        };
        made.map_err(|source| Error::Go { name: asset.name(), source })?;
        fs::rename(&unfinished, path).map_err(write(path))?;
        drop(lock);
        Ok(())
    }
}

impl Asset {
    fn name(&self) -> &'static str {
        match self {
            Self::Program { name, .. } | Self::Manifest { name, .. } => name,
        }
    }

    fn seconds(&self) -> Option<u64> {
        match self {
            Self::Program { seconds, .. } => Some(*seconds),
            Self::Manifest { .. } => None,
        }
    }
}

/// Every program and manifest of the table.
pub(crate) fn all() -> Vec<&'static str> {
    BUILDS.iter().flat_map(|build| build.assets).map(Asset::name).collect()
}

fn find(name: &str) -> Result<(&'static Build, &'static Asset), Error> {
    let assets = BUILDS.iter().flat_map(|build| build.assets.iter().map(move |asset| (build, asset)));
    assets.into_iter().find(|(_, asset)| asset.name() == name).ok_or_else(|| Error::Unknown(name.to_owned()))
}

/// The version that a go.mod's `require` gives `module`; `None` if it names no such module or a replacement only.
fn required_version<'a>(go_mod: &'a str, module: &str) -> Option<&'a str> {
    go_mod.lines().find_map(|line| {
        let mut words = line.split_whitespace().filter(|word| *word != "require");
        (words.next() == Some(module)).then(|| words.next()).flatten().filter(|word| word.starts_with('v'))
    })
}

/// 48 bits of SHA-256 over the parts and their lengths, in hexadecimal.
fn hash<'a>(parts: impl Iterator<Item = &'a str>) -> String {
    let mut context = ring::digest::Context::new(&ring::digest::SHA256);
    for part in parts {
        context.update(&part.len().to_le_bytes());
        context.update(part.as_bytes());
    }
    context.finish().as_ref().iter().take(6).fold(String::new(), |mut text, byte| {
        _ = write!(text, "{byte:02x}");
        text
    })
}

/// Starts the names of files that are not whole yet.
const UNFINISHED: &str = ".unfinished-";

/// Removes what killed builds left. The caller holds the folder's lock.
fn remove_unfinished(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
            _ = fs::remove_file(entry.path());
        }
    }
}

/// Takes the lock, saying so if another process has it. It is released when the file is dropped or the process ends.
fn acquire(file: File, name: &str) -> io::Result<File> {
    match file.try_lock() {
        Ok(()) => return Ok(file),
        Err(TryLockError::WouldBlock) => {
            go::say(&format!("waiting for another process that builds {name} …"))
        }
        Err(TryLockError::Error(error)) => return Err(error),
    }
    file.lock()?;
    Ok(file)
}
