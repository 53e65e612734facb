//! `tollgate redo`: applies again what an undo took back.

use std::path::Path;

use clap::Args;

use super::undo::{UndoArguments, UndoneUnit};
use crate::cli_error::CommandResult;
use crate::undo_run::run_undo;
use app::undo::{redo_target, session_redo_target};
use app::vault_context::VaultContext;

/// Does again what was undone
///
/// Undoes the undo of a run, exactly: a note that was edited before the undo gets its edit back. `last` is the run with
/// the newest undo. `--session` does a session again that was undone as a whole.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  tollgate redo last\n  tollgate redo 0199 --dry-run\n  tollgate redo --session"
)]
pub(crate) struct RedoCommand {
    #[command(flatten)]
    common: UndoArguments,
}

impl RedoCommand {
    pub(crate) fn run(self, vault: Option<&Path>) -> CommandResult {
        let context = VaultContext::find(vault)?;
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
