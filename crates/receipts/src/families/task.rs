//! Background tasks: new output of one, the list of tasks, and the effect of a request to one.

use envelope::{Fault, ReceiptFamily};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::command::{OUTCOME_TOKENS, exit_line};
use super::process_output::{OutputPreviews, ProcessOutput, StreamFacts, bound_output};
use super::receipt_writer::{ReceiptWriter, count_noun, is_zero, line_cost, one_line, take_fitting};
use super::streams::PreviewForm;
use super::{ProjectedResult, Projection, external, project_result, project_within, warnings};
use crate::preview::tokenizer::{estimate, prefix_within};

/// Part of the budget that a matching line can take.
const MATCH_SHARE: usize = 10;

/// Complete output of a task tool.
#[derive(Debug, Clone)]
pub enum TaskReport<'a> {
    /// New output of one task.
    Output {
        retrieval: TaskRetrieval,
        wait: TaskWait<'a>,
        task: TaskSnapshot<'a>,
        output: ProcessOutput<'a>,
        /// Warnings for the user about what the task left behind, after it has ended.
        warnings: &'a [String],
    },
    Listed(Vec<TaskSnapshot<'a>>),
    Stopped {
        task: TaskSnapshot<'a>,
        was_running: bool,
        warnings: &'a [String],
    },
    Written {
        task_id: &'a str,
        bytes: u64,
        closed: bool,
    },
}

/// Whether a look at a task found something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum TaskRetrieval {
    /// There is new output, or the task has ended.
    Success,
    /// The wait was over before there was anything new.
    Timeout,
    /// Nothing new, and nobody wanted to wait.
    NotReady,
}

/// Why a look at a task returned when it did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskWait<'a> {
    pub reason: TaskWaitEnd,
    /// The line that matches the pattern of the caller.
    pub matched_line: Option<&'a str>,
}

/// What ended a wait.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum TaskWaitEnd {
    /// There was new output.
    #[default]
    NewOutput,
    /// The task has ended.
    Exited,
    /// It printed nothing for the given time.
    Quiet,
    /// A line of the new output matches.
    Matched,
    /// The time to wait was over.
    Timeout,
    /// The call was cancelled.
    Cancelled,
    /// Nobody wanted to wait.
    NotWaited,
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

/// State of a task at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskSnapshot<'a> {
    pub task_id: &'a str,
    pub command: &'a str,
    pub status: TaskStatus,
    pub exit_status: Option<i32>,
    pub signal: Option<&'a str>,
    pub runtime_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
