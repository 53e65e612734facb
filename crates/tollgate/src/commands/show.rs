//! `tollgate show`: explains a run.

use clap::Args;
use journal::RunFolder;

use crate::cli::VaultChoice;
use crate::cli_error::{CliError, CommandResult};
use crate::exit::Exit;
use crate::report_renderer::render_report;
use crate::screen::{self};
use app::diff::DiffLimits;
use app::report::{RunDetails, RunDifferences, Transcript, read_run_details};

/// Explains a run: who allowed it, what each step did, what was denied and why
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  tollgate show last\n  tollgate show last --diff\n  tollgate show 0199 --all\n  tollgate show last --as-model --budget 2000"
)]
pub(crate) struct ShowCommand {
    /// The run: an id, the beginning of one, or `last`
    run: String,
    /// Every call with every phase and its whole receipt
    #[arg(long)]
    all: bool,
    /// Show what a model sees: each call with its receipt, older calls shortened if they do not all fit
    #[arg(long, conflicts_with = "all")]
    as_model: bool,
    #[command(flatten)]
    differences: DifferenceArguments,
    /// Token budget of the model
    #[arg(long, value_name = "TOKENS", requires = "as_model", default_value_t = 20_000)]
    budget: usize,
    /// Answer in JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments for the differences that a run made.
#[derive(Debug, Args)]
struct DifferenceArguments {
    /// Also show what the run changed in the files of the vault
    #[arg(long, conflicts_with = "as_model")]
    diff: bool,
    /// Show every difference in full
    #[arg(long, requires = "diff")]
    full: bool,
}

impl ShowCommand {
    pub(crate) fn run(self, vault: VaultChoice<'_>) -> CommandResult {
        let context = vault.context()?;
        let dir = context.run_dir(&self.run)?;
        if self.as_model {
            // Checked first: a run that ends meanwhile is then reported as finished, not as lost.
            let running = context.is_running(&dir)?;
            let verification = journal::verify(&dir, None)?;
            self.show_as_model(&Transcript::read(&RunFolder::open(&dir)?, running)?);
            return Ok(if verification.is_intact() { Exit::Done } else { Exit::Damaged });
        }
        let story = read_run_details(&context, &dir, self.all)?;
        let limits = if self.differences.full { DiffLimits::full() } else { DiffLimits::screen() };
        // A damaged run has no changes that can be trusted.
        let differences = (self.differences.diff && !story.damaged)
            .then(|| RunDifferences::read(&context, &dir, limits))
            .transpose()?;
        if self.json {
            Self::print_json(&story, differences.as_ref())?;
        } else {
            screen::print(render_report(&story, screen::stdout_paint(), self.all).trim_end());
            if let Some(differences) = &differences {
                screen::print("");
                differences.render(screen::stdout_paint()).iter().for_each(screen::print);
            }
        }
        Ok(if story.damaged { Exit::Damaged } else { Exit::Done })
    }

    /// Prints the report, with the differences in the field `diff`.
    fn print_json(story: &RunDetails, differences: Option<&RunDifferences>) -> Result<(), CliError> {
        let Some(differences) = differences else {
            screen::json(story);
            return Ok(());
        };
        let mut answer = serde_json::to_value(story).map_err(|error| CliError::io("write JSON", error))?;
        answer["diff"] = differences.to_json()?;
        screen::json(&answer);
        Ok(())
    }

    fn show_as_model(&self, transcript: &Transcript) {
        if self.json {
            screen::json(&transcript.json(self.budget));
        } else {
            screen::print_unwrapped(transcript.text(self.budget));
        }
    }
}
