//! A second driver, written against the public interface alone: one action at a time, no tasks and no timers.
//!
//! It must leave the same record as the local driver, byte for byte, also where an answer is lost and a call is
//! dispatched again.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use engine::driver::{CallDispatch, DriverAction, InterruptedRun, PlanExecution};
use engine::{ManualClock, Policy, ResumeRequest, RunCancel, RunPlace, RunReport, RunRequest};
use envelope::{Failure, ToolResult};
use journal::{JournalRecord, RunFolder, RunKind};
use plan::{MachineInput, RunStatus};
use serde_json::{Value, json};

use crate::support::{Build, ScriptedApprover, TestEngine, plan};

const LOGS: [&str; 4] = ["run.json", "calls.jsonl", "results.jsonl", "events.jsonl"];

/// Whether answers of calls reach the driver.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Network {
    Reliable,
    /// The call is made and its answer does not arrive, so the driver dispatches it again.
    LosesEveryAnswer,
}

/// Carries out one action after another, in the order in which they were handed out.
struct SequentialDriver {
    run: PlanExecution,
    work: VecDeque<DriverAction>,
    network: Network,
    /// Moved by every timer, which ends at once.
    clock: Option<Arc<ManualClock>>,
    timers: Vec<u64>,
}

impl SequentialDriver {
    fn new(run: PlanExecution, network: Network) -> SequentialDriver {
        SequentialDriver { run, work: VecDeque::new(), network, clock: None, timers: Vec::new() }
    }

    /// Carries out the next action. Returns false when the run is finished.
    async fn step(&mut self) -> bool {
        self.work.extend(self.run.take_actions());
        if self.run.is_finished() {
            return false;
        }
        let input = match self.work.pop_front().expect("an unfinished run waits for something") {
            DriverAction::Dispatch(call) => MachineInput::Done(self.dispatch(*call).await),
            DriverAction::Confirm(question) => question.ask().await,
            DriverAction::StartTimer { id, after_ms } => {
                self.timers.push(after_ms);
                if let Some(clock) = &self.clock {
                    clock.advance_ms(i64::try_from(after_ms).unwrap());
                }
                MachineInput::TimerFired(id)
            }
        };
        self.run.accept(input);
        true
    }

    async fn dispatch(&self, call: CallDispatch) -> ToolResult {
        if self.network == Network::LosesEveryAnswer {
            let lost = Box::pin(call.clone().run()).await;
            assert_eq!(lost.call_id, call.call().call_id);
        }
        Box::pin(call.run()).await
    }

    async fn drive(mut self) -> (RunReport, Vec<u64>) {
        while self.step().await {}
        (self.run.finish().await, self.timers)
    }
}

fn one_at_a_time(approver: ScriptedApprover) -> TestEngine {
    let mut policy = Policy::cautious();
    policy.limits.max_concurrency = std::num::NonZeroU32::MIN;
    Build { policy, approver, ..Build::default() }.test_engine()
}

fn request(test_engine: &TestEngine, whole: &Value, folder: &Path) -> RunRequest {
    RunRequest {
        plan: test_engine.check(whole),
        place: RunPlace::Disk(folder.join("runs").into()),
        kind: RunKind::Plan,
        undoes: Vec::new(),
        session: None,
        asks_always: false,
        continues: None,
        planner_version: Some("a model".to_owned()),
        cancel: RunCancel::new(),
        forecaster: None,
        approved: None,
        budget: None,
    }
}

async fn start(test_engine: &TestEngine, whole: &Value, folder: &Path) -> PlanExecution {
    PlanExecution::start(&test_engine.engine, request(test_engine, whole, folder)).await.unwrap()
}

