//! A place for artifacts in a temporary folder, and jobs that run a shell script.

use std::fs::{File, OpenOptions};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use envelope::{Artifact, Failure, Fault, Hash};
use shell::process::{CommandInput, CommandJob, JobLimits, ProcessContainment};
use tempfile::TempDir;
use toolkit::{ArtifactSink, OpenArtifact};

pub(crate) struct TempArtifacts {
    pub(crate) dir: TempDir,
    made: AtomicU64,
}

impl TempArtifacts {
    pub(crate) fn new() -> Arc<TempArtifacts> {
        Arc::new(TempArtifacts { dir: tempfile::tempdir().unwrap(), made: AtomicU64::new(0) })
    }
}

impl ArtifactSink for TempArtifacts {
    fn create(&self, role: &str, extension: &str) -> Result<Option<OpenArtifact>, Fault> {
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        let path = format!("{role}-{number}.{extension}");
        let file = OpenOptions::new().write(true).create_new(true).open(self.dir.path().join(&path));
        let failed = |error: std::io::Error| Fault::new(Failure::ExecutionFailed, error.to_string());
        Ok(Some(OpenArtifact { path, file: file.map_err(failed)? }))
    }

    fn seal(&self, artifact: OpenArtifact, bytes: u64, hash: Hash) -> Result<Artifact, Fault> {
        let synced = artifact.file.sync_data();
        synced.map_err(|error| Fault::new(Failure::ExecutionFailed, error.to_string()))?;
        Ok(Artifact { path: artifact.path, bytes, hash })
    }

    fn discard(&self, _artifact: &Artifact) {}

    fn open(&self, path: &str) -> Result<File, Fault> {
        File::open(self.dir.path().join(path))
            .map_err(|error| Fault::new(Failure::NotFound, error.to_string()))
    }
}

/// Unique among all processes that run now.
pub(crate) fn marker() -> String {
    static LAST: AtomicU64 = AtomicU64::new(0);
    format!("test-{}-{}", std::process::id(), LAST.fetch_add(1, Ordering::Relaxed))
}

#[allow(clippy::disallowed_methods, reason = "a test starts its own processes")]
pub(crate) fn shell_job(script: &str, artifacts: Arc<dyn ArtifactSink>) -> CommandJob {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script]).env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin");
    CommandJob {
        command,
        shown: script.to_owned(),
        marker: marker(),
        started: envelope::Timestamp::UNIX_EPOCH,
        input: CommandInput::Nothing,
        terminal: None,
        containment: ProcessContainment::Uncontained,
        start_signal: None,
        resources: Box::new(()),
        limits: JobLimits { timeout: None, grace: Duration::from_millis(100), output_bytes: u64::MAX },
        artifacts,
    }
}
