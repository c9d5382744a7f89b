//! `/healthz`, that the process works, and `/readyz`, that it can be asked.

use crate::serving::Trust;
use http_body_util::Full;
use hyper::{
    Method, Request, Response, StatusCode,
    body::{Bytes, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::{convert::Infallible, time::Duration};
use tokio::{net::TcpListener, sync::watch};
use tokio_util::sync::CancellationToken;

/// How long a client may take to say what it wants.
const HEADER_LIMIT: Duration = Duration::from_secs(10);

/// What it takes to be asked.
#[derive(Clone)]
pub(super) struct Readiness {
    /// Whether everything that there is has been seen.
    pub(super) seen: watch::Receiver<bool>,
    /// What clients may rely on, if anything is served over TLS.
    pub(super) trust: Option<watch::Receiver<Trust>>,
    /// Told to stop, one should not be asked any more.
    pub(super) stop: CancellationToken,
}

impl Readiness {
    /// What is missing.
    fn lacks(&self) -> Option<&'static str> {
        if self.stop.is_cancelled() {
            Some("it is stopping\n")
        } else if !*self.seen.borrow() {
            Some("not everything has been listed yet\n")
        } else if self.trust.as_ref().is_some_and(|trust| !trust.borrow().is_ready) {
            Some("the webhook configurations do not trust the certificate yet\n")
        } else {
            None
        }
    }
}

/// Answers on `listener`, for ever.
pub(super) async fn serve(listener: TcpListener, ready: Readiness) {
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Out of file descriptors, for one: it passes.
                tracing::warn!(%error, "cannot accept a connection for health");
                tokio::time::sleep(Duration::from_secs(1)).await;
                continue;
            }
        };
        let ready = ready.clone();
        let service = service_fn(move |request: Request<Incoming>| {
            let (status, text) = answer(request.method(), request.uri().path(), ready.lacks());
            let mut response = Response::new(Full::new(Bytes::from_static(text.as_bytes())));
            *response.status_mut() = status;
            async { Ok::<_, Infallible>(response) }
        });
        tokio::spawn(async move {
            let mut server = http1::Builder::new();
            server.timer(TokioTimer::new()).header_read_timeout(HEADER_LIMIT).keep_alive(false);
            // What a client does wrong is its own matter.
            _ = server.serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

fn answer(method: &Method, path: &str, lacks: Option<&'static str>) -> (StatusCode, &'static str) {
    match (method, path) {
        (&Method::GET | &Method::HEAD, "/healthz") => (StatusCode::OK, "ok\n"),
        (&Method::GET | &Method::HEAD, "/readyz") => {
            lacks.map_or((StatusCode::OK, "ok\n"), |lacks| (StatusCode::SERVICE_UNAVAILABLE, lacks))
        }
        (_, "/healthz" | "/readyz") => (StatusCode::METHOD_NOT_ALLOWED, "only GET\n"),
        _ => (StatusCode::NOT_FOUND, "there are /healthz and /readyz\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn health_is_always_fine_and_readiness_only_when_ready() {
        let code = |method: &Method, path, lacks| answer(method, path, lacks).0.as_u16();
        let not_yet = Some("not yet");
        assert_eq!(code(&Method::GET, "/healthz", not_yet), 200);
        assert_eq!((code(&Method::GET, "/readyz", not_yet), code(&Method::GET, "/readyz", None)), (503, 200));
        assert_eq!((code(&Method::POST, "/readyz", None), code(&Method::GET, "/", None)), (405, 404));
    }

    #[test]
    fn readiness_takes_that_all_is_seen_the_certificate_trusted_and_nobody_wants_it_to_stop() {
        let (seen, trust) = (watch::Sender::new(false), watch::Sender::new(Trust::default()));
        let stop = CancellationToken::new();
        let ready = Readiness { seen: seen.subscribe(), trust: Some(trust.subscribe()), stop: stop.clone() };
        let lacks = |part: &str| ready.lacks().is_some_and(|it| it.contains(part));
        assert!(lacks("listed"));
        seen.send_replace(true);
        assert!(lacks("certificate"));
        assert_eq!(Readiness { trust: None, ..ready.clone() }.lacks(), None);
        trust.send_replace(Trust { is_ready: true, ..Trust::default() });
        assert_eq!(ready.lacks(), None);
        stop.cancel();
        assert!(lacks("stopping"));
    }
}
