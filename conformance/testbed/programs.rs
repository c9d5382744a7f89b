//! The command line and configuration of each program of a control plane.
//!
//! Everything listens on 127.0.0.1 or on a socket in the control plane's folder, and only what must listen does.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::certificates::{CERTIFICATE, KEY};
use super::users::write_private;

/// etcd answers on a socket in `folder`: no port to find, and nobody else's etcd to mistake for it. Its path is relative,
/// as the path of a socket must be short.
const ETCD: &str = "unix://etcd.sock";

pub(crate) fn etcd(program: &Path, folder: &Path) -> Command {
    // A single member needs no peers, but etcd wants addresses for them; nothing ever listens on these.
    let peer = "http://127.0.0.1:2380";
    let mut command = bare(program, folder);
    command
        .args(["--name", "testbed", "--unsafe-no-fsync", "--quota-backend-bytes", "8589934592"])
        .arg("--data-dir")
        .arg(folder.join("etcd"))
        .args(["--listen-client-urls", ETCD, "--advertise-client-urls", "http://127.0.0.1:2379"])
        .args(["--listen-peer-urls", "unix://peer.sock"])
        .args(["--initial-advertise-peer-urls", peer])
        .args(["--initial-cluster", &format!("testbed={peer}")]);
    command
}

/// What an API server is started with; the files are in its folder already.
pub(crate) struct ApiServer<'a> {
    pub(crate) folder: &'a Path,
    pub(crate) port: u16,
    /// Whether something makes service accounts; without, pods would be refused for want of one.
    pub(crate) service_accounts: bool,
    /// Where the requests that `AUDIT_POLICY` selects are logged.
    pub(crate) audit_log: Option<&'a Path>,
    /// Admission plug-ins besides the usual ones.
    pub(crate) admission_plugins: &'a [&'static str],
}

/// Names of the files that more than one program reads, in the control plane's folder.
pub(crate) const AUTHORITY: &str = "authority.crt";
pub(crate) const SERVICE_ACCOUNT_KEY: &str = "service-account.key";
pub(crate) const SERVICE_ACCOUNT_PUBLIC_KEY: &str = "service-account.pub";
pub(crate) const TOKENS: &str = "tokens.csv";
pub(crate) const AUDIT_POLICY: &str = "audit-policy.json";
pub(crate) const AUDIT_LOG: &str = "audit.log";
/// The folder with the API server's serving certificate.
pub(crate) const SERVING: &str = "kube-apiserver";

pub(crate) fn api_server(program: &Path, server: &ApiServer<'_>) -> Command {
    let file = |name: &str| server.folder.join(name);
    let mut command = bare(program, server.folder);
    command
        .args(["--etcd-servers", ETCD])
        .args(["--secure-port", &server.port.to_string()])
        .args(["--bind-address", "127.0.0.1", "--advertise-address", "127.0.0.1"])
        .args(["--endpoint-reconciler-type", "none", "--service-cluster-ip-range", "10.0.0.0/16"])
        .args(["--authorization-mode", "RBAC", "--allow-privileged"])
        .args(["--service-account-issuer", "https://127.0.0.1"]);
    for (flag, path) in [
        ("--tls-cert-file", file(SERVING).join(CERTIFICATE)),
        ("--tls-private-key-file", file(SERVING).join(KEY)),
        ("--service-account-key-file", file(SERVICE_ACCOUNT_PUBLIC_KEY)),
        ("--service-account-signing-key-file", file(SERVICE_ACCOUNT_KEY)),
        ("--token-auth-file", file(TOKENS)),
    ] {
        command.arg(flag).arg(path);
    }
    if !server.admission_plugins.is_empty() {
        command.args(["--enable-admission-plugins", &server.admission_plugins.join(",")]);
    }
    if !server.service_accounts {
        command.args(["--disable-admission-plugins", "ServiceAccount"]);
    }
    if let Some(log) = server.audit_log {
        command.arg("--audit-policy-file").arg(file(AUDIT_POLICY)).arg("--audit-log-path").arg(log);
        // In megabytes: one file, or the reader would miss what was moved to the next.
        command.args(["--audit-log-maxsize", "100000"]);
    }
    command
}

/// Every controller but those for clouds and for nodes' addresses: Jobs, garbage collection, service accounts, quotas.
pub(crate) fn controller_manager(program: &Path, folder: &Path, kubeconfig: &Path) -> Command {
    let mut command = bare(program, folder);
    command
        .arg("--kubeconfig")
        .arg(kubeconfig)
        .arg("--root-ca-file")
        .arg(folder.join(AUTHORITY))
        .arg("--service-account-private-key-file")
        .arg(folder.join(SERVICE_ACCOUNT_KEY))
        .args([
            "--controllers",
            "*,-node-ipam-controller,-service-lb-controller,-node-route-controller,-cloud-node-lifecycle-controller",
        ])
        .args(["--leader-elect=false", "--secure-port", "0", "--kube-api-qps", "500", "--kube-api-burst", "1000"]);
    command
}

