//! The progress server: training code tells how far it is, and it is written into the status of its TrainJob.
//!
//! As upstream's: `POST` to the path of the TrainJob's status, with a token that was made for exactly this path and a
//! body that the SDK writes. Who asks anything else gets a `Status` of Kubernetes that says why not.

use crate::{
    serving::{Answer, body},
    telemetry::Chain,
};
use http_body_util::Full;
use hyper::{
    HeaderMap, Method, Request, Response, StatusCode,
    body::{Bytes, Incoming},
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue},
};
use jiff::{RoundMode, Timestamp, TimestampRound, Unit};
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec};
use kube::{
    Api, Client,
    api::{DynamicObject, Patch, PatchParams, PostParams},
    core::ApiResource,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::Semaphore;
use trainmaster::api;

/// Who writes, as the API server notes it down; upstream's.
const FIELD_MANAGER: &str = "trainer-status";
/// Bytes of a body; upstream's.
const BODY_LIMIT: usize = 1 << 16;
/// Requests to the API server at a time.
const CONCURRENCY: usize = 32;

/// What a body says.
#[derive(Debug, Default, PartialEq, Deserialize, Serialize)]
struct Update {
    #[serde(rename = "trainerStatus", default, skip_serializing_if = "Option::is_none")]
    trainer_status: Option<TrainerStatus>,
}

/// The whole of what is known of the training: what is missing here is taken out of the TrainJob's status.
#[derive(Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct TrainerStatus {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    progress_percentage: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    estimated_remaining_seconds: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    metrics: Option<Vec<Metric>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_updated_time: Option<String>,
}

#[derive(Debug, Default, PartialEq, Deserialize, Serialize)]
struct Metric {
    #[serde(default)]
    name: String,
    #[serde(default)]
    value: String,
}

/// Why an update is not written.
#[derive(Debug, thiserror::Error)]
enum Refusal {
    #[error("Not found")]
    Path,
    #[error("Forbidden")]
    Forbidden,
    #[error("Payload too large")]
    TooLarge,
    #[error("Invalid payload")]
    Payload,
    #[error("{0}")]
    Invalid(String),
    #[error("Train job not found")]
    NoTrainJob,
    #[error("Internal error")]
    Internal(#[from] kube::Error),
}

impl Refusal {
    fn status(&self) -> (StatusCode, &'static str) {
        match self {
            Refusal::Path | Refusal::NoTrainJob => (StatusCode::NOT_FOUND, "NotFound"),
            Refusal::Forbidden => (StatusCode::FORBIDDEN, "Forbidden"),
            Refusal::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge"),
            Refusal::Payload | Refusal::Invalid(_) => (StatusCode::UNPROCESSABLE_ENTITY, "Invalid"),
            Refusal::Internal(_) => (StatusCode::INTERNAL_SERVER_ERROR, "InternalError"),
        }
    }
}

/// The TrainJob that a path is about.
#[derive(Debug, PartialEq, Eq)]
struct Target<'a> {
    namespace: &'a str,
    name: &'a str,
}

impl<'a> Target<'a> {
    fn of(path: &'a str) -> Option<Target<'a>> {
        let mut parts = path.strip_prefix("/apis/")?.split('/');
        let mut next = || parts.next().unwrap_or_default();
        let [group, version, namespaces, namespace, train_jobs, name, status] =
            [next(), next(), next(), next(), next(), next(), next()];
        let is_path = [group, version, namespaces, train_jobs, status]
            == [api::GROUP, api::VERSION, "namespaces", "trainjobs", "status"];
        let is_name = |it: &str| !it.is_empty() && it.len() <= 63 && it.bytes().all(is_of_names);
        (is_path && parts.next().is_none() && is_name(namespace) && is_name(name))
            .then_some(Target { namespace, name })
    }

    /// For whom a token must be meant.
    fn audience(&self) -> String {
        let Target { namespace, name } = self;
        format!("{}/{}/namespaces/{namespace}/trainjobs/{name}/status", api::GROUP, api::VERSION)
    }
}

fn is_of_names(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'
}

/// Writes what it is told.
#[derive(Clone)]
pub(super) struct Progress {
    client: Client,
    room: Arc<Semaphore>,
}

impl Progress {
    pub(super) fn new(client: Client) -> Progress {
        Progress { client, room: Arc::new(Semaphore::new(CONCURRENCY)) }
    }

