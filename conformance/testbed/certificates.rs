//! The certificate authority of one control plane, made anew for each: who trusts it can be answered by nobody else.

use std::fs;
use std::io;
use std::path::Path;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};

pub(crate) use rcgen::Error;

use super::users::write_private;

pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate and its private key, both PEM.
pub(crate) struct Pair {
    certificate: String,
    key: String,
}

/// By which name the controller's servers are known in a cluster: it looks whether its certificate is good for that.
const SERVICE: &str = "kubeflow-trainer-controller-manager.kubeflow-system.svc";

/// The files' names, as controller-runtime has them.
pub(crate) const CERTIFICATE: &str = "tls.crt";
pub(crate) const KEY: &str = "tls.key";

impl Pair {
    /// Writes both into `folder`, which is made if it is missing.
    pub(crate) fn write(&self, folder: &Path) -> io::Result<()> {
        fs::create_dir_all(folder)?;
        write_private(&folder.join(CERTIFICATE), &self.certificate)?;
        write_private(&folder.join(KEY), &self.key)
    }
}

impl Authority {
    pub(crate) fn new() -> Result<Self, Error> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "trainmaster testbed");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        CertifiedIssuer::self_signed(params, KeyPair::generate()?).map(Self)
    }

    /// The authority's own certificate, PEM.
    pub(crate) fn certificate(&self) -> String {
        self.0.pem()
    }

    /// For a server on this machine.
    pub(crate) fn server(&self) -> Result<Pair, Error> {
        let mut params = CertificateParams::new(["127.0.0.1", "localhost", SERVICE].map(str::to_owned))?;
        params.distinguished_name.push(DnType::CommonName, "127.0.0.1");
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.0)?.pem();
        Ok(Pair { certificate, key: key.serialize_pem() })
    }
}

/// A public and a private key, both PEM.
pub(crate) struct Keys {
    pub(crate) public: String,
    pub(crate) private: String,
}

/// Keys that sign and verify service account tokens.
pub(crate) fn keys() -> Result<Keys, Error> {
    let pair = KeyPair::generate()?;
    Ok(Keys { public: pair.public_key_pem(), private: pair.serialize_pem() })
}
