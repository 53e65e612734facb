//! Runs that must be closed whatever becomes of those who use them.

use std::future::pending;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use engine::{
    ApprovalDecision, ApprovalRequest, Approver, ConfirmAnswer, ConfirmRequest, Engine, EngineParts,
    ManualClock, Mode, Policy, Purpose, SeededIds, UncertainCall, UncertainDecision,
};
use envelope::{EventType, Fault, Idempotency, Risk, RunId, SideEffect};
use journal::{JournalRecord, RunFolder};
use receipts::families::external;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use toolkit::{
    BoxFuture, CleanupRecord, ProjectedResult, Projection, Registry, RunCleanup, Surface, SurfaceRules, Tool,
    ToolCx,
};

use super::{EngineFactory, EngineToolbox};
use crate::answer::{ServerCall, Toolbox};
use call_session::ReloadOutcome;
use call_session::{ApproverFactory, ToolChoice};

const LIMIT: Duration = Duration::from_secs(60);

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Nothing {}

/// By name alone: what matters here comes before and after the work.
struct Named<const WRITES: bool>;

impl<const WRITES: bool> Tool for Named<WRITES> {
    const NAME: &'static str = if WRITES { "test.write" } else { "test.look" };
    const SUMMARY: &'static str = "Do nothing";
    const CATEGORY: &'static str = "test";
    const RISK: Risk = if WRITES { Risk::Writes } else { Risk::ReadOnly };
    const SIDE_EFFECTS: &'static [SideEffect] = if WRITES { &[SideEffect::EditBuffer] } else { &[] };
    const IDEMPOTENCY: Idempotency = Idempotency::Idempotent;

    type Args = Nothing;
    type Output = Nothing;

    fn preview(&self, _args: &Nothing) -> String {
        "Do nothing".to_owned()
    }

    async fn run(&self, _cx: &ToolCx, _args: Nothing) -> Result<Nothing, Fault> {
        Ok(Nothing {})
    }

    fn summary(&self, _output: &Nothing) -> String {
        "Did nothing".to_owned()
    }

    fn project(&self, output: &Self::Output, with: &mut Projection<'_>) -> Result<ProjectedResult, Fault> {
        external::project(output, with)
    }
}

/// A person who never answers, and a run that does not end before it may.
#[derive(Default)]
struct Slow {
    asked: Notify,
    closing: Notify,
    may_close: Notify,
}

impl Approver for Slow {
    fn confirm<'a>(&'a self, _request: &'a ConfirmRequest) -> BoxFuture<'a, ConfirmAnswer> {
        Box::pin(pending())
    }

    fn approve<'a>(&'a self, _request: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalDecision> {
        self.asked.notify_one();
        Box::pin(pending())
    }

    fn settle<'a>(&'a self, _uncertain: &'a UncertainCall) -> BoxFuture<'a, UncertainDecision> {
        Box::pin(pending())
    }
}

impl RunCleanup for Slow {
    fn close<'a>(&'a self, _run: &'a RunId) -> BoxFuture<'a, Vec<CleanupRecord>> {
        Box::pin(async {
            self.closing.notify_one();
            self.may_close.notified().await;
            Vec::new()
        })
    }
}

fn tools(slow: &Arc<Slow>, runs: &Path) -> EngineToolbox {
    let maker = maker(slow, &Arc::new(Mutex::new(Ok(Mode::Ask))));
    EngineToolbox::new(maker, asking(slow), runs.to_owned().into(), None, &ToolChoice::default(), None)
        .unwrap()
}

/// All calls use the same approver.
fn asking(slow: &Arc<Slow>) -> ApproverFactory {
    let slow = slow.clone();
    Arc::new(move |_, _| slow.clone())
}

/// Gates in the mode of the moment, or none.
fn maker(slow: &Arc<Slow>, mode: &Arc<Mutex<Result<Mode, String>>>) -> EngineFactory {
    let (slow, mode, ids) = (slow.clone(), mode.clone(), Arc::new(SeededIds::new(7)));
    let make = move || {
        let mode = mode.lock().unwrap().clone()?;
        let mut registry = Registry::new();
        registry.register(Named::<true>).unwrap();
        registry.register(Named::<false>).unwrap();
        let surface = Surface::new(&registry, &Default::default(), &SurfaceRules::default());
        Engine::new(EngineParts {
            surface: Arc::new(surface),
            policy: Policy { mode, ..Policy::cautious() },
            hooks: Vec::new(),
            clock: Arc::new(ManualClock::at("2026-01-02T03:04:05Z".parse().unwrap())),
            ids: ids.clone(),
            approver: slow.clone(),
            observer: None,
            executor_version: "test".into(),
            purpose: Purpose::Act,
            forecaster: None,
            cleanup: Some(slow.clone()),
        })
        .map_err(|error| error.to_string())
    };
    Arc::new(make)
}