    pub(super) async fn answer(self, request: Request<Incoming>) -> Answer {
        let path = request.uri().path().to_owned();
        match self.take(request).await {
            Ok(update) => json_answer(StatusCode::OK, &json!(update)),
            Err(refusal) => {
                let (code, reason) = refusal.status();
                match &refusal {
                    Refusal::Internal(error) => {
                        tracing::warn!(path, error = %Chain(error), "cannot write the progress of a TrainJob");
                    }
                    _ => tracing::debug!(path, reason, "refused the progress of a TrainJob"),
                }
                let status = json!({
                    "metadata": {}, "status": "Failure", "message": refusal.to_string(), "reason": reason,
                    "code": code.as_u16(),
                });
                json_answer(code, &status)
            }
        }
    }

    async fn take(&self, request: Request<Incoming>) -> Result<Update, Refusal> {
        let (head, incoming) = request.into_parts();
        let target =
            Target::of(head.uri.path()).filter(|_| head.method == Method::POST).ok_or(Refusal::Path)?;
        let read = body(incoming, BODY_LIMIT).await.map_err(|error| match error.status() {
            StatusCode::PAYLOAD_TOO_LARGE => Refusal::TooLarge,
            _ => Refusal::Payload,
        })?;
        // It fails only when it is closed, which it never is.
        let _room = self.room.acquire().await;
        let token = token(&head.headers).ok_or(Refusal::Forbidden)?;
        if !self.is_meant(token, &target).await? {
            return Err(Refusal::Forbidden);
        }
        let update = Update::read(&read).ok_or(Refusal::Payload)?;
        if let Some(status) = &update.trainer_status {
            self.write(&target, status).await?;
        }
        Ok(update)
    }

    /// Whether the API server has given the token to a service account of the TrainJob's namespace, and for this use.
    async fn is_meant(&self, token: &str, target: &Target<'_>) -> Result<bool, Refusal> {
        let audience = target.audience();
        let spec = TokenReviewSpec { audiences: Some(vec![audience.clone()]), token: token.to_owned() };
        let review = TokenReview { spec, ..TokenReview::default() };
        let reviews: Api<TokenReview> = Api::all(self.client.clone());
        let status = reviews.create(&PostParams::default(), &review).await?.status.unwrap_or_default();
        let user = status.user.and_then(|it| it.username).unwrap_or_default();
        let account = user.strip_prefix("system:serviceaccount:").and_then(|it| it.split_once(':'));
        Ok(status.authenticated == Some(true)
            && status.audiences.unwrap_or_default().contains(&audience)
            && account.is_some_and(|(namespace, _)| namespace == target.namespace))
    }

    async fn write(&self, target: &Target<'_>, status: &TrainerStatus) -> Result<(), Refusal> {
        let resource = train_jobs();
        let object = json!({
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": { "name": target.name, "namespace": target.namespace },
            "status": { "trainerStatus": status },
        });
        let train_jobs: Api<DynamicObject> =
            Api::namespaced_with(self.client.clone(), target.namespace, &resource);
        let params = PatchParams::apply(FIELD_MANAGER).force();
        match train_jobs.patch_status(target.name, &params, &Patch::Apply(object)).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if matches!(status.code, 400 | 422) => {
                Err(Refusal::Invalid(status.message))
            }
            Err(kube::Error::Api(status)) if status.is_not_found() => Err(Refusal::NoTrainJob),
            Err(error) => Err(error.into()),
        }
    }
}

