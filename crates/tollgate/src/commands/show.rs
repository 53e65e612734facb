//! `tollgate show`: explains a run.

use std::path::Path;

use clap::Args;
use engine::UndoHistory;
use journal::RunFolder;

use crate::exit::Exit;
use crate::place::Place;
use crate::screen::{self, Paint};
use crate::show::{Story, Transcript, tell};
use crate::stop::Outcome;

/// Explains a run: who allowed it, what each step did, what was denied and why
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  tollgate show last\n  tollgate show 0199 --all\n  tollgate show last --as-model --budget 2000"
)]
pub(crate) struct Show {
    /// The run: an id, the beginning of one, or `last`
    run: String,
    /// Every call with every phase and its whole receipt
    #[arg(long)]
    all: bool,
    /// What a model sees of it: each call with its receipt, older calls in short once they do not all fit
    #[arg(long, conflicts_with = "all")]
    as_model: bool,
    /// Tokens that the model may see
    #[arg(long, value_name = "TOKENS", requires = "as_model", default_value_t = 20_000)]
    budget: usize,
    /// Answer in JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl Show {
    pub(crate) fn run(self, vault: Option<&Path>) -> Outcome {
        let place = Place::find(vault)?;
        let dir = place.run_dir(&self.run)?;
        // Looked at first: a run that ends meanwhile is then told as finished, not as lost.
        let running = place.is_running(&dir)?;
        let verification = journal::verify(&dir, None)?;
        let folder = RunFolder::open(&dir)?;
        if self.as_model {
            self.show_as_model(&Transcript::read(&folder, running)?);
            return Ok(if verification.intact() { Exit::Done } else { Exit::Damaged });
        }
        let mut story = Story::read(&folder, &verification, running, self.all)?;
        let runs = place.runs()?.list()?;
        let run = runs.iter().find(|run| run.dir == dir);
        story.undone_by(run.and_then(|run| UndoHistory::of(&runs).undone_by(&run.run_id)));
        if self.json {
            screen::json(&story);
        } else {
            screen::say(tell(&story, Paint::stdout(), self.all).trim_end());
        }
        Ok(if story.is_damaged() { Exit::Damaged } else { Exit::Done })
    }

    fn show_as_model(&self, transcript: &Transcript) {
        if self.json {
            screen::json(&transcript.json(self.budget));
        } else {
            screen::say(transcript.text(self.budget));
        }
    }
}
