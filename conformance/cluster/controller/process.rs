//! The controller as a process: it waits for what is missing, ends when told to, and loses nothing when killed.

use kube::api::ListParams;
use serde_json::json;

use super::support::{Cluster, api_server, ask, message};
use crate::support::{chain, crds, eventually};
use crate::testbed::{Crd, Options, manifests};

#[tokio::test]
async fn the_controller_waits_for_crds_and_picks_them_up() {
    let mut cluster = Cluster::without_controller(&Options::api_server_only());
    cluster.launch();
    let address = cluster.address("/healthz and /readyz").await;
    cluster.logged("does not serve the kind yet").await;
    assert_eq!(ask(&address, "/healthz"), "HTTP/1.1 200 OK");
    assert_eq!(ask(&address, "/readyz"), "HTTP/1.1 503 Service Unavailable");

    let client = cluster.client().await;
    let ours = manifests::read_all(&[crds()]).expect("reads our CRDs");
    manifests::apply(&client, &ours).await.unwrap_or_else(|error| panic!("{}", chain(&error)));
    cluster.logged("\"message\":\"ready\"").await;
    assert_eq!(ask(&address, "/readyz"), "HTTP/1.1 200 OK");

    let namespace = cluster.namespace("crds-later").await;
    namespace.create_runtime("plain", |_| {}).await;
    namespace.create_job("early", |_| {}).await;
    let said = message(&namespace.once_is("early", "Blocked").await, "Blocked");
    assert!(said.contains("the cluster does not serve jobset.x-k8s.io/v1alpha2 JobSet"), "{said}");
    let applied = cluster.control_plane.apply_crd(&client, Crd::JobSet).await;
    applied.unwrap_or_else(|error| panic!("{}", chain(&error)));
    namespace.job_set("early").await;
    namespace.once_is_not("early", "Blocked").await;
    assert!(cluster.controller().terminate().expect("ends").success());
}

#[tokio::test]
async fn killed_in_the_middle_of_50_trainjobs_it_loses_none() {
    const TOTAL: usize = 50;
    let mut cluster = Cluster::start(&api_server()).await;
    let namespace = cluster.namespace("killed").await;
    for number in 0..TOTAL {
        namespace.create_job(&format!("job-{number}"), |_| {}).await;
    }
    // All begin at once.
    namespace.create_runtime("plain", |_| {}).await;
    let count = async || namespace.job_sets().list(&ListParams::default()).await.expect("lists").items.len();
    eventually("some JobSets are there", async || (count().await > 0).then_some(())).await;
    cluster.kill_controller();
    let before = count().await;
    assert!(before < TOTAL, "it was too quick for this test");
    cluster.start_controller().await;
    eventually("every JobSet is there", async || (count().await == TOTAL).then_some(())).await;
    let blocked = async || {
        let jobs = namespace.train_jobs().list(&ListParams::default()).await.expect("lists").items;
        let is_blocked =
            |job: &&kube::api::DynamicObject| crate::support::condition(job, "Blocked").is_some();
        (jobs.iter().filter(is_blocked).count() == 0).then_some(())
    };
    eventually("nobody is blocked", blocked).await;
    let pins = namespace.config_maps().list(&ListParams::default()).await.expect("lists").items;
    let pins = pins.iter().filter(|it| it.data["data"]["runtime"] != json!(null)).count();
    assert_eq!(pins, TOTAL);
}
