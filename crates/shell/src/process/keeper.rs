//! Watches one command from its start to the last of its descendants.
//!
//! Every way to end leads through here: the command itself, its time, a person, a full disk. It always comes
//! to an end: each wait has a limit of its own, and what could not be done in time is said in the result.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use envelope::{Failure, Fault};
use tokio::sync::watch;

use super::capture::Captured;
use super::event::{Flag, Timer, wait};
use super::exit::Exit;
use super::finished::{Cause, End, Finished};
use super::job::CommandResources;
use super::spawner::Spawner;
use super::tree::Tree;
use crate::sandbox::{Threshold, not_run};

/// How long the output may go on when the command itself has ended: the last lines of what it left behind.
const LINGER: Duration = Duration::from_millis(100);
/// How long a kill may take. On a system that is not busy it takes a hundredth of that.
const KILL: Duration = Duration::from_millis(1200);
/// How long the output of a tree that is dead may take to end.
const DRAIN: Duration = Duration::from_millis(200);
/// How long the output of a command that was ended may take to reach the disk.
const SETTLE: Duration = Duration::from_millis(700);

/// How others ask for the end.
#[derive(Debug)]
pub(super) struct Request {
    wish: Mutex<Option<Wish>>,
    stop: Flag,
    kill: Flag,
}

#[derive(Debug, Clone, Copy)]
struct Wish {
    cause: Cause,
    grace: Duration,
}

impl Request {
    pub(super) fn new() -> io::Result<Request> {
        Ok(Request { wish: Mutex::new(None), stop: Flag::new()?, kill: Flag::new()? })
    }