/// A confirmation, a foreach, a retry with its timer, a skipped failure with its dependent, and a large result.
fn varied_plan() -> Value {
    plan(json!([
        { "id": "look", "tool": "test.look", "args": { "act": "big", "text": "a" }, "captureAs": "found" },
        { "id": "each", "tool": "test.write", "args": { "text": "{n}", "path": "{n}.md" },
          "foreach": { "from": ["x", "y", "z"], "itemName": "n" }, "dependsOn": ["look"] },
        { "id": "outage", "tool": "test.look", "args": { "act": "unavailable", "text": "o" }, "dependsOn": ["each"],
          "onError": "retry", "retry": { "maxAttempts": 4, "backoffMs": 5 } },
        { "id": "half", "tool": "test.write", "args": { "act": "halfDone", "path": "b.md" }, "onError": "skip",
          "dependsOn": ["outage"] },
        { "id": "after", "tool": "test.look", "args": { "text": "{steps.half.text}" } },
        { "id": "last", "tool": "test.write", "args": { "act": "progress", "text": "$steps.look.text" },
          "dependsOn": ["outage"] }
    ]))
}

fn record(report: &RunReport) -> [String; 4] {
    let run_dir = report.run_dir.as_ref().unwrap();
    LOGS.map(|name| std::fs::read_to_string(run_dir.join(name)).unwrap())
}

fn intact(run_dir: &Path) {
    assert_eq!(journal::verify(run_dir, None).unwrap().problems, []);
    let replayed = journal::replay(run_dir).unwrap();
    assert_eq!(replayed.divergences, []);
    assert!(replayed.complete);
}

fn recorded_results(run_dir: &Path) -> Vec<ToolResult> {
    let folder = RunFolder::open(run_dir).unwrap();
    let result = |record| if let JournalRecord::Result(result) = record { Some(*result) } else { None };
    folder.records().unwrap().filter_map(|entry| result(entry.unwrap().record)).collect()
}

#[tokio::test]
async fn another_driver_leaves_the_same_record_byte_for_byte() {
    let local = {
        let (test_engine, folder) = (one_at_a_time(ScriptedApprover::yes()), tempfile::tempdir().unwrap());
        *test_engine.work.outages.lock().unwrap() = 2;
        let report =
            test_engine.engine.run_plan(request(&test_engine, &varied_plan(), folder.path())).await.unwrap();
        intact(report.run_dir.as_ref().unwrap());
        assert_eq!(test_engine.approver.asked().len(), 1);
        (
            record(&report),
            test_engine.work.begun(),
            serde_json::to_value(&report.steps).unwrap(),
            report.chain_head,
        )
    };
    assert_eq!(local.1, ["a", "x", "y", "z", "o", "o", "o", "", "a"]);
    for network in [Network::Reliable, Network::LosesEveryAnswer] {
        let (test_engine, folder) = (one_at_a_time(ScriptedApprover::yes()), tempfile::tempdir().unwrap());
        *test_engine.work.outages.lock().unwrap() = 2;
        let run = start(&test_engine, &varied_plan(), folder.path()).await;
        let (report, timers) = SequentialDriver::new(run, network).drive().await;
        intact(report.run_dir.as_ref().unwrap());
        for (ours, theirs) in record(&report).iter().zip(&local.0) {
            assert_eq!(ours, theirs);
        }
        assert_eq!(test_engine.work.begun(), local.1, "no call is made twice");
        assert_eq!(serde_json::to_value(&report.steps).unwrap(), local.2);
        assert_eq!(report.chain_head, local.3);
        assert_eq!(timers.len(), 2);
    }
}

#[tokio::test]
async fn a_timer_lasts_as_long_as_the_clock_of_the_driver_says() {
    let (test_engine, folder) = (one_at_a_time(ScriptedApprover::yes()), tempfile::tempdir().unwrap());
    *test_engine.work.outages.lock().unwrap() = 2;
    let run = start(&test_engine, &varied_plan(), folder.path()).await;
    let driver = SequentialDriver {
        clock: Some(test_engine.clock.clone()),
        ..SequentialDriver::new(run, Network::LosesEveryAnswer)
    };
    let (report, timers) = driver.drive().await;
    let events = test_engine.events();
    let lasted = events.last().unwrap().timestamp.as_millisecond() - events[0].timestamp.as_millisecond();
    assert_eq!(lasted, timers.iter().map(|&ms| i64::try_from(ms).unwrap()).sum::<i64>());
    assert!(lasted > 0);
    intact(report.run_dir.as_ref().unwrap());
}

