//! One thread that starts every command, and lives as long as any of them.
//!
//! A sandbox that ends with its parent ends with the *thread* that started it. Commands started on a worker thread
//! would die with that worker.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;

use envelope::{Failure, Fault};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::Pid;
use tokio::sync::oneshot;

use crate::platform;

/// The child's ends of its streams.
#[derive(Debug)]
pub(super) struct ChildStdio {
    pub(super) stdin: Stdio,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
}

/// A process that was started and not collected, so its id is not reused.
#[derive(Debug)]
pub(super) struct SpawnedProcess {
    pub(super) pid: Pid,
    pub(super) end: OwnedFd,
}

type SpawnTask = Box<dyn FnOnce() + Send>;

/// Starts commands. Clones share the thread, which ends with the last of them.
#[derive(Debug, Clone)]
pub struct CommandSpawner(mpsc::Sender<SpawnTask>);

impl CommandSpawner {
    pub fn new() -> Result<CommandSpawner, Fault> {
        let (work, inbox) = mpsc::channel::<SpawnTask>();
        let serve = move || inbox.into_iter().for_each(|work| work());
        match thread::Builder::new().name("spawner".to_owned()).spawn(serve) {
            Ok(_runs_until_nobody_asks) => Ok(CommandSpawner(work)),
            Err(error) => Err(unavailable(&error)),
        }
    }

    /// Runs a closure on the thread. It runs even if the caller does not wait any more, so dropping its result has to
    /// end what it started.
    pub(super) async fn on_thread<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Fault> {
        let gone = || Fault::new(Failure::DependencyUnavailable, "the thread that starts commands is gone");
        let (answer, answered) = oneshot::channel();
        let work = Box::new(move || drop(answer.send(work())));
        self.0.send(work).map_err(|_| gone())?;
        answered.await.map_err(|_| gone())?
    }
}

/// Starts a process. Must be called on the thread.
pub(super) fn start(
    command: Command,
    ends: ChildStdio,
    inherits: Option<OwnedFd>,
) -> Result<SpawnedProcess, Fault> {
    let program = command.get_program().to_string_lossy().into_owned();
    try_start(command, ends, inherits).map_err(|error| cannot_start(&program, &error))
}

fn try_start(
    mut command: Command,
    ends: ChildStdio,
    inherits: Option<OwnedFd>,
) -> io::Result<SpawnedProcess> {
    command.stdin(ends.stdin).stdout(ends.stdout).stderr(ends.stderr).process_group(0);
    if let Some(inherited) = &inherits {
        // Only for this moment. A process that another thread starts meanwhile inherits the descriptor too, and ignores
        // it.
        fcntl_setfd(inherited, FdFlags::empty())?;
    }
    let mut child = command.spawn()?;
    drop(inherits);
    let pid = Pid::from_child(&child);
    match platform::watch_process(pid) {
        Ok(end) => Ok(SpawnedProcess { pid, end }),
        Err(error) => {
            let _ended = child.kill();
            let _exit = child.wait();
            Err(error)
        }
    }
    // The command is dropped here, and with it our copies of the child's ends, which would keep its output open.
}

fn cannot_start(program: &str, error: &io::Error) -> Fault {
    if error.kind() == io::ErrorKind::NotFound {
        return Fault::new(
            Failure::NotFound,
            format!("`{program}` cannot be started: there is no such program"),
        )
        .hint("Check the spelling, or give the full path of a program that is installed.");
    }
    Fault::new(Failure::ExecutionFailed, format!("`{program}` cannot be started: {error}"))
}

pub(crate) fn unavailable(error: &io::Error) -> Fault {
    Fault::new(Failure::DependencyUnavailable, format!("the system has no resources for a command: {error}"))
        .hint("Wait until other commands have ended, or raise the limits on processes and open files.")
}
