//! A certificate that somebody else keeps in a folder: cert-manager, for one.

use super::identity::{AUTHORITIES, CERTIFICATE, Error as ReadError, Identity, KEY};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// Where controller-runtime looks, below the folder for temporary files.
pub(crate) const DEFAULT_FOLDER: &str = "k8s-webhook-server/serving-certs";

/// Why the folder gives no certificate.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("cannot read {}", .0.display())]
    File(PathBuf, #[source] io::Error),
    #[error("the certificate in {} does not serve", .0.display())]
    Read(PathBuf, #[source] ReadError),
}

/// The certificate as the folder has it now. Who vouches for it need not be there.
pub(super) fn read(folder: &Path) -> Result<Identity, Error> {
    let file = |name: &str| {
        let path = folder.join(name);
        fs::read(&path).map_err(|error| Error::File(path, error))
    };
    let authorities = file(AUTHORITIES).unwrap_or_default();
    let identity = Identity::read(&file(CERTIFICATE)?, &file(KEY)?, &authorities);
    identity.map_err(|error| Error::Read(folder.to_owned(), error))
}