#[tokio::test]
async fn a_declined_run_leaves_the_same_record_byte_for_byte() {
    let (test_engine, folder) = (one_at_a_time(ScriptedApprover::no()), tempfile::tempdir().unwrap());
    let local =
        test_engine.engine.run_plan(request(&test_engine, &varied_plan(), folder.path())).await.unwrap();
    let (test_engine, other) = (one_at_a_time(ScriptedApprover::no()), tempfile::tempdir().unwrap());
    let run = start(&test_engine, &varied_plan(), other.path()).await;
    let (report, _) = SequentialDriver::new(run, Network::Reliable).drive().await;
    assert_eq!(report.status, RunStatus::Declined);
    assert_eq!(record(&report), record(&local));
}

#[tokio::test]
async fn a_journal_in_memory_has_the_same_lines_as_one_on_disk() {
    let (test_engine, folder) = (one_at_a_time(ScriptedApprover::yes()), tempfile::tempdir().unwrap());
    let on_disk =
        test_engine.engine.run_plan(request(&test_engine, &varied_plan(), folder.path())).await.unwrap();
    let test_engine = one_at_a_time(ScriptedApprover::yes());
    let in_memory =
        RunRequest { place: RunPlace::Memory, ..request(&test_engine, &varied_plan(), folder.path()) };
    let run = PlanExecution::start(&test_engine.engine, in_memory).await.unwrap();
    let journal = run.journal().clone();
    let (report, _) = SequentialDriver::new(run, Network::LosesEveryAnswer).drive().await;
    let kinds = [journal::LogKind::Call, journal::LogKind::Result, journal::LogKind::Event];
    for (kind, theirs) in kinds.into_iter().zip(&record(&on_disk)[1..]) {
        assert_eq!(journal.lines(kind).len(), theirs.lines().count());
    }
    assert_eq!(serde_json::to_value(report.steps).unwrap(), serde_json::to_value(on_disk.steps).unwrap());
}

#[tokio::test]
async fn results_reach_the_machine_in_the_order_of_the_record() {
    let test_engine =
        Build { policy: Policy::cautious(), approver: ScriptedApprover::yes(), ..Build::default() }
            .test_engine();
    let folder = tempfile::tempdir().unwrap();
    let whole = plan(json!([
        { "id": "a", "tool": "test.look", "args": { "text": "a" } },
        { "id": "b", "tool": "test.look", "args": { "act": "fail", "text": "b" } },
        { "id": "c", "tool": "test.look", "args": { "text": "c" }, "dependsOn": ["a"] },
        { "id": "d", "tool": "test.write", "args": { "text": "d" }, "dependsOn": ["c"] }
    ]));
    let mut run = start(&test_engine, &whole, folder.path()).await;
    let mut work = VecDeque::new();
    loop {
        work.extend(run.take_actions());
        if run.is_finished() {
            break;
        }
        // Everything that is due is carried out, and the answers come back in the wrong order.
        let mut answers = Vec::new();
        for action in work.drain(..) {
            answers.push(match action {
                DriverAction::Dispatch(call) => MachineInput::Done(call.run().await),
                DriverAction::Confirm(question) => question.ask().await,
                DriverAction::StartTimer { id, .. } => MachineInput::TimerFired(id),
            });
        }
        answers.into_iter().rev().for_each(|answer| run.accept(answer));
    }
    let report = run.finish().await;
    intact(report.run_dir.as_ref().unwrap());
    assert_eq!(report.status, RunStatus::Failed);
}

#[tokio::test]
async fn a_late_second_answer_changes_nothing() {
    let (test_engine, folder) = (one_at_a_time(ScriptedApprover::yes()), tempfile::tempdir().unwrap());
    let whole = plan(json!([
        { "id": "a", "tool": "test.write", "args": { "text": "a", "path": "a.md" } },
        { "id": "b", "tool": "test.write", "args": { "text": "b", "path": "b.md" }, "dependsOn": ["a"] }
    ]));
    let mut run = start(&test_engine, &whole, folder.path()).await;
    let mut work = VecDeque::new();
    loop {
        work.extend(run.take_actions());
        if run.is_finished() {
            break;
        }
        match work.pop_front().unwrap() {
            DriverAction::Dispatch(call) => {
                let result = call.run().await;
                run.accept(MachineInput::Done(result.clone()));
                run.accept(MachineInput::Done(result));
            }
            DriverAction::Confirm(question) => run.accept(question.ask().await),
            DriverAction::StartTimer { id, .. } => run.accept(MachineInput::TimerFired(id)),
        }
    }
    let report = run.finish().await;
    let created: Vec<_> = report.effects.created.iter().map(|created| created.path.as_str()).collect();
    assert_eq!(created, ["a.md", "b.md"], "no effect is counted twice");
    intact(report.run_dir.as_ref().unwrap());
}

