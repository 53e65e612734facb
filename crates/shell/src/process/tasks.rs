//! Commands that outlive the call that started them.
//!
//! They live as long as the registry: nobody has to remember to end them. Ended ones stay listed, the last
//! hundred of them, since what they printed last is often read after their end.

use std::collections::BTreeMap;
use std::fmt;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use envelope::{Failure, Fault, Timestamp};
use tokio::sync::OwnedMutexGuard;
use tokio::time::sleep;

use super::child::Running;
use super::exit::Exit;
use super::finished::{Cause, Cursor, End, NewOutput};

/// How many tasks that have ended stay listed.
const ENDED_KEPT: usize = 100;
/// Between two looks whether a command is reached, which takes some milliseconds.
const LOOK_AGAIN: Duration = Duration::from_millis(5);
const PREFIX: &str = "task_";

/// The name of a background task, such as `task_1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(u64);

impl TaskId {
    pub fn parse(text: &str) -> Option<TaskId> {
        let id = TaskId(text.strip_prefix(PREFIX)?.parse().ok()?);
        // `task_+1` and `task_01` would be further names of the same task.
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
    /// It ended by itself.
    Exited,
    /// It was ended: by a person, its time, or a limit.
    Killed,
    /// What it printed could not be kept; it was ended for that.
    Failed,
}

/// A background task at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskInfo {
    pub id: TaskId,
    pub command: String,
    pub started: Timestamp,
    pub state: TaskState,
    pub exit: Option<Exit>,
    /// Of both streams.
    pub bytes: u64,
}

/// Whether a look at a task found anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetrievalStatus {
    /// There is new output, or the task is over.
    Success,
    /// Nothing came while it was waited for.
    Timeout,
    /// Nothing is there, and nobody wanted to wait.
    NotReady,
}

/// What a look at a task found.
#[derive(Debug, Clone, PartialEq)]
pub struct Retrieved {
    pub status: RetrievalStatus,
    pub task: TaskInfo,
    pub output: NewOutput,
    /// How it ended, once it has.
    pub end: Option<End>,
}

/// The background tasks of this process. Clones share them; with the last clone they end.
#[derive(Clone, Default)]
pub struct Tasks(Arc<Registry>);

#[derive(Default)]
struct Registry(Mutex<Table>);

#[derive(Default)]
struct Table {
    last: u64,
    tasks: BTreeMap<TaskId, Arc<Task>>,
}

struct Task {
    running: Running,
    /// Locked while somebody reads: two readers never get the same output.
    cursor: Arc<tokio::sync::Mutex<Cursor>>,
}

/// What a look gave out, until it is known to have arrived. Dropped without that, it is new to the next look.
pub struct Taken {
    cursor: OwnedMutexGuard<Cursor>,
    to: Cursor,
}

impl Taken {
    /// It has arrived: nobody gets it again.
    pub fn arrived(mut self) {
        *self.cursor = self.to;
    }
}

impl Tasks {
    pub fn new() -> Tasks {
        Tasks::default()
    }

    /// From now on the command is a task.
    pub fn promote(&self, running: Running) -> TaskId {
        let mut table = self.0.lock();
        table.last += 1;
        let id = TaskId(table.last);
        table.tasks.insert(id, Arc::new(Task { running, cursor: Arc::default() }));
        table.forget_old();
        id
    }

    /// Every task, the oldest first.
    pub fn list(&self) -> Vec<TaskInfo> {
        self.0.lock().tasks.iter().map(|(id, task)| task.info(*id)).collect()
    }

    pub fn get(&self, id: TaskId) -> Result<TaskInfo, Fault> {
        Ok(self.find(id)?.info(id))
    }

    /// Looks at a task, and is done with what it gives out.
    pub async fn wait_new(&self, id: TaskId, limit: Duration, window: usize) -> Result<Retrieved, Fault> {
        let (seen, taken) = self.look(id, limit, window).await?;
        taken.arrived();
        Ok(seen)
    }

