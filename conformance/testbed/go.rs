//! Runs `go` and says how far it is.
//!
//! Entry points: [`Go::build`] for a program, [`Go::copy`] for a file of a pinned module. What is said goes to the
//! standard error stream itself, which `cargo test` does not capture.

use std::collections::VecDeque;
use std::fs;
use std::io::{self, BufRead as _, BufReader, IsTerminal as _, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use serde::Deserialize;

/// As many of go's last lines as an error shows.
const TAIL: usize = 20;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("cannot run go: is Go installed and on PATH?")]
    NoGo(#[source] io::Error),
    #[error("cannot read what go says")]
    Output(#[source] io::Error),
    #[error("`go {command}` ended with {status}:\n{output}")]
    Failed { command: &'static str, status: ExitStatus, output: String },
    #[error("`go mod download` gave no folder for {module}")]
    NoModule { module: String },
    #[error("cannot copy {}", path.display())]
    Copy { path: PathBuf, source: io::Error },
}

/// Go in one module of ours.
pub(crate) struct Go<'a> {
    pub(crate) module: &'a Path,
    pub(crate) flags: &'a [String],
}

/// The flags that decide what a program contains: no paths of this machine, no symbols, the version stamped.
pub(crate) fn build_flags(version_package: Option<&str>, version: &str) -> Vec<String> {
    let mut link = vec!["-s".to_owned(), "-w".to_owned()];
    if let Some(package) = version_package {
        let mut numbers = version.trim_start_matches('v').split('.');
        let (major, minor) = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
        let values = [("gitVersion", version), ("gitMajor", major), ("gitMinor", minor)];
        link.extend(values.map(|(name, value)| format!("-X {package}.{name}={value}")));
    }
    let link = link.join(" ");
    vec![
        "-trimpath".to_owned(),
        "-buildvcs=false".to_owned(),
        "-mod=readonly".to_owned(),
        format!("-ldflags={link}"),
    ]
}

impl Go<'_> {
    /// Builds `package` to `output`. `title` and `seconds`, the time it is expected to take, are what the user is told.
    pub(crate) fn build(&self, package: &str, output: &Path, title: &str, seconds: u64) -> Result<(), Error> {
        let mut progress = Progress::new(title, seconds);
        // The packages to be compiled; finding them downloads the modules.
        let mut list = self.command("list");
        list.args(self.flags).args(["-deps", "-f", "{{if .Stale}}{{.ImportPath}}{{end}}", package]);
        let stale = run("list", list, &mut progress)?;
        progress.packages = stale.lines().filter(|line| !line.is_empty()).count();
        let mut build = self.command("build");
        build.args(self.flags).args(["-v", "-o"]).arg(output).arg(package);
        run("build", build, &mut progress)?;
        progress.done(output);
        Ok(())
    }

    /// Copies the file or folder at `path` of `module`, in the version that go.mod pins and go.sum confirms.
    pub(crate) fn copy(&self, module: &str, path: &str, output: &Path) -> Result<(), Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "PascalCase")]
        struct Download {
            dir: PathBuf,
        }
        let mut download = self.command("mod");
        download.args(["download", "-json", module]);
        let answer = run("mod download", download, &mut Progress::new(module, 0))?;
        let found: Download =
            serde_json::from_str(&answer).map_err(|_| Error::NoModule { module: module.to_owned() })?;
        let path = found.dir.join(path);
        copy(&path, output).map_err(|source| Error::Copy { path, source })
    }

    /// What the developer set up for other modules (workspaces, flags, cross compiling) must not change ours.
    fn command(&self, verb: &str) -> Command {
        let mut command = Command::new("go");
        command.arg(verb).current_dir(self.module);
        command.env("CGO_ENABLED", "0").env("GOWORK", "off").env("GOFLAGS", "");
        command.env_remove("GOOS").env_remove("GOARCH");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }
}