#[tokio::test]
async fn two_dispatches_at_the_same_time_make_one_call() {
    let (test_engine, folder) = (one_at_a_time(ScriptedApprover::yes()), tempfile::tempdir().unwrap());
    let whole = plan(json!([{ "id": "a", "tool": "test.write", "args": { "text": "a", "path": "a.md" } }]));
    let mut run = start(&test_engine, &whole, folder.path()).await;
    while !run.is_finished() {
        for action in run.take_actions() {
            match action {
                DriverAction::Dispatch(call) => {
                    let (first, second) = tokio::join!(call.clone().run(), call.run());
                    assert_eq!(first, second);
                    run.accept(MachineInput::Done(second));
                }
                DriverAction::Confirm(question) => run.accept(question.ask().await),
                DriverAction::StartTimer { .. } => panic!("no timer is due"),
            }
        }
    }
    let report = run.finish().await;
    assert_eq!(test_engine.work.begun(), ["a"]);
    assert_eq!(recorded_results(report.run_dir.as_ref().unwrap()).len(), 1);
    intact(report.run_dir.as_ref().unwrap());
}

/// Starts a plan of one call, which waits in the middle of its work. Returns the call before it is dispatched.
async fn start_waiting_call(
    test_engine: &TestEngine,
    tool: &str,
    risk: &str,
    folder: &Path,
) -> (PlanExecution, CallDispatch) {
    let mut whole = plan(json!([{ "id": "a", "tool": tool, "args": { "act": "door", "text": "a" } }]));
    whole["riskLevel"] = risk.into();
    let mut run = start(test_engine, &whole, folder).await;
    loop {
        let Some(action) = run.take_actions().pop() else { panic!("the run has no next action") };
        match action {
            DriverAction::Dispatch(call) => return (run, *call),
            DriverAction::Confirm(question) => run.accept(question.ask().await),
            DriverAction::StartTimer { .. } => panic!("no timer is due"),
        }
    }
}

/// Runs a plan of one call up to the middle of the call, on a runtime of its own that is then shut down.
async fn lose_worker(
    test_engine: &TestEngine,
    tool: &str,
    risk: &str,
    folder: &Path,
) -> (PlanExecution, CallDispatch) {
    let (run, call) = start_waiting_call(test_engine, tool, risk, folder).await;
    let worker = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    worker.spawn(call.clone().run());
    test_engine.work.waiting.notified().await;
    worker.shutdown_background();
    (run, call)
}

#[tokio::test]
async fn a_call_goes_on_after_its_answer_was_dropped_and_the_next_dispatch_gets_its_result() {
    let (test_engine, folder) = (one_at_a_time(ScriptedApprover::yes()), tempfile::tempdir().unwrap());
    let (mut run, call) = start_waiting_call(&test_engine, "test.write", "writes", folder.path()).await;
    let mut dropped = Box::pin(call.clone().run());
    tokio::select! {
        biased;
        _result = &mut dropped => panic!("the call waits"),
        () = test_engine.work.waiting.notified() => {}
    }
    drop(dropped);
    test_engine.work.open.notify_one();
    let result = call.run().await;
    assert!(result.ok && !result.reconciled);
    run.accept(MachineInput::Done(result));
    let report = run.finish().await;
    assert_eq!(report.status, RunStatus::Ok);
    assert_eq!(test_engine.work.begun(), ["a"], "it is not made again");
    intact(report.run_dir.as_ref().unwrap());
    assert_eq!(recorded_results(report.run_dir.as_ref().unwrap()).len(), 1);
}

