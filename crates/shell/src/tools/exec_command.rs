//! `ExecCommand`: runs a command in the sandbox and waits for it, or lets it continue as a task.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use command_line::{CallInput, CommandLine};
use envelope::{Failure, Fault, Idempotency, ReceiptFamily, Requirement, Risk, SideEffect, Timestamp};
use receipts::families::command;
use receipts::families::command::{CommandReport, ProcessExit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolkit::{PathKeys, PathScope, ProjectedResult, Projection, Tool, ToolCx};

use super::session;
use super::streams::{self, StreamOutput, WINDOW, describe_exit};
use crate::process::{
    self, CommandInput, CommandJob, CommandOutcome, FinishedCommand, JobLimits, ProcessContainment,
    TerminalSize,
};
use crate::sandbox::SandboxKind;
use crate::shell_session::{
    CommandRequest, GRACE, ProcessLifetime, ReadyCommand, STOP_MS, SharedSession, ShellSession,
};

/// A longer one is a program, and belongs into a file.
const MAX_COMMAND: usize = 64 * 1024;
const MAX_STDIN: usize = 1024 * 1024;
/// Characters of an input that a preview shows.
const SHOWN_INPUT: usize = 2000;
/// Time after which a command becomes a task, unless the caller sets it.
const YIELD_MS: u64 = 10_000;
/// Less than the longest time of a call, so that the yield ends the wait.
const MAX_YIELD_MS: u64 = 590_000;
/// The exit codes with which a shell reports that a program cannot be executed, and that it does not exist. Some shells
/// use the second for both, if they search several folders.
const CANNOT_EXECUTE: i32 = 126;
const NOT_FOUND: i32 = 127;
/// Tokens for the output of a command that was stopped.
const STOPPED_BUDGET: usize = 800;

pub(super) struct ExecCommand(pub(super) SharedSession);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
// Nothing is required by itself, so an example made from the schema would be a call that is always refused.
#[schemars(extend("examples" = [{ "cmd": "ls -la" }]))]
pub(super) struct Args {
    /// Line for `/bin/sh -c`. Give this or `argv`.
    #[serde(default)]
    cmd: Option<String>,
    /// Program and arguments, without a shell.
    #[serde(default)]
    argv: Option<Vec<String>>,
    /// Folder in the vault. Default: its root.
    #[serde(default)]
    workdir: Option<String>,
    /// Further variables.
    #[serde(default)]
    env: Option<BTreeMap<String, String>>,
    /// Text for standard input.
    #[serde(default)]
    stdin: Option<String>,
    /// Use a pseudo-terminal.
    #[serde(default)]
    tty: bool,
    /// Kill it after this time, also as a task.
    #[serde(default)]
    timeout_ms: Option<u64>,
    /// Wait this long; then it becomes a task.
    #[serde(default)]
    yield_time_ms: Option<u64>,
    /// Longest receipt in tokens, at least 50.
    #[serde(default)]
    #[schemars(range(min = 50))]
    max_output_tokens: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(super) enum Disposition {
    Completed,
    PromotedToTask,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Output {
    disposition: Disposition,
    /// The exit code; absent while it runs and when a signal ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    exit_status: Option<i32>,
    /// The signal that ended it, such as `SIGKILL`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signal: Option<String>,
    /// The task that it became.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    task_id: Option<String>,
    /// What it printed; with a terminal, everything.
    stdout: StreamOutput,
    /// Absent with a terminal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stderr: Option<StreamOutput>,
    /// The sandbox it ran in: `bubblewrap`, `landlock` or `none`.
    sandbox: String,
    /// What it left that you should look at, such as a new repository in the vault.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
    duration_ms: u64,
}

impl Tool for ExecCommand {
    const NAME: &'static str = "ExecCommand";
    const SUMMARY: &'static str =
        "Run a command in a sandbox in the vault; one that takes long goes on as a background task.";
    const CATEGORY: &'static str = "command";
    const FAMILY: ReceiptFamily = ReceiptFamily::Command;
    const RISK: Risk = Risk::Commands;
    const SIDE_EFFECTS: &'static [SideEffect] = &[SideEffect::RunCommand];
    const IDEMPOTENCY: Idempotency = Idempotency::NotIdempotent;
    const REQUIRES: &'static [Requirement] = &[Requirement::Vault];
    const TIMEOUT_MS: u64 = 600_000;
    const STOP_MS: u64 = STOP_MS;

    type Args = Args;
    type Output = Output;

    async fn validate(&self, _cx: &ToolCx, args: &Args) -> Result<(), Fault> {
        args.check_arguments()?;
        let session = session(&self.0)?;
        session.sandbox_kind().await?;
        session.check_task_limit()?;
        session.workdir(args.workdir.as_deref()).map(|_found| ())
    }

    /// The effects of a command are not known before it runs, so it is treated as writing the whole vault.
    fn paths(&self, _args: &Args) -> PathKeys {
        PathKeys { reads: Vec::new(), writes: vec![PathScope::Vault] }
    }

    fn command(&self, args: &Args) -> Option<CommandLine> {
        Some(args.command_line())
    }

    fn preview(&self, args: &Args) -> String {
        let mut text = format!("Run {}", args.command_line().shown);
        if let Some(workdir) = &args.workdir {
            text.push_str(&format!(" in {workdir}"));
        }
        for (name, value) in args.env.iter().flatten() {
            text.push_str(&format!(" with {name}={value}"));
        }
        if let Some(input) = args.stdin.as_ref().filter(|input| !input.is_empty()) {
            text.push_str(&shown_input(input));
        }
        if args.tty {
            text.push_str(" at a terminal");
        }
        text
    }

    fn budget(&self, args: &Args) -> Option<u32> {
        args.max_output_tokens
    }

    async fn run(&self, cx: &ToolCx, args: Args) -> Result<Output, Fault> {
        let session = session(&self.0)?;
        let kind = session.sandbox_kind().await?;
        let began = session.now();
        let outcome = start(session, cx, &args, kind).await?;
        let ended = |finished: FinishedCommand| {
            let mut output = completed_output(cx, &finished, kind, elapsed(began, session.now()))?;
            if output.could_not_execute() && kind != SandboxKind::Unsandboxed {
                let vault_files = command_request(session, cx, &args)?.vault_files;
                output.warnings.extend(session.execution_hint(&vault_files));
            }
            Ok(output)
        };
        match outcome {
            CommandOutcome::Completed(finished) => ended(finished),
            CommandOutcome::Promoted(task) => {
                let (seen, taken) = session.tasks(cx).read_output(task, Duration::ZERO, WINDOW).await?;
                cx.once_recorded(move || taken.confirm());
                let (stdout, stderr) = streams::new_output(&seen);
                Ok(Output {
                    disposition: Disposition::PromotedToTask,
                    exit_status: None,
                    signal: None,
                    task_id: Some(task.to_string()),
                    stdout,
                    stderr,
                    sandbox: kind.name().to_owned(),
                    warnings: Vec::new(),
                    duration_ms: elapsed(began, session.now()),
                })
            }
            CommandOutcome::TimedOut(finished) => {
                let limit = args.timeout_ms.unwrap_or_default();
                let message =
                    format!("the command did not end within {limit} ms and was killed with all it started");
                let fault = Fault::new(Failure::Timeout, message)
                    .detail("timeout_ms", limit)
                    .hint("give it more time with `timeout_ms`, or let it go on as a task");
                Err(stopped_fault(cx, &finished, (kind, &args), fault))
            }
            CommandOutcome::Cancelled(finished) => {
                let message = "the command was cancelled and killed with all it started";
                Err(stopped_fault(cx, &finished, (kind, &args), Fault::new(Failure::Canceled, message)))
            }
            CommandOutcome::OutputLimit(finished) => {
                let limit = session.output_bytes();
                let message = format!("the command printed more than {limit} bytes and was killed");
                let fault = Fault::new(Failure::ResultTooLarge, message).hint(
                    "let it print less, or raise `output_mb` under [commands] in .tollgate/config.toml",
                );
                Err(stopped_fault(cx, &finished, (kind, &args), fault))
            }
            CommandOutcome::Failed(fault) => Err(fault),
        }
    }

    fn summary(&self, output: &Output) -> String {
        match (output.disposition, output.exit_status, &output.signal) {
            (Disposition::PromotedToTask, _, _) => "command promoted to managed task".to_owned(),
            (Disposition::Completed, Some(code), _) => format!("command exited with status {code}"),
            (Disposition::Completed, None, Some(signal)) => format!("command was killed by {signal}"),
            (Disposition::Completed, None, None) => "command ended".to_owned(),
        }
    }

    fn project(&self, output: &Output, with: &mut Projection<'_>) -> Result<ProjectedResult, Fault> {
        let printed = streams::process_output(&output.stdout, output.stderr.as_ref());
        let unsandboxed = output.sandbox == SandboxKind::Unsandboxed.name();
        let became = match (output.disposition, &output.task_id) {
            (Disposition::PromotedToTask, Some(task_id)) => {
                CommandReport::Promoted { task_id, output: printed, unsandboxed }
            }
            (Disposition::PromotedToTask, None) | (Disposition::Completed, _) => CommandReport::Completed {
                end: match (output.exit_status, &output.signal) {
                    (Some(code), _) => ProcessExit::Exited(code),
                    (None, signal) => ProcessExit::Signal(signal.as_deref().unwrap_or("a signal")),
                },
                output: printed,
                unsandboxed,
                warnings: &output.warnings,
            },
        };
        command::project(&became, with)
    }
}

impl Output {
    /// Whether a shell reports that a program could not be executed. Other programs use these codes for their own
    /// purposes.
    fn could_not_execute(&self) -> bool {
        let complaint = self.stderr.as_ref().unwrap_or(&self.stdout);
        self.exit_status == Some(CANNOT_EXECUTE)
            || (self.exit_status == Some(NOT_FOUND) && complaint.text.contains("Permission denied"))
    }
}

impl Args {
    fn check_arguments(&self) -> Result<(), Fault> {
        let bad = |message: String| Err(Fault::new(Failure::InvalidArguments, message));
        match (&self.cmd, &self.argv) {
            (Some(_), Some(_)) => return bad("`cmd` and `argv` are both given; give one of them".to_owned()),
            (None, None) => return bad("neither `cmd` nor `argv` is given; give one of them".to_owned()),
            (Some(cmd), None) if cmd.trim().is_empty() => return bad("`cmd` is empty".to_owned()),
            (None, Some(argv)) if argv.first().is_none_or(String::is_empty) => {
                return bad("`argv` names no program".to_owned());
            }
            (Some(_), None) | (None, Some(_)) => {}
        }
        let length = self.cmd.as_ref().map_or(0, String::len)
            + self.argv.iter().flatten().map(|word| word.len() + 1).sum::<usize>();
        if length > MAX_COMMAND {
            return bad(format!("the command has {length} bytes; {MAX_COMMAND} is the most that is run"));
        }
        let words = self.cmd.iter().chain(self.argv.iter().flatten());
        if words.chain(self.env.iter().flatten().map(|(_, value)| value)).any(|word| word.contains('\0')) {
            return bad("a command or a variable has a zero character in it".to_owned());
        }
        let is_name = |name: &str| {
            !name.is_empty()
                && !name.starts_with(|first: char| first.is_ascii_digit())
                && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
        };
        if let Some(name) = self.env.iter().flatten().map(|(name, _)| name).find(|name| !is_name(name)) {
            return bad(format!("`env` has `{name}`, which is not a valid variable name"));
        }
        let env: usize = self.env.iter().flatten().map(|(name, value)| name.len() + value.len() + 2).sum();
        if env > MAX_COMMAND {
            return bad(format!("`env` has {env} bytes; {MAX_COMMAND} is the most that a command gets"));
        }
        if self.stdin.as_ref().is_some_and(|text| text.len() > MAX_STDIN) {
            return bad(format!("`stdin` has more than {MAX_STDIN} bytes; write it to a file and read that"));
        }
        if self.yield_time_ms.is_some_and(|given| given > MAX_YIELD_MS) {
            return bad(format!("`yield_time_ms` is more than {MAX_YIELD_MS}"));
        }
        Ok(())
    }

    /// The command as rules and users see it.
    fn command_line(&self) -> CommandLine {
        let env = self.env.iter().flatten().map(|(name, _)| name.clone()).collect();
        let line = match (&self.cmd, &self.argv) {
            (Some(cmd), _) => CommandLine::of_shell(cmd, env),
            (None, Some(argv)) => CommandLine::of_argv(argv, env),
            (None, None) => CommandLine::of_argv(&[], env),
        };
        // Without an input a program reads an empty one anyway.
        let stdin = self.stdin.as_ref().is_some_and(|text| !text.is_empty());
        line.in_folder(self.workdir.as_deref()).with_input(CallInput { stdin, tty: self.tty })
    }

    fn argv(&self) -> Vec<OsString> {
        match (&self.cmd, &self.argv) {
            (Some(cmd), _) => ["/bin/sh", "-c", cmd].map(OsString::from).into(),
            (None, argv) => argv.iter().flatten().map(OsString::from).collect(),
        }
    }
}

/// Starts the command in its sandbox and waits as long as the call wants.
async fn start(
    session: &Arc<ShellSession>,
    cx: &ToolCx,
    args: &Args,
    kind: SandboxKind,
) -> Result<CommandOutcome, Fault> {
    let mark = cx.call_id().to_string();
    let request = command_request(session, cx, args)?;
    let ReadyCommand { prepared, start_signal } = prepare(session, kind, &mark, request).await?;
    let typed = args.stdin.clone().map(String::into_bytes);
    let input = match (args.tty, typed) {
        (true, typed) => CommandInput::Open(typed.unwrap_or_default()),
        (false, Some(typed)) => CommandInput::Text(typed),
        (false, None) => CommandInput::Nothing,
    };
    let artifacts = cx.artifacts().cloned().ok_or_else(|| {
        Fault::new(Failure::SetupRequired, "this run has no place for what a command prints")
    })?;
    let job = CommandJob {
        command: prepared.command,
        shown: args.command_line().shown,
        marker: mark,
        started: session.now(),
        input,
        terminal: args.tty.then(TerminalSize::default),
        containment: ProcessContainment::from(kind),
        start_signal,
        limits: JobLimits {
            timeout: args.timeout_ms.map(Duration::from_millis),
            grace: GRACE,
            output_bytes: session.output_bytes(),
        },
        artifacts,
        resources: Box::new(prepared.resources),
    };
    let usual = match session.lifetime() {
        ProcessLifetime::Run => None,
        ProcessLifetime::Session => Some(YIELD_MS),
    };
    let yield_after = args.yield_time_ms.or(usual).map(Duration::from_millis);
    // From here on there may be effects.
    cx.observed(SideEffect::RunCommand);
    Ok(process::run_command(session.spawner()?, &session.tasks_entry(cx), job, yield_after, cx.cancel())
        .await)
}

fn command_request(session: &ShellSession, cx: &ToolCx, args: &Args) -> Result<CommandRequest, Fault> {
    let workdir = session.workdir(args.workdir.as_deref())?;
    Ok(CommandRequest {
        argv: args.argv(),
        vault_files: session.vault_files(cx.permitted_by(), &args.command_line(), &workdir),
        workdir,
        env: args.env.clone().unwrap_or_default(),
        tty: args.tty,
    })
}

/// Prepares the command off the runtime: it reads folders of the vault and the system.
async fn prepare(
    session: &Arc<ShellSession>,
    kind: SandboxKind,
    mark: &str,
    request: CommandRequest,
) -> Result<ReadyCommand, Fault> {
    let (session, mark) = (Arc::clone(session), mark.to_owned());
    let work = move || session.prepare(kind, &mark, request);
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|_panic| {
        Err(Fault::new(Failure::ExecutionFailed, "building the sandbox for the command crashed"))
    })
}

fn completed_output(
    cx: &ToolCx,
    finished: &FinishedCommand,
    kind: SandboxKind,
    duration_ms: u64,
) -> Result<Output, Fault> {
    let (exit_status, signal) = describe_exit(finished.exit);
    Ok(Output {
        disposition: Disposition::Completed,
        exit_status,
        signal,
        task_id: None,
        stdout: streams::ended_stream(cx, "stdout", &finished.stdout)?,
        stderr: finished.stderr.as_ref().map(|err| streams::ended_stream(cx, "stderr", err)).transpose()?,
        sandbox: kind.name().to_owned(),
        warnings: finished.warnings.clone(),
        duration_ms,
    })
}

/// Adds the output so far to a failure.
fn stopped_fault(
    cx: &ToolCx,
    finished: &FinishedCommand,
    (kind, args): (SandboxKind, &Args),
    mut fault: Fault,
) -> Fault {
    let budget = args.max_output_tokens.map_or(STOPPED_BUDGET, |wanted| STOPPED_BUDGET.min(wanted as usize));
    let printed = streams::ended_stream(cx, "stdout", &finished.stdout).and_then(|out| {
        let err = finished.stderr.as_ref().map(|err| streams::ended_stream(cx, "stderr", err)).transpose()?;
        let mut with = Projection::new(budget, cx.artifacts().map(|artifacts| &**artifacts));
        let text = command::details(&streams::process_output(&out, err.as_ref()), &mut with)?;
        with.into_artifacts().into_iter().for_each(|artifact| cx.report_artifact(artifact));
        Ok(text)
    });
    // If the output cannot be read, the failure is still returned.
    for (name, value) in printed.unwrap_or_default() {
        fault = fault.detail(&name, value);
    }
    if kind == SandboxKind::Unsandboxed {
        fault = fault.detail("sandbox", kind.name());
    }
    if !finished.survivors.is_empty() {
        fault = fault.detail("survivors", finished.survivors.clone());
    }
    if !finished.warnings.is_empty() {
        fault = fault.detail("warnings", finished.warnings.clone());
    }
    fault
}

/// Formats the beginning of an input, with a count of the rest.
fn shown_input(text: &str) -> String {
    match text.char_indices().nth(SHOWN_INPUT) {
        Some((end, _)) => {
            format!(" with the input {:?} and {} bytes more", &text[..end], text.len() - end)
        }
        None => format!(" with the input {text:?}"),
    }
}

fn elapsed(began: Timestamp, now: Timestamp) -> u64 {
    u64::try_from(now.as_millisecond() - began.as_millisecond()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use command_line::CallInput;
    use serde_json::json;

    use super::{Args, shown_input};

    #[test]
    fn rules_see_the_folder_the_input_and_the_terminal_of_a_call() {
        let line = |args| serde_json::from_value::<Args>(args).unwrap().command_line();
        let whole = line(json!({ "argv": ["ls"], "workdir": "./Notes/", "stdin": "x", "tty": true }));
        assert_eq!(whole.workdir.as_deref(), Some("Notes"));
        assert_eq!(whole.input, CallInput { stdin: true, tty: true });
        for args in
            [json!({ "cmd": "ls" }), json!({ "cmd": "ls", "workdir": ".", "stdin": "", "tty": false })]
        {
            assert!(line(args).is_words_only());
        }
    }

    #[test]
    fn the_example_of_the_schema_is_a_call_that_runs() {
        let schema = serde_json::to_value(schemars::schema_for!(Args)).unwrap();
        let example = serde_json::from_value::<Args>(schema["examples"][0].clone()).unwrap();
        assert_eq!(example.check_arguments(), Ok(()));
        let empty = serde_json::from_value::<Args>(json!({})).unwrap();
        assert!(empty.check_arguments().is_err());
    }

    #[test]
    fn a_long_input_is_shown_with_a_count_of_the_rest() {
        assert_eq!(shown_input("a\n"), " with the input \"a\\n\"");
        let shown = shown_input(&"é".repeat(2001));
        assert!(shown.ends_with("é\" and 2 bytes more"), "{shown}");
    }
}
