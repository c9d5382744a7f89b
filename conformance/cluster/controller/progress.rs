//! Progress: what the SDK does in a pod, with what the pod is given, written into the TrainJob's status.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::Client;
use kube::api::{Api, DynamicObject, PostParams};
use serde_json::{Value, json};

use super::serving_client::{Answer, request};
use super::support::{Cluster, Namespace, api_server};
use crate::support::{eventually, object, objects};
use crate::testbed::users::ADMIN;

const SYSTEM: &str = "kubeflow-system";

/// What a pod of the TrainJob sees: where to post, for whom its token is, and whom it trusts.
struct Pod {
    path: String,
    audience: String,
}

impl Pod {
    fn of(job_set: &DynamicObject) -> Self {
        let spec = &job_set.data["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"];
        let env = spec["containers"][0]["env"].as_array().expect("has an environment");
        let url = env.iter().find(|it| it["name"] == "KUBEFLOW_TRAINER_SERVER_URL").expect("is there");
        let url = url["value"].as_str().expect("is text");
        let server = "https://kubeflow-trainer-controller-manager.kubeflow-system.svc:10443";
        let path = url.strip_prefix(server).expect("is the controller's").to_owned();
        let audience = &spec["volumes"][0]["projected"]["sources"][0]["serviceAccountToken"]["audience"];
        Self { path, audience: audience.as_str().expect("is text").to_owned() }
    }
}

/// The certificates that the pod's ConfigMap holds.
async fn trusted(namespace: &Namespace, job: &str) -> String {
    let map =
        namespace.once("is there", &namespace.config_maps(), &format!("{job}-tls-config"), |_| true).await;
    map.data["data"]["ca.crt"].as_str().expect("is text").to_owned()
}

/// A token of the service account `trainer` of a namespace, which is made if it is missing.
async fn token(client: &Client, namespace: &str, audience: &str) -> String {
    let accounts = objects(client, namespace, "", "v1", "ServiceAccount");
    let account = json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "trainer" } });
    _ = accounts.create(&PostParams::default(), &object(account)).await;
    let wanted = json!({
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "metadata": {},
        "spec": { "audiences": [audience], "expirationSeconds": 3600 },
    });
    let params = PostParams::default();
    let made = accounts.create_subresource::<Value, Value>("token", "trainer", &params, &wanted).await;
    made.expect("gives a token")["status"]["token"].as_str().expect("is a token").to_owned()
}

async fn post(bundle: &str, address: &str, path: &str, token: &str, body: &[u8]) -> Answer {
    let head =
        format!("POST {path} HTTP/1.1\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json");
    request(bundle.as_bytes(), address, &head, body).await.expect("answers")
}

async fn trainer_status(jobs: &Api<DynamicObject>, name: &str) -> Value {
    jobs.get(name).await.expect("is there").data["status"]["trainerStatus"].clone()
}

async fn begin() -> (Cluster, Namespace, String) {
    let flags = [
        "--feature-gates",
        "TrainJobStatus=true",
        "--status-bind-address",
        ":0",
        "--certificate-overlap",
        "3",
    ];
    let mut cluster = Cluster::without_controller(&api_server()).with_flags(flags);
    cluster.namespace(SYSTEM).await;
    cluster.start_controller().await;
    let address = cluster.address("progress").await;
    let namespace = cluster.namespace("progress").await;
    namespace.create_runtime("plain", |_| {}).await;
    namespace.create_job("bert", |_| {}).await;
    (cluster, namespace, address)
}

#[tokio::test]
async fn a_pod_tells_its_progress_with_what_it_is_given_and_goes_on_when_the_certificate_is_new() {
    let (_cluster, namespace, address) = begin().await;
    let pod = Pod::of(&namespace.job_set("bert").await);
    let bundle = trusted(&namespace, "bert").await;
    let token = token(&namespace.client, "progress", &pod.audience).await;
    let jobs = namespace.train_jobs();

    // As the SDK has it.
    let told = json!({ "trainerStatus": {
        "lastUpdatedTime": "2026-01-01T00:00:00Z", "progressPercentage": 40, "estimatedRemainingSeconds": 90,
        "metrics": [{ "name": "loss", "value": "0.25" }],
    }});
    let answer = post(&bundle, &address, &pod.path, &token, told.to_string().as_bytes()).await;
    assert_eq!((answer.status, serde_json::from_str::<Value>(&answer.body).ok()), (200, Some(told.clone())));
    let stored = jobs.get("bert").await.expect("is there");
    assert_eq!(stored.data["status"]["trainerStatus"], told["trainerStatus"]);
    let managers = stored.metadata.managed_fields.unwrap_or_default();
    let ours = managers.iter().find(|it| it.manager.as_deref() == Some("trainer-status")).expect("is there");
    assert_eq!((ours.operation.as_deref(), ours.subresource.as_deref()), (Some("Apply"), Some("status")));

    // The controller leaves it alone, and the next one takes the place of all of it.
    let counts =
        json!({ "name": "node", "ready": 1, "active": 1, "succeeded": 0, "failed": 0, "suspended": 0 });
    namespace
        .job_set_status(
            "bert",
            &json!({ "replicatedJobsStatus": [counts], "restarts": 0, "restartsCountTowardsMax": 0 }),
        )
        .await;
    namespace.once("is counted", &jobs, "bert", |it| it.data["status"]["jobsStatus"].is_array()).await;
    assert_eq!(trainer_status(&jobs, "bert").await, told["trainerStatus"]);
    let next =
        json!({ "trainerStatus": { "lastUpdatedTime": "2026-01-01T00:01:00.5Z", "progressPercentage": 41 } });
    assert_eq!(post(&bundle, &address, &pod.path, &token, next.to_string().as_bytes()).await.status, 200);
    let after = json!({ "lastUpdatedTime": "2026-01-01T00:01:00Z", "progressPercentage": 41 });
    assert_eq!(trainer_status(&jobs, "bert").await, after);
    let answer = post(&bundle, &address, &pod.path, &token, b"{}").await;
    assert_eq!((answer.status, answer.body.as_str()), (200, "{}\n"));
    assert_eq!(trainer_status(&jobs, "bert").await, after);

    // A new certificate: the pod's ConfigMap trusts it before it is served.
    let secrets = objects(&namespace.client, SYSTEM, "", "v1", "Secret");
    namespace.delete(&secrets, "kubeflow-trainer-webhook-cert").await;
    let (first, shown) = (bundle.clone(), answer.certificate);
    eventually("the pod trusts the new certificate", async || {
        (trusted(&namespace, "bert").await != first).then_some(())
    })
    .await;
    eventually("the new certificate is served", async || {
        let bundle = trusted(&namespace, "bert").await;
        let answer = post(&bundle, &address, &pod.path, &token, b"{}").await;
        assert_eq!(answer.status, 200);
        (answer.certificate != shown).then_some(())
    })
    .await;
}

