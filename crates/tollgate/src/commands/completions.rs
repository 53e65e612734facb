//! `tollgate completions`: prints a completion script for a shell.

use clap::{Args, CommandFactory};
use clap_complete::{Shell, generate};

use crate::cli::Cli;
use crate::cli_error::CommandResult;
use crate::exit::Exit;
use crate::screen;

/// Prints a script that completes commands and options in a shell
///
/// For bash, write it to `~/.local/share/bash-completion/completions/tollgate`; for zsh, to `_tollgate` in a folder of
/// `$fpath`; for fish, to `~/.config/fish/completions/tollgate.fish`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tollgate completions fish > ~/.config/fish/completions/tollgate.fish")]
pub(crate) struct CompletionsCommand {
    /// The shell
    shell: Shell,
}

impl CompletionsCommand {
    pub(crate) fn run(&self) -> CommandResult {
        let mut script = Vec::new();
        generate(self.shell, &mut Cli::command(), "tollgate", &mut script);
        screen::print_unwrapped(String::from_utf8_lossy(&script).trim_end());
        Ok(Exit::Done)
    }
}
