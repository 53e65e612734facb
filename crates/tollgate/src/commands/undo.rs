//! `tollgate undo`: takes back what a run changed.

use std::path::Path;

use clap::Args;

use crate::place::Place;
use crate::stop::Outcome;
use crate::takeback::{Act, Edited, Options, perform, undo_target};

/// Takes back everything that a run changed: files, folders, names and links
///
/// Shows what would be restored, with the differences, and asks once. Works for a run that finished, failed, was
/// cancelled or was interrupted. A note that was edited since is never overwritten unasked. The undo is itself a
/// run: it is recorded, and `tollgate redo` takes it back. `last` is the newest run that changed something and is
/// not undone; undos and redos are passed over, so that a second `undo last` takes back the run before.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  tollgate undo last\n  tollgate undo 0199 --dry-run\n  tollgate undo last --keep-changed --yes"
)]
pub(crate) struct Undo {
    #[command(flatten)]
    common: Common,
}

/// What undo and redo have in common.
#[derive(Debug, Args)]
pub(super) struct Common {
    /// The run: an id, the beginning of one, or `last`
    pub(super) run: String,
    /// Say yes in advance; notes that were edited since still need one of the two options below
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    changed: Changed,
    /// Show what would be restored and what is in the way; change nothing
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
    #[command(flatten)]
    answer: Answer,
}

/// What to do about notes that were edited since.
#[derive(Debug, Args)]
struct Changed {
    /// Leave notes that were edited since as they are, and restore the rest
    #[arg(long, conflicts_with = "restore_changed")]
    keep_changed: bool,
    /// Restore notes although they were edited since; what is there now is kept, and taking this back returns it
    #[arg(long)]
    restore_changed: bool,
}

/// How to answer.
#[derive(Debug, Args)]
struct Answer {
    /// Show every difference in full
    #[arg(long)]
    full: bool,
    /// Answer in JSON: what is restored, what is in the way, and the report of the run
    #[arg(long)]
    json: bool,
}

impl Common {
    pub(super) fn json(&self) -> bool {
        self.answer.json
    }

    pub(super) fn options(&self) -> Options {
        let act = match (self.yes, self.dry_run) {
            (true, _) => Act::SaidYes,
            (false, true) => Act::OnlyTell,
            (false, false) => Act::Ask,
        };
        let edited = match (&self.changed, act) {
            (Changed { keep_changed: true, .. }, _) => Edited::Keep,
            (Changed { restore_changed: true, .. }, _) => Edited::Restore,
            (_, Act::OnlyTell) => Edited::Tell,
            (_, Act::Ask) if !self.answer.json => Edited::Ask,
            // Said before anyone knew of it, a yes is no answer to this.
            (_, Act::SaidYes | Act::Ask) => Edited::Refuse,
        };
        Options { act, edited, full: self.answer.full, json: self.answer.json }
    }
}

impl Undo {
    pub(crate) fn run(self, vault: Option<&Path>) -> Outcome {
        let place = Place::find(vault)?;
        perform(&place, undo_target(&place, &self.common.run)?, self.common.options())
    }

    pub(crate) fn json(&self) -> bool {
        self.common.json()
    }
}
