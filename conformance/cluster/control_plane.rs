//! The testbed itself: several at once, nothing left behind, requests counted.

use std::io::{BufRead, BufReader, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{Api, ListParams, PostParams, WatchParams};
use serde_json::json;

use crate::support::{chain, control_plane, eventually, namespace, object, objects};
use crate::testbed::audit::{self, Kind};
use crate::testbed::{ADMIN, CONTROLLER, ControlPlane, Options};

fn start(options: &Options) -> ControlPlane {
    ControlPlane::start(options).unwrap_or_else(|error| panic!("{}", chain(&error)))
}

#[tokio::test]
async fn two_at_once_know_nothing_of_each_other() {
    let both = std::thread::scope(|scope| {
        let threads = [0, 1].map(|_| scope.spawn(|| start(&Options::api_server_only())));
        threads.map(|thread| thread.join().expect("starts"))
    });
    let mut clients = Vec::new();
    for (number, control_plane) in both.iter().enumerate() {
        let client = control_plane.client(ADMIN).await.expect("makes a client");
        control_plane.namespace(&client, &format!("only-{number}")).await.expect("creates a namespace");
        clients.push(client);
    }
    for (number, client) in clients.into_iter().enumerate() {
        let namespaces: Api<Namespace> = Api::all(client);
        let exists = async |name: &str| namespaces.get_opt(name).await.expect("answers").is_some();
        assert!(exists(&format!("only-{number}")).await);
        assert!(!exists(&format!("only-{}", 1 - number)).await);
    }
}

#[tokio::test]
async fn the_audit_log_counts_what_one_user_asked() {
    let (_, namespace) = namespace("audited").await;
    let control_plane = control_plane();
    let client = control_plane.client(CONTROLLER).await.expect("makes a client");
    let log = control_plane.audit();
    let mark = log.mark().expect("reads the log");
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), &namespace);
    let map =
        |name: &str| object(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name } }));
    let untyped = objects(&client, &namespace, "", "v1", "ConfigMap");
    for name in ["one", "two"] {
        untyped.create(&PostParams::default(), &map(name)).await.expect("creates a ConfigMap");
    }
    maps.list(&ListParams::default()).await.expect("lists");
    drop(maps.watch(&WatchParams::default(), "0").await.expect("watches"));
    // The others' requests (the controller manager's, which made the ServiceAccount here) do not count.
    let jobsets = objects(&client, &namespace, "jobset.x-k8s.io", "v1alpha2", "JobSet");
    jobsets.get_opt("none").await.expect("answers");

    let kind = |verb: &str, resource: &str| Kind {
        user: CONTROLLER.to_owned(),
        verb: verb.to_owned(),
        resource: resource.to_owned(),
    };
    let expected = [
        (kind("create", "configmaps"), 2),
        (kind("get", "jobsets.jobset.x-k8s.io"), 1),
        (kind("list", "configmaps"), 1),
        (kind("watch", "configmaps"), 1),
    ];
    let requests = eventually("all requests are in the log", async || {
        let requests = log.requests(CONTROLLER, mark).expect("reads the log");
        (requests.len() >= 5).then_some(requests)
    })
    .await;
    assert_eq!(audit::count(&requests), expected.into_iter().collect());
    let names: Vec<_> =
        log.writes(CONTROLLER, mark).expect("reads the log").into_iter().map(|r| r.name).collect();
    assert_eq!(names, ["one", "two"]);
}

/// Starts a control plane and then ends as `TRAINMASTER_TEST_END` says; run by the tests below in a process of its own.
#[test]
#[ignore = "not a test by itself"]
fn child() {
    let control_plane = start(&Options::api_server_only());
    let ids: Vec<String> = control_plane.process_ids().iter().map(u32::to_string).collect();
    let line =
        [control_plane.folder().display().to_string(), control_plane.server().to_owned(), ids.join(",")];
    writeln!(std::io::stdout(), "\nSTARTED {}", line.join("\t")).expect("tells where it is");
    match std::env::var("TRAINMASTER_TEST_END").as_deref() {
        Ok("panic") => panic!("as asked"),
        Ok("exit") => std::process::exit(0),
        Ok("detach") => {
            let id = control_plane.detach(Vec::new()).expect("detaches");
            writeln!(std::io::stdout(), "DETACHED {id}").expect("tells how to end it");
        }
        _ => std::thread::sleep(std::time::Duration::from_mins(10)),
    }
}