    /// Waits until the task has printed something that was not given out yet or is over, `limit` at most, and
    /// gives out what is new.
    pub async fn look(
        &self,
        id: TaskId,
        limit: Duration,
        window: usize,
    ) -> Result<(Retrieved, Taken), Fault> {
        let task = self.find(id)?;
        let cursor = Arc::clone(&task.cursor).lock_owned().await;
        let mut late = pin!(sleep(limit));
        let mut seen = *cursor;
        loop {
            let news = tokio::select! {
                biased;
                now = task.running.news(&seen) => Some(now),
                () = &mut late => None,
            };
            let (end, mut to) = (task.running.end(), *cursor);
            let output = task.running.read_new(&mut to, window)?;
            let status = match news {
                _ if end.is_some() || !output.is_empty() => RetrievalStatus::Success,
                // The wall said something. Whether the command is behind it now has to be asked for.
                Some(_) if !task.running.is_reached() && !late.is_elapsed() => {
                    tokio::select! {
                        () = sleep(LOOK_AGAIN) => {}
                        () = &mut late => {}
                    }
                    continue;
                }
                // Half a character: nothing that can be given out yet, and no reason to stop waiting.
                Some(now) if !late.is_elapsed() => {
                    seen = now;
                    continue;
                }
                Some(_) | None if limit.is_zero() => RetrievalStatus::NotReady,
                Some(_) | None => RetrievalStatus::Timeout,
            };
            return Ok((Retrieved { status, task: task.info(id), output, end }, Taken { cursor, to }));
        }
    }

    /// Types into a task, and ends its input if asked to.
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

    /// Ends a task with everything it started. One that has ended stays as it is.
    pub async fn stop(&self, id: TaskId, grace: Duration) -> Result<End, Fault> {
        let task = self.find(id)?;
        Ok(task.running.stop(Cause::Stopped, grace).await)
    }

    /// Ends every task, all at the same time, and says how they ended.
    pub async fn stop_all(&self, grace: Duration) -> Vec<(TaskId, End)> {
        let running: Vec<(TaskId, Arc<Task>)> = {
            let table = self.0.lock();
            let alive = table.tasks.iter().filter(|(_, task)| task.running.end().is_none());
            alive.map(|(id, task)| (*id, Arc::clone(task))).collect()
        };
        // All hear of it before the first is waited for.
        for (_, task) in &running {
            task.running.request_stop(Cause::Stopped, grace);
        }
        let mut ends = Vec::with_capacity(running.len());
        for (id, task) in running {
            ends.push((id, task.running.ended().await));
        }
        ends
    }

    fn find(&self, id: TaskId) -> Result<Arc<Task>, Fault> {
        self.0.lock().tasks.get(&id).map(Arc::clone).ok_or_else(|| {
            Fault::new(Failure::NotFound, format!("there is no task `{id}`")).hint(
                "List the tasks: the oldest that have ended are forgotten, and all end with the program.",
            )
        })
    }
}

impl Registry {
    fn lock(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    fn forget_old(&mut self) {
        let ended: Vec<TaskId> =
            self.tasks.iter().filter(|(_, task)| task.running.end().is_some()).map(|(id, _)| *id).collect();
        for id in ended.iter().take(ended.len().saturating_sub(ENDED_KEPT)) {
            self.tasks.remove(id);
        }
    }
}

impl Task {
    fn info(&self, id: TaskId) -> TaskInfo {
        let end = self.running.end();
        let state = match end.as_deref() {
            None => TaskState::Running,
            Some(Err(_)) => TaskState::Failed,
            Some(Ok(finished)) if finished.cause == Cause::Itself => TaskState::Exited,
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

impl Drop for Registry {
    /// The last resort: whoever ends in good order has stopped them before, with grace.
    fn drop(&mut self) {
        for task in self.lock().tasks.values() {
            task.running.kill_now();
        }
    }
}
