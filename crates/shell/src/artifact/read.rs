//! The tool.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use envelope::{Failure, Family, Fault, Idempotency, Risk, SideEffect};
use toolkit::families::artifact::{self, Slice};
use toolkit::families::{Projected, Projection};
use toolkit::{CancelCause, Tool, ToolCx};

use super::args::{Args, Ask};
use super::grep::Needle;
use super::pages::Pages;
use super::past_runs::{Opened, PastRuns, open};
use super::{LIMITS, grep};

pub(super) struct ReadArtifact {
    pub(super) past: Option<Arc<dyn PastRuns>>,
}

impl Tool for ReadArtifact {
    const NAME: &'static str = "artifact.read";
    const SUMMARY: &'static str =
        "Read lines or bytes of an artifact that a call left, search it, or see its beginning and end.";
    const CATEGORY: &'static str = "artifact";
    const FAMILY: Family = Family::Artifact;
    const RISK: Risk = Risk::ReadOnly;
    const SIDE_EFFECTS: &'static [SideEffect] = &[];
    const IDEMPOTENCY: Idempotency = Idempotency::Idempotent;
    // For a search through many gigabytes.
    const TIMEOUT_MS: u64 = 120_000;

    type Args = Args;
    type Output = Slice;

    async fn validate(&self, _cx: &ToolCx, args: &Args) -> Result<(), Fault> {
        args.check_path()?;
        match args.ask()? {
            Ask::Grep(grep) => Needle::compile(&grep).map(drop),
            Ask::Lines(_) | Ask::Bytes(_) | Ask::Head(_) | Ask::Tail(_) | Ask::HeadAndTail => Ok(()),
        }
    }

    fn preview(&self, args: &Args) -> String {
        format!("Read {}", args.path.escape_debug())
    }

    async fn run(&self, cx: &ToolCx, args: Args) -> Result<Slice, Fault> {
        args.check_path()?;
        let ask = args.ask()?;
        let abandoned = Arc::new(AtomicBool::new(false));
        let _guard = AbandonOnDrop(abandoned.clone());
        let (cx, past) = (cx.clone(), self.past.clone());
        let work = tokio::task::spawn_blocking(move || {
            let opened = open(&cx, past.as_ref(), args.run.as_deref(), &args.path)?;
            slice(opened, &args.path, &ask, &|| may_go_on(&cx, &abandoned))
        });
        work.await.unwrap_or_else(|error| {
            Err(Fault::new(Failure::ExecutionFailed, format!("the reading broke off: {error}")))
        })
    }

    fn budget(&self, args: &Args) -> Option<u32> {
        args.max_output_tokens
    }

    fn summary(&self, output: &Slice) -> String {
        artifact::summary(output)
    }

    fn project(&self, output: &Slice, with: &mut Projection<'_>) -> Result<Projected, Fault> {
        artifact::project(output, with)
    }
}

fn slice(
    Opened { file, run }: Opened,
    path: &str,
    ask: &Ask,
    go_on: super::GoOn<'_>,
) -> Result<Slice, Fault> {
    let unreadable = |error: std::io::Error| {
        Fault::new(Failure::ExecutionFailed, format!("the artifact `{path}` cannot be read: {error}"))
    };
    // What is still being written has the size that it has now.
    let total = file.metadata().map_err(unreadable)?.len();
    let mut pages = Pages::<File>::new(file, total, LIMITS, go_on);
    let mut slice = match ask {
        Ask::Lines(lines) => pages.lines(*lines)?,
        Ask::Bytes(bytes) => pages.bytes(*bytes)?,
        Ask::Head(lines) => pages.head(*lines)?,
        Ask::Tail(lines) => pages.tail(*lines)?,
        Ask::HeadAndTail => pages.head_and_tail()?,
        Ask::Grep(query) => grep::search(&mut pages, query)?,
    };
    path.clone_into(&mut slice.path);
    slice.run = run;
    Ok(slice)
}

/// Set when the call's future is dropped: its thread goes on to the end of its block, but no further.
struct AbandonOnDrop(Arc<AtomicBool>);

impl Drop for AbandonOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

fn may_go_on(cx: &ToolCx, abandoned: &AtomicBool) -> Result<(), Fault> {
    let stopped = |failure, why: &str| Err(Fault::new(failure, format!("stopped: {why}")));
    match cx.cancel().cause() {
        Some(CancelCause::Run) => stopped(Failure::Canceled, "the run was cancelled"),
        Some(CancelCause::Sibling) => stopped(Failure::SiblingCanceled, "a sibling failed"),
        Some(CancelCause::Deadline) => stopped(Failure::Timeout, "the time of the call is up"),
        None if abandoned.load(Ordering::Acquire) => {
            stopped(Failure::Canceled, "nobody waits for the call any more")
        }
        None => Ok(()),
    }
}
