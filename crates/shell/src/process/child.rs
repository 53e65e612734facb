//! A command that was started: what it prints, what it reads, how it is stopped.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use envelope::{Fault, Timestamp};
use tokio::sync::watch;

use super::capture::Capture;
use super::event::{Flag, RaisedInTheEnd, Timer};
use super::exit::Exit;
use super::feed::{Feed, Progress};
use super::finished::{Cause, Cursor, End, NewOutput};
use super::input::{Input, Typist, closed};
use super::job::{CommandResources, Job, Limits};
use super::keeper::{Keeper, Request, Status, Watched};
use super::spawner::{self, Spawner, unavailable};
use super::spool::Spool;
use super::table::MARK;
use super::tree::Tree;
use super::wires::{OurEnds, connect};
use crate::sandbox::Threshold;

/// How long it may take to end a command that nobody watches.
const LAST_RESORT: Duration = Duration::from_secs(1);

/// A command that was started. Whoever lets go of it ends it.
pub struct Running {
    shown: String,
    started: Timestamp,
    tree: Tree,
    request: Arc<Request>,
    input: Option<Arc<Typist>>,
    stdout: Arc<Feed>,
    stderr: Option<Arc<Feed>>,
    status: Arc<watch::Sender<Status>>,
    /// Apart from the status: who waits for the end is not woken by every line.
    printed: Arc<watch::Sender<Cursor>>,
    /// None where nothing stands before the command.
    threshold: Option<Arc<Threshold>>,
}

/// What the threads around a child need besides its output.
struct Around {
    tree: Tree,
    end: Arc<OwnedFd>,
    keep: (Spawner, Box<dyn CommandResources>),
    limits: Limits,
    input: Input,
}

impl Running {
    pub async fn start(spawner: &Spawner, job: Job) -> Result<Running, Fault> {
        let keeps_thread = spawner.clone();
        spawner.on_thread(move || Running::launch(keeps_thread, job)).await
    }

    fn launch(spawner: Spawner, job: Job) -> Result<Running, Fault> {
        let Job { mut command, shown, marker, started, input, terminal, .. } = job;
        let Job { enclosure, threshold, keep, limits, artifacts, .. } = job;
        let (threshold, bell) = threshold.unzip();
        let (ours, theirs) = connect(&input, terminal).map_err(|error| unavailable(&error))?;
        let request = Arc::new(Request::new().map_err(|error| unavailable(&error))?);
        command.env(MARK, &marker);
        let child = spawner::start(command, theirs, bell.map(OwnedFd::from))?;
        let pid = child.pid;
        let tree = Tree::new(child.pid, enclosure, &marker);
        let end = Arc::new(child.end);
        let running = Running {
            shown,
            started,
            tree: tree.clone(),
            request,
            input: None,
            stdout: Arc::new(Feed::new(Arc::clone(&artifacts))),
            stderr: ours.stderr.as_ref().map(|_| Arc::new(Feed::new(artifacts))),
            status: Arc::new(watch::Sender::new(Status::default())),
            printed: Arc::new(watch::Sender::new(Cursor::default())),
            threshold: threshold.map(Arc::new),
        };
        let mut last_resort = tree.clone();
        let around = Around { tree, end: Arc::clone(&end), keep: (spawner, keep), limits, input };
        running.watch(ours, around).map_err(|error| {
            let _survivors = last_resort.kill(LAST_RESORT);
            let _exit = Exit::collect(pid, end.as_fd());
            unavailable(&error)
        })
    }

    pub fn pid(&self) -> i32 {
        self.tree.root().as_raw_pid()
    }

    /// The command as people know it.
    pub fn shown(&self) -> &str {
        &self.shown
    }

    pub fn started(&self) -> Timestamp {
        self.started
    }

    /// How the command itself ended. What it left behind may still be on its way.
    pub fn exit(&self) -> Option<Exit> {
        self.status.borrow().exit
    }

    /// How it all ended, if it has.
    pub fn end(&self) -> Option<End> {
        self.status.borrow().end.clone()
    }

    /// How much it has printed, of both streams.
    pub fn bytes(&self) -> u64 {
        let printed = self.printed.borrow();
        printed.stdout.bytes + printed.stderr.bytes
    }

    /// Whether the command itself runs, or has run: nothing stands before it any more.
    pub(super) fn is_reached(&self) -> bool {
        self.threshold.as_ref().is_none_or(|threshold| threshold.is_crossed())
    }

