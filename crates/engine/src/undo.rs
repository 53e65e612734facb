//! Undo and redo: the changes of a run, which runs undid which, and the plan that undoes.
//!
//! Undo is an ordinary run. The recorded changes are inverted and become the arguments of `vault.restore`; the run
//! passes the same phases, is confirmed, recorded and can itself be undone, which is redo. Deliberately omitted: any
//! knowledge of the vault. The vault's tool finds conflicts with the current files.

mod call_order;
mod undo_history;
mod restore_plan;
mod run_changes;

pub use restore_plan::{CHANGES_A_CALL, restore_plan};
pub use run_changes::{IrreversibleCall, RunChanges, inverse_changes};
pub use undo_history::UndoHistory;
