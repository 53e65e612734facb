//! Handle of a running command: its output, its input and its end.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use envelope::{Fault, Timestamp};
use tokio::sync::watch;

use super::capture_file::CaptureFile;
use super::command_input::{CommandInput, InputWriter, closed};
use super::command_job::{CommandJob, CommandResources, JobLimits};
use super::event::{EventFlag, RaiseOnDrop, Timer};
use super::finished_command::{ChildExit, CommandEnd, EndCause, NewOutput, OutputCursor};
use super::output_capture::OutputCapture;
use super::process_tree::MARK;
use super::process_tree::ProcessTree;
use super::spawner::{self, CommandSpawner, unavailable};
use super::stdio::{ParentStdio, connect};
use super::supervisor::{CommandStatus, CommandSupervisor, StopRequests, SupervisedStream};
use super::tail::{StreamPosition, StreamTail};
use crate::sandbox::StartSignal;

/// Time limit of a kill without the supervisor.
const KILL_LIMIT: Duration = Duration::from_secs(1);

/// Bytes of output that are searched at once.
const PIECE: usize = 64 << 10;

/// A command that was started. Dropping it kills the command.
pub struct RunningCommand {
    shown: String,
    started: Timestamp,
    tree: ProcessTree,
    stop_requests: Arc<StopRequests>,
    input: Option<Arc<InputWriter>>,
    stdout: Arc<StreamTail>,
    stderr: Option<Arc<StreamTail>>,
    status: Arc<watch::Sender<CommandStatus>>,
    /// Separate from the status, so that a waiter for the end is not woken by every line.
    printed: Arc<watch::Sender<OutputCursor>>,
    /// `None` if no sandbox is built before the command.
    start_signal: Option<Arc<StartSignal>>,
}

/// Parts for the threads around a child, besides its output.
struct SupervisionParts {
    tree: ProcessTree,
    end: Arc<OwnedFd>,
    resources: (CommandSpawner, Box<dyn CommandResources>),
    limits: JobLimits,
    input: CommandInput,
}

impl RunningCommand {
    pub async fn start(spawner: &CommandSpawner, job: CommandJob) -> Result<RunningCommand, Fault> {
        let keeps_thread = spawner.clone();
        spawner.on_thread(move || RunningCommand::launch(keeps_thread, job)).await
    }

    fn launch(spawner: CommandSpawner, job: CommandJob) -> Result<RunningCommand, Fault> {
        let CommandJob { mut command, shown, marker, started, input, terminal, .. } = job;
        let CommandJob { containment, start_signal, resources, limits, artifacts, .. } = job;
        let (start_signal, notifier) = start_signal.unzip();
        let (ours, theirs) = connect(&input, terminal).map_err(|error| unavailable(&error))?;
        let stop_requests = Arc::new(StopRequests::new().map_err(|error| unavailable(&error))?);
        command.env(MARK, &marker);
        let child = spawner::start(command, theirs, notifier.map(OwnedFd::from))?;
        let pid = child.pid;
        let tree = ProcessTree::new(child.pid, containment, &marker);
        let end = Arc::new(child.end);
        let running = RunningCommand {
            shown,
            started,
            tree: tree.clone(),
            stop_requests,
            input: None,
            stdout: Arc::new(StreamTail::new(Arc::clone(&artifacts))),
            stderr: ours.stderr.as_ref().map(|_| Arc::new(StreamTail::new(artifacts))),
            status: Arc::new(watch::Sender::new(CommandStatus::default())),
            printed: Arc::new(watch::Sender::new(OutputCursor::default())),
            start_signal: start_signal.map(Arc::new),
        };
        let mut killed_tree = tree.clone();
        let parts =
            SupervisionParts { tree, end: Arc::clone(&end), resources: (spawner, resources), limits, input };
        running.start_threads(ours, parts).map_err(|error| {
            let _survivors = killed_tree.kill(KILL_LIMIT);
            let _exit = ChildExit::collect(pid, end.as_fd());
            unavailable(&error)
        })
    }

