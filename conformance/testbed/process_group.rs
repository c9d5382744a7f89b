//! A folder and the programs in it that end together.
//!
//! [`ProcessGroup::new`] makes the folder and starts `watchdog.sh` as the leader of a process group of its own;
//! [`ProcessGroup::spawn`] starts programs in that group. Whatever ends this process (return, panic, Ctrl-C, SIGKILL)
//! closes the watchdog's standard input, and it then removes the folder and kills the group. Being in another group,
//! the programs see no Ctrl-C of the terminal.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

/// As many of a log's last lines as an error shows.
const TAIL: usize = 25;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("cannot make the folder {}", path.display())]
    Folder { path: PathBuf, source: io::Error },
    #[error("cannot start {program}")]
    Spawn { program: String, source: io::Error },
    #[error("cannot write the log of {program} to {}", path.display())]
    Log { program: String, path: PathBuf, source: io::Error },
    #[error("cannot signal {program}")]
    Signal { program: String, source: io::Error },
}

pub(crate) struct ProcessGroup {
    folder: PathBuf,
    logs: PathBuf,
    watchdog: Child,
    /// Open as long as the group shall live.
    lifeline: Option<ChildStdin>,
    /// How often each name was started: a program started again gets a log of its own.
    starts: Mutex<BTreeMap<String, u32>>,
}

impl ProcessGroup {
    /// Logs go to `$TRAINMASTER_LOGS/<folder's name>` and stay when that is set, else into the folder.
    pub(crate) fn new() -> Result<Self, Error> {
        let parent = std::env::temp_dir();
        let parent = std::path::absolute(&parent).map_err(|source| Error::Folder { path: parent, source })?;
        let folder = new_folder(&parent)?;
        let watchdog = Command::new("sh")
            .args(["-c", include_str!("watchdog.sh"), "watchdog"])
            .arg(&folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn();
        let mut watchdog = match watchdog {
            Ok(child) => child,
            Err(source) => {
                _ = fs::remove_dir(&folder);
                return Err(Error::Spawn { program: "sh".to_owned(), source });
            }
        };
        let lifeline = watchdog.stdin.take();
        // From here on, dropping removes the folder.
        let mut group =
            Self { logs: folder.join("logs"), folder, watchdog, lifeline, starts: Mutex::default() };
        if let (Some(kept), Some(name)) = (std::env::var_os("TRAINMASTER_LOGS"), group.folder.file_name()) {
            group.logs = Path::new(&kept).join(name);
        }
        fs::create_dir_all(&group.logs)
            .map_err(|source| Error::Folder { path: group.logs.clone(), source })?;
        Ok(group)
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn logs(&self) -> &Path {
        &self.logs
    }

    /// `TMPDIR` of the program `name`.
    pub(crate) fn temporary(&self, name: &str) -> PathBuf {
        self.folder.join("tmp").join(name)
    }

    /// Starts `command` in the group, its output going to `<logs>/<name>.log`, its temporary files into the folder.
    pub(crate) fn spawn(&self, name: &str, mut command: Command) -> Result<Process, Error> {
        let log = self.logs.join(self.log_name(name));
        let output = File::create(&log).and_then(|file| Ok((file.try_clone()?, file)));
        let (out, err) =
            output.map_err(|source| Error::Log { program: name.to_owned(), path: log.clone(), source })?;
        let temporary = self.temporary(name);
        fs::create_dir_all(&temporary).map_err(|source| Error::Folder { path: temporary.clone(), source })?;
        let child = command
            .env("TMPDIR", &temporary)
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(err)
            .process_group(self.watchdog.id().cast_signed())
            .spawn()
            .map_err(|source| Error::Spawn { program: name.to_owned(), source })?;
        Ok(Process { name: name.to_owned(), child, log, kill_on_drop: true })
    }

    fn log_name(&self, name: &str) -> String {
        let mut starts = self.starts.lock().unwrap_or_else(PoisonError::into_inner);
        let count = starts.entry(name.to_owned()).or_default();
        *count += 1;
        if *count == 1 { format!("{name}.log") } else { format!("{name}.{count}.log") }
    }

    /// Lets the group outlive this process. SIGTERM to the process returned ends the group and removes the folder.
    pub(crate) fn detach(mut self) -> Result<u32, Error> {
        if let Some(mut lifeline) = self.lifeline.take() {
            lifeline
                .write_all(b"detach\n")
                .map_err(|source| Error::Signal { program: "the watchdog".to_owned(), source })?;
        }
        let id = self.watchdog.id();
        std::mem::forget(self);
        Ok(id)
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        drop(self.lifeline.take());
        _ = self.watchdog.wait();
    }
}

/// One program of a [`ProcessGroup`]; killed when dropped.
pub(crate) struct Process {
    name: String,
    child: Child,
    log: PathBuf,
    kill_on_drop: bool,
}

impl Process {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn log(&self) -> &Path {
        &self.log
    }

    /// The log's last lines, for an error.
    pub(crate) fn log_tail(&self) -> String {
        let text = fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(TAIL)..].join("\n")
    }

    /// How it ended, if it has.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Asks it to stop (SIGTERM).
    pub(crate) fn ask_to_stop(&self) -> Result<(), Error> {
        let id = self.child.id().to_string();
        let asked = Command::new("sh").args(["-c", "kill -TERM \"$1\"", "kill", &id]).status();
        asked.map(drop).map_err(|source| Error::Signal { program: self.name.clone(), source })
    }

    /// Asks it to stop and waits until it has.
    pub(crate) fn terminate(&mut self) -> Result<ExitStatus, Error> {
        self.ask_to_stop()?;
        self.child.wait().map_err(|source| Error::Signal { program: self.name.clone(), source })
    }

    /// Leaves it running when dropped.
    pub(crate) fn leave(mut self) {
        self.kill_on_drop = false;
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.kill_on_drop {
            _ = self.child.kill();
            _ = self.child.wait();
        }
    }
}

/// A new folder that only this user can read: it will hold keys and tokens.
fn new_folder(parent: &Path) -> Result<PathBuf, Error> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    loop {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = parent.join(format!("trainmaster-{}-{count}", std::process::id()));
        match fs::DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(source) => return Err(Error::Folder { path, source }),
        }
    }
}
