//! Files that calls write beside their records: `artifacts/<name>` in the run folder.
//!
//! They are created and opened relative to the folder's handle, never through a link. A name is used once. A
//! result lists size and hash, so that a later change is detected.

use std::fs::File;
use std::io;

use envelope::{Artifact, Hash};

use crate::disk::{FolderHandle, RunDisk};
use crate::error::JournalError;
use crate::run_folder::RunFolder;
use crate::run_log::{Journal, io_error};

pub(crate) const ARTIFACTS: &str = "artifacts";
/// Limit of numbered names for one stem; more indicate a faulty caller.
const MAX_SAME_NAME: u32 = 100_000;

impl Journal {
    /// Creates an empty artifact called `<stem>.<extension>`, or with a number if that name is taken. Its
    /// name is durable when this returns, its bytes after [`Journal::sync_artifact`]. Returns `None` for a
    /// journal in memory.
    pub fn create_artifact(
        &self,
        stem: &str,
        extension: &str,
    ) -> Result<Option<(String, File)>, JournalError> {
        let Some(run) = self.folder() else { return Ok(None) };
        let make = || -> io::Result<(String, File)> {
            let folder = run.open_or_create(ARTIFACTS, false)?;
            for number in 1..MAX_SAME_NAME {
                let name = match number {
                    1 => format!("{stem}.{extension}"),
                    more => format!("{stem}-{more}.{extension}"),
                };
                match folder.create_file(&name) {
                    Ok(file) => {
                        folder.duplicate()?.sync_names()?;
                        return Ok((format!("{ARTIFACTS}/{name}"), file));
                    }
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                    Err(error) => return Err(error),
                }
            }
            Err(io::Error::other("too many artifacts of one name"))
        };
        let made = make().map(Some).map_err(|source| io_error("make an artifact in", run.path(), source));
        self.note_failure(made)
    }

    /// Makes the bytes of an artifact durable.
    pub fn sync_artifact(&self, path: &str, file: &File) -> Result<(), JournalError> {
        let synced = file.sync_data();
        self.note_failure(synced.map_err(|source| io_error("sync", std::path::Path::new(path), source)))
    }

    /// Opens an artifact of this run for reading.
    pub fn open_artifact(&self, path: &str) -> Result<File, JournalError> {
        match self.folder() {
            Some(run) => open(run, path),
            None => Err(JournalError::ArtifactMissing { path: path.to_owned() }),
        }
    }

    /// Removes an artifact that no recorded result names.
    pub fn remove_artifact(&self, path: &str) -> Result<(), JournalError> {
        let Some((run, name)) = self.folder().zip(name_of(path)) else { return Ok(()) };
        let removed = run.open_subfolder(ARTIFACTS).and_then(|mut folder| folder.remove(name));
        removed.map_err(|source| io_error("remove", &run.path().join(path), source))
    }

    /// Returns the artifacts of this run so far, as results name them, in order.
    pub fn artifact_names(&self) -> Result<Vec<String>, JournalError> {
        self.folder().map_or_else(|| Ok(Vec::new()), artifact_names)
    }
}

impl RunFolder {
    /// Opens an artifact for reading.
    pub fn artifact(&self, path: &str) -> Result<File, JournalError> {
        open(self.dir(), path)
    }

    /// Returns the artifacts of this run, as results name them, in order.
    pub fn artifact_names(&self) -> Result<Vec<String>, JournalError> {
        artifact_names(self.dir())
    }
}

