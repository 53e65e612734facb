//! The file layer's connection to its caller: reports changes, checks for cancellation, stores content.

use std::io::{Read, Write};

use envelope::{DataRef, Failure, Fault, VaultChange};

/// The caller of file work: it records changes, can cancel the work, and stores content that will be overwritten.
///
/// A change is recorded before the next step is tried, so that a call that fails halfway reports what it has done.
pub trait IoContext {
    fn record_change(&self, change: VaultChange);

    /// Fails if the work is cancelled. Called before each step that changes something, and between the chunks
    /// of a read.
    fn check_cancelled(&self) -> Result<(), Fault>;

    /// Stores content that will be overwritten, and returns its reference. A context without a store returns
    /// `None`, and the content is lost.
    fn store(&self, _content: &mut dyn Read) -> Result<Option<DataRef>, Fault> {
        Ok(None)
    }

    /// Writes stored content to `into`.
    fn fetch(&self, wanted: &DataRef, _into: &mut dyn Write) -> Result<(), Fault> {
        Err(Fault::new(Failure::NotFound, format!("nothing was kept as {}", wanted.hash)))
    }

    /// Returns true if exactly the recorded changes may be made: a moved file must then have its recorded content.
    /// Otherwise an edit that was made in between moves along with its file.
    fn must_match_intent(&self) -> bool {
        false
    }

    /// Reports the progress of long work.
    fn progress(&self, _done: u64, _total: u64, _message: &str) {}
}

/// A context that cannot be cancelled, for work that must not stop halfway. Everything else is passed through.
pub(crate) struct Uncancellable<'a>(pub(crate) &'a dyn IoContext);

impl IoContext for Uncancellable<'_> {
    fn record_change(&self, change: VaultChange) {
        self.0.record_change(change);
    }

    fn check_cancelled(&self) -> Result<(), Fault> {
        Ok(())
    }

    fn store(&self, content: &mut dyn Read) -> Result<Option<DataRef>, Fault> {
        self.0.store(content)
    }

    fn fetch(&self, wanted: &DataRef, into: &mut dyn Write) -> Result<(), Fault> {
        self.0.fetch(wanted, into)
    }

    fn must_match_intent(&self) -> bool {
        self.0.must_match_intent()
    }

    fn progress(&self, done: u64, total: u64, message: &str) {
        self.0.progress(done, total, message);
    }
}