/// A control plane of another process.
struct Other {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
    folder: PathBuf,
    address: String,
    ids: Vec<String>,
}

/// A test that fails leaves nothing behind either: without its process the control plane ends.
impl Drop for Other {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

impl Other {
    fn start(end: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().expect("has a path"))
            .args(["--exact", "control_plane::child", "--ignored", "--nocapture"])
            .env("TRAINMASTER_TEST_END", end)
            .env_remove("TRAINMASTER_LOGS")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("starts the child");
        let mut output = BufReader::new(child.stdout.take().expect("has a standard output"));
        let started = line(&mut output, "STARTED ");
        let [folder, server, ids] = started.split('\t').collect::<Vec<_>>()[..] else { panic!("{started}") };
        let address = server.trim_start_matches("https://").to_owned();
        let ids = ids.split(',').map(str::to_owned).collect();
        Self { child, output, folder: PathBuf::from(folder), address, ids }
    }

    /// The programs that still run and the folder, if it is still there; empty when everything has ended.
    fn rest(&self) -> Vec<String> {
        let mut rest: Vec<String> = self.ids.iter().filter(|id| runs(id)).cloned().collect();
        rest.extend(self.folder.exists().then(|| self.folder.display().to_string()));
        rest.extend(TcpStream::connect(&self.address).is_ok().then(|| self.address.clone()));
        rest
    }

    async fn ends(&self) {
        eventually("nothing is left behind", async || self.rest().is_empty().then_some(())).await;
    }
}

/// The rest of the next line that starts with `prefix`.
fn line(output: &mut impl BufRead, prefix: &str) -> String {
    let mut lines = output.lines().map(|line| line.expect("prints text"));
    lines.find_map(|line| line.strip_prefix(prefix).map(str::to_owned)).expect("prints the line")
}

/// Whether a process runs: one that has ended and that nobody waited for does not.
fn runs(id: &str) -> bool {
    let state = Command::new("ps").args(["-o", "stat=", "-p", id]).output().expect("runs ps").stdout;
    !state.is_empty() && !state.starts_with(b"Z")
}

fn signal(name: &str, id: &str) {
    let status = Command::new("kill").args([&format!("-{name}"), "--", id]).status().expect("runs kill");
    assert!(status.success(), "kill -{name} {id}");
}

#[tokio::test]
async fn nothing_is_left_behind_whatever_ends_the_process() {
    for end in ["panic", "exit"] {
        let mut other = Other::start(end);
        other.child.wait().expect("ends");
        other.ends().await;
    }
    // Not INT, which a process that a shell has put into the background ignores, and all that it starts.
    for name in ["TERM", "KILL"] {
        let mut other = Other::start("signal");
        assert_eq!(other.rest().len(), other.ids.len() + 2, "everything runs before the signal");
        signal(name, &other.child.id().to_string());
        other.child.wait().expect("ends");
        other.ends().await;
    }
}

#[test]
fn dropping_one_returns_when_everything_has_ended() {
    let control_plane = start(&Options::api_server_only());
    let folder = control_plane.folder().to_owned();
    let ids = control_plane.process_ids();
    assert!(folder.exists() && ids.iter().all(|id| runs(&id.to_string())));
    drop(control_plane);
    assert!(!folder.exists() && !ids.iter().any(|id| runs(&id.to_string())));
}

#[tokio::test]
async fn a_detached_one_outlives_its_process_until_told_to_end() {
    let mut other = Other::start("detach");
    let watchdog = line(&mut other.output, "DETACHED ");
    other.child.wait().expect("ends");
    let rest = other.rest();
    signal("TERM", &watchdog);
    assert_eq!(rest.len(), other.ids.len() + 2, "everything still ran: {rest:?}");
    other.ends().await;
}

#[test]
fn kubeconfigs_and_keys_are_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let control_plane = control_plane();
    let mode = |path: &Path| path.metadata().expect("is there").permissions().mode() & 0o777;
    assert_eq!(mode(control_plane.folder()), 0o700);
    assert_eq!(mode(&control_plane.kubeconfig(ADMIN)), 0o600);
}
