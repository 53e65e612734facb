//! `tollgate redo`: applies again what an undo took back.

use clap::Args;

use super::undo::{UndoArguments, UndoneUnit};
use crate::cli::VaultChoice;
use crate::cli_error::CommandResult;
use crate::undo_run::run_undo;
use app::undo::{redo_target, session_redo_target};

/// Does again what was undone
///
/// Undoes the undo of a run: a note that the undo restored although it was edited gets that edit back. Shows the
/// differences and asks once; a note that was edited since the undo is never overwritten without asking. `last` is the
/// run with the newest undo. `--session` does a session again that was undone as a whole.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  tollgate redo last\n  tollgate redo 0199 --dry-run\n  tollgate redo --session"
)]
pub(crate) struct RedoCommand {
    #[command(flatten)]
    common: UndoArguments,
}

impl RedoCommand {
    pub(crate) fn run(self, vault: VaultChoice<'_>) -> CommandResult {
        let context = vault.context()?;
        let target = match self.common.unit() {
            UndoneUnit::Session(session) => session_redo_target(&context, session)?,
            UndoneUnit::Run(run) => redo_target(&context, run)?,
        };
        run_undo(&context, target, self.common.options())
    }

    pub(crate) fn json(&self) -> bool {
        self.common.json()
    }
}
