//! Artifacts of recorded runs, for the tool that reads them.

use std::fs::File;
use std::path::Path;

use envelope::{Failure, Fault};
use journal::{FindError, JournalError, RunFolder, RunsFolder};
use shell::PastRuns;

use crate::vault_context::RunsOfVault;

/// Recorded runs of a vault.
pub(crate) struct RunsOnRecord {
    /// Looked up for each call: the first run of a vault creates its id.
    pub runs: RunsOfVault,
}

impl RunsOnRecord {
    fn runs(&self) -> Result<RunsFolder, Fault> {
        self.runs.folder().map_err(|error| Fault::new(Failure::ExecutionFailed, error.message))
    }

    fn folder(&self, id: &str) -> Result<RunFolder, Fault> {
        let dir = self.runs()?.find(id).map_err(|error| not_found(&error))?;
        RunFolder::open(&dir).map_err(|error| unreadable(&error))
    }

    /// Returns the newest run with artifacts. The calling run is recorded as well, and usually has none.
    fn newest(&self) -> Result<String, Fault> {
        let runs = self.runs()?.list().map_err(|error| unreadable(&error))?;
        let has_some = |dir: &Path| {
            let names = RunFolder::open(dir).and_then(|folder| folder.artifact_names());
            names.is_ok_and(|names| !names.is_empty())
        };
        let newest = runs.into_iter().find(|run| has_some(&run.dir));
        newest.map(|run| run.run_id.to_string()).ok_or_else(|| {
            Fault::new(Failure::NotFound, "no run has left artifacts so far")
                .hint("artifacts are left by calls whose output is too long for a receipt")
        })
    }
}

impl PastRuns for RunsOnRecord {
    fn find(&self, run: &str) -> Result<String, Fault> {
        match run {
            "last" => self.newest(),
            given => Ok(self.folder(given)?.header().run_id.to_string()),
        }
    }

    fn open(&self, id: &str, path: &str) -> Result<File, Fault> {
        self.folder(id)?.artifact(path).map_err(|error| {
            if matches!(error, JournalError::ArtifactMissing { .. }) {
                Fault::new(Failure::NotFound, error.to_string())
            } else {
                unreadable(&error)
            }
        })
    }

    fn names(&self, id: &str) -> Vec<String> {
        self.folder(id).ok().and_then(|folder| folder.artifact_names().ok()).unwrap_or_default()
    }
}

fn not_found(error: &FindError) -> Fault {
    match error {
        FindError::None { .. } | FindError::Ambiguous { .. } | FindError::Foreign { .. } => {
            Fault::new(Failure::NotFound, error.to_string())
                .hint("give the id of a run, the beginning of it, or \"last\"")
        }
        FindError::Journal(error) => unreadable(error),
    }
}

fn unreadable(error: &JournalError) -> Fault {
    Fault::new(Failure::ExecutionFailed, format!("the runs cannot be read: {error}"))
}
