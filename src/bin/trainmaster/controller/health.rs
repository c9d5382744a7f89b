//! `/healthz`, that the process works, and `/readyz`, that it has seen everything there is.

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

/// How long a client may take to say what it wants.
const HEADER_LIMIT: Duration = Duration::from_secs(10);

/// Answers on `listener`, for ever.
pub(super) async fn serve(listener: TcpListener, ready: watch::Receiver<bool>) {
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
            let (status, text) = answer(request.method(), request.uri().path(), *ready.borrow());
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

fn answer(method: &Method, path: &str, ready: bool) -> (StatusCode, &'static str) {
    match (method, path) {
        (&Method::GET | &Method::HEAD, "/healthz") => (StatusCode::OK, "ok\n"),
        (&Method::GET | &Method::HEAD, "/readyz") if ready => (StatusCode::OK, "ok\n"),
        (&Method::GET | &Method::HEAD, "/readyz") => {
            (StatusCode::SERVICE_UNAVAILABLE, "not everything has been listed yet\n")
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
        let code = |method: &Method, path, ready| answer(method, path, ready).0.as_u16();
        assert_eq!(code(&Method::GET, "/healthz", false), 200);
        assert_eq!((code(&Method::GET, "/readyz", false), code(&Method::GET, "/readyz", true)), (503, 200));
        assert_eq!((code(&Method::POST, "/readyz", true), code(&Method::GET, "/", true)), (405, 404));
    }
}
