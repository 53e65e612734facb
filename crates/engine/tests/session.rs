//! Calls that follow from no plan: recorded like any other, and brought to an end after a crash.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

mod support;

use std::path::{Path, PathBuf};

use engine::{ResumeRequest, RunCancel, RunPlace, SessionCall, SessionRequest, SessionRun};
use envelope::{CallId, Failure, Risk, StepId, ToolCall, ToolName, ToolResult};
use plan::RunStatus;
use serde_json::{Value, json};
use support::{Build, Gate, People, gate, tool_call};
use toolkit::CancelToken;

const WRITES: &str = "test.write";

fn session(gate: &Gate, runs: &Path) -> SessionRun {
    gate.engine
        .open_session(SessionRequest {
            place: RunPlace::Disk(runs.to_path_buf().into()),
            goal: "Talk about notes".to_owned(),
            planner_version: Some("a model".to_owned()),
            tools: vec![ToolName::parse(WRITES).unwrap()],
        })
        .unwrap()
}

async fn call(session: &SessionRun, tool: &str, args: Value) -> ToolResult {
    let Value::Object(args) = args else { panic!("not an object") };
    let tool = ToolName::parse(tool).unwrap();
    let cancel = CancelToken::new();
    session.call(SessionCall { tool, args, cancel, budget: None, approver: None, progress: None }).await
}

fn intact(run_dir: &Path) {
    let verified = journal::verify(run_dir, None).unwrap();
    assert!(verified.problems.is_empty(), "{:?}", verified.problems);
    assert!(verified.finished);
    let replay = journal::replay(run_dir).unwrap();
    assert!(replay.divergences.is_empty(), "{:?}", replay.divergences);
    assert!(replay.complete);
}

#[tokio::test]
async fn calls_that_follow_from_no_plan_are_recorded_and_the_record_holds() {
    let folder = tempfile::tempdir().unwrap();
    let gate = gate();
    let session = session(&gate, folder.path());
    let worked = call(&session, WRITES, json!({ "text": "one", "path": "a.md" })).await;
    let failed = call(&session, WRITES, json!({ "text": "two", "act": "fail" })).await;
    let unknown = call(&session, "test.unheard", json!({})).await;
    assert!(worked.ok && worked.receipt.is_some());
    assert_eq!(failed.error.unwrap().kind, Some(Failure::ExecutionFailed));
    assert_eq!(unknown.error.unwrap().kind, Some(Failure::UnknownTool));
    let report = session.close(None).await;
    assert_eq!(report.status, RunStatus::Ok);
    assert_eq!(
        report.steps.iter().map(|step| step.id.to_string()).collect::<Vec<_>>(),
        ["call-1", "call-2", "call-3"]
    );
    assert_eq!(report.effects.created.len(), 1);
    intact(&report.run_dir.unwrap());
}

#[tokio::test]
async fn each_call_that_needs_a_yes_asks_for_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let mut policy = engine::Policy::cautious();
    policy.mode = engine::Mode::Ask;
    let gate = Build { policy, people: People::no(), ..Build::default() }.gate();
    let session = session(&gate, folder.path());
    let refused = call(&session, WRITES, json!({ "text": "one" })).await;
    assert_eq!(refused.error.unwrap().kind, Some(Failure::ApprovalRejected));
    assert_eq!(gate.people.asked().len(), 1);
    assert!(gate.work.begun().is_empty());
    intact(&session.close(None).await.run_dir.unwrap());
}

/// A session that was cut off while a call was under way.
async fn cut_off(gate: &Gate, runs: &Path) -> PathBuf {
    let session = session(gate, runs);
    call(&session, WRITES, json!({ "text": "one" })).await;
    let run_dir = session.journal().run_dir().unwrap().to_path_buf();
    let waits = call(&session, WRITES, json!({ "text": "two", "act": "door" }));
    tokio::select! {
        biased;
        _ended = waits => panic!("it waits for a door that nobody opens"),
        () = gate.work.waiting.notified() => {}
    }
    drop(session);
    run_dir
}

#[tokio::test]
async fn an_interrupted_session_is_ended_without_making_a_call() {
    for (happened, says) in
        [(Some(true), None), (Some(false), Some("did not happen")), (None, Some("nobody can tell"))]
    {
        let folder = tempfile::tempdir().unwrap();
        let gate = gate();
        let run_dir = cut_off(&gate, folder.path()).await;
        let begun = gate.work.begun().len();
        *gate.work.happened.lock().unwrap() = happened;
        let request = ResumeRequest { run_dir: run_dir.clone(), cancel: RunCancel::new(), forecaster: None };
        let report = gate.engine.resume(request).await.unwrap();
        assert_eq!(report.status, RunStatus::Cancelled);
        assert_eq!(gate.work.begun().len(), begun, "nothing is made again");
        let settled = gate.results().pop().unwrap();
        match says {
            None => assert!(settled.ok && settled.reconciled),
            Some(says) => {
                let error = settled.error.unwrap();
                assert!(error.message.contains(says), "{}", error.message);
            }
        }
        intact(&run_dir);
    }
}

#[tokio::test]
async fn a_call_that_no_tool_understands_any_more_is_not_said_to_be_undone() {
    let changed = ("test.write", json!({ "before": 1 }));
    let gone = ("test.gone", json!({}));
    for ((tool, args), risk, says) in [
        (
            changed.clone(),
            Risk::Writes,
            "nobody can tell whether it happened: the tool no longer understands",
        ),
        (
            gone.clone(),
            Risk::Commands,
            "nobody can tell whether it happened: the tool is not there to be asked any more",
        ),
        // What only looks cannot have changed anything.
        (gone, Risk::ReadOnly, "it did not happen"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let gate = gate();
        let session = session(&gate, folder.path());
        let run_id = session.run_id().clone();
        let step_id = StepId::of_call(1);
        let call_id = CallId::derive(&run_id, &step_id, None, 1);
        let begun = ToolCall { call_id, step_id, run_id, risk_level: risk, ..tool_call(tool, args) };
        session.journal().call(&begun).unwrap();
        let run_dir = session.journal().run_dir().unwrap().to_path_buf();
        drop(session);
        *gate.work.happened.lock().unwrap() = Some(false);
        let request = ResumeRequest { run_dir: run_dir.clone(), cancel: RunCancel::new(), forecaster: None };
        gate.engine.resume(request).await.unwrap();
        let error = gate.results().pop().unwrap().error.unwrap();
        assert!(error.message.contains(says), "{}", error.message);
        intact(&run_dir);
    }
}
