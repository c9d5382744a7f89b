//! Every request to the API server, counted by a layer of the client: watches among them.

use super::{Metrics, REQUESTS};
use http::{Request, Response};
use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};
use tower::{Layer, Service};

/// The layer. `host` is whom the client asks; requests do not say it yet where they are counted.
#[derive(Clone)]
pub(in crate::controller) struct CountRequests {
    pub(in crate::controller) metrics: Arc<Metrics>,
    pub(in crate::controller) host: Arc<str>,
}

impl<S> Layer<S> for CountRequests {
    type Service = Counted<S>;

    fn layer(&self, inner: S) -> Counted<S> {
        Counted { inner, to: self.clone() }
    }
}

/// A client whose requests are counted.
#[derive(Clone)]
pub(in crate::controller) struct Counted<S> {
    inner: S,
    to: CountRequests,
}

impl<S, B, R> Service<Request<B>> for Counted<S>
where
    S: Service<Request<B>, Response = Response<R>>,
    S::Future: Send + 'static,
{
    type Response = Response<R>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<R>, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let CountRequests { metrics, host } = self.to.clone();
        let method = request.method().to_string();
        let answer = self.inner.call(request);
        Box::pin(async move {
            let answer = answer.await;
            let code = match &answer {
                Ok(response) => response.status().as_str().to_owned(),
                Err(_) => "<error>".to_owned(),
            };
            metrics.count(&REQUESTS, &[&code, &method, &host]);
            answer
        })
    }
}
