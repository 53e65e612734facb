//! `TaskOutput`: reads the new output of a task, and whether it has ended.

use std::time::Duration;

use envelope::{Failure, Fault, Idempotency, ReceiptFamily, Requirement, Risk, SideEffect};
use receipts::families::task;
use receipts::families::task::{TaskReport, TaskRetrieval, TaskWait, TaskWaitEnd};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolkit::{ProjectedResult, Projection, Tool, ToolCx};

use super::streams::{self, StreamOutput, WINDOW};
use super::{TaskDetails, session, task_id};
use crate::process::{OutputPattern, RetrievalStatus, TaskUpdate, WaitCondition, WaitEnd};
use crate::shell_session::SharedSession;

const WAIT_MS: u64 = 10_000;
/// The default with a condition, which is seldom met at once.
const CONDITION_WAIT_MS: u64 = 30_000;
const MAX_WAIT_MS: u64 = 600_000;

pub(super) struct TaskOutput(pub(super) SharedSession);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Id of the task.
    task_id: String,
    /// Wait.
    #[serde(default = "yes")]
    block: bool,
    /// Its end.
    #[serde(default)]
    until: Option<WaitUntil>,
    /// Silence this long.
    #[serde(default)]
    #[schemars(range(min = 1, max = 600_000))]
    quiet_ms: Option<u64>,
    /// A match.
    #[serde(default)]
    #[schemars(length(min = 1, max = 10_000))]
    regex: Option<String>,
    /// Up to 600000.
    #[serde(default)]
    #[schemars(range(max = 600_000))]
    timeout_ms: Option<u64>,
    /// At least 50.
    #[serde(default)]
    #[schemars(range(min = 50))]
    max_output_tokens: Option<u32>,
}

/// What a caller waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum WaitUntil {
    Exit,
}

const fn yes() -> bool {
    true
}

impl Args {
    /// Returns what to wait for, besides the end. Fails if a pattern cannot be used, or if nothing is waited for.
    fn condition(&self) -> Result<WaitPlan, Fault> {
        let has_condition = self.until.is_some() || self.quiet_ms.is_some() || self.regex.is_some();
        if !self.block && has_condition {
            return Err(Fault::new(
                Failure::InvalidArguments,
                "`until`, `quiet_ms` and `regex` say what to wait for, and `block: false` does not wait",
            )
            .hint("leave `block` out to wait, with `timeout_ms` as the longest wait"));
        }
        let output = match self.until {
            Some(WaitUntil::Exit) => false,
            None => !has_condition,
        };
        let usual = if output { WAIT_MS } else { CONDITION_WAIT_MS };
        let longest = Duration::from_millis(self.timeout_ms.unwrap_or(usual).min(MAX_WAIT_MS));
        Ok(WaitPlan {
            output,
            quiet: self.quiet_ms.map(Duration::from_millis),
            pattern: self.regex.as_deref().map(OutputPattern::compile).transpose()?,
            longest: if self.block { longest } else { Duration::ZERO },
        })
    }
}

