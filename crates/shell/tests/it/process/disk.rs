//! A disk that fails while the output is captured: a clear fault, no hanging call, and no process survives.

use std::fs::{File, OpenOptions};
use std::sync::Arc;
use std::time::Duration;

use envelope::{Artifact, Failure, Fault, Hash};
use expect_test::expect;
use shell::process::{CommandJob, CommandOutcome, CommandSpawner, HEAD_BYTES, TaskRegistry, run_command};
use toolkit::{ArtifactSink, CancelToken, OpenArtifact};

use super::job::{TempArtifacts, shell_job};
use super::shapes::survivors;

/// Every artifact is a file that takes nothing.
struct FullDisk;

impl ArtifactSink for FullDisk {
    fn create(&self, role: &str, _extension: &str) -> Result<Option<OpenArtifact>, Fault> {
        let file = OpenOptions::new().write(true).open("/dev/full").unwrap();
        Ok(Some(OpenArtifact { path: format!("{role}.log"), file }))
    }

    fn seal(&self, _artifact: OpenArtifact, _bytes: u64, _hash: Hash) -> Result<Artifact, Fault> {
        unreachable!("nothing was written")
    }

    fn discard(&self, _artifact: &Artifact) {}

    fn open(&self, _path: &str) -> Result<File, Fault> {
        Ok(File::open("/dev/null").unwrap())
    }
}

/// Artifacts whose making or sealing fails.
struct Failing {
    folder: Arc<TempArtifacts>,
    create: bool,
}

impl ArtifactSink for Failing {
    fn create(&self, role: &str, extension: &str) -> Result<Option<OpenArtifact>, Fault> {
        if self.create {
            return Err(Fault::new(Failure::ExecutionFailed, "the folder is gone"));
        }
        self.folder.create(role, extension)
    }

    fn seal(&self, _artifact: OpenArtifact, _bytes: u64, _hash: Hash) -> Result<Artifact, Fault> {
        Err(Fault::new(Failure::ExecutionFailed, "the sync failed"))
    }

    fn discard(&self, _artifact: &Artifact) {}

    fn open(&self, path: &str) -> Result<File, Fault> {
        self.folder.open(path)
    }
}

async fn fault(job: CommandJob) -> Fault {
    let marker = job.marker.clone();
    let (spawner, tasks, cancel) = (CommandSpawner::new().unwrap(), TaskRegistry::new(), CancelToken::new());
    let call = run_command(&spawner, &tasks, job, None, &cancel);
    let outcome = tokio::time::timeout(Duration::from_secs(10), call).await.expect("the call returns");
    let CommandOutcome::Failed(fault) = outcome else { panic!("{outcome:?}") };
    assert_eq!(survivors(&marker), Vec::<i32>::new());
    fault
}

#[tokio::test]
async fn a_full_disk_ends_the_command_with_a_fault_that_says_what_was_kept() {
    let fault = fault(shell_job("yes", Arc::new(FullDisk))).await;
    expect![[r#"
        Fault {
            failure: ExecutionFailed,
            message: "the output could not be kept: No space left on device (os error 28); the first 0 bytes of stdout are in `stdout.log`, which is not complete",
            details: Some(
                {
                    "stream": String("stdout"),
                    "keptBytes": Number(0),
                    "path": String("stdout.log"),
                },
            ),
            hint: Some(
                "Make room where the runs are kept, then run the command again.",
            ),
            retryable: None,
        }
    "#]]
    .assert_debug_eq(&fault);
}

#[tokio::test]
async fn an_artifact_that_cannot_be_made_or_sealed_is_a_fault_as_well() {
    let failing = |create| Arc::new(Failing { folder: TempArtifacts::new(), create });
    let unmade = fault(shell_job("yes", failing(true))).await.message;
    let unsealed = fault(shell_job("yes | head -c 100000", failing(false))).await.message;
    expect![[r#"
        (
            "the output could not be kept: the folder is gone; nothing of stdout was kept",
            "the output could not be kept: the sync failed; the first 100000 bytes of stdout are in `stdout-0.log`, which is not complete",
        )
    "#]]
    .assert_debug_eq(&(unmade, unsealed));
}

#[tokio::test]
async fn a_short_output_needs_no_disk() {
    let small = shell_job(&format!("head -c {HEAD_BYTES} /dev/zero"), Arc::new(FullDisk));
    let outcome =
        run_command(&CommandSpawner::new().unwrap(), &TaskRegistry::new(), small, None, &CancelToken::new())
            .await;
    assert!(matches!(outcome, CommandOutcome::Completed(_)), "{outcome:?}");
}
