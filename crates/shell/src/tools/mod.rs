//! The tools: one runs commands, four work on background tasks.

mod exec_command;
mod streams;
mod task_input;
mod task_list;
mod task_output;
mod task_stop;

use std::sync::Arc;

use envelope::{Failure, Fault};
use receipts::families::task::{TaskSnapshot, TaskStatus};
use toolkit::{RegistrationError, Registry};

use crate::process::{TaskId, TaskInfo, TaskState};
use crate::shell_session::{SharedSession, ShellSession};

/// Registers the tools. Without a session they can be listed and checked, but not called.
pub fn register(registry: &mut Registry, shell: &SharedSession) -> Result<(), RegistrationError> {
    registry.register(exec_command::ExecCommand(shell.clone()))?;
    registry.register(task_output::TaskOutput(shell.clone()))?;
    registry.register(task_input::TaskInput(shell.clone()))?;
    registry.register(task_stop::TaskStop(shell.clone()))?;
    registry.register(task_list::TaskList(shell.clone()))
}

fn session(shell: &SharedSession) -> Result<&Arc<ShellSession>, Fault> {
    shell.as_ref().ok_or_else(|| {
        Fault::new(Failure::SetupRequired, "no vault is open, so there is nowhere to run a command")
            .hint("name one with `--vault`")
    })
}

/// Parses the task id of a call.
fn task_id(given: &str) -> Result<TaskId, Fault> {
    TaskId::parse(given).ok_or_else(|| {
        Fault::new(Failure::NotFound, format!("there is no task `{given}`"))
            .hint("tasks are called `task_1` and so on; TaskList names them all")
    })
}

/// A task as it stands in a complete output.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct TaskDetails {
    /// The handle of the task.
    task_id: String,
    /// What it runs.
    command: String,
    /// How far it has come.
    status: TaskStatus,
    /// The exit code, once it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    exit_status: Option<i32>,
    /// The signal that ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signal: Option<String>,
    /// How long ago it was started.
    runtime_ms: u64,
    /// What it has printed so far.
    bytes: u64,
}

impl TaskDetails {
    fn of(info: &TaskInfo, session: &ShellSession) -> TaskDetails {
        let (exit_status, signal) = streams::describe_exit(info.exit);
        TaskDetails {
            task_id: info.id.to_string(),
            command: info.command.clone(),
            status: match info.state {
                TaskState::Running => TaskStatus::Running,
                TaskState::Exited => TaskStatus::Exited,
                TaskState::Killed | TaskState::Failed => TaskStatus::Killed,
            },
            exit_status,
            signal,
            runtime_ms: u64::try_from(session.now().as_millisecond() - info.started.as_millisecond())
                .unwrap_or_default(),
            bytes: info.bytes,
        }
    }

    fn snapshot(&self) -> TaskSnapshot<'_> {
        TaskSnapshot {
            task_id: &self.task_id,
            command: &self.command,
            status: self.status,
            exit_status: self.exit_status,
            signal: self.signal.as_deref(),
            runtime_ms: self.runtime_ms,
        }
    }
}