/// What a call waits for, and how long.
struct WaitPlan {
    output: bool,
    quiet: Option<Duration>,
    pattern: Option<OutputPattern>,
    longest: Duration,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Output {
    /// Whether there was anything to report.
    retrieval_status: TaskRetrieval,
    /// Why it returned.
    #[serde(default)]
    reason: TaskWaitEnd,
    /// The line that matches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    matched_line: Option<String>,
    task: TaskDetails,
    /// What is new; with a terminal, of everything.
    stdout: StreamOutput,
    /// Absent with a terminal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stderr: Option<StreamOutput>,
    /// What it left that you should look at, once it has ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

impl Tool for TaskOutput {
    const NAME: &'static str = "TaskOutput";
    const SUMMARY: &'static str =
        "Read new output of a background task; wait for output, or for the first of what is given.";
    const CATEGORY: &'static str = "command";
    const FAMILY: ReceiptFamily = ReceiptFamily::Task;
    const RISK: Risk = Risk::ReadOnly;
    const SIDE_EFFECTS: &'static [SideEffect] = &[];
    // Output that was read is not returned again.
    const IDEMPOTENCY: Idempotency = Idempotency::NotIdempotent;
    const REQUIRES: &'static [Requirement] = &[Requirement::Vault];
    const TIMEOUT_MS: u64 = MAX_WAIT_MS + 10_000;

    type Args = Args;
    type Output = Output;

    async fn validate(&self, cx: &ToolCx, args: &Args) -> Result<(), Fault> {
        args.condition()?;
        session(&self.0)?.tasks(cx).get(task_id(&args.task_id)?).map(|_found| ())
    }

    fn preview(&self, args: &Args) -> String {
        format!("Read the new output of {}", args.task_id)
    }

    fn budget(&self, args: &Args) -> Option<u32> {
        args.max_output_tokens
    }

    async fn run(&self, cx: &ToolCx, args: Args) -> Result<Output, Fault> {
        let session = session(&self.0)?;
        let id = task_id(&args.task_id)?;
        let WaitPlan { output, quiet, pattern, longest } = args.condition()?;
        let until = WaitCondition { output, quiet, pattern: pattern.as_ref() };
        let tasks = session.tasks(cx);
        let (looked, is_cancelled) = tokio::select! {
            biased;
            _cause = cx.cancel().cancelled() => (tasks.read_output(id, Duration::ZERO, WINDOW).await, true),
            looked = tasks.read_output_when(id, &until, longest, WINDOW) => (looked, false),
        };
        let (seen, taken) = looked?;
        let (reason, matched_line) = match (&seen.waited, is_cancelled) {
            (WaitEnd::Exited, _) => (TaskWaitEnd::Exited, None),
            (_, true) => (TaskWaitEnd::Cancelled, None),
            (WaitEnd::Matched(line), false) => (TaskWaitEnd::Matched, Some(line.clone())),
            (WaitEnd::NewOutput, false) => (TaskWaitEnd::NewOutput, None),
            (WaitEnd::Quiet, false) => (TaskWaitEnd::Quiet, None),
            (WaitEnd::TimedOut, false) => (TaskWaitEnd::Timeout, None),
            (WaitEnd::NotWaited, false) => (TaskWaitEnd::NotWaited, None),
        };
        // Output that was not delivered is returned again.
        cx.once_recorded(move || taken.confirm());
        let (mut stdout, mut stderr) = streams::new_output(&seen);
        describe_end(cx, &seen, &mut stdout, stderr.as_mut())?;
        Ok(Output {
            retrieval_status: match seen.status {
                RetrievalStatus::Success => TaskRetrieval::Success,
                RetrievalStatus::Timeout => TaskRetrieval::Timeout,
                RetrievalStatus::NotReady => TaskRetrieval::NotReady,
            },
            reason,
            matched_line,
            task: TaskDetails::of(&seen.task, session),
            stdout,
            stderr,
            warnings: warnings_of(&seen),
        })
    }

    fn summary(&self, output: &Output) -> String {
        let id = &output.task.task_id;
        match (output.task.exit_status, &output.task.signal, output.retrieval_status) {
            (Some(code), _, _) => format!("task {id} exited with status {code}"),
            (None, Some(signal), _) => format!("task {id} was killed by {signal}"),
            (None, None, TaskRetrieval::Success) => match output.reason {
                TaskWaitEnd::Matched => format!("task {id} printed a line that matches"),
                TaskWaitEnd::Quiet => format!("task {id} has new output and is quiet"),
                TaskWaitEnd::NewOutput
                | TaskWaitEnd::Exited
                | TaskWaitEnd::Timeout
                | TaskWaitEnd::Cancelled
                | TaskWaitEnd::NotWaited => format!("task {id} has new output"),
            },
            (None, None, TaskRetrieval::Timeout | TaskRetrieval::NotReady) => {
                format!("task {id} is still running")
            }
        }
    }

    fn project(&self, output: &Output, with: &mut Projection<'_>) -> Result<ProjectedResult, Fault> {
        let printed = streams::process_output(&output.stdout, output.stderr.as_ref());
        let report = TaskReport::Output {
            retrieval: output.retrieval_status,
            wait: TaskWait { reason: output.reason, matched_line: output.matched_line.as_deref() },
            task: output.task.snapshot(),
            output: printed,
            warnings: &output.warnings,
        };
        task::project(&report, with)
    }
}

fn warnings_of(seen: &TaskUpdate) -> Vec<String> {
    let finished = seen.end.as_deref().and_then(|end| end.as_ref().ok());
    finished.map(|finished| finished.warnings.clone()).unwrap_or_default()
}

/// Once a task has ended its artifacts are complete and become part of the record.
fn describe_end(
    cx: &ToolCx,
    seen: &TaskUpdate,
    stdout: &mut StreamOutput,
    stderr: Option<&mut StreamOutput>,
) -> Result<(), Fault> {
    let finished = match seen.end.as_deref() {
        Some(Ok(finished)) => finished,
        Some(Err(fault)) => return Err(fault.clone()),
        None => return Ok(()),
    };
    let streams = [(stdout, Some(&finished.stdout))].into_iter();
    let streams = streams.chain(stderr.map(|err| (err, finished.stderr.as_ref())));
    for (shown, ended) in streams {
        if let Some(artifact) = ended.and_then(|ended| ended.artifact.clone()) {
            shown.digest = Some(artifact.hash.to_string());
            cx.report_artifact(artifact);
        }
    }
    Ok(())
}
