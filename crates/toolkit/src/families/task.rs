//! Background tasks: what is new of one, which there are, what a word to one did.

use envelope::{Family, Fault};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::command::{WORDS, ended};
use super::plain::{Receipt, cost, counted, fitting, is_zero, room};
use super::printed::{Kept, Output, Printed, printed};
use super::streams::{Form, unprintable};
use super::{Projected, Projection, external, warnings};

/// What can be said of tasks, complete.
#[derive(Debug, Clone)]
pub enum Task<'a> {
    /// What is new of one task.
    Output {
        retrieval: Retrieval,
        task: Snapshot<'a>,
        output: Output<'a>,
        /// What the user has to know about what it left, once it has ended.
        warnings: &'a [String],
    },
    Listed(Vec<Snapshot<'a>>),
    Stopped {
        task: Snapshot<'a>,
        was_running: bool,
        warnings: &'a [String],
    },
    Told {
        task_id: &'a str,
        bytes: u64,
        closed: bool,
    },
}

/// Whether a look at a task found something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Retrieval {
    /// There is new output, or the task has ended.
    Success,
    /// The wait was over before there was anything new.
    Timeout,
    /// Nothing new, and nobody wanted to wait.
    NotReady,
}

/// How far a task has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum TaskStatus {
    Running,
    Exited,
    Killed,
}

/// One task at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot<'a> {
    pub task_id: &'a str,
    pub command: &'a str,
    pub status: TaskStatus,
    pub exit_status: Option<i32>,
    pub signal: Option<&'a str>,
    pub runtime_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
