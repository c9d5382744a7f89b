//! A client over TLS that trusts whom a webhook configuration says to trust, as the API server does.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

/// By which name the servers are known: the Service's, in the controller's namespace.
pub(crate) const NAME: &str = "kubeflow-trainer-controller-manager.kubeflow-system.svc";

/// An answer: the certificate that was shown, the status, the body.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) certificate: CertificateDer<'static>,
    pub(crate) status: u16,
    pub(crate) body: String,
}

/// Sends a request on a connection of its own; `head` is what stands before the body, without its length.
pub(crate) async fn request(bundle: &[u8], address: &str, head: &str, body: &[u8]) -> io::Result<Answer> {
    let (bundle, address) = (bundle.to_owned(), address.to_owned());
    let head =
        format!("{head}\r\nHost: {NAME}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", body.len());
    let text = [head.as_bytes(), body].concat();
    tokio::task::spawn_blocking(move || exchange(&bundle, &address, &text)).await.map_err(io::Error::other)?
}

fn exchange(bundle: &[u8], address: &str, request: &[u8]) -> io::Result<Answer> {
    let mut stream = connect(bundle, address)?;
    stream.write_all(request)?;
    let mut text = String::new();
    // A server that refuses before it has read everything may close without a word.
    if let Err(error) = stream.read_to_string(&mut text)
        && text.is_empty()
    {
        return Err(error);
    }
    let certificate = stream.conn.peer_certificates().and_then(|it| it.first()).cloned();
    let certificate = certificate.ok_or_else(|| io::Error::other("no certificate"))?.into_owned();
    let status = text.split(' ').nth(1).and_then(|it| it.parse().ok()).unwrap_or_default();
    let body = text.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default();
    Ok(Answer { certificate, status, body })
}

fn connect(bundle: &[u8], address: &str) -> io::Result<StreamOwned<ClientConnection, TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(CertificateDer::pem_slice_iter(bundle).filter_map(Result::ok));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.map_err(io::Error::other)?.with_root_certificates(roots).with_no_client_auth();
    let name = ServerName::try_from(NAME).map_err(io::Error::other)?;
    let stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    let connection = ClientConnection::new(Arc::new(config), name).map_err(io::Error::other)?;
    Ok(StreamOwned::new(connection, stream))
}
