//! A process that is talked to rather than waited for.
//!
//! Nobody watches it: whoever reads its output sees its end there, and lets go of it.

use std::any::Any;
use std::os::fd::{AsFd, OwnedFd};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use envelope::Fault;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use super::exit::Exit;
use super::spawner::{self, ChildEnds, Spawner, unavailable};
use super::system;
use super::table::MARK;
use super::tree::{Enclosure, Tree};
use crate::sandbox::Doorbell;

/// How long a kill may take. On a system that is not busy it takes a hundredth of that.
const KILL: Duration = Duration::from_millis(1200);

/// A process with everything it started. Dropping it kills them.
pub(crate) struct Alive {
    pid: i32,
    /// None when it was ended and collected.
    held: Mutex<Option<Held>>,
}

struct Held {
    tree: Tree,
    end: OwnedFd,
    /// The thread that started it, and what was made for it. They must not go before it does.
    _keep: (Spawner, Box<dyn Any + Send>),
}

/// Our ends of its streams.
pub(crate) struct Mouths {
    pub(crate) stdin: OwnedFd,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
}

impl Alive {
    /// Starts a process with three pipes.
    pub(crate) async fn start(
        spawner: &Spawner,
        mut command: Command,
        bell: Option<Doorbell>,
        enclosure: Enclosure,
        mark: String,
        keep: Box<dyn Any + Send>,
    ) -> Result<(Alive, Mouths), Fault> {
        let keeps_thread = spawner.clone();
        let launch = move || {
            let (ours, theirs) = pipes().map_err(|error| unavailable(&error))?;
            command.env(MARK, &mark);
            let child = spawner::start(command, theirs, bell.map(OwnedFd::from))?;
            let tree = Tree::new(child.pid, enclosure, &mark);
            let held = Held { tree, end: child.end, _keep: (keeps_thread, keep) };
            Ok((Alive { pid: child.pid.as_raw_pid(), held: Mutex::new(Some(held)) }, ours))
        };
        spawner.on_thread(launch).await
    }

    pub(crate) fn pid(&self) -> i32 {
        self.pid
    }

    /// Kills everyone and collects the process. Takes as long as a kill does; the second time it does nothing.
    pub(crate) fn kill(&self) {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut held) = held {
            let survivors = held.tree.kill(KILL);
            // One that not even a kill has ended is not waited for.
            if survivors.is_ok_and(|survivors| !survivors.contains(&self.pid)) {
                let _exit = Exit::collect(held.tree.root(), held.end.as_fd());
            }
        }
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.kill();
    }
}

fn pipes() -> std::io::Result<(Mouths, ChildEnds)> {
    let (their_in, stdin) = system::pipe()?;
    let (stdout, their_out) = system::pipe()?;
    let (stderr, their_err) = system::pipe()?;
    for end in [&stdin, &stdout, &stderr] {
        fcntl_setfl(end, fcntl_getfl(end)? | OFlags::NONBLOCK)?;
    }
    let theirs = ChildEnds { stdin: their_in.into(), stdout: their_out, stderr: their_err };
    Ok((Mouths { stdin, stdout, stderr }, theirs))
}
