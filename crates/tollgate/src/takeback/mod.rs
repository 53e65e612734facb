//! Undo and redo at the terminal: which run is meant, what would be put back, what stands in the way.
//!
//! Both are the same work: the changes that some runs made are taken back. Undo takes back a run, redo takes back
//! its undo. What is to be done is found out against the vault as it is now, shown, decided about where notes were
//! edited since, and only then becomes a plan that goes through the gate like any other.

mod decide;
mod lookback;
mod perform;
mod target;
mod words;

pub(crate) use decide::Edited;
pub(crate) use perform::{Act, Options, perform};
pub(crate) use target::{redo_target, undo_target};
pub(crate) use words::change_words;
