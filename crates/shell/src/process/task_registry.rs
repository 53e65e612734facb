//! Background tasks: commands that outlive the call that started them.
//!
//! They live as long as the registry, so no caller has to end them. The last hundred that have ended stay listed,
//! because their last output is often read after their end.

use std::collections::BTreeMap;
use std::fmt;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use envelope::{Failure, Fault, Timestamp};
use tokio::sync::OwnedMutexGuard;
use tokio::time::{Instant, Sleep, sleep};

use super::finished_command::{ChildExit, CommandEnd, EndCause, NewOutput, OutputCursor};
use super::output_search::{OutputPattern, OutputSearch};
use super::running_command::RunningCommand;

/// Number of ended tasks that stay listed.
const MAX_ENDED: usize = 100;
/// Interval for checking whether a command was started, which takes some milliseconds.
const START_POLL: Duration = Duration::from_millis(5);
const PREFIX: &str = "task_";

/// Name of a background task, such as `task_1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(u64);

impl TaskId {
    pub fn parse(text: &str) -> Option<TaskId> {
        let id = TaskId(text.strip_prefix(PREFIX)?.parse().ok()?);
        // `task_+1` and `task_01` would be more names of the same task.
        (id.to_string() == text).then_some(id)
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", self.0)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskState {
    Running,
    /// It exited.
    Exited,
    /// It was ended by the user, its timeout, or a limit.
    Killed,
    /// It was ended because its output could not be stored.
    Failed,
}

/// State of a background task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskInfo {
    pub id: TaskId,
    pub command: String,
    pub started: Timestamp,
    pub state: TaskState,
    pub exit: Option<ChildExit>,
    /// Of both streams.
    pub bytes: u64,
}

/// Result of reading a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetrievalStatus {
    /// There is new output, or the task has ended.
    Success,
    /// No output arrived during the wait.
    Timeout,
    /// The task has printed nothing, and the caller did not want to wait.
    NotReady,
}

/// What ends a wait for a task, besides its end and the deadline. The first of these that happens.
#[derive(Debug, Clone, Copy, Default)]
pub struct WaitCondition<'p> {
    /// Any new output.
    pub output: bool,
    /// Nothing was printed for this time.
    pub quiet: Option<Duration>,
    /// A match in the new output.
    pub pattern: Option<&'p OutputPattern>,
}

impl WaitCondition<'_> {
    /// Waits for any new output.
    pub const NEW_OUTPUT: WaitCondition<'static> = WaitCondition { output: true, quiet: None, pattern: None };
}

/// Why a wait ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WaitEnd {
    /// The caller did not want to wait.
    NotWaited,
    NewOutput,
    /// The task has ended.
    Exited,
    /// Nothing was printed for the given time.
    Quiet,
    /// This line of the new output matches.
    Matched(String),
    TimedOut,
}

/// New output of a task, with its state.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskUpdate {
    pub status: RetrievalStatus,
    pub waited: WaitEnd,
    pub task: TaskInfo,
    pub output: NewOutput,
    /// How it ended, if it has.
    pub end: Option<CommandEnd>,
}

/// The background tasks of this process. Clones share them; dropping the last clone ends them.
#[derive(Clone, Default)]
pub struct TaskRegistry(Arc<SharedTasks>);

#[derive(Default)]
struct SharedTasks(Mutex<TaskTable>);

#[derive(Default)]
struct TaskTable {
    last: u64,
    tasks: BTreeMap<TaskId, Arc<BackgroundTask>>,
}

struct BackgroundTask {
    running: RunningCommand,
    /// Locked from a read until it is confirmed: two readers never get the same output. Not locked during a wait.
    cursor: Arc<tokio::sync::Mutex<OutputCursor>>,
}

/// Output that was returned but not confirmed. Dropping this without a confirmation returns it again on the next read.
pub struct UnconfirmedRead {
    cursor: OwnedMutexGuard<OutputCursor>,
    to: OutputCursor,
}

impl UnconfirmedRead {
    /// Confirms that the output was delivered.
    pub fn confirm(mut self) {
        *self.cursor = self.to;
    }
}

