//! A proxy between the controller and the API server, which does what networks and busy servers do: [`Proxy`].
//!
//! It speaks plain HTTP on 127.0.0.1 and asks the API server as the controller's user, so that the audit log stays right.

use std::convert::Infallible;
use std::error::Error;
use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use futures::{StreamExt as _, TryStreamExt as _, stream};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use kube::Client;
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};

use crate::support::chain;
use crate::testbed::{CONTROLLER, ControlPlane};

type Failure = Box<dyn Error + Send + Sync>;
type Body = UnsyncBoxBody<Bytes, Failure>;

/// A running proxy. It ends with the async runtime that it was started on.
pub(crate) struct Proxy {
    inner: Arc<Inner>,
    /// A kubeconfig that leads through it.
    pub(crate) kubeconfig: PathBuf,
}

struct Inner {
    client: Client,
    random: Random,
    /// Whether anything goes wrong.
    is_bad: AtomicBool,
    /// How often something did.
    faults: AtomicU64,
}

/// What goes wrong with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// The server has too much to do, and does not look at it.
    TooMany,
    /// Somebody else is said to have been quicker.
    Conflict,
    /// The server is going down.
    Unavailable,
    /// What the watch begins with is forgotten already.
    Expired,
    /// It is done, and nobody hears of it.
    LostAnswer,
    /// It takes its time.
    Slow,
    /// The answer ends in the middle.
    Cut,
}

impl Proxy {
    /// Starts a proxy to the API server of `control_plane`, which lets everything through until it is told otherwise.
    pub(crate) async fn start(control_plane: &ControlPlane, seed: u64) -> Self {
        let client =
            control_plane.client(CONTROLLER).await.unwrap_or_else(|error| panic!("{}", chain(&error)));
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("has a port");
        let address = listener.local_addr().expect("has an address");
        let (is_bad, faults) = (AtomicBool::new(false), AtomicU64::new(0));
        let inner = Arc::new(Inner { client, random: Random::new(seed), is_bad, faults });
        tokio::spawn(serve(listener, Arc::clone(&inner)));
        Self { inner, kubeconfig: kubeconfig(control_plane, address) }
    }

    /// Whether things go wrong from now on.
    pub(crate) fn be_bad(&self, is_bad: bool) {
        self.inner.is_bad.store(is_bad, Ordering::Relaxed);
    }

    /// How often something went wrong so far.
    pub(crate) fn faults(&self) -> u64 {
        self.inner.faults.load(Ordering::Relaxed)
    }
}

/// The controller's kubeconfig, but for the server.
fn kubeconfig(control_plane: &ControlPlane, address: SocketAddr) -> PathBuf {
    let text = fs::read_to_string(control_plane.kubeconfig(CONTROLLER)).expect("is there");
    assert!(text.contains(control_plane.server()), "{text}");
    let path = control_plane.folder().join("proxy.kubeconfig");
    fs::write(&path, text.replace(control_plane.server(), &format!("http://{address}"))).expect("is written");
    path
}

async fn serve(listener: TcpListener, inner: Arc<Inner>) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(connection(stream, Arc::clone(&inner)));
    }
}

