//! Supervisor of one command, from its start to the end of its last descendant.
//!
//! Every kind of end is handled here: exit, timeout, a stop request, a full disk. The supervisor always finishes: each
//! wait has a limit of its own, and a step that took too long is reported in the result.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use envelope::{Failure, Fault};
use tokio::sync::watch;

use super::command_job::CommandResources;
use super::event::{EventFlag, Timer, wait};
use super::finished_command::{ChildExit, CommandEnd, EndCause, FinishedCommand};
use super::output_capture::CaptureResult;
use super::process_tree::ProcessTree;
use super::spawner::CommandSpawner;
use crate::sandbox::{StartSignal, sandbox_failure};

/// Time for the last output of descendants after the command itself has ended.
const LAST_OUTPUT_LIMIT: Duration = Duration::from_millis(100);
/// Time limit of a kill. On an idle system it takes a hundredth of that.
const KILL_LIMIT: Duration = Duration::from_millis(1200);
/// Time for the output of a dead tree to end.
const DRAIN_LIMIT: Duration = Duration::from_millis(200);
/// Time for the output of a command that was stopped to reach the disk.
const STORE_LIMIT: Duration = Duration::from_millis(700);

/// Stop requests from other threads.
#[derive(Debug)]
pub(super) struct StopRequests {
    request: Mutex<Option<StopRequest>>,
    stop: EventFlag,
    kill: EventFlag,
}

#[derive(Debug, Clone, Copy)]
struct StopRequest {
    cause: EndCause,
    grace: Duration,
}

impl StopRequests {
    pub(super) fn new() -> io::Result<StopRequests> {
        Ok(StopRequests { request: Mutex::new(None), stop: EventFlag::new()?, kill: EventFlag::new()? })
    }

