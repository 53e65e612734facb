//! The commands and their common options.

use std::path::{Path, PathBuf};

use app::AppError;
use app::vault_context::VaultContext;
use clap::{Parser, Subcommand};

use crate::cli_error::{CliError, CommandResult};
use crate::commands::{
    approve::ApproveCommand, call::CallCommand, check::CheckCommand, completions::CompletionsCommand,
    connect::ConnectCommand, demo::DemoCommand, doctor::DoctorCommand, init::InitCommand, man::ManCommand,
    mcp::McpCommand, preview::PreviewCommand, prune::PruneCommand, redo::RedoCommand, replay::ReplayCommand,
    resume::ResumeCommand, run::RunCommand, runs::RunsCommand, schema::SchemaCommand, serve::ServeCommand,
    servers::ServersCommand, show::ShowCommand, token::TokenCommand, tools::ToolsCommand,
    trust::TrustCommand, undo::UndoCommand, verify::VerifyCommand,
};
use crate::exit::Exit;
use crate::screen;

/// Runs the tool calls of an agent: checks, asks, runs, records and reports.
///
/// Exit codes: 0 done, 1 finished with failures, 2 bad input, 3 denied or declined, 4 journal damaged,
/// 130 cancelled. With `--json` standard output carries one JSON value and nothing else; an error is then
/// `{"error": {"code", "message", "hint"}}`.
#[derive(Debug, Parser)]
#[command(
    name = "tollgate",
    version,
    after_help = "Example:\n  tollgate demo",
    arg_required_else_help = true
)]
pub(crate) struct Cli {
    /// The folder of notes [default: the nearest parent folder with .tollgate or .obsidian]
    #[arg(long, global = true, value_name = "DIR")]
    vault: Option<PathBuf>,
    /// Keep and find the record of this command in this folder, for a vault that cannot be written
    #[arg(long, global = true, value_name = "DIR")]
    state: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Demo(DemoCommand),
    Init(InitCommand),
    Tools(ToolsCommand),
    Check(CheckCommand),
    Preview(PreviewCommand),
    Run(RunCommand),
    Call(CallCommand),
    Runs(RunsCommand),
    Show(ShowCommand),
    Verify(VerifyCommand),
    Replay(ReplayCommand),
    Resume(ResumeCommand),
    Undo(UndoCommand),
    Redo(RedoCommand),
    Prune(PruneCommand),
    Serve(ServeCommand),
    Mcp(McpCommand),
    Approve(ApproveCommand),
    Token(TokenCommand),
    Connect(ConnectCommand),
    Trust(TrustCommand),
    Servers(ServersCommand),
    Doctor(DoctorCommand),
    Schema(SchemaCommand),
    Completions(CompletionsCommand),
    Man(ManCommand),
}

impl Cli {
    pub(crate) fn run(self) -> CommandResult {
        let vault = self.vault.as_deref();
        if self.state.is_some() && !self.command.takes_state() {
            return Err(CliError::bad_input("usage", "this command does not take --state").hint(
                "it is for `call`, `run`, `preview`, `resume`, `undo`, `redo`, `runs`, `show`, `verify`, `replay` and `prune`",
            ));
        }
        let choice = VaultChoice { vault, state: self.state.as_deref() };
        match self.command {
            Command::Demo(demo) => demo.run(),
            Command::Init(init) => init.run(vault),
            Command::Tools(tools) => tools.run(vault),
            Command::Check(check) => check.run(vault),
            Command::Preview(preview) => preview.run(choice),
            Command::Run(run) => run.run(choice),
            Command::Call(call) => call.run(choice),
            Command::Runs(runs) => runs.run(choice),
            Command::Show(show) => show.run(choice),
            Command::Verify(verify) => verify.run(choice),
            Command::Replay(replay) => replay.run(choice),
            Command::Resume(resume) => resume.run(choice),
            Command::Undo(undo) => undo.run(choice),
            Command::Redo(redo) => redo.run(choice),
            Command::Prune(prune) => prune.run(choice),
            Command::Serve(serve) => serve.run(vault),
            Command::Mcp(mcp) => mcp.run(vault),
            Command::Approve(approve) => approve.run(vault),
            Command::Token(token) => token.run(vault),
            Command::Connect(connect) => connect.run(vault),
            Command::Trust(trust) => trust.run(vault),
            Command::Servers(servers) => servers.run(vault),
            Command::Doctor(doctor) => doctor.run(vault),
            Command::Schema(schema) => schema.run(),
            Command::Completions(completions) => completions.run(),
            Command::Man(man) => man.run(),
        }
    }
}

