//! Handle of a server process.
//!
//! No thread supervises the process: the reader of its output sees its end, and drops the handle.

use std::any::Any;
use std::os::fd::{AsFd, OwnedFd};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use envelope::Fault;

use super::finished_command::ChildExit;
use super::process_tree::MARK;
use super::process_tree::{ProcessContainment, ProcessTree};
use super::spawner::{self, CommandSpawner, unavailable};
use super::stdio::{StdioPipes, server_pipes};
use crate::sandbox::StartNotifier;

/// Time limit of a kill. On an idle system it takes a hundredth of that.
const KILL_LIMIT: Duration = Duration::from_millis(1200);

/// A process and everything that it started. Dropping it kills them.
pub(crate) struct ProcessHandle {
    pid: i32,
    /// `None` once the process was killed and collected.
    held: Mutex<Option<OwnedProcess>>,
}

struct OwnedProcess {
    tree: ProcessTree,
    end: OwnedFd,
    /// The thread that started the process, and the resources of its sandbox. They must outlive it.
    _keep: (CommandSpawner, Box<dyn Any + Send>),
}

impl ProcessHandle {
    /// Starts a process with three pipes.
    pub(crate) async fn start(
        spawner: &CommandSpawner,
        mut command: Command,
        notifier: Option<StartNotifier>,
        containment: ProcessContainment,
        mark: String,
        keep: Box<dyn Any + Send>,
    ) -> Result<(ProcessHandle, StdioPipes), Fault> {
        let keeps_thread = spawner.clone();
        let launch = move || {
            let (ours, theirs) = server_pipes().map_err(|error| unavailable(&error))?;
            command.env(MARK, &mark);
            let child = spawner::start(command, theirs, notifier.map(OwnedFd::from))?;
            let tree = ProcessTree::new(child.pid, containment, &mark);
            let held = OwnedProcess { tree, end: child.end, _keep: (keeps_thread, keep) };
            Ok((ProcessHandle { pid: child.pid.as_raw_pid(), held: Mutex::new(Some(held)) }, ours))
        };
        spawner.on_thread(launch).await
    }

    pub(crate) fn pid(&self) -> i32 {
        self.pid
    }

    /// Kills all processes and collects the first. Blocks until they are dead. Does nothing the second time.
    pub(crate) fn kill(&self) {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut held) = held {
            let survivors = held.tree.kill(KILL_LIMIT);
            // A process that survived the kill is not waited for.
            if survivors.is_ok_and(|survivors| !survivors.contains(&self.pid)) {
                let _exit = ChildExit::collect(held.tree.root(), held.end.as_fd());
            }
        }
    }
}

impl Drop for ProcessHandle {
    fn drop(&mut self) {
        self.kill();
    }
}
