//! The policies that are part of the program.

use crate::diagnostic::Source;

/// Name of the file below `policies/`, and its text. The only place in the library where frameworks have names.
pub const POLICIES: &[(&str, &str)] = &[
    ("coscheduling.yaml", include_str!("../../policies/coscheduling.yaml")),
    ("flux.yaml", include_str!("../../policies/flux.yaml")),
    ("horovod.yaml", include_str!("../../policies/horovod.yaml")),
    ("initializer.yaml", include_str!("../../policies/initializer.yaml")),
    ("jax.yaml", include_str!("../../policies/jax.yaml")),
    ("jobset.yaml", include_str!("../../policies/jobset.yaml")),
    ("kai.yaml", include_str!("../../policies/kai.yaml")),
    ("llamafactory.yaml", include_str!("../../policies/llamafactory.yaml")),
    ("mpi.yaml", include_str!("../../policies/mpi.yaml")),
    ("paddle.yaml", include_str!("../../policies/paddle.yaml")),
    ("plainml.yaml", include_str!("../../policies/plainml.yaml")),
    ("ray.yaml", include_str!("../../policies/ray.yaml")),
    ("tensorflow.yaml", include_str!("../../policies/tensorflow.yaml")),
    ("torch-elastic.yaml", include_str!("../../policies/torch-elastic.yaml")),
    ("torch.yaml", include_str!("../../policies/torch.yaml")),
    ("torchtune.yaml", include_str!("../../policies/torchtune.yaml")),
    ("trainjob-status.yaml", include_str!("../../policies/trainjob-status.yaml")),
    ("volcano.yaml", include_str!("../../policies/volcano.yaml")),
    ("workload.yaml", include_str!("../../policies/workload.yaml")),
    ("xgboost.yaml", include_str!("../../policies/xgboost.yaml")),
];

/// The texts, named as they stand in the repository.
pub fn sources() -> impl Iterator<Item = Source> {
    POLICIES.iter().map(|(file, text)| Source::new(format!("policies/{file}"), *text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        diagnostic::{Color, render},
        policy::{check, parse},
    };

    #[test]
    fn built_in_policies_pass_every_check_without_a_warning() {
        for source in sources() {
            let (documents, mut diagnostics) = parse(&source);
            for document in &documents {
                diagnostics.extend(check(document).1);
            }
            let shown: String = diagnostics.iter().map(|it| render::text(it, Color::Never)).collect();
            assert!(shown.is_empty(), "{shown}");
            assert_eq!(documents.len(), 1, "{}", source.name());
        }
    }

    #[test]
    #[allow(clippy::disallowed_methods, reason = "the folder is what the table is held against")]
    fn every_policy_of_the_folder_is_built_in() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/policies");
        let files =
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut files: Vec<String> =
            files.filter(|name| name.split('.').next_back() == Some("yaml")).collect();
        files.sort();
        assert_eq!(files, POLICIES.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    }
}
