//! Storage that the engine provides for a call: artifacts for output that is too large for a result, and an object
//! store for content that the call overwrites, from which undo reads.
//!
//! Tools write artifacts while the bytes are produced, so memory use does not depend on the size.

use std::fs::File;
use std::io::{Read, Write};

use envelope::{Artifact, DataRef, Fault, Hash};

/// An artifact that is being written. Readable from the start, complete when it is sealed.
#[derive(Debug)]
pub struct OpenArtifact {
    /// Path relative to the folder of the run.
    pub path: String,
    pub file: File,
}

/// The artifacts of one call.
pub trait ArtifactSink: Send + Sync {
    /// Creates an empty artifact. Its unique name consists of the call's step, `role` and `extension`. Returns
    /// `None` if the run stores no artifacts.
    fn create(&self, role: &str, extension: &str) -> Result<Option<OpenArtifact>, Fault>;

    /// Makes the artifact durable. Called once, after everything is written.
    fn seal(&self, artifact: OpenArtifact, bytes: u64, hash: Hash) -> Result<Artifact, Fault>;

    /// Records that an artifact could not be written completely, so that no later step relies on it.
    fn lost(&self, _path: &str, _why: &str) {}

    /// Removes a sealed artifact that no recorded result will name.
    fn discard(&self, artifact: &Artifact);

    /// Opens an artifact of this run for reading.
    fn open(&self, path: &str) -> Result<File, Fault>;

    /// Returns the names of the artifacts of this run so far, sorted, for error messages about a wrong name.
    fn names(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Content-addressed store of overwritten content. Tools use it through [`crate::ToolCx`].
pub trait ObjectStore: Send + Sync {
    /// Stores everything that `content` yields. Durable when this returns.
    fn keep(&self, content: &mut dyn Read) -> Result<DataRef, Fault>;

    /// Writes the stored content to `into`. After an error the bytes written so far are incomplete.
    fn fetch(&self, wanted: &DataRef, into: &mut dyn Write) -> Result<(), Fault>;
}
