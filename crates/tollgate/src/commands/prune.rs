//! `tollgate prune`: removes old runs and the stored content that no remaining run needs.

use clap::Args;
use engine::{Clock, SystemClock};
use serde_json::{Value, json};

use crate::cli::VaultChoice;
use crate::cli_error::{CliError, CommandResult};
use crate::exit::Exit;
use crate::prompt;
use crate::screen;
use app::display_text::{count, display_size};
use app::prune::{PreparedPrune, PruneRequest, RunAge, prepare_prune, report_json};

/// Removes old runs, and the stored contents that no remaining run needs
///
/// A run is removed for good: it can no longer be shown, verified or undone. Shows the runs first and asks once. Runs that
/// undos and redos link are removed together or not at all. A run that is running, was interrupted or is damaged stays, and
/// so does the newest run. With both limits a run must be older and not among the newest; without any, runs older than
/// 30 days are removed except for the newest 100. A prune that was killed is completed by the next one.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  tollgate prune --dry-run\n  tollgate prune --older-than 30d --keep 100\n  tollgate prune --older-than 12h --yes --json"
)]
pub(crate) struct PruneCommand {
    /// Only runs that began longer ago than this: `12h`, `30d`, `4w`
    #[arg(long, value_name = "AGE")]
    older_than: Option<RunAge>,
    /// Keep the newest runs, this many
    #[arg(long, value_name = "N")]
    keep: Option<usize>,
    /// Show what would be removed; remove nothing
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
    /// Remove without being asked
    #[arg(long)]
    yes: bool,
    /// Answer in JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl PruneCommand {
    pub(crate) fn run(self, vault: VaultChoice<'_>) -> CommandResult {
        let context = vault.context()?;
        let request = PruneRequest { older_than: self.older_than, keep: self.keep };
        let prepared = prepare_prune(&context, request, SystemClock::new().now())?;
        if self.dry_run || prepared.is_empty() {
            self.answer(&prepared, None, "Nothing was removed.");
            return Ok(Exit::Done);
        }
        if !self.yes {
            confirm(&prepared)?;
        } else if !self.json {
            prepared.lines().iter().for_each(screen::print);
        }
        let report = prepared.run()?;
        let removed = format!(
            "Removed {} ({}) and {} ({}).",
            count(report.runs, "run"),
            display_size(report.run_bytes),
            count(report.objects, "stored content"),
            display_size(report.object_bytes)
        );
        match self.json {
            true => self.answer(&prepared, Some(report_json(&report)), &removed),
            false => screen::print(removed),
        }
        Ok(Exit::Done)
    }

    fn answer(&self, prepared: &PreparedPrune, removed: Option<Value>, message: &str) {
        if self.json {
            screen::json(&json!({ "plan": prepared.to_json(), "removed": removed }));
            return;
        }
        prepared.lines().iter().for_each(screen::print);
        screen::print(message);
    }
}

fn confirm(prepared: &PreparedPrune) -> Result<(), CliError> {
    let question = format!(
        "{}\n{}",
        prepared.lines().join("\n"),
        screen::stderr_paint().bold("Remove this for good? These runs can then no longer be undone. [y/N]")
    );
    let declined = |why: &str| CliError::new(Exit::Denied, "declined", format!("{why}; nothing was removed"));
    match prompt::ask_at_terminal(&question).as_deref() {
        Some("y" | "yes") => Ok(()),
        Some(_) => Err(declined("declined at the terminal")),
        None => Err(declined("not running in a terminal, so you cannot be asked")
            .hint("look at it with --dry-run, then run it again with --yes")),
    }
}
