//! `TaskList`: lists the tasks of this run.

use envelope::{Fault, Idempotency, ReceiptFamily, Requirement, Risk, SideEffect};
use receipts::families::task;
use receipts::families::task::TaskReport;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolkit::{ProjectedResult, Projection, Tool, ToolCx};

use super::{TaskDetails, session};
use crate::shell_session::SharedSession;

pub(super) struct TaskList(pub(super) SharedSession);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Output {
    /// The tasks, the oldest first; ended ones stay listed for a while.
    tasks: Vec<TaskDetails>,
}

impl Tool for TaskList {
    const NAME: &'static str = "TaskList";
    const SUMMARY: &'static str = "List the background tasks that commands have become.";
    const CATEGORY: &'static str = "command";
    const FAMILY: ReceiptFamily = ReceiptFamily::Task;
    const RISK: Risk = Risk::ReadOnly;
    const SIDE_EFFECTS: &'static [SideEffect] = &[];
    const IDEMPOTENCY: Idempotency = Idempotency::Idempotent;
    const REQUIRES: &'static [Requirement] = &[Requirement::Vault];

    type Args = Args;
    type Output = Output;

    fn preview(&self, _args: &Args) -> String {
        "List the background tasks".to_owned()
    }

    async fn run(&self, cx: &ToolCx, _args: Args) -> Result<Output, Fault> {
        let session = session(&self.0)?;
        let tasks = session.tasks(cx).list();
        Ok(Output { tasks: tasks.iter().map(|info| TaskDetails::of(info, session)).collect() })
    }

    fn summary(&self, output: &Output) -> String {
        match output.tasks.len() {
            0 => "no tasks".to_owned(),
            1 => "1 task".to_owned(),
            count => format!("{count} tasks"),
        }
    }

    fn project(&self, output: &Output, with: &mut Projection<'_>) -> Result<ProjectedResult, Fault> {
        task::project(&TaskReport::Listed(output.tasks.iter().map(TaskDetails::snapshot).collect()), with)
    }
}
