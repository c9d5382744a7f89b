//! `make demo`: one `TrainJob` from `kubectl apply` to Complete, on a real control plane that is gone afterwards.
//!
//! `KEEP=1` in the environment leaves it running. With `--build` the programs of the control plane are built and that
//! is all; with `--control-plane` one is started, with our CRDs and nothing else, and left running.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the demo talks to people")]
#![allow(clippy::disallowed_methods, reason = "the demo is all edge: it reads the environment and the clock")]

#[path = "../testbed/mod.rs"]
mod testbed;

mod follow;

use std::error::Error as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use kube::Client;
use serde_json::Value;
use tokio::signal::unix::{SignalKind, signal};

use testbed::assets::{self, Assets};
use testbed::builds;
use testbed::{ADMIN, CONTROLLER, ControlPlane, Options, Process, manifests};

const CRDS: &str = "charts/trainmaster/crds";
const EXAMPLES: [&str; 2] = ["examples/torch/runtime.yaml", "examples/torch/trainjob.yaml"];

#[derive(Debug, thiserror::Error)]
enum Error {
    #[error(transparent)]
    ControlPlane(#[from] testbed::Error),
    #[error(transparent)]
    Manifest(#[from] manifests::Error),
    #[error(transparent)]
    Assets(#[from] assets::Error),
    #[error(transparent)]
    Follow(#[from] follow::Error),
    #[error("no {}: `cargo build` makes it", .0.display())]
    NoProgram(PathBuf),
    #[error("unknown argument {0:?}: there are --build and --control-plane")]
    Usage(String),
    #[error("the examples hold no TrainJob")]
    NoTrainJob,
    #[error("cannot start an async runtime or listen for signals")]
    System(#[source] std::io::Error),
    #[error("a thread ended")]
    Thread(#[source] tokio::task::JoinError),
    #[error("interrupted")]
    Interrupted,
}

fn main() -> ExitCode {
    let outcome = tokio::runtime::Runtime::new().map_err(Error::System).and_then(|runtime| {
        let outcome = runtime.block_on(async {
            tokio::select! {
                outcome = run(std::env::args().nth(1)) => outcome,
                interrupted = interrupted() => interrupted,
            }
        });
        // A thread that is still building or starting is not waited for: the watchdog ends what it has started.
        runtime.shutdown_background();
        outcome
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(Error::Interrupted) => {
            eprintln!("\nInterrupted; everything is taken down.");
            ExitCode::from(130)
        }
        Err(error) => {
            eprintln!("\nerror: {error}");
            let mut cause = error.source();
            while let Some(error) = cause {
                eprintln!("  caused by: {error}");
                cause = error.source();
            }
            ExitCode::FAILURE
        }
    }
}

async fn run(argument: Option<String>) -> Result<(), Error> {
    match argument.as_deref() {
        None => demo().await,
        Some("--build") => build(builds::all()).await,
        Some("--control-plane") => keep(start().await?, Vec::new()),
        Some(other) => Err(Error::Usage(other.to_owned())),
    }
}

async fn demo() -> Result<(), Error> {
    println!("Trainmaster: one TrainJob, from kubectl apply to Complete, on a real control plane");
    let program = program()?;
    let control_plane = start().await?;
    let client = control_plane.client(ADMIN).await?;
    let mut controller = start_controller(&control_plane, &program)?;
    let mut trainjob = None;
    for path in EXAMPLES {
        step(&format!("kubectl apply -f {path}"));
        let objects = manifests::read(&repository(path))?;
        manifests::apply(&client, &objects).await?;
        trainjob = objects.into_iter().find(|object| object["kind"] == "TrainJob").or(trainjob);
    }
    let trainjob = trainjob.ok_or(Error::NoTrainJob)?;
    follow(&client, &trainjob, &mut controller).await?;
    if std::env::var_os("KEEP").is_some_and(|keep| !keep.is_empty() && keep != "0") {
        return keep(control_plane, vec![controller]);
    }
    step("Done; taking everything down");
    Ok(())
}

/// Builds what is missing in the cache.
async fn build(names: Vec<&'static str>) -> Result<(), Error> {
    let assets = Assets::from_environment()?;
    blocking(move || assets.ensure(&names)).await
}

/// The control plane with our CRDs on it.
async fn start() -> Result<ControlPlane, Error> {
    let options = Options { manifests: vec![repository(CRDS)], ..Options::default() };
    build(options.assets()).await?;
    step("Starting etcd, kube-apiserver, kube-controller-manager, kube-scheduler, JobSet and KWOK");
    let started = Instant::now();
    let control_plane = blocking(move || ControlPlane::start(&options)).await?;
    println!("    ready in {:.1} s: {}", started.elapsed().as_secs_f32(), control_plane.server());
    Ok(control_plane)
}

fn start_controller(control_plane: &ControlPlane, program: &Path) -> Result<Process, Error> {
    step("Starting trainmaster controller");
    let mut command = Command::new(program);
    command.arg("controller").arg("--kubeconfig").arg(control_plane.kubeconfig(CONTROLLER));
    // Any free port: another demo, or something else, may be running. Nothing here asks webhooks.
    command.args(["--health-bind-address", "127.0.0.1:0", "--webhook-bind-address", "0"]);
    Ok(control_plane.run("trainmaster", command)?)
}

/// The `trainmaster` that was built with this demo, which Cargo puts into `examples/` beside it.
fn program() -> Result<PathBuf, Error> {
    let demo = std::env::current_exe().map_err(Error::System)?;
    let folder = demo.parent().and_then(Path::parent).unwrap_or(Path::new("."));
    let program = folder.join("trainmaster");
    if program.is_file() { Ok(program) } else { Err(Error::NoProgram(program)) }
}

async fn follow(client: &Client, trainjob: &Value, controller: &mut Process) -> Result<(), Error> {
    step("Following the TrainJob");
    let family = follow::to_its_end(client, trainjob, controller).await?;
    step("What became of it");
    println!("{}", follow::table(&family));
    Ok(())
}

/// Leaves everything running and says how to use it and how to end it.
fn keep(control_plane: ControlPlane, run: Vec<Process>) -> Result<(), Error> {
    let kubeconfig = control_plane.kubeconfig(ADMIN);
    let logs = control_plane.logs().to_owned();
    let watchdog = control_plane.detach(run)?;
    step("It is left running");
    println!("    export KUBECONFIG={}", kubeconfig.display());
    println!("    logs are in {}", logs.display());
    println!("    kill {watchdog}    # ends it and removes all it wrote");
    Ok(())
}

/// What is done now.
fn step(what: &str) {
    println!("==> {what}");
}

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Runs `work` on a thread of its own, so that a signal is heard meanwhile.
async fn blocking<T: Send + 'static, E: Send + 'static>(
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, Error>
where
    Error: From<E>,
{
    Ok(tokio::task::spawn_blocking(work).await.map_err(Error::Thread)??)
}

/// Returns when the user or the system asks to stop.
async fn interrupted() -> Result<(), Error> {
    let mut terminate = signal(SignalKind::terminate()).map_err(Error::System)?;
    tokio::select! {
        outcome = tokio::signal::ctrl_c() => outcome.map_err(Error::System)?,
        _ = terminate.recv() => {}
    }
    Err(Error::Interrupted)
}