impl TaskRegistry {
    pub fn new() -> TaskRegistry {
        TaskRegistry::default()
    }

    /// Makes a command a task.
    pub fn promote(&self, running: RunningCommand) -> TaskId {
        let mut table = self.0.lock();
        table.last += 1;
        let id = TaskId(table.last);
        table.tasks.insert(id, Arc::new(BackgroundTask { running, cursor: Arc::default() }));
        table.forget_old();
        id
    }

    /// Returns all tasks, the oldest first.
    pub fn list(&self) -> Vec<TaskInfo> {
        self.0.lock().tasks.iter().map(|(id, task)| task.info(*id)).collect()
    }

    pub fn get(&self, id: TaskId) -> Result<TaskInfo, Fault> {
        Ok(self.find(id)?.info(id))
    }

    /// Reads the new output of a task and confirms it.
    pub async fn read_output_confirmed(
        &self,
        id: TaskId,
        limit: Duration,
        window: usize,
    ) -> Result<TaskUpdate, Fault> {
        let (seen, taken) = self.read_output(id, limit, window).await?;
        taken.confirm();
        Ok(seen)
    }

    /// Waits until the task has new output or has ended, at most `limit`. Returns the output, which is read again
    /// unless it is confirmed.
    pub async fn read_output(
        &self,
        id: TaskId,
        limit: Duration,
        window: usize,
    ) -> Result<(TaskUpdate, UnconfirmedRead), Fault> {
        self.read_output_when(id, &WaitCondition::NEW_OUTPUT, limit, window).await
    }

    /// Waits until the condition is met or the task has ended, at most `limit`. Returns the output, which is read again
    /// unless it is confirmed. Dropping the future ends the wait and loses nothing.
    pub async fn read_output_when(
        &self,
        id: TaskId,
        until: &WaitCondition<'_>,
        limit: Duration,
        window: usize,
    ) -> Result<(TaskUpdate, UnconfirmedRead), Fault> {
        let task = self.find(id)?;
        let mut late = pin!(sleep(limit));
        loop {
            let since = *task.cursor.lock().await;
            let mut waited = task.wait(since, until, late.as_mut()).await?;
            let cursor = Arc::clone(&task.cursor).lock_owned().await;
            let (end, mut to) = (task.running.end(), *cursor);
            let output = task.running.read_output_after(&mut to, window)?;
            if output.is_empty() && end.is_none() && waited == WaitEnd::NewOutput {
                // Another reader has taken it.
                if !late.is_elapsed() {
                    continue;
                }
                waited = WaitEnd::TimedOut;
            }
            let waited = match waited {
                WaitEnd::Matched(line) => WaitEnd::Matched(line),
                _ if end.is_some() => WaitEnd::Exited,
                WaitEnd::TimedOut if limit.is_zero() => WaitEnd::NotWaited,
                WaitEnd::NotWaited
                | WaitEnd::NewOutput
                | WaitEnd::Exited
                | WaitEnd::Quiet
                | WaitEnd::TimedOut => waited,
            };
            let status = if end.is_some() || !output.is_empty() {
                RetrievalStatus::Success
            } else if limit.is_zero() {
                RetrievalStatus::NotReady
            } else {
                RetrievalStatus::Timeout
            };
            return Ok((
                TaskUpdate { status, waited, task: task.info(id), output, end },
                UnconfirmedRead { cursor, to },
            ));
        }
    }

    /// Writes to the input of a task, and closes it if `close` is set.
    pub fn input(&self, id: TaskId, bytes: &[u8], close: bool) -> Result<(), Fault> {
        let task = self.find(id)?;
        if !bytes.is_empty() {
            task.running.write_stdin(bytes)?;
        }
        if close {
            task.running.close_stdin();
        }
        Ok(())
    }

    /// Ends a task with everything it started. A task that has ended is left as it is.
    pub async fn stop(&self, id: TaskId, grace: Duration) -> Result<CommandEnd, Fault> {
        let task = self.find(id)?;
        Ok(task.running.stop(EndCause::Stopped, grace).await)
    }

