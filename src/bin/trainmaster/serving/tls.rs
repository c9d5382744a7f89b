//! TLS as the configuration wants it, with the certificate that is served at the moment.

use super::identity::{Identity, provider};
use rustls::{
    ServerConfig, SupportedCipherSuite, SupportedProtocolVersion,
    crypto::CryptoProvider,
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
    version::{TLS12, TLS13},
};
use std::sync::{Arc, PoisonError, RwLock};
use tokio_rustls::TlsAcceptor;

/// The certificate that is served now: none as long as no client would take it.
#[derive(Debug, Default)]
pub(crate) struct Serving(RwLock<Option<Identity>>);

impl Serving {
    pub(super) fn current(&self) -> Option<Identity> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Connections that there are keep what they have seen.
    pub(super) fn change(&self, identity: Identity) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Some(identity);
    }
}

impl ResolvesServerCert for Serving {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.current().map(|it| it.key)
    }
}

/// The configuration's `tls`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TlsSettings {
    /// `VersionTLS12` or `VersionTLS13`; upstream's default is Go's, 1.2.
    pub(crate) min_version: Option<String>,
    /// Names as IANA has them. They are for TLS 1.2: that of 1.3 cannot be chosen, as in upstream.
    pub(crate) cipher_suites: Vec<String>,
    /// `http/1.1` is all that there is.
    pub(crate) next_protocols: Vec<String>,
}

/// The only protocol that is spoken within TLS.
const HTTP: &str = "http/1.1";

/// Greets clients with the certificate of `serving`. What `settings` names that there is not only warns, as in upstream.
pub(crate) fn acceptor(settings: &TlsSettings, serving: Arc<Serving>) -> Result<TlsAcceptor, rustls::Error> {
    let builder = ServerConfig::builder_with_provider(Arc::new(chosen(&settings.cipher_suites)));
    let builder = builder.with_protocol_versions(versions(settings.min_version.as_deref()))?;
    let mut config = builder.with_no_client_auth().with_cert_resolver(serving);
    config.alpn_protocols = vec![HTTP.as_bytes().to_vec()];
    for other in settings.next_protocols.iter().filter(|it| *it != HTTP) {
        tracing::warn!("{other} of tls.nextProtos is not spoken here; {HTTP} is");
    }
    Ok(TlsAcceptor::from(Arc::new(config)))
}

type Versions = &'static [&'static SupportedProtocolVersion];
static NEW: Versions = &[&TLS13];
static BOTH: Versions = &[&TLS13, &TLS12];

fn versions(least: Option<&str>) -> Versions {
    match least {
        Some("VersionTLS13") => NEW,
        None | Some("VersionTLS12") => BOTH,
        Some(other) => {
            tracing::warn!("tls.minVersion {other} is not known or too old; it is VersionTLS12");
            BOTH
        }
    }
}

fn chosen(names: &[String]) -> CryptoProvider {
    let mut provider = CryptoProvider::clone(provider());
    if names.is_empty() {
        return provider;
    }
    let is_called =
        |suite: &SupportedCipherSuite, name: &String| suite.suite().as_str() == Some(name.as_str());
    for name in names.iter().filter(|name| !provider.cipher_suites.iter().any(|it| is_called(it, name))) {
        tracing::warn!("tls.cipherSuites names {name}, which is not known or not safe");
    }
    let is_chosen =
        |it: &SupportedCipherSuite| it.tls13().is_some() || names.iter().any(|name| is_called(it, name));
    provider.cipher_suites.retain(is_chosen);
    provider
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suites_are_chosen_by_name_and_those_of_tls_13_stay() {
        let all = provider().cipher_suites.len();
        assert_eq!(chosen(&[]).cipher_suites.len(), all);
        let names =
            ["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256".to_owned(), "TLS_RSA_WITH_RC4_128_SHA".to_owned()];
        let old = |provider: &CryptoProvider| {
            provider.cipher_suites.iter().filter(|it| it.tls13().is_none()).count()
        };
        let chosen = chosen(&names);
        assert_eq!((old(&chosen), chosen.cipher_suites.len() - old(&chosen)), (1, 3));
        acceptor(&TlsSettings { cipher_suites: names.into(), ..TlsSettings::default() }, Arc::default())
            .unwrap();
    }

    #[test]
    fn only_new_clients_are_greeted_if_that_is_wanted() {
        let count = |least: &str| versions(Some(least)).len();
        assert_eq!((count("VersionTLS13"), count("VersionTLS12"), count("VersionTLS10")), (1, 2, 2));
    }
}
