//! A certificate with its key: what a server shows for itself.

use super::authorities::{Authorities, validity};
use jiff::Timestamp;
use rustls::{
    RootCertStore,
    client::{verify_server_cert_signed_by_trust_anchor, verify_server_name},
    crypto::{CryptoProvider, ring},
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime, pem, pem::PemObject as _},
    server::ParsedCertificate,
    sign::CertifiedKey,
};
use std::{
    sync::{Arc, LazyLock},
    time::Duration,
};

/// Why a certificate and a key do not serve.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("there is no certificate in {0}")]
    NoCertificate(&'static str),
    #[error("{0} cannot be read")]
    Pem(&'static str, #[source] pem::Error),
    #[error("the certificate and the key do not serve")]
    Tls(#[from] rustls::Error),
    #[error("{0} is no name of a server")]
    Name(String),
    #[error("it is good from {0} to {1}")]
    Time(Timestamp, Timestamp),
}

/// The names of the parts, in the Secret and in the folder.
pub(super) const CERTIFICATE: &str = "tls.crt";
pub(super) const KEY: &str = "tls.key";
pub(super) const AUTHORITIES: &str = "ca.crt";

/// The cryptography of everything that is served.
pub(super) fn provider() -> &'static Arc<CryptoProvider> {
    static PROVIDER: LazyLock<Arc<CryptoProvider>> = LazyLock::new(|| Arc::new(ring::default_provider()));
    &PROVIDER
}

/// A certificate with its chain, its key, and who vouches for it as far as its source says so.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    pub(super) key: Arc<CertifiedKey>,
    pub(super) authorities: Authorities,
}

/// The same certificate: its key is the same then.
impl PartialEq for Identity {
    fn eq(&self, other: &Identity) -> bool {
        self.key.cert == other.key.cert && self.authorities == other.authorities
    }
}

impl Identity {
    /// Reads PEM.
    pub(super) fn read(certificate: &[u8], key: &[u8], authorities: &[u8]) -> Result<Identity, Error> {
        let chain = CertificateDer::pem_slice_iter(certificate).collect::<Result<Vec<_>, _>>();
        let chain = chain.map_err(|error| Error::Pem(CERTIFICATE, error))?;
        if chain.is_empty() {
            return Err(Error::NoCertificate(CERTIFICATE));
        }
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| Error::Pem(KEY, error))?;
        let key = CertifiedKey::from_der(chain, key, provider())?;
        Ok(Identity { key: Arc::new(key), authorities: Authorities::read(authorities) })
    }

    /// Whether a client that trusts `authorities` takes it for `name` at `at`. Clients check the dates of authorities
    /// too, and take a certificate that they trust itself.
    pub(super) fn check(&self, authorities: &Authorities, name: &str, at: Timestamp) -> Result<(), Error> {
        let certificate = self.key.end_entity_cert()?;
        let parsed = ParsedCertificate::try_from(certificate)?;
        let server = ServerName::try_from(name).map_err(|_| Error::Name(name.to_owned()))?;
        verify_server_name(&parsed, &server)?;
        if authorities.has(certificate) {
            return in_time(certificate, at);
        }
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(authorities.good(at).cloned());
        let seconds = u64::try_from(at.as_second()).unwrap_or_default();
        let now = UnixTime::since_unix_epoch(Duration::from_secs(seconds));
        let chain = self.key.cert.get(1..).unwrap_or_default();
        let algorithms = provider().signature_verification_algorithms.all;
        Ok(verify_server_cert_signed_by_trust_anchor(&parsed, &roots, chain, now, algorithms)?)
    }

    /// Whether it is good at `at`, as far as its own dates say.
    pub(super) fn is_good(&self, at: Timestamp) -> bool {
        self.key.end_entity_cert().is_ok_and(|it| in_time(it, at).is_ok())
    }

    /// When it ends.
    pub(super) fn ends(&self) -> Option<Timestamp> {
        let valid = validity(self.key.end_entity_cert().ok()?)?;
        Timestamp::from_second(*valid.end()).ok()
    }
}

fn in_time(certificate: &CertificateDer<'_>, at: Timestamp) -> Result<(), Error> {
    let valid = validity(certificate).unwrap_or(0..=0);
    if valid.contains(&at.as_second()) {
        return Ok(());
    }
    let time = |seconds: i64| Timestamp::from_second(seconds).unwrap_or_default();
    Err(Error::Time(time(*valid.start()), time(*valid.end())))
}
