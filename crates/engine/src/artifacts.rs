//! The artifacts of one call, kept in the folder of its run.

use std::fs::File;
use std::sync::{Mutex, PoisonError};

use envelope::{Artifact, Failure, Fault, Hash, ToolCall};
use journal::{Journal, JournalError};
use toolkit::{ArtifactSink, OpenArtifact};

use crate::call::journal_fault;

pub(crate) struct JournalArtifacts {
    journal: Journal,
    /// What their names begin with: short, since a model reads and repeats them.
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
        self.journal.lost(&format!("cannot write `{path}`: {why}"));
    }

    fn discard(&self, artifact: &Artifact) {
        // As good as it goes: no result names it, so what stays is only a file too many.
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
        // A help for whoever got a name wrong; without it the name is still wrong.
        self.journal.artifact_names().unwrap_or_default()
    }
}

/// The same artifacts for a projection, with a note of each that it makes: one that no result names in the end is
/// taken back.
pub(crate) struct Noting<'a> {
    pub(crate) artifacts: &'a dyn ArtifactSink,
    pub(crate) made: &'a Mutex<Vec<Artifact>>,
}

impl ArtifactSink for Noting<'_> {
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
