//! The tool `artifact.read`.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use envelope::{Failure, Fault, Idempotency, ReceiptFamily, Risk, SideEffect};
use receipts::families::artifact::{self, ArtifactSlice};
use toolkit::{CancelCause, ProjectedResult, Projection, Tool, ToolCx};

use super::args::{Args, ArtifactQuery};
use super::grep::CompiledPattern;
use super::past_runs::{OpenedArtifact, PastRuns, open};
use super::reader::ArtifactReader;
use super::{LIMITS, grep};

pub(super) struct ReadArtifact {
    pub(super) past: Option<Arc<dyn PastRuns>>,
}

impl Tool for ReadArtifact {
    const NAME: &'static str = "artifact.read";
    const SUMMARY: &'static str =
        "Read lines or bytes of an artifact that a call left, search it, or see its beginning and end.";
    const CATEGORY: &'static str = "artifact";
    const FAMILY: ReceiptFamily = ReceiptFamily::Artifact;
    const RISK: Risk = Risk::ReadOnly;
    const SIDE_EFFECTS: &'static [SideEffect] = &[];
    const IDEMPOTENCY: Idempotency = Idempotency::Idempotent;
    // Long enough to search many gigabytes.
    const TIMEOUT_MS: u64 = 120_000;

    type Args = Args;
    type Output = ArtifactSlice;

    async fn validate(&self, _cx: &ToolCx, args: &Args) -> Result<(), Fault> {
        args.check_path()?;
        match args.query()? {
            ArtifactQuery::Grep(grep) => CompiledPattern::compile(&grep).map(drop),
            ArtifactQuery::Lines(_)
            | ArtifactQuery::Bytes(_)
            | ArtifactQuery::Head(_)
            | ArtifactQuery::Tail(_)
            | ArtifactQuery::HeadAndTail => Ok(()),
        }
    }

    fn preview(&self, args: &Args) -> String {
        format!("Read {}", args.path.escape_debug())
    }

    async fn run(&self, cx: &ToolCx, args: Args) -> Result<ArtifactSlice, Fault> {
        args.check_path()?;
        let ask = args.query()?;
        let abandoned = Arc::new(AtomicBool::new(false));
        let _guard = AbandonReadOnDrop(abandoned.clone());
        let (cx, past) = (cx.clone(), self.past.clone());
        let work = tokio::task::spawn_blocking(move || {
            let opened = open(&cx, past.as_ref(), args.run.as_deref(), &args.path)?;
            read_slice(opened, &args.path, &ask, &|| check_cancelled(&cx, &abandoned))
        });
        work.await.unwrap_or_else(|error| {
            Err(Fault::new(Failure::ExecutionFailed, format!("the read failed: {error}")))
        })
    }

    fn budget(&self, args: &Args) -> Option<u32> {
        args.max_output_tokens
    }

    fn summary(&self, output: &ArtifactSlice) -> String {
        artifact::summary(output)
    }

    fn project(&self, output: &ArtifactSlice, with: &mut Projection<'_>) -> Result<ProjectedResult, Fault> {
        artifact::project(output, with)
    }
}

fn read_slice(
    OpenedArtifact { file, run }: OpenedArtifact,
    path: &str,
    ask: &ArtifactQuery,
    check_continue: super::ContinueCheck<'_>,
) -> Result<ArtifactSlice, Fault> {
    let unreadable = |error: std::io::Error| {
        Fault::new(Failure::ExecutionFailed, format!("the artifact `{path}` cannot be read: {error}"))
    };
    // A file that is still being written is read up to its current size.
    let total = file.metadata().map_err(unreadable)?.len();
    let mut pages = ArtifactReader::<File>::new(file, total, LIMITS, check_continue);
    let mut slice = match ask {
        ArtifactQuery::Lines(lines) => pages.lines(*lines)?,
        ArtifactQuery::Bytes(bytes) => pages.bytes(*bytes)?,
        ArtifactQuery::Head(lines) => pages.head(*lines)?,
        ArtifactQuery::Tail(lines) => pages.tail(*lines)?,
        ArtifactQuery::HeadAndTail => pages.head_and_tail()?,
        ArtifactQuery::Grep(query) => grep::search(&mut pages, query)?,
    };
    path.clone_into(&mut slice.path);
    slice.run = run;
    Ok(slice)
}

/// Set when the call's future is dropped: its thread finishes the current block and stops.
struct AbandonReadOnDrop(Arc<AtomicBool>);

impl Drop for AbandonReadOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

fn check_cancelled(cx: &ToolCx, abandoned: &AtomicBool) -> Result<(), Fault> {
    let stopped = |failure, why: &str| Err(Fault::new(failure, format!("stopped: {why}")));
    match cx.cancel().cause() {
        Some(CancelCause::Run) => stopped(Failure::Canceled, "the run was cancelled"),
        Some(CancelCause::Sibling) => stopped(Failure::SiblingCanceled, "a sibling failed"),
        Some(CancelCause::Deadline) => stopped(Failure::Timeout, "the time of the call is up"),
        None if abandoned.load(Ordering::Acquire) => stopped(Failure::Canceled, "the call was abandoned"),
        None => Ok(()),
    }
}
