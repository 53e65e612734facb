//! A witness that lets work finish although its call was stopped.

use std::io::{Read, Write};

use envelope::{Change, DataRef, Fault};

use super::change::Witness;

/// For work that is worse half done than done: everything is told and kept as ever, and nothing stops it.
pub(crate) struct Unstoppable<'a>(pub(crate) &'a dyn Witness);

impl Witness for Unstoppable<'_> {
    fn saw(&self, change: Change) {
        self.0.saw(change);
    }

    fn may_go_on(&self) -> Result<(), Fault> {
        Ok(())
    }

    fn keep(&self, content: &mut dyn Read) -> Result<Option<DataRef>, Fault> {
        self.0.keep(content)
    }

    fn fetch(&self, wanted: &DataRef, into: &mut dyn Write) -> Result<(), Fault> {
        self.0.fetch(wanted, into)
    }

    fn is_held_to_intent(&self) -> bool {
        self.0.is_held_to_intent()
    }

    fn progress(&self, done: u64, total: u64, message: &str) {
        self.0.progress(done, total, message);
    }
}
