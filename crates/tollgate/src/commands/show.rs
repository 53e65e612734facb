//! `tollgate show`: explains a run.

use std::path::Path;

use clap::Args;
use journal::RunFolder;

use crate::cli_error::CommandResult;
use crate::exit::Exit;
use crate::report_renderer::render_report;
use crate::screen::{self};
use app::report::{Transcript, read_run_details};
use app::vault_context::VaultContext;

/// Explains a run: who allowed it, what each step did, what was denied and why
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  tollgate show last\n  tollgate show 0199 --all\n  tollgate show last --as-model --budget 2000"
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
    /// Token budget of the model
    #[arg(long, value_name = "TOKENS", requires = "as_model", default_value_t = 20_000)]
    budget: usize,
    /// Answer in JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl ShowCommand {
    pub(crate) fn run(self, vault: Option<&Path>) -> CommandResult {
        let context = VaultContext::find(vault)?;
        let dir = context.run_dir(&self.run)?;
        if self.as_model {
            // Checked first: a run that ends meanwhile is then reported as finished, not as lost.
            let running = context.is_running(&dir)?;
            let verification = journal::verify(&dir, None)?;
            self.show_as_model(&Transcript::read(&RunFolder::open(&dir)?, running)?);
            return Ok(if verification.is_intact() { Exit::Done } else { Exit::Damaged });
        }
        let story = read_run_details(&context, &dir, self.all)?;
        if self.json {
            screen::json(&story);
        } else {
            screen::print(render_report(&story, screen::stdout_paint(), self.all).trim_end());
        }
        Ok(if story.damaged { Exit::Damaged } else { Exit::Done })
    }

    fn show_as_model(&self, transcript: &Transcript) {
        if self.json {
            screen::json(&transcript.json(self.budget));
        } else {
            screen::print(transcript.text(self.budget));
        }
    }
}
