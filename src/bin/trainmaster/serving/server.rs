//! HTTP within TLS: [`serve`] answers on a listener until it is told to stop, and then ends what it has begun.

use crate::telemetry::Chain;
use futures::FutureExt as _;
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::{
    Request, Response, StatusCode,
    body::{Body as _, Bytes, Incoming},
    header::{CONTENT_TYPE, HeaderValue},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::{convert::Infallible, panic::AssertUnwindSafe, pin::pin, sync::Arc, time::Duration};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    time::timeout,
};
use tokio_rustls::TlsAcceptor;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// An answer, whole.
pub(crate) type Answer = Response<Full<Bytes>>;

/// How long a client may take to greet; upstream's limit for reading.
const GREETING_LIMIT: Duration = Duration::from_secs(10);
/// How long a connection may be idle, or a client take for the head of a request; upstream's limit for the former.
const IDLE_LIMIT: Duration = Duration::from_mins(2);
/// How long an answer may take. The API server waits for webhooks no longer than that.
const ANSWER_LIMIT: Duration = Duration::from_secs(30);
/// Connections at a time. More of them wait: what one costs in memory is bounded, so all of them are.
const CONNECTIONS: usize = 1024;
/// After it is told to stop, new connections are still answered for a while: it takes a moment until nobody is sent here.
const LINGER: Duration = Duration::from_secs(3);
/// How long what has been begun may take to end. With [`LINGER`] it is less than the 30 s after which a pod is killed.
const DRAIN_LIMIT: Duration = Duration::from_secs(20);

/// Answers requests on `listener` by `answer` until `stop`, and returns when all that were begun have been answered.
pub(crate) async fn serve<F>(
    listener: TcpListener,
    tls: TlsAcceptor,
    stop: CancellationToken,
    answer: impl Fn(Request<Incoming>) -> F + Clone + Send + Sync + 'static,
) where
    F: Future<Output = Answer> + Send + 'static,
{
    let (connections, room) = (TaskTracker::new(), Arc::new(Semaphore::new(CONNECTIONS)));
    let drain = CancellationToken::new();
    let mut end = pin!(async {
        stop.cancelled().await;
        tokio::time::sleep(LINGER).await;
    });
    loop {
        let next = async {
            let permit = Arc::clone(&room).acquire_owned().await;
            (permit, listener.accept().await)
        };
        let (permit, stream) = tokio::select! {
            () = &mut end => break,
            (permit, accepted) = next => match accepted {
                Ok((stream, _)) => (permit, stream),
                Err(error) => {
                    // Out of file descriptors, for one: it passes.
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    continue;
                }
            },
        };
        let (tls, drain, answer) = (tls.clone(), drain.clone(), answer.clone());
        connections.spawn(async move {
            connection(stream, tls, drain, answer).await;
            drop(permit);
        });
    }
    drop(listener);
    drain.cancel();
    connections.close();
    if timeout(DRAIN_LIMIT, connections.wait()).await.is_err() {
        tracing::warn!("{} connections did not end in time", connections.len());
    }
}

/// Answers all requests of one connection. What a client does wrong is its own matter.
async fn connection<F>(
    stream: TcpStream,
    tls: TlsAcceptor,
    drain: CancellationToken,
    answer: impl Fn(Request<Incoming>) -> F + Send + Sync,
) where
    F: Future<Output = Answer> + Send,
{
    let stream = match timeout(GREETING_LIMIT, tls.accept(stream)).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => return tracing::debug!(error = %Chain(&error), "a client did not greet"),
        Err(_) => return,
    };
    let service = service_fn(|request| {
        let answer = answer(request);
        async { Ok::<_, Infallible>(limited(answer).await) }
    });
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(IDLE_LIMIT);
    let mut connection = pin!(server.serve_connection(TokioIo::new(stream), service));
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = drain.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(error = %Chain(&error), "a connection broke off");
    }
}

/// The answer; one that says so if it takes too long or there is a mistake in how it is made.
async fn limited(answer: impl Future<Output = Answer>) -> Answer {
    match timeout(ANSWER_LIMIT, AssertUnwindSafe(answer).catch_unwind()).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(_)) => {
            tracing::error!("the answer to a request panicked");
            plain(StatusCode::INTERNAL_SERVER_ERROR, "an internal error; the log has more")
        }
        Err(_) => plain(StatusCode::SERVICE_UNAVAILABLE, "no answer in time"),
    }
}

/// Why a body was not read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BodyError {
    #[error("it has more than {0} bytes")]
    TooLarge(usize),
    #[error("it did not come in time")]
    Late,
    #[error("it broke off")]
    Broken(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl BodyError {
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            BodyError::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            BodyError::Late => StatusCode::REQUEST_TIMEOUT,
            BodyError::Broken(_) => StatusCode::BAD_REQUEST,
        }
    }
}

/// The whole body of a request, of at most `limit` bytes; what is longer is not read to its end.
pub(crate) async fn body(incoming: Incoming, limit: usize) -> Result<Bytes, BodyError> {
    let announced = usize::try_from(incoming.size_hint().lower()).unwrap_or(usize::MAX);
    if announced > limit {
        return Err(BodyError::TooLarge(limit));
    }
    match timeout(GREETING_LIMIT, Limited::new(incoming, limit).collect()).await {
        Ok(Ok(read)) => Ok(read.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(BodyError::TooLarge(limit)),
        Ok(Err(error)) => Err(BodyError::Broken(error)),
        Err(_) => Err(BodyError::Late),
    }
}

/// An answer in plain words.
pub(crate) fn plain(status: StatusCode, text: impl Into<String>) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from(format!("{}\n", text.into()))));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    answer
}
