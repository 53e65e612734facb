//! Projection of a complete output to a bounded result: the contract between tools and crate `receipts`.
//!
//! The projectors and renderers of the families are not here: a projector returns its renderer with its result, so
//! this crate does not depend on them.

use std::fs::File;
use std::io::Write;

use envelope::{Artifact, CanonicalResult, Failure, Fault, Hash, ReceiptFamily};
use serde_json::Value;

use crate::ArtifactSink;

/// Renders the receipt of a canonical result within about `budget` tokens.
pub type ReceiptRenderer = fn(ReceiptFamily, &CanonicalResult, usize) -> String;

/// The bounded `result` of a successful call, made by the projector of its family.
#[derive(Debug, Clone)]
pub struct ProjectedResult {
    pub family: ReceiptFamily,
    pub result: Value,
    /// Renders the receipt from the canonical result.
    pub render: ReceiptRenderer,
}

/// The budget and artifact storage that a projector uses for one result.
pub struct Projection<'a> {
    budget: usize,
    artifacts: Option<&'a dyn ArtifactSink>,
    /// True if a hook changed the output: then artifacts may contain data that the model must not see.
    changed: bool,
    left: Vec<Artifact>,
}

impl<'a> Projection<'a> {
    /// Creates a projection with a receipt budget in tokens. Without an artifact sink, data that does not fit is
    /// left out.
    pub fn new(budget: usize, artifacts: Option<&'a dyn ArtifactSink>) -> Projection<'a> {
        Projection { budget, artifacts, changed: false, left: Vec::new() }
    }

    /// Creates a projection of an output that a hook changed: only data in the output itself is shown.
    #[must_use]
    pub fn for_changed_output(self) -> Projection<'a> {
        Projection { changed: true, ..self }
    }

    /// Returns the token budget of the receipt.
    pub fn budget(&self) -> usize {
        self.budget
    }

    /// Opens an artifact that the call left while it ran, to read its beginning and its end.
    pub fn open(&self, path: &str) -> Result<File, Fault> {
        match self.artifacts {
            Some(artifacts) if !self.changed => artifacts.open(path),
            Some(_) | None => Err(Fault::new(Failure::NotFound, format!("there is no artifact `{path}`"))),
        }
    }

    /// Stores data that does not fit as an artifact. Returns `None` if the run stores no artifacts.
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

    /// Returns the artifacts that this projection stored.
    pub fn into_artifacts(self) -> Vec<Artifact> {
        self.left
    }
}