fn artifact_names(run: &FolderHandle) -> Result<Vec<String>, JournalError> {
    match run.open_subfolder(ARTIFACTS).and_then(|folder| folder.entry_names()) {
        Ok(names) => Ok(names.iter().map(|name| format!("{ARTIFACTS}/{name}")).collect()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(source) => Err(io_error("list", &run.path().join(ARTIFACTS), source)),
    }
}

/// Checks an artifact against the size and hash in its result.
pub(crate) fn check_artifact(run: &FolderHandle, artifact: &Artifact) -> Result<(), JournalError> {
    let mut file = open(run, &artifact.path)?;
    let mut hasher = blake3::Hasher::new();
    let bytes = io::copy(&mut file, &mut hasher)
        .map_err(|source| io_error("read", &run.path().join(&artifact.path), source))?;
    let found = Hash::from_bytes(*hasher.finalize().as_bytes());
    if bytes == artifact.bytes && found == artifact.hash {
        return Ok(());
    }
    Err(JournalError::ArtifactChanged { path: artifact.path.clone() })
}

fn open(run: &FolderHandle, path: &str) -> Result<File, JournalError> {
    let missing = || JournalError::ArtifactMissing { path: path.to_owned() };
    let name = name_of(path).ok_or_else(missing)?;
    match run.open_subfolder(ARTIFACTS).and_then(|folder| folder.open_file(name)) {
        Ok(Some(file)) => match file.metadata() {
            Ok(meta) if meta.is_file() => Ok(file),
            Ok(_) => Err(missing()),
            Err(source) => Err(io_error("read", &run.path().join(path), source)),
        },
        Ok(None) => Err(missing()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(missing()),
        Err(source) => Err(io_error("read", &run.path().join(path), source)),
    }
}

/// Returns the file name of an artifact path. Every other form of path is invalid.
fn name_of(path: &str) -> Option<&str> {
    let name = path.strip_prefix(ARTIFACTS)?.strip_prefix('/')?;
    (!name.is_empty() && !name.contains(['/', '\0']) && name != "." && name != "..").then_some(name)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::{Read as _, Write as _};
    use std::path::Path;

    use envelope::{Artifact, EventType, Hash, ToolResult};
    use expect_test::{Expect, expect};

    use crate::samples::{call, confirmation, event, header, result};
    use crate::{Journal, JournalError, RunFolder, verify};

    /// Returns the folder of a finished run of one call with the artifact `content`.
    fn run_with_artifact(state: &Path, content: &[u8]) -> std::path::PathBuf {
        let dir = state.join("runs").join("run-1");
        let journal = Journal::create(&dir, &header("run-1")).unwrap();
        let (path, mut file) = journal.create_artifact("build-stdout", "log").unwrap().unwrap();
        file.write_all(content).unwrap();
        journal.sync_artifact(&path, &file).unwrap();
        let artifact = Artifact { path, bytes: content.len() as u64, hash: Hash::of(content) };
        let given = confirmation();
        journal.confirm(&given).unwrap();
        journal.event(&event(EventType::RunConfirmed, serde_json::to_value(&given).ok())).unwrap();
        journal.call(&call(0)).unwrap();
        journal.result(&ToolResult { artifacts: vec![artifact], ..result(0) }).unwrap();
        journal.event(&event(EventType::RunFinished, None)).unwrap();
        journal.close().unwrap();
        dir
    }

    fn put(path: &Path, text: &str) {
        fs::File::create(path).unwrap().write_all(text.as_bytes()).unwrap();
    }

    fn problems(dir: &Path, expect: Expect) {
        let found = verify(dir, None).unwrap().problems;
        let text: Vec<String> = found.iter().map(ToString::to_string).collect();
        expect.assert_eq(&text.join("\n"));
    }

    // Conformance: result 4.5
    //     The record proves its artifacts.
    //     In: journal/artifacts.rs
    #[test]
    fn an_artifact_that_changed_or_is_gone_is_found() {
        let temp = tempfile::tempdir().unwrap();
        let dir = run_with_artifact(temp.path(), b"all good\n");
        problems(&dir, expect![""]);
        let file = dir.join("artifacts/build-stdout.log");
        put(&file, "all gone\n");
        problems(
            &dir,
            expect!["artifact changed: artifacts/build-stdout.log, record 3: named in results.jsonl line 1"],
        );
        fs::remove_file(&file).unwrap();
        problems(
            &dir,
            expect!["artifact missing: artifacts/build-stdout.log, record 3: named in results.jsonl line 1"],
        );
    }

    #[test]
    fn what_could_not_be_kept_is_told_from_then_on_and_the_record_goes_on() {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().join("runs").join("run-1");
        let journal = Journal::create(&dir, &header("run-1")).unwrap();
        assert_eq!(journal.failure(), None);
        // A file in place of the folder.
        fs::File::create_new(dir.join("artifacts")).unwrap();
        let error = journal.create_artifact("build-stdout", "log").unwrap_err().to_string();
        assert_eq!(journal.failure(), Some(error.clone()));
        journal.report_loss("something else");
        assert_eq!(journal.failure(), Some(error), "the first cause is the one that is told");
        journal.event(&event(EventType::RunFinished, None)).unwrap();
        journal.close().unwrap();
        assert!(verify(&dir, None).unwrap().finished);
    }

    #[test]
    fn only_a_name_below_the_folder_is_an_artifact() {
        let temp = tempfile::tempdir().unwrap();
        let dir = run_with_artifact(temp.path(), b"x");
        let outside = temp.path().join("secret");
        put(&outside, "secret");
        std::os::unix::fs::symlink(&outside, dir.join("artifacts/link")).unwrap();
        let folder = RunFolder::open(&dir).unwrap();
        let mut text = String::new();
        folder.artifact("artifacts/build-stdout.log").unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "x");
        for path in [
            "run.json",
            "artifacts",
            "artifacts/",
            "artifacts/.",
            "artifacts/..",
            "artifacts/../run.json",
            "artifacts/link",
            "/etc/passwd",
            "artifacts/none",
        ] {
            assert!(folder.artifact(path).is_err(), "{path}");
        }
    }

    #[test]
    fn a_name_is_given_once_and_can_be_taken_back() {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().join("runs").join("run-1");
        let journal = Journal::create(&dir, &header("run-1")).unwrap();
        let name = |journal: &Journal| journal.create_artifact("call-stdout", "log").unwrap().unwrap().0;
        assert_eq!(name(&journal), "artifacts/call-stdout.log");
        assert_eq!(name(&journal), "artifacts/call-stdout-2.log");
        journal.remove_artifact("artifacts/call-stdout.log").unwrap();
        assert!(matches!(
            journal.open_artifact("artifacts/call-stdout.log"),
            Err(JournalError::ArtifactMissing { .. })
        ));
        assert_eq!(name(&journal), "artifacts/call-stdout.log");
    }
}
