//! `TaskStop`: ends a task with everything it started.

use envelope::{Failure, Fault, Idempotency, ReceiptFamily, Requirement, Risk, SideEffect};
use receipts::families::task;
use receipts::families::task::TaskReport;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolkit::{ProjectedResult, Projection, Tool, ToolCx};

use super::{TaskDetails, session, task_id};
use crate::process::TaskState;
use crate::shell_session::{GRACE, STOP_MS, SharedSession};

pub(super) struct TaskStop(pub(super) SharedSession);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Id of the task.
    task_id: String,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Output {
    task: TaskDetails,
    /// False when it had ended before.
    was_running: bool,
    /// What it left that you should look at, once it has ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

impl Tool for TaskStop {
    const NAME: &'static str = "TaskStop";
    const SUMMARY: &'static str = "End a background task with everything it started.";
    const CATEGORY: &'static str = "command";
    const FAMILY: ReceiptFamily = ReceiptFamily::Task;
    // It only ends what was approved before, so it needs no approval; its side effect is declared all the same.
    const RISK: Risk = Risk::ReadOnly;
    const SIDE_EFFECTS: &'static [SideEffect] = &[SideEffect::StopTask];
    const IDEMPOTENCY: Idempotency = Idempotency::Idempotent;
    const STOP_MS: u64 = STOP_MS;
    const REQUIRES: &'static [Requirement] = &[Requirement::Vault];

    type Args = Args;
    type Output = Output;

    async fn validate(&self, cx: &ToolCx, args: &Args) -> Result<(), Fault> {
        session(&self.0)?.tasks(cx).get(task_id(&args.task_id)?).map(|_found| ())
    }

    fn preview(&self, args: &Args) -> String {
        format!("Stop {}", args.task_id)
    }

    async fn run(&self, cx: &ToolCx, args: Args) -> Result<Output, Fault> {
        let session = session(&self.0)?;
        let id = task_id(&args.task_id)?;
        let was_running = session.tasks(cx).get(id)?.state == TaskState::Running;
        if was_running {
            cx.observed(SideEffect::StopTask);
        }
        let end = session.tasks(cx).stop(id, GRACE).await?;
        if let Err(fault) = end.as_ref() {
            return Err(fault.clone());
        }
        let mut warnings = Vec::new();
        if let Ok(finished) = end.as_ref() {
            warnings.clone_from(&finished.warnings);
            let artifacts = [Some(&finished.stdout), finished.stderr.as_ref()];
            artifacts
                .into_iter()
                .flatten()
                .filter_map(|stream| stream.artifact.clone())
                .for_each(|left| cx.report_artifact(left));
            if !finished.survivors.is_empty() {
                return Err(Fault::new(
                    Failure::ExecutionFailed,
                    format!("{id} could not be ended completely"),
                )
                .detail("survivors", finished.survivors.clone())
                .hint("end these processes by hand"));
            }
        }
        Ok(Output { task: TaskDetails::of(&session.tasks(cx).get(id)?, session), was_running, warnings })
    }

    fn summary(&self, output: &Output) -> String {
        let id = &output.task.task_id;
        match output.was_running {
            true => format!("task {id} stopped"),
            false => format!("task {id} had ended before"),
        }
    }

    fn project(&self, output: &Output, with: &mut Projection<'_>) -> Result<ProjectedResult, Fault> {
        let stopped = TaskReport::Stopped {
            task: output.task.snapshot(),
            was_running: output.was_running,
            warnings: &output.warnings,
        };
        task::project(&stopped, with)
    }
}