async fn connection(stream: TcpStream, inner: Arc<Inner>) {
    let service = service_fn(|request| answer(&inner, request));
    // An answer that is to be lost is an error here, and the end of the connection.
    _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

async fn answer(inner: &Inner, request: Request<Incoming>) -> Result<Response<Body>, Failure> {
    let is_watch = request.uri().query().is_some_and(|query| query.contains("watch=true"));
    let fault = inner.fault(request.method(), is_watch);
    match fault {
        Some(Fault::TooMany) => return Ok(refusal(429, "TooManyRequests")),
        Some(Fault::Conflict) => return Ok(refusal(409, "Conflict")),
        Some(Fault::Unavailable) => return Ok(refusal(503, "ServiceUnavailable")),
        Some(Fault::Expired) => return Ok(refusal(410, "Expired")),
        Some(Fault::Slow) => inner.pause(1500).await,
        Some(Fault::LostAnswer | Fault::Cut) | None => {}
    }
    let answer = forward(&inner.client, request).await?;
    let (parts, body) = answer.into_parts();
    let mut response = Response::builder().status(parts.status);
    if let Some(kind) = parts.headers.get(CONTENT_TYPE) {
        response = response.header(CONTENT_TYPE, kind);
    }
    let body = if is_watch {
        watched(inner, body, fault)
    } else {
        let bytes = body.collect().await?.to_bytes();
        if fault == Some(Fault::LostAnswer) {
            return Err("the answer is lost".into());
        }
        whole(bytes)
    };
    Ok(response.body(body)?)
}

/// Asks the API server the same.
async fn forward(
    client: &Client,
    request: Request<Incoming>,
) -> Result<Response<kube::client::Body>, Failure> {
    let (parts, body) = request.into_parts();
    let mut same = Request::builder().method(parts.method).uri(parts.uri);
    for name in [ACCEPT, CONTENT_TYPE, USER_AGENT] {
        if let Some(value) = parts.headers.get(&name) {
            same = same.header(name, value);
        }
    }
    let body = body.collect().await?.to_bytes().to_vec();
    Ok(client.send(same.body(kube::client::Body::from(body))?).await?)
}

/// The events of a watch: some late, and some watches cut in the middle of one.
fn watched(inner: &Inner, body: kube::client::Body, fault: Option<Fault>) -> Body {
    let delay = Duration::from_millis(if fault == Some(Fault::Slow) { 200 } else { 0 });
    let frames = body.into_data_stream().map_err(Failure::from).map_ok(Frame::data);
    let frames = frames.then(move |frame| async move {
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        frame
    });
    if fault != Some(Fault::Cut) {
        return StreamBody::new(frames).boxed_unsync();
    }
    let end = tokio::time::sleep(Duration::from_millis(inner.random.below(3000)));
    let half = Ok(Frame::data(Bytes::from_static(b"{\"type\":\"MODIFIED\",\"object\":{\"kind\":")));
    let broken = stream::iter([half, Err("the watch is cut".into())]);
    StreamBody::new(frames.take_until(Box::pin(end)).chain(broken)).boxed_unsync()
}

fn whole(bytes: Bytes) -> Body {
    Full::new(bytes).map_err(|never: Infallible| match never {}).boxed_unsync()
}

/// What an API server says when it refuses.
fn refusal(code: u16, reason: &str) -> Response<Body> {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": code, "reason": reason,
        "message": format!("chaos: {reason}"), "details": { "retryAfterSeconds": u8::from(code == 429) },
    });
    let mut response = Response::new(whole(status.to_string().into()));
    *response.status_mut() = StatusCode::from_u16(code).expect("is a status");
    response.headers_mut().insert(CONTENT_TYPE, "application/json".parse().expect("is a header"));
    response
}

impl Inner {
    fn fault(&self, method: &Method, is_watch: bool) -> Option<Fault> {
        if !self.is_bad.load(Ordering::Relaxed) {
            return None;
        }
        let chance = self.random.below(100);
        let fault = match (is_watch, chance) {
            (true, 0..60) => Fault::Cut,
            (true, 60..75) | (false, 25..35) => Fault::Slow,
            (true, 75..85) => Fault::Expired,
            (_, 85..90) => Fault::TooMany,
            (_, 90..95) => Fault::Unavailable,
            (false, 0..10) if *method != Method::GET => Fault::Conflict,
            (false, 10..25) => Fault::LostAnswer,
            _ => return None,
        };
        self.faults.fetch_add(1, Ordering::Relaxed);
        Some(fault)
    }

    async fn pause(&self, most: u64) {
        tokio::time::sleep(Duration::from_millis(self.random.below(most))).await;
    }
}

/// Numbers that look random, from a seed: a run can be had again, as far as time allows.
pub(crate) struct Random(AtomicU64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }

    /// A number below `limit`: Steele, Lea and Flood's `SplitMix`.
    pub(crate) fn below(&self, limit: u64) -> u64 {
        let step = 0x9e37_79b9_7f4a_7c15;
        let mut bits = self.0.fetch_add(step, Ordering::Relaxed).wrapping_add(step);
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (bits ^ (bits >> 31)) % limit
    }
}
