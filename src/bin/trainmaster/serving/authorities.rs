//! Whom a client trusts: certificates of authorities, as a CA bundle in PEM holds them.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use jiff::Timestamp;
use rustls::pki_types::{CertificateDer, pem::PemObject as _};
use std::fmt;
use x509_cert::{
    certificate::{CertificateInner, Raw},
    der::Decode as _,
};

/// How long a line of PEM is.
const LINE: usize = 48;

/// The certificates of a CA bundle, in its order, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Authorities(Vec<CertificateDer<'static>>);

impl Authorities {
    /// What can be read of a bundle: as clients do, what is no certificate is passed over.
    pub(super) fn read(pem: &[u8]) -> Authorities {
        let mut all = Authorities::default();
        CertificateDer::pem_slice_iter(pem).filter_map(Result::ok).for_each(|it| all.add(it));
        all
    }

    pub(super) fn has(&self, certificate: &CertificateDer<'_>) -> bool {
        self.0.contains(certificate)
    }

    /// Whether everyone that `other` trusts is trusted.
    pub(super) fn have_all(&self, other: &Authorities) -> bool {
        other.0.iter().all(|it| self.has(it))
    }

    /// Those of `other` too, behind.
    pub(super) fn and(mut self, other: &Authorities) -> Authorities {
        other.0.iter().for_each(|it| self.add(it.clone()));
        self
    }

    /// Those that are good at `at`.
    pub(super) fn good(&self, at: Timestamp) -> impl Iterator<Item = &CertificateDer<'static>> {
        self.0.iter().filter(move |it| validity(it).is_some_and(|valid| valid.contains(&at.as_second())))
    }

    /// Only those that are good at `at`, no more than `limit`.
    pub(super) fn only_good(&self, at: Timestamp, limit: usize) -> Authorities {
        Authorities(self.good(at).take(limit).cloned().collect())
    }

    fn add(&mut self, certificate: CertificateDer<'static>) {
        if !self.has(&certificate) {
            self.0.push(certificate);
        }
    }
}

/// PEM.
impl fmt::Display for Authorities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for certificate in &self.0 {
            f.write_str("-----BEGIN CERTIFICATE-----\n")?;
            certificate.chunks(LINE).try_for_each(|chunk| writeln!(f, "{}", STANDARD.encode(chunk)))?;
            f.write_str("-----END CERTIFICATE-----\n")?;
        }
        Ok(())
    }
}

/// From when to when a certificate is good, in seconds since 1970; none if it cannot be read.
pub(super) fn validity(certificate: &CertificateDer<'_>) -> Option<std::ops::RangeInclusive<i64>> {
    let read = CertificateInner::<Raw>::from_der(certificate).ok()?;
    let validity = read.tbs_certificate().validity();
    let seconds = |time: x509_cert::time::Time| i64::try_from(time.to_unix_duration().as_secs()).ok();
    Some(seconds(validity.not_before)?..=seconds(validity.not_after)?)
}