enum Bounded {
    Output(Box<TaskOutput>),
    Listed(TaskList),
    Stopped(TaskStopped),
    Told(TaskTold),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct TaskOutput {
    retrieval_status: Retrieval,
    task: TaskShown,
    #[serde(flatten)]
    output: Printed,
    truncated: bool,
    #[serde(flatten)]
    kept: Kept,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct TaskShown {
    task_id: String,
    kind: String,
    status: TaskStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    exit_status: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signal: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    command: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    runtime_ms: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct TaskList {
    tasks: Vec<TaskShown>,
    #[serde(default, skip_serializing_if = "is_zero")]
    left_out: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct TaskStopped {
    stopped: TaskShown,
    was_running: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct TaskTold {
    task_id: String,
    bytes_written: u64,
    stdin_closed: bool,
}

/// Bounds what is said of tasks.
pub fn project(task: &Task<'_>, with: &mut Projection<'_>) -> Result<Projected, Fault> {
    let bounded = match task {
        Task::Output { retrieval, task, output, warnings } => {
            Bounded::Output(Box::new(bounded_output(*retrieval, task, (output, warnings), with)?))
        }
        Task::Listed(tasks) => {
            let shown = tasks.iter().map(|task| shown(task, Detail::Listed));
            let fits = fitting(shown, room(with.budget()), |task| cost(&task.line()));
            let left_out = (tasks.len() - fits.len()) as u64;
            Bounded::Listed(TaskList { tasks: fits, left_out })
        }
        Task::Stopped { task, was_running, warnings } => Bounded::Stopped(TaskStopped {
            stopped: shown(task, Detail::Handle),
            was_running: *was_running,
            warnings: warnings::bounded(warnings, with.budget()),
        }),
        Task::Told { task_id, bytes, closed } => Bounded::Told(TaskTold {
            task_id: (*task_id).to_owned(),
            bytes_written: *bytes,
            stdin_closed: *closed,
        }),
    };
    Projected::new(Family::Task, &bounded).map_err(|error| unprintable(&error))
}

fn bounded_output(
    retrieval: Retrieval,
    task: &Snapshot<'_>,
    (output, warnings): (&Output<'_>, &[String]),
    with: &mut Projection<'_>,
) -> Result<TaskOutput, Fault> {
    let warnings = warnings::bounded(warnings, with.budget());
    let tokens = with.budget().saturating_sub(WORDS + warnings::tokens(&warnings));
    let (output, kept) = printed(output, (tokens, Form::Truth), with)?;
    let truncated = kept.truncated();
    let task = shown(task, Detail::Handle);
    Ok(TaskOutput { retrieval_status: retrieval, task, output, truncated, kept, warnings })
}

/// How much of a task is said.
#[derive(Clone, Copy)]
enum Detail {
    /// Enough to name it and to know how it stands.
    Handle,
    /// Its command and its time as well.
    Listed,
}

fn shown(task: &Snapshot<'_>, detail: Detail) -> TaskShown {
    let (command, runtime_ms) = match detail {
        Detail::Handle => (None, None),
        Detail::Listed => (Some(short(task.command)), Some(task.runtime_ms)),
    };
    TaskShown {
        task_id: task.task_id.to_owned(),
        kind: "command_task".to_owned(),
        status: task.status,
        exit_status: task.exit_status,
        signal: task.signal.map(str::to_owned),
        command,
        runtime_ms,
    }
}

/// The first line of a command, for a list.
fn short(command: &str) -> String {
    const MOST: usize = 80;
    let line = crate::preview::clean::line(command);
    match line.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}

pub(super) fn render(summary: &str, result: &Value, budget: usize) -> String {
    match Bounded::deserialize(result) {
        Ok(Bounded::Output(output)) => output.render(budget.saturating_sub(WORDS)),
        Ok(Bounded::Listed(list)) => list.render(budget),
        Ok(Bounded::Stopped(stopped)) => stopped.render(),
        Ok(Bounded::Told(told)) => told.render(),
        Err(_) => external::render(summary, result, budget),
    }
}

impl TaskShown {
    /// `task-1 still running (12 s): make`.
    fn line(&self) -> String {
        let (state, command) = (self.state(), self.command.as_deref().unwrap_or_default());
        let seconds = self.runtime_ms.unwrap_or_default() / 1000;
        format!("{} {state} ({seconds} s): {command}", self.task_id)
    }

    fn state(&self) -> String {
        match self.status {
            TaskStatus::Running => "still running".to_owned(),
            TaskStatus::Exited | TaskStatus::Killed => {
                let ended = ended(self.exit_status, self.signal.as_deref());
                ended.trim_start_matches("Process ").to_owned()
            }
        }
    }
}

impl TaskOutput {
    fn render(&self, tokens: usize) -> String {
        let mut text = match (self.retrieval_status, self.task.status) {
            (Retrieval::Timeout | Retrieval::NotReady, TaskStatus::Running) => {
                format!("Task {} is still running; nothing new", self.task.task_id)
            }
            (Retrieval::Success | Retrieval::Timeout | Retrieval::NotReady, _) => {
                format!("Task {} {}", self.task.task_id, self.task.state())
            }
        };
        warnings::render(&mut text, &self.warnings);
        let tokens = tokens.saturating_sub(warnings::tokens(&self.warnings));
        self.kept.render(&mut text);
        if !self.output.render(&mut text, &self.kept, tokens) && self.retrieval_status == Retrieval::Success {
            text.push_str("\n(no new output)");
        }
        text
    }
}

impl TaskList {
    fn render(&self, budget: usize) -> String {
        if self.tasks.is_empty() {
            return "No tasks".to_owned();
        }
        let all = self.tasks.len() as u64 + self.left_out;
        Receipt::new(&counted(all, "task", "tasks")).with_most(
            1..=self.tasks.len(),
            budget,
            |most, receipt| {
                self.tasks.iter().take(most).for_each(|task| receipt.line(&task.line()));
                let left_out = self.left_out + self.tasks.len().saturating_sub(most) as u64;
                if left_out > 0 {
                    receipt.line(&format!("[{left_out} more not shown]"));
                }
            },
        )
    }
}

impl TaskStopped {
    fn render(&self) -> String {
        let (id, state) = (&self.stopped.task_id, self.stopped.state());
        let mut text = match self.was_running {
            true => format!("Task {id} stopped with all its processes ({state})"),
            false => format!("Task {id} had ended before: {state}"),
        };
        warnings::render(&mut text, &self.warnings);
        text
    }
}

impl TaskTold {
    fn render(&self) -> String {
        let mut text = format!("Wrote {} bytes to task {}", self.bytes_written, self.task_id);
        if self.stdin_closed {
            text.push_str(" and closed its input");
        }
        text
    }
}
