//! `tollgate redo`: does again what was undone.

use std::path::Path;

use clap::Args;

use super::undo::Common;
use crate::place::Place;
use crate::stop::Outcome;
use crate::takeback::{perform, redo_target};

/// Does again what was undone
///
/// Takes back the undo of a run, exactly: a note that was edited before the undo gets its edit back. `last` is the
/// run whose undo is the newest.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tollgate redo last\n  tollgate redo 0199 --dry-run")]
pub(crate) struct Redo {
    #[command(flatten)]
    common: Common,
}

impl Redo {
    pub(crate) fn run(self, vault: Option<&Path>) -> Outcome {
        let place = Place::find(vault)?;
        perform(&place, redo_target(&place, &self.common.run)?, self.common.options())
    }

    pub(crate) fn json(&self) -> bool {
        self.common.json()
    }
}