#[tokio::test]
async fn who_may_not_tell_of_progress_or_says_nonsense_is_told_so() {
    let (cluster, namespace, address) = begin().await;
    let pod = Pod::of(&namespace.job_set("bert").await);
    let bundle = trusted(&namespace, "bert").await;
    let client = namespace.client.clone();
    let other = cluster.namespace("elsewhere").await;
    let mine = token(&client, "progress", &pod.audience).await;
    let of_another_job = token(&client, "progress", &pod.audience.replace("bert", "gpt")).await;
    let of_elsewhere = token(&client, &other.name, &pod.audience).await;
    let kubeconfig = std::fs::read_to_string(cluster.control_plane.kubeconfig(ADMIN)).expect("is a file");
    let kubeconfig: Value = serde_json::from_str(&kubeconfig).expect("is JSON");
    let of_a_user = kubeconfig["users"][0]["user"]["token"].as_str().expect("is a token").to_owned();
    let gone = pod.path.replace("bert", "gpt");
    let status = |fields: &str| format!(r#"{{"trainerStatus":{{{fields}}}}}"#);
    let time = r#""lastUpdatedTime":"2026-01-01T00:00:00Z""#;
    let fine = status(time);
    let large = format!(r#"{{"trainerStatus":null,"other":"{}"}}"#, "x".repeat(1 << 16));
    let cases: [(&str, &str, &str, &str, u16, &str); 12] = [
        ("another job's token", &pod.path, &of_another_job, &fine, 403, "Forbidden"),
        ("another namespace's", &pod.path, &of_elsewhere, &fine, 403, "Forbidden"),
        ("a user's", &pod.path, &of_a_user, &fine, 403, "Forbidden"),
        ("nobody's", &pod.path, "x", &fine, 403, "Forbidden"),
        ("another path", "/healthz", &mine, &fine, 404, "Not found"),
        ("a path below", &format!("{}/x", pod.path), &mine, &fine, 404, "Not found"),
        ("no such TrainJob", &gone, &of_another_job, &fine, 404, "Train job not found"),
        ("too much", &pod.path, &mine, &large, 413, "Payload too large"),
        ("no JSON", &pod.path, &mine, "{", 422, "Invalid payload"),
        (
            "a word for a number",
            &pod.path,
            &mine,
            &status(r#""progressPercentage":"1""#),
            422,
            "Invalid payload",
        ),
        (
            "more than all",
            &pod.path,
            &mine,
            &status(&format!("{time},\"progressPercentage\":101")),
            422,
            "less than or equal to 100",
        ),
        (
            "no time",
            &pod.path,
            &mine,
            &status(r#""progressPercentage":1"#),
            422,
            "lastUpdatedTime is required",
        ),
    ];
    for (what, path, token, body, code, words) in cases {
        let answer = post(&bundle, &address, path, token, body.as_bytes()).await;
        let said: Value = serde_json::from_str(&answer.body).expect("is JSON");
        assert_eq!((answer.status, said["code"].as_u64()), (code, Some(code.into())), "{what}: {said}");
        assert_eq!(said["status"], "Failure", "{what}");
        assert!(said["message"].as_str().is_some_and(|it| it.contains(words)), "{what}: {said}");
    }
    let head = format!("GET {} HTTP/1.1\r\nAuthorization: Bearer {mine}", pod.path);
    assert_eq!(request(bundle.as_bytes(), &address, &head, b"").await.expect("answers").status, 404);
    let head = format!("POST {} HTTP/1.1", pod.path);
    assert_eq!(
        request(bundle.as_bytes(), &address, &head, fine.as_bytes()).await.expect("answers").status,
        403
    );
    assert_eq!(trainer_status(&namespace.train_jobs(), "bert").await, Value::Null);
    assert!(!cluster.log().contains(&mine), "tokens are not logged");
    assert!(!cluster.log().contains(&STANDARD.encode(&mine)));
}
