//! An `AdmissionReview` of `admission.k8s.io/v1`, coming in and going out.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::Deserialize;
use serde_json::{Value, json};
use trainmaster::admission::{Cause, Verdict};

const API_VERSION: &str = "admission.k8s.io/v1";
const KIND: &str = "AdmissionReview";

/// Why a body is no review that could be answered.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BadReview {
    #[error("this is no review of an admission: {0}")]
    Unreadable(#[from] serde_json::Error),
    #[error("only {KIND} of {API_VERSION} with a request is understood")]
    Version,
    #[error("this webhook is for the kind {wanted}, not {found}")]
    Kind { wanted: &'static str, found: String },
}

/// What the API server asks.
#[derive(Debug)]
pub(crate) struct Review {
    pub(super) uid: String,
    /// Whether an object is made or changed; if not there is nothing to judge.
    pub(super) is_about_content: bool,
    /// The object as it will be.
    pub(crate) object: Value,
    /// The object before an update.
    pub(crate) old: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    api_version: String,
    kind: String,
    request: Option<Request>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    uid: String,
    kind: Kind,
    #[serde(default)]
    sub_resource: String,
    #[serde(default)]
    namespace: String,
    operation: String,
    #[serde(default)]
    object: Value,
    #[serde(default)]
    old_object: Value,
}

#[derive(Deserialize)]
struct Kind {
    kind: String,
}

impl Review {
    /// Reads a review of an object of the kind `wanted`.
    pub(super) fn read(body: &[u8], wanted: &'static str) -> Result<Review, BadReview> {
        let document: Document = serde_json::from_slice(body)?;
        let is_known = document.api_version == API_VERSION && document.kind == KIND;
        let Some(request) = document.request.filter(|_| is_known) else { return Err(BadReview::Version) };
        if request.kind.kind != wanted {
            return Err(BadReview::Kind { wanted, found: request.kind.kind });
        }
        let Request { uid, sub_resource, namespace, operation, mut object, old_object, .. } = request;
        let is_content = matches!(operation.as_str(), "CREATE" | "UPDATE");
        give_namespace(&mut object, namespace);
        Ok(Review {
            uid,
            is_about_content: is_content && sub_resource.is_empty(),
            object,
            old: (operation == "UPDATE").then_some(old_object),
        })
    }
}

/// An object need not say the namespace that it is sent to.
fn give_namespace(object: &mut Value, namespace: String) {
    if let Some(Value::Object(metadata)) = object.get_mut("metadata")
        && !namespace.is_empty()
    {
        metadata.entry("namespace").or_insert(Value::String(namespace));
    }
}

/// What is answered.
pub(super) enum Reply {
    /// It is admitted, changed by these operations.
    Patch(Vec<Value>),
    /// It is judged.
    Verdict(Verdict),
    /// It cannot be judged now, and so is not admitted.
    Unknown(String),
}

impl Reply {
    /// The review that goes back.
    pub(super) fn write(self, uid: &str) -> Vec<u8> {
        let mut response = match self {
            Reply::Patch(operations) if operations.is_empty() => json!({ "allowed": true }),
            Reply::Patch(operations) => {
                let patch = STANDARD.encode(Value::from(operations).to_string());
                json!({ "allowed": true, "patchType": "JSONPatch", "patch": patch })
            }
            Reply::Verdict(verdict) => judged(&verdict),
            Reply::Unknown(why) => json!({
                "allowed": false,
                "status": { "status": "Failure", "code": 500, "reason": "InternalError", "message": why },
            }),
        };
        response["uid"] = json!(uid);
        json!({ "apiVersion": API_VERSION, "kind": KIND, "response": response }).to_string().into_bytes()
    }
}

/// As upstream refuses, by 403, with all fields where programs find them too.
fn judged(verdict: &Verdict) -> Value {
    let mut response = json!({ "allowed": verdict.is_admitted() });
    if !verdict.is_admitted() {
        let cause = |it: Cause| json!({ "field": it.field, "reason": it.reason, "message": it.message });
        let causes: Vec<Value> = verdict.causes().into_iter().map(cause).collect();
        response["status"] = json!({
            "status": "Failure", "code": 403, "reason": "Forbidden",
            "message": verdict.message(), "details": { "causes": causes },
        });
    }
    let warnings = verdict.warning_lines();
    if !warnings.is_empty() {
        response["warnings"] = json!(warnings);
    }
    response
}
