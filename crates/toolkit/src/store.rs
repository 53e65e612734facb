//! Where content is kept that a call is about to overwrite: what undo reads.

use std::io::Read;

use envelope::{DataRef, Fault};

/// Content by its hash. Whoever runs calls provides one; tools reach it through their context.
pub trait ObjectStore: Send + Sync {
    /// Stores everything that `content` yields. Durable when this returns.
    fn keep(&self, content: &mut dyn Read) -> Result<DataRef, Fault>;

    /// Reads back what was kept, checked against its hash.
    fn fetch(&self, wanted: &DataRef) -> Result<Vec<u8>, Fault>;
}
