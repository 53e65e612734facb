//! Background tasks: commands that outlive the call that started them.
//!
//! They live as long as the registry, so no caller has to end them. The last hundred that have ended stay listed,
//! because their last output is often read after their end.

use std::collections::BTreeMap;
use std::fmt;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use envelope::{Failure, Fault, Timestamp};
use tokio::sync::OwnedMutexGuard;
use tokio::time::sleep;

use super::finished_command::{ChildExit, CommandEnd, EndCause, NewOutput, OutputCursor};
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

/// New output of a task, with its state.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskUpdate {
    pub status: RetrievalStatus,
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
    /// Locked during a read: two readers never get the same output.
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
        let task = self.find(id)?;
        let cursor = Arc::clone(&task.cursor).lock_owned().await;
        let mut late = pin!(sleep(limit));
        let mut seen = *cursor;
        loop {
            let news = tokio::select! {
                biased;
                now = task.running.wait_for_output(&seen) => Some(now),
                () = &mut late => None,
            };
            let (end, mut to) = (task.running.end(), *cursor);
            let output = task.running.read_output_after(&mut to, window)?;
            let status = match news {
                _ if end.is_some() || !output.is_empty() => RetrievalStatus::Success,
                // The sandbox printed something. Whether the command was started since then has to be polled.
                Some(_) if !task.running.is_command_started() && !late.is_elapsed() => {
                    tokio::select! {
                        () = sleep(START_POLL) => {}
                        () = &mut late => {}
                    }
                    continue;
                }
                // An incomplete character is not output yet, so keep waiting.
                Some(now) if !late.is_elapsed() => {
                    seen = now;
                    continue;
                }
                Some(_) | None if limit.is_zero() => RetrievalStatus::NotReady,
                Some(_) | None => RetrievalStatus::Timeout,
            };
            return Ok((
                TaskUpdate { status, task: task.info(id), output, end },
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