    /// The first request decides the cause and the grace. A later one without grace still kills at once.
    pub(super) fn request(&self, cause: EndCause, grace: Duration) {
        self.lock().get_or_insert(StopRequest { cause, grace });
        self.stop.raise();
        if grace.is_zero() {
            self.kill.raise();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<StopRequest>> {
        self.request.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How the command itself ended, and then how everything ended.
#[derive(Debug, Clone, Default)]
pub(super) struct CommandStatus {
    pub(super) exit: Option<ChildExit>,
    pub(super) end: Option<CommandEnd>,
}

/// Reports the end even if the supervisor fails: waiters would wait for ever otherwise.
struct EndNotifier {
    status: Arc<watch::Sender<CommandStatus>>,
    stop_reading: Arc<EventFlag>,
}

impl EndNotifier {
    fn report(&self, finished: Result<FinishedCommand, Fault>) {
        self.stop_reading.raise();
        self.status.send_modify(|status| {
            status.end.get_or_insert_with(|| Arc::new(finished));
        });
    }
}

impl Drop for EndNotifier {
    fn drop(&mut self) {
        self.report(Err(supervision_failed(&io::Error::other("its supervisor failed"))));
    }
}

/// One stream of the command, as the supervisor sees it.
pub(super) struct SupervisedStream {
    pub(super) drained: Arc<EventFlag>,
    pub(super) done: Arc<EventFlag>,
    pub(super) reader: JoinHandle<CaptureResult>,
    pub(super) path: Box<dyn Fn() -> Option<String> + Send>,
}

pub(super) struct CommandSupervisor {
    /// Ready when the command has ended.
    pub(super) end: Arc<OwnedFd>,
    pub(super) tree: ProcessTree,
    pub(super) start_signal: Option<Arc<StartSignal>>,
    pub(super) stop_requests: Arc<StopRequests>,
    pub(super) timeout: Timer,
    pub(super) grace: Duration,
    pub(super) stdout: SupervisedStream,
    pub(super) stderr: Option<SupervisedStream>,
    /// Stops the readers.
    pub(super) stop_reading: Arc<EventFlag>,
    pub(super) status: Arc<watch::Sender<CommandStatus>>,
    /// The thread that started the command, and the resources of its sandbox. They must outlive it.
    pub(super) resources: (CommandSpawner, Box<dyn CommandResources>),
}

impl CommandSupervisor {
    pub(super) fn start(self) -> io::Result<()> {
        let _runs_by_itself = thread::Builder::new().name("supervisor".to_owned()).spawn(move || {
            let ending = EndNotifier {
                status: Arc::clone(&self.status),
                stop_reading: Arc::clone(&self.stop_reading),
            };
            let mut tree = self.tree.clone();
            let finished = self.supervise().unwrap_or_else(|error| {
                let _survivors = tree.kill(KILL_LIMIT);
                Err(supervision_failed(&error))
            });
            ending.report(finished);
        })?;
        Ok(())
    }

    fn supervise(mut self) -> io::Result<Result<FinishedCommand, Fault>> {
        let mut cause = self.wait_for_end()?;
        if cause == EndCause::Exited {
            self.wait_for_last_output()?;
        }
        let mut survivors = self.tree.kill(KILL_LIMIT)?;
        let exit = self.collect(&mut survivors)?;
        self.status.send_modify(|status| status.exit = exit);
        let drain = Timer::after(DRAIN_LIMIT)?;
        for stream in self.streams() {
            wait([stream.drained.as_fd(), drain.as_fd()])?;
        }
        self.stop_reading.raise();
        if !self.wait_until_stored(cause)? {
            return Ok(Err(self.not_stored_fault()));
        }
        let stdout = join_reader(self.stdout.reader);
        let stderr = self.stderr.map(|stderr| join_reader(stderr.reader));
        if stdout.over_limit || stderr.as_ref().is_some_and(|stderr| stderr.over_limit) {
            cause = EndCause::OutputLimit;
        }
        let stderr = stderr.map(|stderr| stderr.stream).transpose();
        let warnings = self.resources.1.warnings();
        drop(self.resources);
        let finished = stdout.stream.and_then(|stdout| {
            Ok(FinishedCommand { cause, exit, stdout, stderr: stderr?, survivors, warnings })
        });
        let was_started = self.start_signal.is_none_or(|start_signal| start_signal.check_at_end());
        Ok(match finished {
            Ok(finished) if cause == EndCause::Exited && !was_started => {
                Err(sandbox_failure(finished.error_text()))
            }
            // The caller knows why it was stopped, and messages of the sandbox are not output of the command.
            Ok(finished) if !was_started => Ok(finished.without_output()),
            finished => finished,
        })
    }

    /// Waits until the command ends or has to be ended, and gives it its grace.
    fn wait_for_end(&mut self) -> io::Result<EndCause> {
        let requests = Arc::clone(&self.stop_requests);
        let [ended, stop, _, _] =
            wait([self.end.as_fd(), requests.stop.as_fd(), requests.kill.as_fd(), self.timeout.as_fd()])?;
        if ended {
            return Ok(EndCause::Exited);
        }
        let late = StopRequest { cause: EndCause::TimedOut, grace: self.grace };
        let request = if stop { requests.lock().unwrap_or(late) } else { late };
        if !request.grace.is_zero() {
            let grace = Timer::after(request.grace)?;
            self.tree.terminate(&grace);
            wait([self.end.as_fd(), requests.kill.as_fd(), grace.as_fd()])?;
        }
        Ok(request.cause)
    }

    fn wait_for_last_output(&self) -> io::Result<()> {
        let linger = Timer::after(LAST_OUTPUT_LIMIT)?;
        for stream in self.streams() {
            wait([stream.drained.as_fd(), self.stop_requests.kill.as_fd(), linger.as_fd()])?;
        }
        Ok(())
    }

    /// Collects the dead command. One that cannot be killed is left to a thread that waits for it.
    fn collect(&self, survivors: &mut Vec<i32>) -> io::Result<Option<ChildExit>> {
        let [ended, _] = wait([self.end.as_fd(), Timer::after(DRAIN_LIMIT)?.as_fd()])?;
        if ended {
            return ChildExit::collect(self.tree.root(), self.end.as_fd());
        }
        let end = Arc::clone(&self.end);
        let root = self.tree.root();
        if !survivors.contains(&root.as_raw_pid()) {
            survivors.push(root.as_raw_pid());
        }
        let _waits_by_itself = thread::Builder::new().name("collector".to_owned()).spawn(move || {
            let _late = ChildExit::collect(root, end.as_fd());
        })?;
        Ok(None)
    }

    /// Waits until the output is stored. A command that exited by itself has no limit for that, until a stop is
    /// requested or its timeout passes.
    fn wait_until_stored(&self, cause: EndCause) -> io::Result<bool> {
        if cause == EndCause::Exited {
            for stream in self.streams() {
                wait([stream.done.as_fd(), self.stop_requests.stop.as_fd(), self.timeout.as_fd()])?;
            }
        }
        let settle = Timer::after(STORE_LIMIT)?;
        for stream in self.streams() {
            wait([stream.done.as_fd(), settle.as_fd()])?;
        }
        Ok(self.streams().all(|stream| stream.done.is_raised()))
    }

    fn not_stored_fault(&self) -> Fault {
        let paths: Vec<String> = self.streams().filter_map(|stream| (stream.path)()).collect();
        let message = "the command was ended, but its output did not reach the disk in time";
        Fault::new(Failure::ExecutionFailed, message)
            .hint("See whether the disk of the runs still answers. What was written so far is in the artifacts.")
            .detail("paths", paths)
    }

    fn streams(&self) -> impl Iterator<Item = &SupervisedStream> {
        [&self.stdout].into_iter().chain(&self.stderr)
    }
}

fn join_reader(reader: JoinHandle<CaptureResult>) -> CaptureResult {
    let failed = || Fault::new(Failure::ExecutionFailed, "the thread that reads the output has failed");
    reader.join().unwrap_or_else(|_| CaptureResult { stream: Err(failed()), over_limit: false })
}

fn supervision_failed(error: &io::Error) -> Fault {
    Fault::new(Failure::ExecutionFailed, format!("the command could not be watched: {error}"))
}