    /// The first to ask says why and how soon; whoever asks for no grace at all is heard as well.
    pub(super) fn end(&self, cause: Cause, grace: Duration) {
        self.lock().get_or_insert(Wish { cause, grace });
        self.stop.raise();
        if grace.is_zero() {
            self.kill.raise();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Wish>> {
        self.wish.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the keeper tells: how the command itself ended, and then how all of it did.
#[derive(Debug, Clone, Default)]
pub(super) struct Status {
    pub(super) exit: Option<Exit>,
    pub(super) end: Option<End>,
}

/// Tells that it is over, whatever became of the keeper: who waits for a command would otherwise wait for ever.
struct Ending {
    status: Arc<watch::Sender<Status>>,
    stop_reading: Arc<Flag>,
}

impl Ending {
    fn tell(&self, finished: Result<Finished, Fault>) {
        self.stop_reading.raise();
        self.status.send_modify(|status| {
            status.end.get_or_insert_with(|| Arc::new(finished));
        });
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.tell(Err(unwatched(&io::Error::other("its keeper failed"))));
    }
}

/// One stream as the keeper sees it.
pub(super) struct Watched {
    pub(super) drained: Arc<Flag>,
    pub(super) done: Arc<Flag>,
    pub(super) reader: JoinHandle<Captured>,
    pub(super) path: Box<dyn Fn() -> Option<String> + Send>,
}

pub(super) struct Keeper {
    /// Ready when the command has ended.
    pub(super) end: Arc<OwnedFd>,
    pub(super) tree: Tree,
    pub(super) threshold: Option<Arc<Threshold>>,
    pub(super) request: Arc<Request>,
    pub(super) timeout: Timer,
    pub(super) grace: Duration,
    pub(super) stdout: Watched,
    pub(super) stderr: Option<Watched>,
    /// Tells the readers to stop.
    pub(super) stop_reading: Arc<Flag>,
    pub(super) status: Arc<watch::Sender<Status>>,
    /// The thread that started the command, and what was made for it. They must not go before it does.
    pub(super) keep: (Spawner, Box<dyn CommandResources>),
}

impl Keeper {
    pub(super) fn start(self) -> io::Result<()> {
        let _runs_by_itself = thread::Builder::new().name("keeper".to_owned()).spawn(move || {
            let ending =
                Ending { status: Arc::clone(&self.status), stop_reading: Arc::clone(&self.stop_reading) };
            let mut tree = self.tree.clone();
            let finished = self.keep().unwrap_or_else(|error| {
                let _survivors = tree.kill(KILL);
                Err(unwatched(&error))
            });
            ending.tell(finished);
        })?;
        Ok(())
    }

    fn keep(mut self) -> io::Result<Result<Finished, Fault>> {
        let mut cause = self.until_end()?;
        if cause == Cause::Itself {
            self.linger()?;
        }
        let mut survivors = self.tree.kill(KILL)?;
        let exit = self.collect(&mut survivors)?;
        self.status.send_modify(|status| status.exit = exit);
        let drain = Timer::after(DRAIN)?;
        for stream in self.streams() {
            wait([stream.drained.as_fd(), drain.as_fd()])?;
        }
        self.stop_reading.raise();
        if !self.settle(cause)? {
            return Ok(Err(self.unsettled()));
        }
        let stdout = join(self.stdout.reader);
        let stderr = self.stderr.map(|stderr| join(stderr.reader));
        if stdout.over_limit || stderr.as_ref().is_some_and(|stderr| stderr.over_limit) {
            cause = Cause::OutputLimit;
        }
        let stderr = stderr.map(|stderr| stderr.stream).transpose();
        let warnings = self.keep.1.warnings();
        drop(self.keep);
        let finished = stdout
            .stream
            .and_then(|stdout| Ok(Finished { cause, exit, stdout, stderr: stderr?, survivors, warnings }));
        let was_reached = self.threshold.is_none_or(|threshold| threshold.was_crossed());
        Ok(match finished {
            Ok(finished) if cause == Cause::Itself && !was_reached => Err(not_run(finished.complaint())),
            // Whoever ended it has a word for why. What the wall had said by then is none of the command's.
            Ok(finished) if !was_reached => Ok(finished.unsaid()),
            finished => finished,
        })
    }

    /// Waits until the command ends or has to be ended, and gives it the time it has for that.
    fn until_end(&mut self) -> io::Result<Cause> {
        let request = Arc::clone(&self.request);
        let [ended, stop, _, _] =
            wait([self.end.as_fd(), request.stop.as_fd(), request.kill.as_fd(), self.timeout.as_fd()])?;
        if ended {
            return Ok(Cause::Itself);
        }
        let late = Wish { cause: Cause::TimedOut, grace: self.grace };
        let wish = if stop { request.lock().unwrap_or(late) } else { late };
        if !wish.grace.is_zero() {
            let grace = Timer::after(wish.grace)?;
            self.tree.terminate(&grace);
            wait([self.end.as_fd(), request.kill.as_fd(), grace.as_fd()])?;
        }
        Ok(wish.cause)
    }

    fn linger(&self) -> io::Result<()> {
        let linger = Timer::after(LINGER)?;
        for stream in self.streams() {
            wait([stream.drained.as_fd(), self.request.kill.as_fd(), linger.as_fd()])?;
        }
        Ok(())
    }

    /// Takes the dead command off the system. One that cannot be killed is left to a thread that waits for it.
    fn collect(&self, survivors: &mut Vec<i32>) -> io::Result<Option<Exit>> {
        let [ended, _] = wait([self.end.as_fd(), Timer::after(DRAIN)?.as_fd()])?;
        if ended {
            return Exit::collect(self.tree.root(), self.end.as_fd());
        }
        let end = Arc::clone(&self.end);
        let root = self.tree.root();
        if !survivors.contains(&root.as_raw_pid()) {
            survivors.push(root.as_raw_pid());
        }
        let _waits_by_itself = thread::Builder::new().name("collector".to_owned()).spawn(move || {
            let _late = Exit::collect(root, end.as_fd());
        })?;
        Ok(None)
    }

    /// Waits until the output is kept. A command that ended by itself has all the time that takes, until
    /// somebody wants it to stop.
    fn settle(&self, cause: Cause) -> io::Result<bool> {
        if cause == Cause::Itself {
            for stream in self.streams() {
                wait([stream.done.as_fd(), self.request.stop.as_fd(), self.timeout.as_fd()])?;
            }
        }
        let settle = Timer::after(SETTLE)?;
        for stream in self.streams() {
            wait([stream.done.as_fd(), settle.as_fd()])?;
        }
        Ok(self.streams().all(|stream| stream.done.is_raised()))
    }

    fn unsettled(&self) -> Fault {
        let paths: Vec<String> = self.streams().filter_map(|stream| (stream.path)()).collect();
        let message = "the command was ended, but its output did not reach the disk in time";
        Fault::new(Failure::ExecutionFailed, message)
            .hint("See whether the disk of the runs still answers. What was written so far is in the artifacts.")
            .detail("paths", paths)
    }

    fn streams(&self) -> impl Iterator<Item = &Watched> {
        [&self.stdout].into_iter().chain(&self.stderr)
    }
}

fn join(reader: JoinHandle<Captured>) -> Captured {
    let failed = || Fault::new(Failure::ExecutionFailed, "the thread that reads the output has failed");
    reader.join().unwrap_or_else(|_| Captured { stream: Err(failed()), over_limit: false })
}

fn unwatched(error: &io::Error) -> Fault {
    Fault::new(Failure::ExecutionFailed, format!("the command could not be watched: {error}"))
}