/// The vault and the folder of runs that the command line names.
#[derive(Debug, Clone, Copy)]
pub(crate) struct VaultChoice<'a> {
    vault: Option<&'a Path>,
    state: Option<&'a Path>,
}

impl VaultChoice<'_> {
    /// Finds the vault and reads its settings.
    pub(crate) fn context(self) -> Result<VaultContext, AppError> {
        VaultContext::find_with_state(self.vault, self.state)
    }
}

impl Command {
    /// Returns whether the command reads or writes records, and does not serve others.
    fn takes_state(&self) -> bool {
        match self {
            Command::Preview(_)
            | Command::Run(_)
            | Command::Call(_)
            | Command::Runs(_)
            | Command::Show(_)
            | Command::Verify(_)
            | Command::Replay(_)
            | Command::Resume(_)
            | Command::Undo(_)
            | Command::Redo(_)
            | Command::Prune(_) => true,
            Command::Demo(_)
            | Command::Init(_)
            | Command::Tools(_)
            | Command::Check(_)
            | Command::Serve(_)
            | Command::Mcp(_)
            | Command::Approve(_)
            | Command::Token(_)
            | Command::Connect(_)
            | Command::Trust(_)
            | Command::Servers(_)
            | Command::Doctor(_)
            | Command::Schema(_)
            | Command::Completions(_)
            | Command::Man(_) => false,
        }
    }

    /// Returns whether the answer, and any error, is printed as JSON.
    pub(crate) fn json(&self) -> bool {
        match self {
            Command::Demo(_) | Command::Mcp(_) | Command::Completions(_) | Command::Man(_) => false,
            Command::Init(init) => init.json,
            Command::Tools(tools) => tools.json,
            Command::Check(check) => check.json,
            Command::Preview(preview) => preview.json,
            Command::Run(run) => run.json,
            Command::Call(call) => call.json,
            Command::Runs(runs) => runs.json,
            Command::Show(show) => show.json,
            Command::Verify(verify) => verify.json,
            Command::Replay(replay) => replay.json,
            Command::Resume(resume) => resume.json,
            Command::Undo(undo) => undo.json(),
            Command::Redo(redo) => redo.json(),
            Command::Prune(prune) => prune.json,
            Command::Serve(serve) => serve.json,
            Command::Approve(approve) => approve.json,
            Command::Token(token) => token.json(),
            Command::Connect(connect) => connect.json,
            Command::Trust(trust) => trust.json,
            Command::Servers(servers) => servers.json(),
            Command::Doctor(doctor) => doctor.json,
            Command::Schema(schema) => schema.json,
        }
    }
}

/// Parses the command line. Prints help and returns `Done`; reports a wrong command line and returns `BadInput`.
pub(crate) fn parse() -> Result<Cli, Exit> {
    Cli::try_parse().map_err(|error| {
        let asked = !error.use_stderr();
        let json = std::env::args_os().any(|arg| arg == "--json");
        if json && !asked {
            CliError::bad_input("usage", error.to_string().trim_end()).show(true);
        } else {
            let printed = error.print();
            if asked {
                screen::note_write(printed);
            }
        }
        if asked { Exit::Done } else { Exit::BadInput }
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::Cli;

    #[test]
    fn the_commands_are_well_formed() {
        Cli::command().debug_assert();
    }
}
