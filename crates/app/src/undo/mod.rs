//! Undo and redo: the target run, the preview of the restore, its conflicts, and the run that restores.
//!
//! Both revert the changes of runs: undo reverts a run, redo reverts its undo. The restore is planned against the
//! current vault, shown, decided about where notes were edited since, and then becomes a plan that passes the engine
//! like any other.

mod conflicts;
mod later_runs;
mod sessions;
mod prepared;
mod target;
mod undo_preview;
mod change_text;

pub use change_text::change_words;
pub use conflicts::{AskConflict, ConflictChoice, ConflictPolicy, EditConflict, conflict_words};
pub use prepared::{NothingToUndo, PreparedUndo, UndoOutlook, prepare_undo, remove_leftovers};
pub use target::{
    UndoScope, UndoTarget, redo_target, refuse_other_sessions, session_redo_target, session_undo_target,
    undo_target, undo_target_in_session, undo_target_with_later,
};
pub use undo_preview::UndoPreview;