    /// Ends all tasks at the same time. Returns how they ended.
    pub async fn stop_all(&self, grace: Duration) -> Vec<(TaskId, CommandEnd)> {
        let running: Vec<(TaskId, Arc<BackgroundTask>)> = {
            let table = self.0.lock();
            let alive = table.tasks.iter().filter(|(_, task)| task.running.end().is_none());
            alive.map(|(id, task)| (*id, Arc::clone(task))).collect()
        };
        // All are asked before the first is waited for.
        for (_, task) in &running {
            task.running.request_stop(EndCause::Stopped, grace);
        }
        let mut ends = Vec::with_capacity(running.len());
        for (id, task) in running {
            ends.push((id, task.running.ended().await));
        }
        ends
    }

    fn find(&self, id: TaskId) -> Result<Arc<BackgroundTask>, Fault> {
        self.0.lock().tasks.get(&id).map(Arc::clone).ok_or_else(|| {
            Fault::new(Failure::NotFound, format!("there is no task `{id}`")).hint(
                "List the tasks: the oldest that have ended are forgotten, and all end with the program.",
            )
        })
    }
}

impl SharedTasks {
    fn lock(&self) -> MutexGuard<'_, TaskTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TaskTable {
    fn forget_old(&mut self) {
        let ended: Vec<TaskId> =
            self.tasks.iter().filter(|(_, task)| task.running.end().is_some()).map(|(id, _)| *id).collect();
        for id in ended.iter().take(ended.len().saturating_sub(MAX_ENDED)) {
            self.tasks.remove(id);
        }
    }
}

impl BackgroundTask {
    /// Waits until the condition is met for the output after `since`, until the end, or until `late`.
    async fn wait(
        &self,
        since: OutputCursor,
        until: &WaitCondition<'_>,
        mut late: Pin<&mut Sleep>,
    ) -> Result<WaitEnd, Fault> {
        let mut seen = since;
        let mut search = until.pattern.map(|pattern| OutputSearch::new(pattern, since));
        let mut quiet = pin!(sleep(until.quiet.unwrap_or_default()));
        loop {
            // Before the search, which then finds everything that was printed.
            let ended = self.running.end().is_some();
            if let Some(search) = &mut search
                && let Some(line) = search.advance(&self.running).await?
            {
                return Ok(WaitEnd::Matched(line));
            }
            if ended {
                return Ok(WaitEnd::Exited);
            }
            // An incomplete character is not output yet.
            let mut from = since;
            if until.output && !self.running.read_output_after(&mut from, 1)?.is_empty() {
                return Ok(WaitEnd::NewOutput);
            }
            tokio::select! {
                biased;
                now = self.running.wait_for_output(&seen) => {
                    if !self.running.is_command_started() {
                        // The sandbox printed something. Whether the command was started since then has to be polled.
                        tokio::select! {
                            () = sleep(START_POLL) => {}
                            () = late.as_mut() => return Ok(WaitEnd::TimedOut),
                        }
                    } else if now != seen {
                        seen = now;
                        if let Some(span) = until.quiet {
                            quiet.as_mut().reset(Instant::now() + span);
                        }
                    }
                }
                () = late.as_mut() => return Ok(WaitEnd::TimedOut),
                () = quiet.as_mut(), if until.quiet.is_some() => return Ok(WaitEnd::Quiet),
            }
        }
    }

    fn info(&self, id: TaskId) -> TaskInfo {
        let end = self.running.end();
        let state = match end.as_deref() {
            None => TaskState::Running,
            Some(Err(_)) => TaskState::Failed,
            Some(Ok(finished)) if finished.cause == EndCause::Exited => TaskState::Exited,
            Some(Ok(_)) => TaskState::Killed,
        };
        TaskInfo {
            id,
            command: self.running.shown().to_owned(),
            started: self.running.started(),
            state,
            exit: self.running.exit(),
            bytes: self.running.bytes(),
        }
    }
}

impl Drop for SharedTasks {
    /// Last resort: a graceful shutdown has stopped them before.
    fn drop(&mut self) {
        for task in self.lock().tasks.values() {
            task.running.kill_now();
        }
    }
}
