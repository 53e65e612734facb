//! `tollgate undo`: takes back what a run changed.

use std::path::Path;

use clap::Args;

use crate::place::Place;
use crate::stop::Outcome;
use crate::takeback::{Edited, Options, perform, undo_target};

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
    /// Leave notes that were edited since as they are, and restore the rest
    #[arg(long, conflicts_with = "restore_changed")]
    keep_changed: bool,
    /// Restore notes although they were edited since; what is there now is kept, and taking this back returns it
    #[arg(long)]
    restore_changed: bool,
    /// Show what would be restored and what is in the way; change nothing
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
    /// Show every difference in full
    #[arg(long)]
    full: bool,
    /// Answer in JSON: what is restored, what is in the way, and the report of the run
    #[arg(long)]
    pub(super) json: bool,
}

impl Common {
    pub(super) fn options(&self) -> Options {
        let edited = if self.keep_changed {
            Edited::Keep
        } else if self.restore_changed {
            Edited::Restore
        } else if self.dry_run {
            Edited::Tell
        } else if self.yes || self.json {
            // Said before anyone knew of it, so it is no answer to this.
            Edited::Refuse
        } else {
            Edited::Ask
        };
        Options { yes: self.yes, dry_run: self.dry_run, full: self.full, json: self.json, edited }
    }
}

impl Undo {
    pub(crate) fn run(self, vault: Option<&Path>) -> Outcome {
        let place = Place::find(vault)?;
        perform(&place, undo_target(&place, &self.common.run)?, self.common.options())
    }

    pub(crate) fn json(&self) -> bool {
        self.common.json
    }
}
