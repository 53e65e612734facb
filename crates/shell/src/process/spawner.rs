//! One thread that starts every command, and lives as long as any of them.
//!
//! A wall that ends with its parent ends with the *thread* that started it. Were commands started wherever a
//! call happens to run, they would die with that worker instead of with us.

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

use super::system;

/// The child's ends of what connects it to us.
#[derive(Debug)]
pub(super) struct ChildEnds {
    pub(super) stdin: Stdio,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
}

/// A process that was started and not collected: its id belongs to nobody else.
#[derive(Debug)]
pub(super) struct Started {
    pub(super) pid: Pid,
    pub(super) end: OwnedFd,
}

type Work = Box<dyn FnOnce() + Send>;

/// Starts commands. Clones share the thread; it ends when the last of them is gone.
#[derive(Debug, Clone)]
pub struct Spawner(mpsc::Sender<Work>);

impl Spawner {
    pub fn new() -> Result<Spawner, Fault> {
        let (work, inbox) = mpsc::channel::<Work>();
        let serve = move || inbox.into_iter().for_each(|work| work());
        match thread::Builder::new().name("spawner".to_owned()).spawn(serve) {
            Ok(_runs_until_nobody_asks) => Ok(Spawner(work)),
            Err(error) => Err(unavailable(&error)),
        }
    }

    /// Does something on the thread. It is done even if nobody waits for it any more: what it gives back has to
    /// end what it started when it is dropped.
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

/// Starts a process. To be called on the thread.
pub(super) fn start(command: Command, ends: ChildEnds, inherits: Option<OwnedFd>) -> Result<Started, Fault> {
    let program = command.get_program().to_string_lossy().into_owned();
    try_start(command, ends, inherits).map_err(|error| cannot_start(&program, &error))
}

fn try_start(mut command: Command, ends: ChildEnds, inherits: Option<OwnedFd>) -> io::Result<Started> {
    command.stdin(ends.stdin).stdout(ends.stdout).stderr(ends.stderr).process_group(0);
    if let Some(inherited) = &inherits {
        // Only for this moment: what another thread starts meanwhile inherits it too, and knows nothing of it.
        fcntl_setfd(inherited, FdFlags::empty())?;
    }
    let mut child = command.spawn()?;
    drop(inherits);
    let pid = Pid::from_child(&child);
    match system::watch(pid) {
        Ok(end) => Ok(Started { pid, end }),
        Err(error) => {
            let _ended = child.kill();
            let _exit = child.wait();
            Err(error)
        }
    }
    // The command goes here, and with it our copies of the child's ends: while we hold them, no output ends.
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
    Fault::new(
        Failure::DependencyUnavailable,
        format!("the system gives nothing to run a command with: {error}"),
    )
    .hint("Wait until other commands have ended, or raise the limits on processes and open files.")
}
