//! What a projector may use: the budget, and the artifacts of the call.

use std::fs::File;
use std::io::Write;

use envelope::{Artifact, Failure, Fault, Hash};

use crate::ArtifactSink;

/// Handed to a projector for one result.
pub struct Projection<'a> {
    budget: usize,
    artifacts: Option<&'a dyn ArtifactSink>,
    /// Set when a hook changed the output. What an artifact holds is then not what the model may see.
    changed: bool,
    left: Vec<Artifact>,
}

impl<'a> Projection<'a> {
    /// `budget` in tokens, for the receipt. Without artifacts everything that does not fit is left out.
    pub fn new(budget: usize, artifacts: Option<&'a dyn ArtifactSink>) -> Projection<'a> {
        Projection { budget, artifacts, changed: false, left: Vec::new() }
    }

    /// The same for an output that a hook changed: only what the output itself holds is shown.
    #[must_use]
    pub fn of_changed(self) -> Projection<'a> {
        Projection { changed: true, ..self }
    }

    /// Tokens that the receipt may have.
    pub fn budget(&self) -> usize {
        self.budget
    }

    /// Opens an artifact that the call left while it ran, to look at its beginning and its end.
    pub fn open(&self, path: &str) -> Result<File, Fault> {
        match self.artifacts {
            Some(artifacts) if !self.changed => artifacts.open(path),
            Some(_) | None => Err(Fault::new(Failure::NotFound, format!("there is no artifact `{path}`"))),
        }
    }

    /// Keeps what does not fit as an artifact. None where a run has no place for them.
    pub fn keep(&mut self, role: &str, extension: &str, content: &[u8]) -> Result<Option<Artifact>, Fault> {
        let Some(artifacts) = self.artifacts else { return Ok(None) };
        let Some(mut open) = artifacts.create(role, extension)? else { return Ok(None) };
        open.file.write_all(content).map_err(|error| {
            Fault::new(
                Failure::ExecutionFailed,
                format!("the artifact `{}` cannot be written: {error}", open.path),
            )
            .hint("free some space, then try again")
            .retryable(false)
        })?;
        let kept = artifacts.seal(open, content.len() as u64, Hash::of(content))?;
        self.left.push(kept.clone());
        Ok(Some(kept))
    }

    /// The artifacts that this projection made.
    pub fn into_artifacts(self) -> Vec<Artifact> {
        self.left
    }
}
