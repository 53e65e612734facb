//! Where content is kept that a call is about to overwrite: what undo reads.

use std::io::{Read, Write};

use envelope::{DataRef, Fault};

/// Content by its hash. Whoever runs calls provides one; tools reach it through their context.
pub trait ObjectStore: Send + Sync {
    /// Stores everything that `content` yields. Durable when this returns.
    fn keep(&self, content: &mut dyn Read) -> Result<DataRef, Fault>;

    /// Writes what was kept to `into`. An error means that what was written so far is not it.
    fn fetch(&self, wanted: &DataRef, into: &mut dyn Write) -> Result<(), Fault>;
}