impl Update {
    /// Reads a body. Times become what the API has: whole seconds.
    fn read(text: &[u8]) -> Option<Update> {
        let mut update = serde_json::from_slice::<Option<Update>>(text).ok()?.unwrap_or_default();
        if let Some(time) = update.trainer_status.as_mut().and_then(|it| it.last_updated_time.as_mut()) {
            let whole = TimestampRound::new().smallest(Unit::Second).mode(RoundMode::Trunc);
            *time = time.parse::<Timestamp>().ok()?.round(whole).ok()?.to_string();
        }
        Some(update)
    }
}

fn train_jobs() -> ApiResource {
    ApiResource {
        group: api::GROUP.to_owned(),
        version: api::VERSION.to_owned(),
        api_version: format!("{}/{}", api::GROUP, api::VERSION),
        kind: "TrainJob".to_owned(),
        plural: "trainjobs".to_owned(),
    }
}

/// The one token of the one header that says who asks.
fn token(headers: &HeaderMap) -> Option<&str> {
    let mut words = headers.get(AUTHORIZATION)?.to_str().ok()?.split_ascii_whitespace();
    let (scheme, token) = (words.next()?, words.next()?);
    (scheme.eq_ignore_ascii_case("bearer") && words.next().is_none()).then_some(token)
}

fn json_answer(status: StatusCode, value: &Value) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from(format!("{value}\n"))));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_path_of_a_status_is_a_target() {
        let path = "/apis/trainer.kubeflow.org/v1alpha1/namespaces/ml/trainjobs/bert/status";
        let target = Target::of(path).unwrap();
        assert_eq!(target, Target { namespace: "ml", name: "bert" });
        assert_eq!(target.audience(), "trainer.kubeflow.org/v1alpha1/namespaces/ml/trainjobs/bert/status");
        for wrong in [
            path.replace("bert", ""),
            path.replace("bert", "bert%2fx"),
            path.replace("status", "scale"),
            path.replace("ml", "ML"),
            format!("{path}/"),
            path.replace("/apis", ""),
            "/".to_owned(),
        ] {
            assert_eq!(Target::of(&wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_token_is_the_only_word_after_bearer() {
        let of = |value: &str| {
            let headers = [(AUTHORIZATION, HeaderValue::from_str(value).unwrap())].into_iter().collect();
            token(&headers).map(str::to_owned)
        };
        for right in ["Bearer t", "bearer \t t", "  BEARER t  "] {
            assert_eq!(of(right).as_deref(), Some("t"), "{right}");
        }
        for wrong in ["", "Bearer", "t", "Basic t", "Bearer t u", "Bearert"] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
        assert_eq!(token(&HeaderMap::new()), None);
    }

    #[test]
    fn a_body_is_read_as_the_sdk_writes_it_and_its_answer_is_the_same() {
        let text = r#"{"trainerStatus":{"estimatedRemainingSeconds":30,"lastUpdatedTime":"2026-01-01T00:00:00.987Z",
            "metrics":[{"name":"loss","value":"0.5"}],"progressPercentage":12},"other":1}"#;
        let expected = json!({ "trainerStatus": {
            "estimatedRemainingSeconds": 30, "lastUpdatedTime": "2026-01-01T00:00:00Z",
            "metrics": [{ "name": "loss", "value": "0.5" }], "progressPercentage": 12,
        }});
        assert_eq!(json!(Update::read(text.as_bytes()).unwrap()), expected);
        assert_eq!(json!(Update::read(b"{}").unwrap()), json!({}));
        for wrong in [
            r#"{"trainerStatus":1}"#,
            r#"{"trainerStatus":{"progressPercentage":"1"}}"#,
            "",
            "[",
            r#"{"trainerStatus":{"lastUpdatedTime":"soon"}}"#,
        ] {
            assert_eq!(Update::read(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
