//! Where a call puts what is too large for its result, and where it is read from again.
//!
//! Whoever runs calls provides the place; tools write through it while the bytes are produced, so that memory
//! stays flat whatever the size.

use std::fs::File;

use envelope::{Artifact, Fault, Hash};

/// An artifact that is being written. Readable by others from the start, complete when it is sealed.
#[derive(Debug)]
pub struct OpenArtifact {
    /// Relative to the folder of the run.
    pub path: String,
    pub file: File,
}

/// The artifacts of one call.
pub trait ArtifactSink: Send + Sync {
    /// Makes an empty artifact. Its name is made of the call's step, `role` and `extension`, and is given once.
    /// None where the run keeps no artifacts.
    fn create(&self, role: &str, extension: &str) -> Result<Option<OpenArtifact>, Fault>;

    /// Makes the artifact durable. Called once, when everything is written.
    fn seal(&self, artifact: OpenArtifact, bytes: u64, hash: Hash) -> Result<Artifact, Fault>;

    /// Takes note that an artifact could not be written to its end, so that nothing is done that builds on it.
    fn lost(&self, _path: &str, _why: &str) {}

    /// Takes back a sealed artifact that no recorded result will name.
    fn discard(&self, artifact: &Artifact);

    /// Opens an artifact of this run for reading.
    fn open(&self, path: &str) -> Result<File, Fault>;

    /// The artifacts that this run has so far, in the order of their names: for whoever got one wrong.
    fn names(&self) -> Vec<String> {
        Vec::new()
    }
}