#[tokio::test]
async fn a_call_after_a_change_is_made_in_another_run_of_the_same_answer_or_not_at_all() {
    let (runs, slow) = (tempfile::tempdir().unwrap(), Arc::new(Slow::default()));
    // Both runs may end.
    slow.may_close.notify_one();
    let mode = Arc::new(Mutex::new(Ok(Mode::Trusted)));
    let next: Arc<Mutex<Option<Result<Mode, String>>>> = Arc::default();
    let look = {
        let (mode, next) = (mode.clone(), next.clone());
        move || {
            let Some(next) = next.lock().unwrap().take() else { return ReloadOutcome::Same };
            let looked = if next.is_ok() { ReloadOutcome::Changed } else { ReloadOutcome::Unusable };
            *mode.lock().unwrap() = next;
            looked
        }
    };
    let folder = runs.path().to_owned().into();
    let tools = EngineToolbox::new(
        maker(&slow, &mode),
        asking(&slow),
        folder,
        Some(Arc::new(look)),
        &ToolChoice::default(),
        None,
    )
    .unwrap();
    let run = tools.open("Write", "m", None, None).unwrap();
    let first = run.run_id();
    assert!(run.call(write()).await.ok);
    assert_eq!(run.run_id(), first);

    *next.lock().unwrap() = Some(Ok(Mode::ReadOnly));
    let refused = run.call(write()).await;
    assert!(!refused.ok && refused.receipt.contains("policy_blocked"), "{}", refused.receipt);
    assert_ne!(run.run_id(), first);

    *next.lock().unwrap() = Some(Err("nobody trusts them".to_owned()));
    for _ in 0..2 {
        let refused = run.call(write()).await;
        assert_eq!((refused.ok, &*refused.receipt), (false, "not run: nobody trusts them"));
    }
    *next.lock().unwrap() = Some(Ok(Mode::Trusted));
    assert!(run.call(write()).await.ok);
    assert_eq!(std::fs::read_dir(runs.path()).unwrap().count(), 3);
}

fn write() -> ServerCall {
    ServerCall { name: "test_write".to_owned(), arguments: serde_json::Map::new() }
}

/// Returns the end of the only run, from its record.
fn last_word(runs: &Path) -> String {
    let run_dir = std::fs::read_dir(runs).unwrap().next().unwrap().unwrap().path();
    let verified = journal::verify(&run_dir, None).unwrap();
    assert!(verified.finished && verified.problems.is_empty(), "{:?}", verified.problems);
    let folder = RunFolder::open(&run_dir).unwrap();
    let names: Vec<&str> = folder.header().tools.iter().map(|tool| tool.name().as_str()).collect();
    assert_eq!(names, ["test.look", "test.write"]);
    let ends = folder.records().unwrap().filter_map(|entry| match entry.unwrap().record {
        JournalRecord::Event(event) if event.event_type == EventType::RunFinished => Some(event.message),
        JournalRecord::Event(_) | JournalRecord::Call(_) | JournalRecord::Result(_) => None,
    });
    ends.collect::<Vec<_>>().join("; ")
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_for_a_yes_ends_when_the_server_stops_and_its_run_is_closed() {
    let (runs, slow) = (tempfile::tempdir().unwrap(), Arc::new(Slow::default()));
    let tools = tools(&slow, runs.path());
    let run = tools.open("Write", "m", None, None).unwrap();
    let calling = tokio::spawn(run.call(write()));
    slow.asked.notified().await;
    tools.runs().stop();
    assert_eq!(calling.await.unwrap().status, "cancelled");
    drop(run);
    slow.may_close.notify_one();
    tools.runs().finish(LIMIT).await;
    assert_eq!(last_word(runs.path()), "cancelled: the server stopped");
}

#[tokio::test(start_paused = true)]
async fn a_close_that_nobody_waits_for_any_more_is_not_cut_in_half() {
    let (runs, slow) = (tempfile::tempdir().unwrap(), Arc::new(Slow::default()));
    let tools = tools(&slow, runs.path());
    let run = tools.open("Write", "m", None, None).unwrap();
    let mut closing = run.close(Some("the answer was cancelled".to_owned()));
    assert_eq!(closing.as_mut().poll(&mut Context::from_waker(Waker::noop())), Poll::Pending);
    slow.closing.notified().await;
    drop((closing, run));
    slow.may_close.notify_one();
    tools.runs().finish(LIMIT).await;
    assert_eq!(last_word(runs.path()), "cancelled: the answer was cancelled");
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_server_does_not_wait_for_ever() {
    let (runs, slow) = (tempfile::tempdir().unwrap(), Arc::new(Slow::default()));
    let tools = tools(&slow, runs.path());
    drop(tools.open("Write", "m", None, None).unwrap());
    let before = tokio::time::Instant::now();
    tools.runs().finish(LIMIT).await;
    assert_eq!(before.elapsed(), LIMIT);
}

#[tokio::test]
async fn a_tool_that_is_named_twice_is_offered_once() {
    let (runs, slow) = (tempfile::tempdir().unwrap(), Arc::new(Slow::default()));
    let tools = tools(&slow, runs.path());
    let names = ["test_write", "test.look", "test.write", "test_look"].map(str::to_owned);
    let offered: Vec<String> = tools.tools(Some(&names)).unwrap().into_iter().map(|tool| tool.name).collect();
    assert_eq!(offered, ["test_write", "test_look"]);
    let error = tools.tools(Some(&["test_wrte".to_owned()])).unwrap_err();
    assert!(error.message.contains("did you mean `test_write`?"), "{}", error.message);
}
