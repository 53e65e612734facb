//! The artifacts of one call, stored in the folder of its run.

use std::fs::File;
use std::sync::{Mutex, PoisonError};

use envelope::{Artifact, Failure, Fault, Hash, ToolCall};
use journal::{Journal, JournalError};
use toolkit::{ArtifactSink, OpenArtifact};

use crate::engine::journal_fault;

pub(crate) struct JournalArtifacts {
    journal: Journal,
    /// Prefix of their names: short, since a model reads and repeats them.
    stem: String,
}

impl JournalArtifacts {
    pub(crate) fn of(journal: &Journal, call: &ToolCall) -> JournalArtifacts {
        let mut stem = call.step_id.to_string();
        if let Some(iteration) = &call.iteration {
            stem.push_str(&format!("-{}", iteration.index));
        }
        JournalArtifacts { journal: journal.clone(), stem }
    }
}

impl ArtifactSink for JournalArtifacts {
    fn create(&self, role: &str, extension: &str) -> Result<Option<OpenArtifact>, Fault> {
        let made = self.journal.create_artifact(&format!("{}-{role}", self.stem), extension);
        let made = made.map_err(|error| journal_fault(&error))?;
        Ok(made.map(|(path, file)| OpenArtifact { path, file }))
    }

    fn seal(&self, artifact: OpenArtifact, bytes: u64, hash: Hash) -> Result<Artifact, Fault> {
        let OpenArtifact { path, file } = artifact;
        self.journal.sync_artifact(&path, &file).map_err(|error| journal_fault(&error))?;
        Ok(Artifact { path, bytes, hash })
    }

    fn lost(&self, path: &str, why: &str) {
        self.journal.report_loss(&format!("cannot write `{path}`: {why}"));
    }

    fn discard(&self, artifact: &Artifact) {
        // If this fails, one file too many is left; no result names it.
        let _left = self.journal.remove_artifact(&artifact.path);
    }

    fn open(&self, path: &str) -> Result<File, Fault> {
        self.journal.open_artifact(path).map_err(|error| {
            if matches!(error, JournalError::ArtifactMissing { .. }) {
                return Fault::new(Failure::NotFound, error.to_string());
            }
            journal_fault(&error)
        })
    }

    fn names(&self) -> Vec<String> {
        // Only for a hint about a wrong name; without it the name is still wrong.
        self.journal.artifact_names().unwrap_or_default()
    }
}

/// Artifacts for a projection. Notes each one that is created, so that those which no result names are discarded.
pub(crate) struct RecordingArtifacts<'a> {
    pub(crate) artifacts: &'a dyn ArtifactSink,
    pub(crate) made: &'a Mutex<Vec<Artifact>>,
}

impl ArtifactSink for RecordingArtifacts<'_> {
    fn create(&self, role: &str, extension: &str) -> Result<Option<OpenArtifact>, Fault> {
        self.artifacts.create(role, extension)
    }

    fn seal(&self, artifact: OpenArtifact, bytes: u64, hash: Hash) -> Result<Artifact, Fault> {
        let sealed = self.artifacts.seal(artifact, bytes, hash)?;
        self.made.lock().unwrap_or_else(PoisonError::into_inner).push(sealed.clone());
        Ok(sealed)
    }

    fn discard(&self, artifact: &Artifact) {
        self.artifacts.discard(artifact);
    }

    fn open(&self, path: &str) -> Result<File, Fault> {
        self.artifacts.open(path)
    }

    fn names(&self) -> Vec<String> {
        self.artifacts.names()
    }
}
