//! `tollgate undo`: restores what a run changed.

use clap::Args;

use crate::cli::VaultChoice;
use crate::cli_error::CommandResult;
use crate::undo_run::{EditedNotes, UndoConsent, UndoOptions, UndoOutput, run_undo};
use app::undo::{UndoScope, session_undo_target, undo_target, undo_target_with_later};

/// Undoes everything that a run changed: files, folders, names and links
///
/// Shows what would be restored, with the differences, and asks once. Works for a run that finished, failed, was
/// cancelled or was interrupted. A note that was edited since is never overwritten without asking. The undo is itself a
/// run: it is recorded, and `tollgate redo` undoes it. `last` is the newest run that changed something and is not
/// undone; undos and redos are skipped, so a second `undo last` undoes the run before.
///
/// A session has everything that a client did over one connection or in one conversation: single calls, and the plans that
/// ran between them. `--session` undoes all of it in reverse order, with one question and as one run.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  tollgate undo last\n  tollgate undo 0199 --dry-run\n  tollgate undo last --keep-changed --yes\n  tollgate undo last --only Inbox --keep Inbox/today.md\n  tollgate undo --session\n  tollgate undo 0199 --with-later"
)]
pub(crate) struct UndoCommand {
    #[command(flatten)]
    common: UndoArguments,
    /// Undo with the run every later run that changed the same files, as one run
    #[arg(long, conflicts_with = "session")]
    with_later: bool,
    /// Undo only what the run did to this file or below this folder; the rest can be undone later (repeatable)
    #[arg(long, value_name = "PATH")]
    only: Vec<String>,
    /// Leave this file, or everything below this folder, as it is; it can be undone later (repeatable)
    #[arg(long, value_name = "PATH")]
    keep: Vec<String>,
}

/// The arguments that undo and redo share.
#[derive(Debug, Args)]
pub(super) struct UndoArguments {
    /// The run: an id, the beginning of one, or `last`
    #[arg(required_unless_present = "session", conflicts_with = "session")]
    run: Option<String>,
    /// A whole session instead of a run: its id, a run of it, the beginning of either, or `last`, which is the default
    #[arg(long, value_name = "ID", num_args = 0..=1, default_missing_value = "last")]
    session: Option<String>,
    /// Approve in advance; notes that were edited since still need one of the two options below
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    changed: EditedNotesArguments,
    /// Show what would be restored and what is in the way; change nothing. Exit code 1 if something is in the way
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
    #[command(flatten)]
    answer: UndoOutputArguments,
}

/// Arguments for notes that were edited since.
#[derive(Debug, Args)]
struct EditedNotesArguments {
    /// Leave notes that were edited since as they are, and restore the rest
    #[arg(long, conflicts_with = "restore_changed")]
    keep_changed: bool,
    /// Restore notes although they were edited since. Their current text is stored, and a redo or undo brings it back
    #[arg(long)]
    restore_changed: bool,
}

/// Arguments for the output.
#[derive(Debug, Args)]
struct UndoOutputArguments {
    /// Show every difference in full
    #[arg(long)]
    full: bool,
    /// Answer in JSON: what is restored, what is in the way, and the report of the run
    #[arg(long)]
    json: bool,
}

/// What the user named.
pub(super) enum UndoneUnit<'a> {
    Run(&'a str),
    Session(&'a str),
}

impl UndoArguments {
    pub(super) fn unit(&self) -> UndoneUnit<'_> {
        match &self.session {
            Some(session) => UndoneUnit::Session(session),
            // One of the two is required.
            None => UndoneUnit::Run(self.run.as_deref().unwrap_or("last")),
        }
    }

    pub(super) fn json(&self) -> bool {
        self.answer.json
    }

    pub(super) fn options(&self) -> UndoOptions {
        let consent = match (self.yes, self.dry_run) {
            (true, _) => UndoConsent::Approved,
            (false, true) => UndoConsent::DryRun,
            (false, false) => UndoConsent::Ask,
        };
        let edited = match (&self.changed, consent) {
            (EditedNotesArguments { keep_changed: true, .. }, _) => EditedNotes::Keep,
            (EditedNotesArguments { restore_changed: true, .. }, _) => EditedNotes::Restore,
            (_, UndoConsent::DryRun) => EditedNotes::Report,
            (_, UndoConsent::Ask) if !self.answer.json => EditedNotes::Ask,
            // An approval that was given before this was known does not cover it.
            (_, UndoConsent::Approved | UndoConsent::Ask) => EditedNotes::Refuse,
        };
        let output = if self.answer.json { UndoOutput::Json } else { UndoOutput::Text };
        UndoOptions { consent, edited, full: self.answer.full, output }
    }
}

impl UndoCommand {
    pub(crate) fn run(self, vault: VaultChoice<'_>) -> CommandResult {
        let context = vault.context()?;
        let target = match self.common.unit() {
            UndoneUnit::Session(session) => session_undo_target(&context, session)?,
            UndoneUnit::Run(run) if self.with_later => undo_target_with_later(&context, run)?,
            UndoneUnit::Run(run) => undo_target(&context, run)?,
        };
        let target = target.limited_to(UndoScope { only: self.only, keep: self.keep })?;
        run_undo(&context, target, self.common.options())
    }

    pub(crate) fn json(&self) -> bool {
        self.common.json()
    }
}