    /// Waits until everything is over.
    pub async fn ended(&self) -> End {
        let mut status = self.status.subscribe();
        loop {
            if let Some(end) = &status.borrow_and_update().end {
                return Arc::clone(end);
            }
            // The sender is in `self`, so the channel cannot close while we wait.
            if status.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Waits until it has printed something behind the cursor, or is over. Says how far it has come.
    pub async fn news(&self, cursor: &Cursor) -> Cursor {
        let mut printed = self.printed.subscribe();
        let more = printed
            .wait_for(|now| now.stdout.bytes > cursor.stdout.bytes || now.stderr.bytes > cursor.stderr.bytes);
        tokio::select! {
            _more = more => {}
            _end = self.ended() => {}
        }
        *self.printed.borrow()
    }

    /// Asks everyone to end, kills who has not ended after `grace`, and waits until everything is over.
    pub async fn stop(&self, cause: Cause, grace: Duration) -> End {
        self.request_stop(cause, grace);
        self.ended().await
    }

    /// The same without waiting.
    pub(super) fn request_stop(&self, cause: Cause, grace: Duration) {
        self.request.end(cause, grace);
    }

    /// Queues bytes for the command to read.
    pub fn write_stdin(&self, bytes: &[u8]) -> Result<(), Fault> {
        if self.end().is_some() {
            return Err(closed());
        }
        self.input.as_ref().ok_or_else(closed)?.write(bytes)
    }

    /// Behind what is queued comes the end of the input.
    pub fn close_stdin(&self) {
        if let Some(input) = &self.input {
            input.close();
        }
    }

    /// What the command printed behind the cursor, which moves to its end. At most `window` bytes of the beginning of
    /// each stream. Before the command is reached there is none: what its sandbox says is for the end to explain.
    pub fn read_new(&self, cursor: &mut Cursor, window: usize) -> Result<NewOutput, Fault> {
        // In this order: what is said to be the end must not be less than all.
        let ended = self.end().is_some();
        let now = *self.printed.borrow();
        let now = if self.is_reached() { now } else { *cursor };
        let mut moved = *cursor;
        let stdout = self.stdout.fresh(&mut moved.stdout, now.stdout, ended, window)?;
        let stderr =
            self.stderr.as_ref().map(|feed| feed.fresh(&mut moved.stderr, now.stderr, ended, window));
        let output = NewOutput { stdout, stderr: stderr.transpose()? };
        // Only now: what could not be read is new the next time as well.
        *cursor = moved;
        Ok(output)
    }

    /// Kills everything, here and now: the thread that would do it may not get the time any more.
    pub(super) fn kill_now(&self) {
        if self.end().is_none() {
            let _survivors = self.tree.clone().kill(LAST_RESORT);
            self.request.end(Cause::Stopped, Duration::ZERO);
        }
    }

    /// Starts the threads around a child.
    fn watch(mut self, ours: OurEnds, around: Around) -> io::Result<Running> {
        let Around { tree, end, keep, limits, input } = around;
        let stop_reading = Arc::new(Flag::new()?);
        let terminal = ours.stderr.is_none();
        let both = if terminal { "output" } else { "stdout" };
        let limit = limits.output_bytes;
        let out =
            self.capture(ours.stdout, Arc::clone(&self.stdout), both, limit, &stop_reading, |status, now| {
                status.stdout = now;
            });
        let err = ours.stderr.zip(self.stderr.clone()).map(|(source, feed)| {
            self.capture(source, feed, "stderr", limit, &stop_reading, |printed, now| printed.stderr = now)
        });
        if let Some(stdin) = ours.stdin {
            self.input = Some(Typist::start(stdin, terminal, input, Arc::clone(&stop_reading))?);
        }
        let keeper = Keeper {
            end,
            tree,
            threshold: self.threshold.clone(),
            request: Arc::clone(&self.request),
            timeout: limits.timeout.map_or_else(Timer::never, Timer::after)?,
            grace: limits.grace,
            stdout: out?,
            stderr: err.transpose()?,
            stop_reading,
            status: Arc::clone(&self.status),
            keep,
        };
        keeper.start()?;
        Ok(self)
    }

    fn capture(
        &self,
        source: OwnedFd,
        feed: Arc<Feed>,
        role: &'static str,
        limit: u64,
        stop: &Arc<Flag>,
        set: fn(&mut Cursor, Progress),
    ) -> io::Result<Watched> {
        let (drained, done) = (Arc::new(Flag::new()?), Arc::new(Flag::new()?));
        let (printed, request) = (Arc::clone(&self.printed), Arc::clone(&self.request));
        let tell = Box::new(move |now| printed.send_modify(|printed| set(printed, now)));
        let capture = Capture {
            source,
            spool: Spool::new(role, limit, Arc::clone(&feed), tell)?,
            stop: Arc::clone(stop),
            drained: RaisedInTheEnd(Arc::clone(&drained)),
            done: RaisedInTheEnd(Arc::clone(&done)),
        };
        let reader = capture.start(move || request.end(Cause::OutputLimit, Duration::ZERO))?;
        Ok(Watched { drained, done, reader, path: Box::new(move || feed.path().map(str::to_owned)) })
    }
}

impl Drop for Running {
    /// Takes as long as a kill does. Whoever ends in good order has stopped it before.
    fn drop(&mut self) {
        self.kill_now();
    }
}
