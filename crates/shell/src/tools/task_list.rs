//! `TaskList`: the tasks of this run.

use envelope::{Family, Fault, Idempotency, Requirement, Risk, SideEffect};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolkit::families::task::Task;
use toolkit::families::{Projected, Projection, task};
use toolkit::{Tool, ToolCx};

use super::{TaskOut, session};
use crate::session::Shell;

pub(super) struct TaskList(pub(super) Shell);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Output {
    /// The tasks, the oldest first; ended ones stay listed for a while.
    tasks: Vec<TaskOut>,
}

impl Tool for TaskList {
    const NAME: &'static str = "TaskList";
    const SUMMARY: &'static str = "List the background tasks that commands have become.";
    const CATEGORY: &'static str = "command";
    const FAMILY: Family = Family::Task;
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
        Ok(Output { tasks: tasks.iter().map(|info| TaskOut::of(info, session)).collect() })
    }

    fn summary(&self, output: &Output) -> String {
        match output.tasks.len() {
            0 => "no tasks".to_owned(),
            1 => "1 task".to_owned(),
            count => format!("{count} tasks"),
        }
    }

    fn project(&self, output: &Output, with: &mut Projection<'_>) -> Result<Projected, Fault> {
        task::project(&Task::Listed(output.tasks.iter().map(TaskOut::snapshot).collect()), with)
    }
}
