//! `/metrics`, for whoever asks: [`answer`], and [`serve`] where that is not over TLS.

use http_body_util::Full;
use hyper::{
    Method, Request, Response, StatusCode,
    body::{Bytes, Incoming},
    header::{CONTENT_TYPE, HeaderValue},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::{convert::Infallible, sync::Arc, time::Duration};
use tokio::net::TcpListener;

/// How long a client may take to say what it wants.
const HEADER_LIMIT: Duration = Duration::from_secs(10);
/// The text format that every Prometheus reads.
const FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Answers on `listener` with what `render` says, for ever.
pub(in crate::controller) async fn serve(
    listener: TcpListener,
    render: impl Fn() -> String + Send + Sync + 'static,
) {
    let render = Arc::new(render);
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Out of file descriptors, for one: it passes.
                tracing::warn!(%error, "cannot accept a connection for metrics");
                tokio::time::sleep(Duration::from_secs(1)).await;
                continue;
            }
        };
        let render = Arc::clone(&render);
        let service = service_fn(move |request: Request<Incoming>| {
            let response = answer(request.method(), request.uri().path(), &*render);
            async { Ok::<_, Infallible>(response) }
        });
        tokio::spawn(async move {
            let mut server = http1::Builder::new();
            server.timer(TokioTimer::new()).header_read_timeout(HEADER_LIMIT);
            // What a client does wrong is its own matter.
            _ = server.serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

/// The answer to a request for `path`: what `render` says if it is about metrics.
pub(in crate::controller) fn answer(
    method: &Method,
    path: &str,
    render: &impl Fn() -> String,
) -> Response<Full<Bytes>> {
    let (status, text) = match (method, path) {
        (&Method::GET | &Method::HEAD, "/metrics") => (StatusCode::OK, render()),
        (_, "/metrics") => (StatusCode::METHOD_NOT_ALLOWED, "only GET\n".to_owned()),
        _ => (StatusCode::NOT_FOUND, "there is /metrics\n".to_owned()),
    };
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(FORMAT));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_told_to_who_asks_for_them() {
        let code = |method: &Method, path| answer(method, path, &String::new).status().as_u16();
        assert_eq!(code(&Method::GET, "/metrics"), 200);
        assert_eq!((code(&Method::POST, "/metrics"), code(&Method::GET, "/")), (405, 404));
    }
}
