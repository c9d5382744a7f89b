//! The table of what is built: one line a Go module of ours, a folder beside this file with go.mod and go.sum.
//!
//! To add a program: such a folder, a line in [`BUILDS`]. `assets.rs` makes what the table says.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::go;

/// One Go module of ours.
pub(crate) struct Build {
    /// Its folder, beside this file.
    pub(crate) folder: &'static str,
    /// The module whose pinned version is the version of what is built.
    pub(crate) module: &'static str,
    /// The package that is told the version, where a program must report one that clients can parse.
    pub(crate) version_package: Option<&'static str>,
    /// Whether only those ask for it who name it: no part of `make test`.
    pub(crate) on_demand: bool,
    pub(crate) assets: &'static [Asset],
}

/// A file of the cache.
pub(crate) enum Asset {
    /// A main package. `seconds`: what a build takes on two cores after those before it in the table.
    Program { name: &'static str, package: &'static str, seconds: u64 },
    /// A file of a module that go.mod pins, or a folder.
    Manifest { name: &'static str, module: &'static str, path: &'static str },
}

pub(crate) const BUILDS: &[Build] = &[
    Build {
        folder: "etcd",
        module: "go.etcd.io/etcd/server/v3",
        version_package: None,
        on_demand: false,
        assets: &[Asset::Program { name: "etcd", package: "go.etcd.io/etcd/server/v3", seconds: 60 }],
    },
    Build {
        folder: "kubernetes",
        module: "k8s.io/kubernetes",
        version_package: Some("k8s.io/component-base/version"),
        on_demand: false,
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
        on_demand: false,
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
            Asset::Manifest { name: "jobset-chart", module: "sigs.k8s.io/jobset", path: "charts/jobset" },
        ],
    },
    Build {
        folder: "kwok",
        module: "sigs.k8s.io/kwok",
        version_package: None,
        on_demand: false,
        assets: &[Asset::Program { name: "kwok", package: "sigs.k8s.io/kwok/cmd/kwok", seconds: 80 }],
    },
    Build {
        folder: "podgroups",
        module: "volcano.sh/volcano",
        version_package: None,
        on_demand: false,
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
    Build {
        folder: "helm",
        module: "helm.sh/helm/v4",
        version_package: None,
        on_demand: false,
        assets: &[Asset::Program { name: "helm", package: "helm.sh/helm/v4/cmd/helm", seconds: 170 }],
    },
    Build {
        folder: "kueue",
        module: "sigs.k8s.io/kueue",
        version_package: None,
        on_demand: true,
        assets: &[
            Asset::Program { name: "kueue", package: "sigs.k8s.io/kueue/cmd/kueue", seconds: 260 },
            Asset::Manifest {
                name: "kueue-crds",
                module: "sigs.k8s.io/kueue",
                path: "config/components/crd/bases",
            },
            Asset::Manifest {
                name: "kueue-webhooks.yaml",
                module: "sigs.k8s.io/kueue",
                path: "config/components/webhook/manifests.yaml",
            },
        ],
    },
    Build {
        folder: "upstream",
        module: "github.com/kubeflow/trainer/v2",
        version_package: None,
        on_demand: true,
        assets: &[
            Asset::Program {
                name: "upstream",
                package: "github.com/kubeflow/trainer/v2/cmd/trainer-controller-manager",
                seconds: 100,
            },
            Asset::Manifest {
                name: "upstream-webhooks.yaml",
                module: "github.com/kubeflow/trainer/v2",
                path: "manifests/base/webhook/manifests.yaml",
            },
        ],
    },
    Build {
        folder: "upstream-chart",
        module: "github.com/kubeflow/trainer/v2",
        version_package: None,
        on_demand: false,
        assets: &[Asset::Manifest {
            name: "upstream-chart",
            module: "github.com/kubeflow/trainer/v2",
            path: "charts/kubeflow-trainer",
        }],
    },
];

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("no build makes {0}")]
    Unknown(String),
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{} requires no version of {module}", path.display())]
    NoVersion { path: PathBuf, module: &'static str },
}

/// What a build's go.mod and go.sum say.
pub(crate) struct Pin {
    pub(crate) version: String,
    /// The name of its cache folder.
    pub(crate) folder: String,
}

impl Build {
    /// Its folder.
    pub(crate) fn source(&self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance/testbed").join(self.folder)
    }

    pub(crate) fn pin(&self) -> Result<Pin, Error> {
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
}

impl Asset {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Program { name, .. } | Self::Manifest { name, .. } => name,
        }
    }

    /// How long building it takes; `None` for what is copied.
    pub(crate) fn seconds(&self) -> Option<u64> {
        match self {
            Self::Program { seconds, .. } => Some(*seconds),
            Self::Manifest { .. } => None,
        }
    }
}

/// Every program and manifest of the table, but for those that are built on demand.
pub(crate) fn all() -> Vec<&'static str> {
    BUILDS.iter().filter(|build| !build.on_demand).flat_map(|build| build.assets).map(Asset::name).collect()
}

/// The asset called `name`, and the build that makes it.
pub(crate) fn find(name: &str) -> Result<(&'static Build, &'static Asset), Error> {
    let mut assets = BUILDS.iter().flat_map(|build| build.assets.iter().map(move |asset| (build, asset)));
    assets.find(|(_, asset)| asset.name() == name).ok_or_else(|| Error::Unknown(name.to_owned()))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_what_is_required_not_what_is_replaced() {
        let go_mod = "require a.io/one v1.2.3\nrequire (\n\ta.io/two v0.1.0 // indirect\n)\nreplace a.io/three => a.io/three v9\n";
        let version = |module| required_version(go_mod, module);
        assert_eq!((version("a.io/one"), version("a.io/two")), (Some("v1.2.3"), Some("v0.1.0")));
        assert_eq!((version("a.io/three"), version("a.io")), (None, None));
    }

    #[test]
    fn every_build_has_a_version_and_every_asset_a_name_of_its_own() {
        for build in BUILDS {
            let pin = build.pin().unwrap_or_else(|error| panic!("{}: {error}", build.folder));
            assert!(pin.folder.starts_with(&format!("{}-v", build.folder)), "{}", pin.folder);
        }
        let mut names = all();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all().len());
    }

    #[test]
    fn the_readme_names_the_versions_that_are_built() {
        let readme = include_str!("README.md");
        for build in BUILDS {
            let version = build.pin().expect("has a version").version;
            for asset in build.assets.iter().filter(|asset| asset.seconds().is_some()) {
                let row = format!("| {} | {version} | `{}` |", asset.name(), build.module);
                assert!(readme.contains(&row), "README.md lacks the row {row}");
            }
        }
    }

    #[test]
    fn another_flag_or_checksum_is_another_hash() {
        let of = |parts: [&str; 2]| hash(parts.into_iter());
        assert_ne!(of(["go.mod", "-s"]), of(["go.mod", "-w"]));
        assert_ne!(of(["ab", "c"]), of(["a", "bc"]));
        assert_eq!(of(["ab", "c"]).len(), 12);
    }
}
