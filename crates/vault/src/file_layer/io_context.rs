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

/// A context that passes everything on to another one, with some differences.
pub(crate) struct ContextAdapter<'a> {
    io: &'a dyn IoContext,
    /// Gets the changes instead of the other context.
    record: Option<Box<dyn Fn(VaultChange) + 'a>>,
    is_cancellable: bool,
    is_bound: bool,
}

impl<'a> ContextAdapter<'a> {
    pub(crate) fn new(io: &'a dyn IoContext) -> ContextAdapter<'a> {
        ContextAdapter { io, record: None, is_cancellable: true, is_bound: true }
    }

    /// Reports changes to a function. It can report them to the other context itself.
    pub(crate) fn recording(mut self, record: impl Fn(VaultChange) + 'a) -> ContextAdapter<'a> {
        self.record = Some(Box::new(record));
        self
    }

    /// Cannot be cancelled: for work that must not stop halfway.
    pub(crate) fn uncancellable(mut self) -> ContextAdapter<'a> {
        self.is_cancellable = false;
        self
    }

    /// Is not limited to the recorded intent: for work that is no part of it.
    pub(crate) fn beyond_intent(mut self) -> ContextAdapter<'a> {
        self.is_bound = false;
        self
    }
}

impl IoContext for ContextAdapter<'_> {
    fn record_change(&self, change: VaultChange) {
        match &self.record {
            Some(record) => record(change),
            None => self.io.record_change(change),
        }
    }

    fn check_cancelled(&self) -> Result<(), Fault> {
        if self.is_cancellable { self.io.check_cancelled() } else { Ok(()) }
    }

    fn store(&self, content: &mut dyn Read) -> Result<Option<DataRef>, Fault> {
        self.io.store(content)
    }

    fn fetch(&self, wanted: &DataRef, into: &mut dyn Write) -> Result<(), Fault> {
        self.io.fetch(wanted, into)
    }

    fn must_match_intent(&self) -> bool {
        self.is_bound && self.io.must_match_intent()
    }

    fn progress(&self, done: u64, total: u64, message: &str) {
        self.io.progress(done, total, message);
    }
}
