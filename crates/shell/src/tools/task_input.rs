//! `TaskInput`: writes to the terminal of a task.

use command_line::CommandLine;
use envelope::{Failure, Fault, Idempotency, ReceiptFamily, Requirement, Risk, SideEffect};
use receipts::families::task;
use receipts::families::task::TaskReport;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolkit::{ProjectedResult, Projection, Tool, ToolCx};

use super::{session, task_id};
use crate::shell_session::SharedSession;

const MAX_INPUT: usize = 64 * 1024;

pub(super) struct TaskInput(pub(super) SharedSession);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// A task with a terminal (`tty`).
    task_id: String,
    /// Text to type; end a line with a line break.
    #[serde(default)]
    input: String,
    /// Nothing more will be typed.
    #[serde(default)]
    close: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Output {
    /// The task that was typed into.
    task_id: String,
    /// How many bytes were typed.
    bytes_written: u64,
    /// Whether its input was closed.
    stdin_closed: bool,
}

impl Tool for TaskInput {
    const NAME: &'static str = "TaskInput";
    const SUMMARY: &'static str = "Type into a background task that has a terminal.";
    const CATEGORY: &'static str = "command";
    const FAMILY: ReceiptFamily = ReceiptFamily::Task;
    // Input for a shell is a command.
    const RISK: Risk = Risk::Commands;
    const SIDE_EFFECTS: &'static [SideEffect] = &[SideEffect::RunCommand];
    const IDEMPOTENCY: Idempotency = Idempotency::NotIdempotent;
    const REQUIRES: &'static [Requirement] = &[Requirement::Vault];

    type Args = Args;
    type Output = Output;

    async fn validate(&self, cx: &ToolCx, args: &Args) -> Result<(), Fault> {
        if args.input.is_empty() && !args.close {
            return Err(Fault::new(Failure::InvalidArguments, "`input` is empty and `close` is not set"));
        }
        if args.input.len() > MAX_INPUT {
            let message = format!("`input` has more than {MAX_INPUT} bytes");
            return Err(Fault::new(Failure::InvalidArguments, message).hint("write it in several parts"));
        }
        session(&self.0)?.tasks(cx).get(task_id(&args.task_id)?).map(|_found| ())
    }

    /// The program that reads the input decides what it means, so no rule can allow it.
    fn command(&self, args: &Args) -> Option<CommandLine> {
        let typed = CommandLine::of_shell(&args.input, Vec::new());
        let why = "the running program decides what its input means".to_owned();
        Some(CommandLine { opaque: Some(typed.opaque.unwrap_or(why)), ..typed })
    }

    fn preview(&self, args: &Args) -> String {
        format!("Type {:?} into {}", args.input, args.task_id)
    }

    async fn run(&self, cx: &ToolCx, args: Args) -> Result<Output, Fault> {
        let session = session(&self.0)?;
        session.tasks(cx).input(task_id(&args.task_id)?, args.input.as_bytes(), args.close)?;
        cx.observed(SideEffect::RunCommand);
        let bytes_written = args.input.len() as u64;
        Ok(Output { task_id: args.task_id, bytes_written, stdin_closed: args.close })
    }

    fn summary(&self, output: &Output) -> String {
        format!("wrote {} bytes to task {}", output.bytes_written, output.task_id)
    }

    fn project(&self, output: &Output, with: &mut Projection<'_>) -> Result<ProjectedResult, Fault> {
        let report = TaskReport::Written {
            task_id: &output.task_id,
            bytes: output.bytes_written,
            closed: output.stdin_closed,
        };
        task::project(&report, with)
    }
}
