//! The object store of a run's journal, as tools see it.

use std::io::{Read, Write};

use envelope::{DataRef, Failure, Fault};
use journal::Journal;
use toolkit::ObjectStore;

use crate::engine::journal_fault;

/// Stores content that a call overwrites, beside the record of the call.
pub(crate) struct JournalStore(pub(crate) Journal);

impl ObjectStore for JournalStore {
    fn keep(&self, content: &mut dyn Read) -> Result<DataRef, Fault> {
        self.0.put_object_from(content).map_err(|error| journal_fault(&error))
    }

    fn fetch(&self, wanted: &DataRef, into: &mut dyn Write) -> Result<(), Fault> {
        self.0.object_to(wanted, into).map_err(|error| {
            Fault::new(Failure::ExecutionFailed, format!("what was there before cannot be read: {error}"))
                .hint("look at the record of the run with `tollgate verify`")
                .retryable(false)
        })
    }
}
