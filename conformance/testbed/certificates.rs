//! The certificate authority of one control plane, made anew for each: who trusts it can be answered by nobody else.

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};

pub(crate) use rcgen::Error;

pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate and its private key, both PEM.
pub(crate) struct Pair {
    pub(crate) certificate: String,
    pub(crate) key: String,
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
        let mut params = CertificateParams::new(["127.0.0.1".to_owned(), "localhost".to_owned()])?;
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
