//! `tollgate replay`: derives every call again from plan and recorded results. No tool is run.

use clap::Args;
use journal::ReplayReport as Derived;
use serde_json::json;

use crate::cli::VaultChoice;
use crate::cli_error::CommandResult;
use crate::exit::Exit;
use crate::screen::{self};
use app::display_text::{count, escape_line};

/// Derives every call of a run again, without running a tool, and compares
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tollgate replay last")]
pub(crate) struct ReplayCommand {
    /// The run: an id, the beginning of one, or `last`
    run: String,
    /// Answer in JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl ReplayCommand {
    pub(crate) fn run(self, vault: VaultChoice<'_>) -> CommandResult {
        let dir = vault.context()?.run_dir(&self.run)?;
        // Nothing can be concluded from a damaged record.
        if let Some(first) = journal::verify(&dir, None)?.problems.into_iter().next() {
            return Err(journal::JournalError::Damaged(Box::new(first)).into());
        }
        let replay = journal::replay(&dir)?;
        if self.json {
            screen::json(&json!({ "same": replay.divergences.is_empty(), "runDir": dir, "replay": replay }));
        } else {
            show(&replay);
        }
        Ok(if replay.divergences.is_empty() { Exit::Done } else { Exit::Damaged })
    }
}

pub(super) fn show(replay: &Derived) {
    let paint = screen::stdout_paint();
    for divergence in &replay.divergences {
        screen::print(format_args!("{} {}", paint.bad("differs"), escape_line(&divergence.to_string())));
    }
    let calls = count(replay.calls, "call");
    if replay.divergences.is_empty() {
        screen::print(format_args!(
            "{} {calls} derived again from what was recorded; no tool was run",
            paint.good("same")
        ));
    } else {
        screen::print(format_args!(
            "{calls} derived again; {}",
            count(replay.divergences.len() as u64, "difference")
        ));
    }
    if !replay.complete {
        screen::print(format_args!(
            "{} the run has not finished; what is there was compared",
            paint.odd("open")
        ));
    }
}