pub(crate) fn scheduler(program: &Path, folder: &Path, kubeconfig: &Path) -> io::Result<Command> {
    let config = json!({
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": { "kubeconfig": kubeconfig, "qps": 500, "burst": 1000 },
        "leaderElection": { "leaderElect": false },
    });
    let mut command = bare(program, folder);
    command
        .arg("--config")
        .arg(write_config(folder, "kube-scheduler", &config)?)
        .args(["--secure-port", "0"]);
    Ok(command)
}

/// The fake kubelets, whose pods do what `kwok.yaml` says.
pub(crate) fn kwok(program: &Path, folder: &Path, kubeconfig: &Path) -> io::Result<Command> {
    let stages = folder.join("kwok.yaml");
    write_private(&stages, include_str!("kwok.yaml"))?;
    let mut command = bare(program, folder);
    command.arg("--kubeconfig").arg(kubeconfig).arg("--config").arg(stages).arg("--manage-all-nodes=true");
    Ok(command)
}

/// Lets the fake kubelets answer on `port`, where the API server asks for what containers have written: the file `logs`.
pub(crate) fn kwok_logs(command: &mut Command, folder: &Path, logs: &Path, port: u16) -> io::Result<()> {
    let config = json!({
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "ClusterLogs",
        "metadata": { "name": "all" },
        "spec": { "logs": [{ "logsFile": logs }] },
    });
    let serving = folder.join(SERVING);
    command.arg("--config").arg(write_config(folder, "kwok-logs", &config)?);
    command.args(["--node-ip", "127.0.0.1", "--node-port", &port.to_string()]);
    command.args(["--server-address", &format!("127.0.0.1:{port}")]);
    command.arg("--tls-cert-file").arg(serving.join(CERTIFICATE));
    command.arg("--tls-private-key-file").arg(serving.join(KEY));
    Ok(())
}

/// The `JobSet` controller with its webhooks on `port`. [`JOBSET_CERTIFICATES`] is where it looks for a certificate.
pub(crate) fn jobset(program: &Path, folder: &Path, kubeconfig: &Path, port: u16) -> io::Result<Command> {
    let config = json!({
        "apiVersion": "config.jobset.x-k8s.io/v1alpha1",
        "kind": "Configuration",
        "leaderElection": { "leaderElect": false },
        "internalCertManagement": { "enable": false },
        "webhook": { "host": "127.0.0.1", "port": port },
        "metrics": { "bindAddress": "0" },
        "health": { "healthProbeBindAddress": "0" },
        "clientConnection": { "qps": 500, "burst": 1000 },
    });
    let mut command = bare(program, folder);
    command.arg("--config").arg(write_config(folder, "jobset", &config)?).arg("--kubeconfig").arg(kubeconfig);
    Ok(command)
}

/// The folder of controller-runtime's serving certificate, below the folder for temporary files.
pub(crate) const JOBSET_CERTIFICATES: &str = "k8s-webhook-server/serving-certs";

/// As its own installation does, asks the pod webhooks of `JobSet` only about pods that it made.
pub(crate) fn only_pods_of_jobsets(configurations: &mut [Value]) {
    for webhook in configurations.iter_mut().filter_map(|item| item["webhooks"].as_array_mut()).flatten() {
        if webhook["rules"][0]["resources"][0] == "pods" {
            let of_jobset = json!({ "key": "jobset.sigs.k8s.io/jobset-name", "operator": "Exists" });
            webhook["objectSelector"] = json!({ "matchExpressions": [of_jobset] });
        }
    }
}

/// A node that KWOK keeps Ready, with more of everything than tests ask for.
pub(crate) fn node(name: &str) -> Value {
    let room = json!({
        "cpu": "256", "memory": "1Ti", "ephemeral-storage": "1Ti", "pods": "10000", "nvidia.com/gpu": "64",
    });
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "annotations": { "kwok.x-k8s.io/node": "fake" },
            "labels": {
                "kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
            },
        },
        "status": { "capacity": room, "allocatable": room },
    })
}

/// Writes a configuration file; JSON is YAML.
fn write_config(folder: &Path, name: &str, config: &Value) -> io::Result<PathBuf> {
    let path = folder.join(format!("{name}.json"));
    write_private(&path, &format!("{config:#}\n"))?;
    Ok(path)
}

/// A command that works in `folder` and inherits nothing a developer's shell may have set (KUBECONFIG, proxies).
fn bare(program: &Path, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder).env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command
}
