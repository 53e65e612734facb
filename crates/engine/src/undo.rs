//! Taking back what a run changed: what it did, which runs took what back, and the plan that does it.
//!
//! Undo is an ordinary run. What the record says was changed is turned around and becomes the arguments of
//! `vault.restore`; the run passes the same gate, is confirmed, recorded and can itself be taken back, which is
//! redo. Absent on purpose: any knowledge of the vault. What stands in the way there is found by whoever holds
//! it.

mod history;
mod plan;
mod record;

pub use history::UndoHistory;
pub use plan::{CHANGES_A_CALL, restore_plan};
pub use record::{Irreversible, RunChanges, taking_back};
