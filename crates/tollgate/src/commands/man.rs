//! `tollgate man`: prints a manual page.

use clap::{Args, CommandFactory};
use clap_mangen::Man;

use crate::cli::Cli;
use crate::cli_error::{CliError, CommandResult};
use crate::exit::Exit;
use crate::screen;
use app::display_text::escape_line;

/// Prints the manual page of tollgate or of one command, for man(1)
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  tollgate man > ~/.local/share/man/man1/tollgate.1\n  tollgate man undo | man -l -"
)]
pub(crate) struct ManCommand {
    /// A command; tollgate itself if it is left out
    name: Option<String>,
}

impl ManCommand {
    pub(crate) fn run(&self) -> CommandResult {
        let mut cli = Cli::command();
        // Fills in the options that all commands share.
        cli.build();
        let command = match &self.name {
            None => cli,
            Some(name) => cli.find_subcommand(name).cloned().ok_or_else(|| {
                CliError::bad_input("no_command", format!("no command is named `{}`", escape_line(name)))
                    .hint("`tollgate --help` lists the commands")
            })?,
        };
        let mut page = Vec::new();
        Man::new(command).render(&mut page).map_err(|error| CliError::io("write the manual page", error))?;
        screen::print_unwrapped(String::from_utf8_lossy(&page).trim_end());
        Ok(Exit::Done)
    }
}