enum BoundedTask {
    Output(Box<BoundedTaskOutput>),
    Listed(BoundedTaskList),
    Stopped(BoundedTaskStop),
    Written(TaskWrite),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct BoundedTaskOutput {
    retrieval_status: TaskRetrieval,
    #[serde(default)]
    reason: TaskWaitEnd,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    matched_line: Option<String>,
    task: TaskSummary,
    #[serde(flatten)]
    output: OutputPreviews,
    truncated: bool,
    #[serde(flatten)]
    kept: StreamFacts,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct TaskSummary {
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
struct BoundedTaskList {
    tasks: Vec<TaskSummary>,
    #[serde(default, skip_serializing_if = "is_zero")]
    left_out: u64,
    /// True if tasks, or parts of their commands, are missing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct BoundedTaskStop {
    stopped: TaskSummary,
    was_running: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
    /// True if warnings are missing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct TaskWrite {
    task_id: String,
    bytes_written: u64,
    stdin_closed: bool,
}

/// Bounds the output of a task tool.
pub fn project(task: &TaskReport<'_>, with: &mut Projection<'_>) -> Result<ProjectedResult, Fault> {
    let bounded = match task {
        TaskReport::Output { retrieval, wait, task, output, warnings } => {
            BoundedTask::Output(Box::new(bounded_output((*retrieval, wait), task, (output, warnings), with)?))
        }
        TaskReport::Listed(tasks) => {
            return project_within(ReceiptFamily::Task, with, |room| {
                let shown = tasks.iter().map(|task| shown(task, TaskDetail::Listed));
                let fits = take_fitting(shown, room, |task| line_cost(&task.line()));
                let left_out = (tasks.len() - fits.len()) as u64;
                let is_cut =
                    fits.iter().zip(tasks).any(|(kept, task)| kept.command.as_deref() != Some(task.command));
                BoundedTask::Listed(BoundedTaskList {
                    tasks: fits,
                    left_out,
                    truncated: left_out > 0 || is_cut,
                })
            });
        }
        TaskReport::Stopped { task, was_running, warnings } => BoundedTask::Stopped(BoundedTaskStop {
            stopped: shown(task, TaskDetail::Handle),
            was_running: *was_running,
            truncated: warnings::is_cut(warnings, with.budget()),
            warnings: warnings::bounded(warnings, with.budget()),
        }),
        TaskReport::Written { task_id, bytes, closed } => BoundedTask::Written(TaskWrite {
            task_id: (*task_id).to_owned(),
            bytes_written: *bytes,
            stdin_closed: *closed,
        }),
    };
    project_result(ReceiptFamily::Task, &bounded)
}

fn bounded_output(
    (retrieval, wait): (TaskRetrieval, &TaskWait<'_>),
    task: &TaskSnapshot<'_>,
    (output, warnings): (&ProcessOutput<'_>, &[String]),
    with: &mut Projection<'_>,
) -> Result<BoundedTaskOutput, Fault> {
    let warnings_cut = warnings::is_cut(warnings, with.budget());
    let warnings = warnings::bounded(warnings, with.budget());
    let matched_line = wait.matched_line.map(|line| {
        let line = one_line(line);
        line[..prefix_within(&line, with.budget() / MATCH_SHARE)].to_owned()
    });
    let words = estimate(&wait_words(retrieval, wait.reason, matched_line.as_deref()));
    let tokens = with.budget().saturating_sub(OUTCOME_TOKENS + words + warnings::tokens(&warnings));
    let (output, kept) = bound_output(output, (tokens, PreviewForm::AsPrinted), with)?;
    let truncated = kept.truncated() || warnings_cut;
    let task = shown(task, TaskDetail::Handle);
    Ok(BoundedTaskOutput {
        retrieval_status: retrieval,
        reason: wait.reason,
        matched_line,
        task,
        output,
        truncated,
        kept,
        warnings,
    })
}

/// Says why a look returned, if neither its output nor the state of the task does.
fn wait_words(retrieval: TaskRetrieval, reason: TaskWaitEnd, matched_line: Option<&str>) -> String {
    match (reason, matched_line) {
        (TaskWaitEnd::Matched, Some(line)) => format!("; this line matches: {}", one_line(line)),
        (TaskWaitEnd::Matched, None) => "; a line matches".to_owned(),
        (TaskWaitEnd::Quiet, _) => "; its output is quiet".to_owned(),
        // "Nothing new" says it.
        (TaskWaitEnd::Timeout, _) if retrieval != TaskRetrieval::Success => String::new(),
        (TaskWaitEnd::Timeout, _) => "; the time to wait is over".to_owned(),
        (TaskWaitEnd::Cancelled, _) => "; the wait was cancelled".to_owned(),
        (TaskWaitEnd::NewOutput | TaskWaitEnd::Exited | TaskWaitEnd::NotWaited, _) => String::new(),
    }
}

/// Level of detail of a task.
#[derive(Clone, Copy)]
enum TaskDetail {
    /// Its id and its state.
    Handle,
    /// Also its command and its runtime.
    Listed,
}

fn shown(task: &TaskSnapshot<'_>, detail: TaskDetail) -> TaskSummary {
    let (command, runtime_ms) = match detail {
        TaskDetail::Handle => (None, None),
        TaskDetail::Listed => (Some(short(task.command)), Some(task.runtime_ms)),
    };
    TaskSummary {
        task_id: task.task_id.to_owned(),
        kind: "command_task".to_owned(),
        status: task.status,
        exit_status: task.exit_status,
        signal: task.signal.map(str::to_owned),
        command,
        runtime_ms,
    }
}

/// Returns the first line of a command, for a list.
fn short(command: &str) -> String {
    const MOST: usize = 80;
    let line = crate::preview::clean::line(command);
    match line.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}

pub(super) fn render(summary: &str, result: &Value, budget: usize) -> String {
    match BoundedTask::deserialize(result) {
        Ok(BoundedTask::Output(output)) => output.render(budget.saturating_sub(OUTCOME_TOKENS)),
        Ok(BoundedTask::Listed(list)) => list.render(budget),
        Ok(BoundedTask::Stopped(stopped)) => stopped.render(),
        Ok(BoundedTask::Written(told)) => told.render(),
        Err(_) => external::render(summary, result, budget),
    }
}

impl TaskSummary {
    /// Formats a task as `task-1 still running (12 s): make`.
    fn line(&self) -> String {
        let (state, command) = (self.state(), self.command.as_deref().unwrap_or_default());
        let seconds = self.runtime_ms.unwrap_or_default() / 1000;
        format!("{} {state} ({seconds} s): {command}", self.task_id)
    }

    fn state(&self) -> String {
        match self.status {
            TaskStatus::Running => "still running".to_owned(),
            TaskStatus::Exited | TaskStatus::Killed => {
                let ended = exit_line(self.exit_status, self.signal.as_deref());
                ended.trim_start_matches("Process ").to_owned()
            }
        }
    }
}

impl BoundedTaskOutput {
    fn render(&self, tokens: usize) -> String {
        let mut text = match (self.retrieval_status, self.task.status) {
            (TaskRetrieval::Timeout | TaskRetrieval::NotReady, TaskStatus::Running) => {
                format!("Task {} is still running; nothing new", self.task.task_id)
            }
            (TaskRetrieval::Success | TaskRetrieval::Timeout | TaskRetrieval::NotReady, _) => {
                format!("Task {} {}", self.task.task_id, self.task.state())
            }
        };
        let words = wait_words(self.retrieval_status, self.reason, self.matched_line.as_deref());
        text.push_str(&words);
        let tokens = tokens.saturating_sub(estimate(&words));
        warnings::render(&mut text, &self.warnings);
        let tokens = tokens.saturating_sub(warnings::tokens(&self.warnings));
        self.kept.render(&mut text);
        if !self.output.render(&mut text, &self.kept, tokens)
            && self.retrieval_status == TaskRetrieval::Success
        {
            text.push_str("\n(no new output)");
        }
        text
    }
}

impl BoundedTaskList {
    fn render(&self, budget: usize) -> String {
        if self.tasks.is_empty() {
            return "No tasks".to_owned();
        }
        let all = self.tasks.len() as u64 + self.left_out;
        ReceiptWriter::new(&count_noun(all, "task", "tasks")).render_most(
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

impl BoundedTaskStop {
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

impl TaskWrite {
    fn render(&self) -> String {
        let mut text = format!("Wrote {} bytes to task {}", self.bytes_written, self.task_id);
        if self.stdin_closed {
            text.push_str(" and closed its input");
        }
        text
    }
}
