//! Runs that continue a finished one: what is left is made, under a new approval.

use std::path::Path;

use crate::support::{Build, ScriptedApprover, TestEngine, plan};
use engine::driver::{DriverAction, PlanExecution};
use engine::{Policy, ResumeRequest, RunCancel, RunPlace, RunReport, RunRequest, continuation};
use journal::{Continuation, JournalRecord, RunFolder, RunKind};
use plan::{MachineInput, RunStatus};
use serde_json::{Value, json};

fn test_engine() -> TestEngine {
    Build { policy: Policy::cautious(), approver: ScriptedApprover::yes(), ..Build::default() }.test_engine()
}

/// A step that others read, a loop with an outage, and a step after both.
fn outage_plan() -> Value {
    plan(json!([
        { "id": "look", "tool": "test.look", "args": { "text": "a" } },
        { "id": "each", "tool": "test.write", "args": { "act": "$act", "text": "$steps.look.text", "path": "{index}.md" },
          "foreach": { "from": ["work", "unavailable", "work"], "itemName": "act", "concurrency": 1 } },
        { "id": "last", "tool": "test.write", "args": { "text": "$steps.look.text", "path": "last.md" },
          "dependsOn": ["each"] }
    ]))
}

fn request(test_engine: &TestEngine, folder: &Path, continues: Option<Continuation>) -> RunRequest {
    RunRequest {
        plan: test_engine.check(&outage_plan()),
        place: RunPlace::Disk(folder.join("runs").into()),
        kind: RunKind::Plan,
        undoes: Vec::new(),
        session: None,
        asks_always: false,
        continues,
        planner_version: None,
        cancel: RunCancel::new(),
        forecaster: None,
        approved: None,
        budget: None,
    }
}

/// Runs the plan with one outage, and reads what a run that continues it takes over.
async fn failed(test_engine: &TestEngine, folder: &Path) -> Continuation {
    *test_engine.work.outages.lock().unwrap() = 1;
    let report = test_engine.engine.run_plan(request(test_engine, folder, None)).await.unwrap();
    assert_eq!(report.status, RunStatus::Failed);
    let folder = RunFolder::open(report.run_dir.as_ref().unwrap()).unwrap();
    continuation(&folder, &test_engine.check(&outage_plan())).unwrap()
}

fn made(report: &RunReport) -> Vec<String> {
    let folder = RunFolder::open(report.run_dir.as_ref().unwrap()).unwrap();
    let call = |record| match record {
        JournalRecord::Call(call) => Some(call.args["path"].as_str().unwrap_or("-").to_owned()),
        JournalRecord::Result(_) | JournalRecord::Event(_) => None,
    };
    folder.records().unwrap().filter_map(|entry| call(entry.unwrap().record)).collect()
}

fn proves_itself(report: &RunReport) {
    let run_dir = report.run_dir.as_ref().unwrap();
    assert_eq!(journal::verify(run_dir, None).unwrap().problems, []);
    let replayed = journal::replay(run_dir).unwrap();
    assert_eq!((replayed.divergences, replayed.complete), (Vec::new(), true));
}

#[tokio::test(start_paused = true)]
async fn only_the_calls_that_are_left_are_made_under_a_new_approval() {
    let folder = tempfile::tempdir().unwrap();
    let test_engine = test_engine();
    let continues = failed(&test_engine, folder.path()).await;
    assert_eq!(continues.carried.len(), 3);
    // Only the output that the plan reads is copied.
    assert_eq!(continues.carried.iter().filter(|call| call.data.is_some()).count(), 1);
    let request = request(&test_engine, folder.path(), Some(continues));
    let report = test_engine.engine.run_plan(request).await.unwrap();
    assert_eq!(report.status, RunStatus::Ok);
    assert_eq!(made(&report), ["1.md", "last.md"]);
    assert_eq!(report.steps.iter().map(|step| step.carried).collect::<Vec<_>>(), [1, 2, 0]);
    assert!(report.confirmation_id.is_some());
    proves_itself(&report);
}

#[tokio::test(start_paused = true)]
async fn an_interrupted_run_that_continues_another_is_resumed_with_what_it_took_over() {
    let folder = tempfile::tempdir().unwrap();
    let test_engine = test_engine();
    let continues = failed(&test_engine, folder.path()).await;
    let request = request(&test_engine, folder.path(), Some(continues));
    let mut run = PlanExecution::start(&test_engine.engine, request).await.unwrap();
    for action in run.take_actions() {
        if let DriverAction::Confirm(question) = action {
            run.accept(question.ask().await);
        }
    }
    // One call is made; then the run is dropped, as by a crash.
    let first = run.take_actions().into_iter().next().unwrap();
    if let DriverAction::Dispatch(call) = first {
        run.accept(MachineInput::Done(call.run().await));
    }
    let run_dir = run.journal().run_dir().unwrap().to_path_buf();
    drop(run);
    let request = ResumeRequest { run_dir, cancel: RunCancel::new(), forecaster: None };
    let report = test_engine.engine.resume(request).await.unwrap();
    assert_eq!(report.status, RunStatus::Ok);
    assert_eq!(made(&report), ["1.md", "last.md"]);
    proves_itself(&report);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_may_have_happened_is_asked_about_whatever_the_rules_allow() {
    let folder = tempfile::tempdir().unwrap();
    let policy = Policy { mode: engine::Mode::Trusted, ..Policy::cautious() };
    let test_engine = Build { policy, approver: ScriptedApprover::yes(), ..Build::default() }.test_engine();
    let mut continues = failed(&test_engine, folder.path()).await;
    assert_eq!(continues.uncertain, []);
    let run = |continues| test_engine.engine.run_plan(request(&test_engine, folder.path(), Some(continues)));
    continues.uncertain.push(journal::UncertainCall {
        step_id: envelope::StepId::parse("each").unwrap(),
        tool: envelope::ToolName::parse("test.write").unwrap(),
        index: Some(1),
    });
    let report = run(continues).await.unwrap();
    assert!(report.confirmation_id.is_some());
    proves_itself(&report);
}
