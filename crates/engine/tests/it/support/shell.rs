//! A tool that says which commands it would run, and runs none.

use std::collections::BTreeMap;
use std::sync::Arc;

use command_line::{CallInput, CommandLine};
use envelope::{Fault, Idempotency, Risk, SideEffect};
use receipts::families::external;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolkit::{ProjectedResult, Projection, Registry, Tool, ToolCx};

use super::Worklog;

struct Exec {
    work: Arc<Worklog>,
}

#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Args {
    /// What a shell is handed.
    #[serde(default)]
    cmd: Option<String>,
    /// What is started directly.
    #[serde(default)]
    argv: Vec<String>,
    /// Variables that are set for it.
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// The folder that it runs in.
    #[serde(default)]
    workdir: Option<String>,
    /// What it reads.
    #[serde(default)]
    stdin: Option<String>,
    /// Whether it gets a terminal.
    #[serde(default)]
    tty: bool,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Output {
    said: String,
}

impl Tool for Exec {
    const NAME: &'static str = "test.exec";
    const SUMMARY: &'static str = "Run a command";
    const CATEGORY: &'static str = "test";
    const RISK: Risk = Risk::Commands;
    const SIDE_EFFECTS: &'static [SideEffect] = &[SideEffect::RunCommand];
    const IDEMPOTENCY: Idempotency = Idempotency::NotIdempotent;

    type Args = Args;
    type Output = Output;

    fn command(&self, args: &Args) -> Option<CommandLine> {
        let env = args.env.keys().cloned().collect();
        let line = match &args.cmd {
            Some(text) => CommandLine::of_shell(text, env),
            None => CommandLine::of_argv(&args.argv, env),
        };
        let input = CallInput { stdin: args.stdin.is_some(), tty: args.tty };
        Some(line.in_folder(args.workdir.as_deref()).with_input(input))
    }

    fn preview(&self, args: &Args) -> String {
        match (&args.workdir, self.command(args)) {
            (Some(folder), Some(line)) => format!("Run {} in {folder}", line.shown),
            (Some(_), None) | (None, _) => "Run something".to_owned(),
        }
    }

    async fn run(&self, cx: &ToolCx, args: Args) -> Result<Output, Fault> {
        let said = args.cmd.unwrap_or_else(|| args.argv.join(" "));
        self.work.begun.lock().unwrap().push(said.clone());
        cx.observed(SideEffect::RunCommand);
        Ok(Output { said })
    }

    fn summary(&self, output: &Output) -> String {
        format!("Ran {}", output.said)
    }

    fn project(&self, output: &Self::Output, with: &mut Projection<'_>) -> Result<ProjectedResult, Fault> {
        external::project(output, with)
    }
}

pub(super) fn register(registry: &mut Registry, work: &Arc<Worklog>) {
    registry.register(Exec { work: work.clone() }).unwrap();
}
