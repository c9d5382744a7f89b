//! Reviews as an API server sends them, and what goes back.

use super::*;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use trainmaster::{
    diagnostic::{Diagnostic, Place, Reason, codes},
    object::json_patch,
};

fn review(operation: &str, object: &Value, old: &Value) -> Value {
    json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": "u-1", "kind": {"group": "trainer.kubeflow.org", "version": "v1alpha1", "kind": "TrainJob"},
            "resource": {"group": "trainer.kubeflow.org", "version": "v1alpha1", "resource": "trainjobs"},
            "name": "bert", "namespace": "ml", "operation": operation, "object": object, "oldObject": old,
            "userInfo": {}, "dryRun": false,
        },
    })
}

/// The response to a review that `verdict` is the judgement of.
async fn response(webhook: Webhook, review: &Value, verdict: Result<Verdict, String>) -> Value {
    let answer = answer(webhook, review.to_string().as_bytes(), async |_| verdict).await.unwrap();
    let mut answer: Value = serde_json::from_slice(&answer).unwrap();
    assert_eq!(
        (&answer["apiVersion"], &answer["kind"]),
        (&json!("admission.k8s.io/v1"), &json!("AdmissionReview"))
    );
    assert_eq!(answer["response"]["uid"], "u-1");
    answer["response"].as_object_mut().unwrap().remove("uid");
    answer["response"].take()
}

fn verdict(errors: &[(&str, &str)], warnings: &[(&str, &str)]) -> Verdict {
    let place = |path: &str| Place::Field { object: "TrainJob ml/bert".to_owned(), path: path.to_owned() };
    let error = |(path, text): &(&str, &str)| {
        let message = format!("{}: {text}", Reason::Forbidden);
        Diagnostic::error(codes::REFUSED_FIELD, place(path), message).reason(Reason::Forbidden)
    };
    let warning = |(path, text): &(&str, &str)| {
        Diagnostic::warning(codes::VALIDATION_WARNING, place(path), text.to_owned())
    };
    Verdict {
        subject: "TrainJob ml/bert".to_owned(),
        errors: errors.iter().map(error).collect(),
        warnings: warnings.iter().map(warning).collect(),
    }
}

#[test]
fn every_webhook_has_its_path() {
    for webhook in Webhook::ALL {
        assert_eq!(Webhook::at(webhook.path()), Some(webhook));
    }
    assert_eq!(Webhook::at("/validate"), None);
}

#[tokio::test]
async fn a_refusal_lists_all_fields_for_people_and_for_programs() {
    let said = verdict(&[("spec.a", "no"), ("spec.b", "never"), ("spec.a", "no")], &[("spec.c", "hm")]);
    assert_eq!(
        response(Webhook::TrainJob, &review("CREATE", &json!({}), &Value::Null), Ok(said)).await,
        json!({
            "allowed": false,
            "status": {
                "status": "Failure", "code": 403, "reason": "Forbidden",
                "message": "[spec.a: Forbidden: no, spec.b: Forbidden: never]",
                "details": {"causes": [
                    {"field": "spec.a", "reason": "FieldValueForbidden", "message": "Forbidden: no"},
                    {"field": "spec.b", "reason": "FieldValueForbidden", "message": "Forbidden: never"},
                ]},
            },
            "warnings": ["spec.c: hm"],
        })
    );
}

#[tokio::test]
async fn what_cannot_be_judged_is_not_admitted() {
    let unknown = Err("the API server does not answer".to_owned());
    let response = response(Webhook::TrainJob, &review("CREATE", &json!({}), &Value::Null), unknown).await;
    assert_eq!((&response["allowed"], &response["status"]["code"]), (&json!(false), &json!(500)));
}

#[tokio::test]
async fn deleting_is_never_judged() {
    for (operation, sub_resource) in [("DELETE", ""), ("CONNECT", ""), ("UPDATE", "status")] {
        let mut review = review(operation, &Value::Null, &json!({}));
        review["request"]["subResource"] = json!(sub_resource);
        let refused = Ok(verdict(&[("spec", "no")], &[]));
        assert_eq!(response(Webhook::TrainJob, &review, refused).await, json!({"allowed": true}));
    }
}

#[tokio::test]
async fn only_times_are_patched() {
    let mut object = json!({"metadata": {}, "spec": {"runtimePatches": [{"manager": "a/b"}, {"manager": "c/d", "time": "t"}]}});
    let review = review("CREATE", &object, &Value::Null);
    let answer = response(Webhook::Times, &review, Err(String::new())).await;
    let patch = STANDARD.decode(answer["patch"].as_str().unwrap()).unwrap();
    let patch: Value = serde_json::from_slice(&patch).unwrap();
    json_patch::apply(&mut object, &patch).unwrap();
    assert!(object["spec"]["runtimePatches"][0]["time"].is_string());
    assert_eq!((patch.as_array().unwrap().len(), &answer["patchType"]), (1, &json!("JSONPatch")));
    let review = self::review("CREATE", &json!({"spec": {}}), &Value::Null);
    assert_eq!(response(Webhook::Times, &review, Err(String::new())).await, json!({"allowed": true}));
}

#[tokio::test]
async fn what_is_no_review_is_said_to_be_none() {
    let check = async |body: &[u8], wanted: &str| {
        let error = answer(Webhook::TrainJob, body, async |_| Err(String::new())).await.unwrap_err();
        assert!(error.to_string().starts_with(wanted), "{error}");
    };
    check(b"{", "this is no review of an admission: EOF").await;
    check(b"\xff", "this is no review of an admission").await;
    check(
        br#"{"apiVersion": "admission.k8s.io/v1beta1", "kind": "AdmissionReview"}"#,
        "only AdmissionReview of",
    )
    .await;
    check(br#"{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}"#, "only AdmissionReview of")
        .await;
    let mut other = review("CREATE", &json!({}), &Value::Null);
    other["request"]["kind"]["kind"] = json!("Pod");
    check(other.to_string().as_bytes(), "this webhook is for the kind TrainJob, not Pod").await;
}
