//! `tollgate verify`: proves that a run is as it was recorded, or names the damage.

use clap::Args;
use envelope::Hash;
use journal::Verification;
use serde_json::json;

use crate::cli::VaultChoice;
use crate::cli_error::{CliError, CommandResult};
use crate::exit::Exit;
use crate::screen::{self};
use app::display_text::escape_line;

/// Checks every record of a run against its chain and names the first that was changed
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tollgate verify last\n  tollgate verify 0199 --head b3:…")]
pub(crate) struct VerifyCommand {
    /// The run: an id, the beginning of one, or `last`
    run: String,
    /// The chain head that was printed when the run ended and kept elsewhere
    #[arg(long, value_name = "HASH")]
    head: Option<String>,
    /// Answer in JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl VerifyCommand {
    pub(crate) fn run(self, vault: VaultChoice<'_>) -> CommandResult {
        let head = self.head.as_deref().map(Hash::parse).transpose().map_err(|error| {
            CliError::bad_input("bad_hash", error.to_string())
                .hint("copy it from the end of the run: `Chain head: b3:…`")
        })?;
        let context = vault.context()?;
        let dir = context.run_dir(&self.run)?;
        // Checked first: a run that ends meanwhile is then reported as finished, not as lost.
        let running = context.is_running(&dir)?;
        let verification = journal::verify(&dir, head.as_ref())?;
        if self.json {
            screen::json(&json!({
                "intact": verification.is_intact(),
                "running": running && !verification.finished,
                "runDir": dir.to_string_lossy(),
                "verification": verification,
            }));
        } else {
            show(&verification, running);
        }
        Ok(if verification.is_intact() { Exit::Done } else { Exit::Damaged })
    }
}

/// Prints what is proven, and what is not.
pub(super) fn show(verification: &Verification, running: bool) {
    let paint = screen::stdout_paint();
    for problem in &verification.problems {
        screen::print(format_args!("{} {}", paint.bad("damaged"), escape_line(&problem.to_string())));
    }
    if let Some(torn) = &verification.torn_tail {
        screen::print(format_args!(
            "{} {} line {} was cut by a crash; it was never acknowledged",
            paint.odd("torn"),
            torn.file,
            torn.line
        ));
    }
    if !verification.is_intact() {
        screen::print(format_args!("{} records were read", verification.records));
        return;
    }
    screen::print(format_args!(
        "{} {} records, each as it was written and in its place",
        paint.good("intact"),
        verification.records
    ));
    if !verification.finished {
        let what = if running {
            "the run is still running; these are the records so far"
        } else {
            "the run has not finished; `tollgate resume` continues it"
        };
        screen::print(format_args!("{} {what}", paint.odd("open")));
    }
    screen::print(format_args!("Chain head: {}", verification.head.hash));
    if verification.proven {
        screen::print("The chain ends in the head you gave: nothing was cut off or rewritten since.");
    } else {
        screen::print(
            "Without a head kept elsewhere (--head) a cut tail or a complete rewrite of all files cannot be excluded.",
        );
    }
}