/// Copies a file, or a folder with all in it. Read and written: files of the module cache are read-only, and what
/// `fs::copy` makes would be so too.
pub(crate) fn copy(from: &Path, to: &Path) -> io::Result<()> {
    if !from.is_dir() {
        return fs::read(from).and_then(|text| fs::write(to, text));
    }
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        copy(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}

/// Runs `command`, feeding its standard error to `progress`; its standard output is returned.
fn run(name: &'static str, mut command: Command, progress: &mut Progress) -> Result<String, Error> {
    let mut child = command.spawn().map_err(Error::NoGo)?;
    let (lines, received) = mpsc::channel();
    let stderr = child.stderr.take();
    let stdout = child.stdout.take();
    let output = std::thread::spawn(move || {
        let mut text = String::new();
        stdout.map_or(Ok(0), |mut stdout| stdout.read_to_string(&mut text)).map(|_| text)
    });
    std::thread::spawn(move || {
        for line in stderr.into_iter().flat_map(|stderr| BufReader::new(stderr).lines()).map_while(Result::ok)
        {
            if lines.send(line).is_err() {
                break;
            }
        }
    });
    let mut tail = VecDeque::new();
    loop {
        match received.recv_timeout(progress.interval()) {
            Ok(line) => {
                progress.line(&line);
                if tail.len() == TAIL {
                    tail.pop_front();
                }
                tail.push_back(line);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        progress.show();
    }
    let status = child.wait().map_err(Error::Output)?;
    let output = output.join().unwrap_or_else(|_| Ok(String::new())).map_err(Error::Output)?;
    if status.success() {
        return Ok(output);
    }
    progress.clear();
    Err(Error::Failed { command: name, status, output: Vec::from(tail).join("\n") })
}

/// Says at the start how much there is to do.
pub(crate) fn announce(programs: usize, seconds: u64, cache: &Path) {
    let minutes = seconds.div_ceil(60);
    say(&format!(
        "Building {programs} programs of the control plane, once, into {} (about {minutes} min on two cores)",
        cache.display()
    ));
}

/// One line for the user.
pub(crate) fn say(line: &str) {
    _ = writeln!(io::stderr(), "{line}");
}

/// How far one build is: one line that is rewritten on a terminal, a line every 15 seconds elsewhere.
struct Progress {
    title: String,
    expected: u64,
    started: Instant,
    shown: Option<Instant>,
    terminal: bool,
    downloads: usize,
    /// How many packages are to be compiled; 0 while that is not known.
    packages: usize,
    compiled: usize,
}

impl Progress {
    fn new(title: &str, expected: u64) -> Self {
        let terminal = io::stderr().is_terminal();
        let started = Instant::now();
        Self {
            title: title.to_owned(),
            expected,
            started,
            shown: None,
            terminal,
            downloads: 0,
            packages: 0,
            compiled: 0,
        }
    }

    fn interval(&self) -> Duration {
        if self.terminal { Duration::from_millis(200) } else { Duration::from_secs(15) }
    }

    /// `go build -v` prints the packages it compiles, one a line; what it downloads it says in a sentence.
    fn line(&mut self, line: &str) {
        if line.starts_with("go: downloading") {
            self.downloads += 1;
        } else if self.packages > 0 && !line.contains(' ') {
            self.compiled += 1;
        }
    }

    fn show(&mut self) {
        if self.expected == 0 || self.shown.is_some_and(|shown| shown.elapsed() < self.interval()) {
            return;
        }
        self.shown = Some(Instant::now());
        let what = match (self.packages, self.downloads) {
            (0, 0) => "looking at what to compile".to_owned(),
            (0, downloads) => format!("{downloads} modules downloaded"),
            (packages, _) if self.compiled >= packages => "linking".to_owned(),
            (packages, _) => format!("{} of {packages} packages", self.compiled),
        };
        let elapsed = self.started.elapsed().as_secs();
        self.print(&format!("{}: {what}, {elapsed} s of about {} s", self.title, self.expected), false);
    }

    fn done(&mut self, output: &Path) {
        let megabytes = fs::metadata(output).map_or(0, |metadata| metadata.len() / 1_000_000);
        self.print(
            &format!("{}: {megabytes} MB in {} s", self.title, self.started.elapsed().as_secs()),
            true,
        );
    }

    fn clear(&self) {
        if self.terminal && self.shown.is_some() {
            _ = write!(io::stderr(), "\r\x1b[K");
        }
    }

    fn print(&self, line: &str, last: bool) {
        let mut stderr = io::stderr();
        _ = match (self.terminal, last) {
            (true, false) => write!(stderr, "\r\x1b[K{line}").and_then(|()| stderr.flush()),
            (true, true) => writeln!(stderr, "\r\x1b[K{line}"),
            (false, _) => writeln!(stderr, "{line}"),
        };
    }
}