    pub fn pid(&self) -> i32 {
        self.tree.root().as_raw_pid()
    }

    /// The command as users read it.
    pub fn shown(&self) -> &str {
        &self.shown
    }

    pub fn started(&self) -> Timestamp {
        self.started
    }

    /// How the command itself ended. Its descendants may still be ending.
    pub fn exit(&self) -> Option<ChildExit> {
        self.status.borrow().exit
    }

    /// How everything ended, if it has.
    pub fn end(&self) -> Option<CommandEnd> {
        self.status.borrow().end.clone()
    }

    /// Bytes printed on both streams.
    pub fn bytes(&self) -> u64 {
        let printed = self.printed.borrow();
        printed.stdout.bytes + printed.stderr.bytes
    }

    /// Whether the command itself was started, after its sandbox.
    pub(super) fn is_command_started(&self) -> bool {
        self.start_signal.as_ref().is_none_or(|start_signal| start_signal.is_started())
    }

    /// Waits until everything has ended.
    pub async fn ended(&self) -> CommandEnd {
        let mut status = self.status.subscribe();
        loop {
            if let Some(end) = &status.borrow_and_update().end {
                return Arc::clone(end);
            }
            // The sender is in `self`, so the channel cannot close during the wait.
            if status.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Waits until there is output after the cursor, or until the end. Returns the new position.
    pub async fn wait_for_output(&self, cursor: &OutputCursor) -> OutputCursor {
        let mut printed = self.printed.subscribe();
        let more = printed
            .wait_for(|now| now.stdout.bytes > cursor.stdout.bytes || now.stderr.bytes > cursor.stderr.bytes);
        tokio::select! {
            _more = more => {}
            _end = self.ended() => {}
        }
        *self.printed.borrow()
    }

    /// Asks all processes to end, kills the rest after `grace`, and waits until everything has ended.
    pub async fn stop(&self, cause: EndCause, grace: Duration) -> CommandEnd {
        self.request_stop(cause, grace);
        self.ended().await
    }

    /// Requests a stop without waiting for it.
    pub(super) fn request_stop(&self, cause: EndCause, grace: Duration) {
        self.stop_requests.request(cause, grace);
    }

    /// Queues bytes for the standard input.
    pub fn write_stdin(&self, bytes: &[u8]) -> Result<(), Fault> {
        if self.end().is_some() {
            return Err(closed());
        }
        self.input.as_ref().ok_or_else(closed)?.write(bytes)
    }

    /// Closes the standard input after the queued bytes.
    pub fn close_stdin(&self) {
        if let Some(input) = &self.input {
            input.close();
        }
    }

    /// Returns the output after the cursor, at most `window` bytes of the beginning of each stream, and moves the
    /// cursor to its end. Empty before the command itself was started: messages of the sandbox belong to the end.
    pub fn read_output_after(&self, cursor: &mut OutputCursor, window: usize) -> Result<NewOutput, Fault> {
        // The order matters: output that is said to be the last must be complete.
        let ended = self.end().is_some();
        let now = *self.printed.borrow();
        let now = if self.is_command_started() { now } else { *cursor };
        let mut moved = *cursor;
        let stdout = self.stdout.read_delta(&mut moved.stdout, now.stdout, ended, window)?;
        let stderr =
            self.stderr.as_ref().map(|tail| tail.read_delta(&mut moved.stderr, now.stderr, ended, window));
        let output = NewOutput { stdout, stderr: stderr.transpose()? };
        // Only after both reads: output that could not be read is returned the next time.
        *cursor = moved;
        Ok(output)
    }

    /// Returns the next piece of output after the cursor with the index of its stream, and moves the cursor behind it.
    /// `None` if there is nothing new, or nothing but an incomplete character.
    pub(super) fn next_piece(&self, cursor: &mut OutputCursor) -> Result<Option<(usize, Vec<u8>)>, Fault> {
        let ended = self.end().is_some();
        let now = *self.printed.borrow();
        if !self.is_command_started() {
            return Ok(None);
        }
        let streams = [
            (Some(&self.stdout), &mut cursor.stdout, now.stdout),
            (self.stderr.as_ref(), &mut cursor.stderr, now.stderr),
        ];
        for (index, (tail, position, now)) in streams.into_iter().enumerate() {
            let Some(tail) = tail else { continue };
            let bytes = now.bytes.min(position.bytes.saturating_add(PIECE as u64));
            let is_last = ended && bytes == now.bytes;
            let piece = tail.read_delta(position, StreamPosition { bytes, ..now }, is_last, PIECE)?;
            if piece.to > piece.from {
                return Ok(Some((index, piece.head)));
            }
        }
        Ok(None)
    }

    /// Kills everything on this thread: the supervisor thread may not run any more.
    pub(super) fn kill_now(&self) {
        if self.end().is_none() {
            let _survivors = self.tree.clone().kill(KILL_LIMIT);
            self.stop_requests.request(EndCause::Stopped, Duration::ZERO);
        }
    }

    /// Starts the threads around a child.
    fn start_threads(mut self, ours: ParentStdio, parts: SupervisionParts) -> io::Result<RunningCommand> {
        let SupervisionParts { tree, end, resources, limits, input } = parts;
        let stop_reading = Arc::new(EventFlag::new()?);
        let terminal = ours.stderr.is_none();
        let both = if terminal { "output" } else { "stdout" };
        let limit = limits.output_bytes;
        let out =
            self.capture(ours.stdout, Arc::clone(&self.stdout), both, limit, &stop_reading, |status, now| {
                status.stdout = now;
            });
        let err = ours.stderr.zip(self.stderr.clone()).map(|(source, tail)| {
            self.capture(source, tail, "stderr", limit, &stop_reading, |printed, now| printed.stderr = now)
        });
        if let Some(stdin) = ours.stdin {
            self.input = Some(InputWriter::start(stdin, terminal, input, Arc::clone(&stop_reading))?);
        }
        let supervisor = CommandSupervisor {
            end,
            tree,
            start_signal: self.start_signal.clone(),
            stop_requests: Arc::clone(&self.stop_requests),
            timeout: limits.timeout.map_or_else(Timer::never, Timer::after)?,
            grace: limits.grace,
            stdout: out?,
            stderr: err.transpose()?,
            stop_reading,
            status: Arc::clone(&self.status),
            resources,
        };
        supervisor.start()?;
        Ok(self)
    }

    fn capture(
        &self,
        source: OwnedFd,
        tail: Arc<StreamTail>,
        role: &'static str,
        limit: u64,
        stop: &Arc<EventFlag>,
        set: fn(&mut OutputCursor, StreamPosition),
    ) -> io::Result<SupervisedStream> {
        let (drained, done) = (Arc::new(EventFlag::new()?), Arc::new(EventFlag::new()?));
        let (printed, request) = (Arc::clone(&self.printed), Arc::clone(&self.stop_requests));
        let on_progress = Box::new(move |now| printed.send_modify(|printed| set(printed, now)));
        let capture = OutputCapture {
            source,
            file: CaptureFile::new(role, limit, Arc::clone(&tail), on_progress)?,
            stop: Arc::clone(stop),
            drained: RaiseOnDrop(Arc::clone(&drained)),
            done: RaiseOnDrop(Arc::clone(&done)),
        };
        let reader = capture.start(move || request.request(EndCause::OutputLimit, Duration::ZERO))?;
        Ok(SupervisedStream { drained, done, reader, path: Box::new(move || tail.path().map(str::to_owned)) })
    }
}

impl Drop for RunningCommand {
    /// Blocks as long as a kill takes. A graceful shutdown has stopped the command before.
    fn drop(&mut self) {
        self.kill_now();
    }
}