#[tokio::test]
async fn a_call_whose_worker_died_is_reconciled_and_keeps_its_id() {
    let (test_engine, folder) = (one_at_a_time(ScriptedApprover::yes()), tempfile::tempdir().unwrap());
    *test_engine.work.happened.lock().unwrap() = Some(true);
    let (mut run, call) = lose_worker(&test_engine, "test.write", "writes", folder.path()).await;
    let id = call.call().call_id.clone();
    let result = call.run().await;
    assert!(result.ok && result.reconciled);
    assert_eq!(result.call_id, id);
    run.accept(MachineInput::Done(result));
    assert!(run.is_finished());
    let report = run.finish().await;
    assert_eq!(report.status, RunStatus::Ok);
    assert_eq!(test_engine.work.begun(), ["a"], "it is not made again");
    intact(report.run_dir.as_ref().unwrap());
    assert_eq!(recorded_results(report.run_dir.as_ref().unwrap()).len(), 1);
}

#[tokio::test]
async fn a_command_whose_worker_died_is_never_made_twice_blindly() {
    let (test_engine, folder) = (one_at_a_time(ScriptedApprover::yes()), tempfile::tempdir().unwrap());
    let (mut run, call) = lose_worker(&test_engine, "test.command", "commands", folder.path()).await;
    let again = call.clone();
    let result = call.run().await;
    let error = result.error.clone().unwrap();
    assert_eq!(error.kind, Some(Failure::ExecutionFailed));
    assert_eq!(error.details.unwrap()["outcome"], "unknown");
    assert_eq!(again.run().await, result, "one more dispatch gets the same record");
    run.accept(MachineInput::Done(result));
    let report = run.finish().await;
    assert_eq!(report.status, RunStatus::Failed);
    assert_eq!(test_engine.work.begun(), ["a"]);
    assert!(test_engine.approver.asked().iter().any(|question| question.contains("uncertain because")));
    intact(report.run_dir.as_ref().unwrap());
}

#[tokio::test]
async fn a_run_is_resumed_under_another_driver() {
    for steps in 1..9 {
        let (test_engine, folder) = (one_at_a_time(ScriptedApprover::yes()), tempfile::tempdir().unwrap());
        *test_engine.work.outages.lock().unwrap() = 2;
        let run = start(&test_engine, &varied_plan(), folder.path()).await;
        let run_dir: PathBuf = run.journal().run_dir().unwrap().to_owned();
        let mut driver = SequentialDriver::new(run, Network::Reliable);
        for _ in 0..steps {
            assert!(driver.step().await);
        }
        // The first driver is gone without a word.
        drop(driver);
        let request = ResumeRequest { run_dir: run_dir.clone(), cancel: RunCancel::new(), forecaster: None };
        let interrupted = InterruptedRun::open(request).unwrap();
        assert_eq!(interrupted.kind(), RunKind::Plan);
        let run = PlanExecution::resume(&test_engine.engine, interrupted).unwrap();
        let (report, _) = SequentialDriver::new(run, Network::LosesEveryAnswer).drive().await;
        assert_eq!(report.status, RunStatus::Failed, "one step was skipped");
        assert_eq!(
            test_engine.work.begun(),
            ["a", "x", "y", "z", "o", "o", "o", "", "a"],
            "after {steps} steps"
        );
        intact(&run_dir);
    }
}

#[tokio::test]
async fn a_cancelled_run_hands_out_no_further_call() {
    let (test_engine, folder) = (one_at_a_time(ScriptedApprover::yes()), tempfile::tempdir().unwrap());
    let mut driver =
        SequentialDriver::new(start(&test_engine, &varied_plan(), folder.path()).await, Network::Reliable);
    assert!(driver.step().await && driver.step().await);
    driver.run.accept(MachineInput::CancelRequested { reason: "enough".to_owned() });
    let (report, _) = driver.drive().await;
    assert_eq!(report.status, RunStatus::Cancelled);
    assert_eq!(test_engine.work.begun(), ["a"]);
    intact(report.run_dir.as_ref().unwrap());
}
