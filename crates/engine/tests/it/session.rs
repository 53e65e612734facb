//! Calls that follow from no plan: recorded like any other, and brought to an end after a crash.

use std::path::{Path, PathBuf};

use crate::support::{Build, ScriptedApprover, TestEngine, test_engine, tool_call};
use engine::{CallRequest, ResumeRequest, RunCancel, RunPlace, SessionRequest, SessionRun};
use envelope::{CallId, Failure, Risk, StepId, ToolCall, ToolName, ToolResult};
use plan::RunStatus;
use serde_json::{Value, json};
use toolkit::CancelToken;

const WRITES: &str = "test.write";

fn session(test_engine: &TestEngine, runs: &Path) -> SessionRun {
    test_engine
        .engine
        .open_session(SessionRequest {
            place: RunPlace::Disk(runs.to_path_buf().into()),
            session: None,
            goal: "Talk about notes".to_owned(),
            planner_version: Some("a model".to_owned()),
            tools: vec![ToolName::parse(WRITES).unwrap()],
        })
        .unwrap()
}

async fn call(session: &SessionRun, tool: &str, args: Value) -> ToolResult {
    let Value::Object(args) = args else { panic!("not an object") };
    let tool = ToolName::parse(tool).unwrap();
    session.call(CallRequest::new(tool, args, CancelToken::new())).await
}

fn intact(run_dir: &Path) {
    let verified = journal::verify(run_dir, None).unwrap();
    assert!(verified.problems.is_empty(), "{:?}", verified.problems);
    assert!(verified.finished);
    let replay = journal::replay(run_dir).unwrap();
    assert!(replay.divergences.is_empty(), "{:?}", replay.divergences);
    assert!(replay.complete);
}

// Conformance: proxy 16.10
//     Their calls are recorded like any other, in a run without a plan.
//     In: engine/session.rs, journal/session_replay.rs
#[tokio::test]
async fn calls_that_follow_from_no_plan_are_recorded_and_the_record_holds() {
    let folder = tempfile::tempdir().unwrap();
    let test_engine = test_engine();
    let session = session(&test_engine, folder.path());
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

// Conformance: proxy 16.10
#[tokio::test]
async fn each_call_that_needs_a_yes_asks_for_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let mut policy = engine::Policy::cautious();
    policy.mode = engine::Mode::Ask;
    let test_engine = Build { policy, approver: ScriptedApprover::no(), ..Build::default() }.test_engine();
    let session = session(&test_engine, folder.path());
    let refused = call(&session, WRITES, json!({ "text": "one" })).await;
    assert_eq!(refused.error.unwrap().kind, Some(Failure::ApprovalRejected));
    assert_eq!(test_engine.approver.asked().len(), 1);
    assert!(test_engine.work.begun().is_empty());
    intact(&session.close(None).await.run_dir.unwrap());
}

/// A session that was cut off while a call was under way.
async fn cut_off(test_engine: &TestEngine, runs: &Path) -> PathBuf {
    let session = session(test_engine, runs);
    call(&session, WRITES, json!({ "text": "one" })).await;
    let run_dir = session.journal().run_dir().unwrap().to_path_buf();
    let waits = call(&session, WRITES, json!({ "text": "two", "act": "door" }));
    tokio::select! {
        biased;
        _ended = waits => panic!("it waits for a door that nobody opens"),
        () = test_engine.work.waiting.notified() => {}
    }
    drop(session);
    run_dir
}

// Conformance: proxy 16.10
#[tokio::test]
async fn an_interrupted_session_is_ended_without_making_a_call() {
    for (happened, says) in [
        (Some(true), None),
        (Some(false), Some("did not happen")),
        (None, Some("it is unknown whether it happened")),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let test_engine = test_engine();
        let run_dir = cut_off(&test_engine, folder.path()).await;
        let begun = test_engine.work.begun().len();
        *test_engine.work.happened.lock().unwrap() = happened;
        let request = ResumeRequest { run_dir: run_dir.clone(), cancel: RunCancel::new(), forecaster: None };
        let report = test_engine.engine.resume(request).await.unwrap();
        assert_eq!(report.status, RunStatus::Cancelled);
        assert_eq!(test_engine.work.begun().len(), begun, "nothing is made again");
        let settled = test_engine.results().pop().unwrap();
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
        (changed.clone(), Risk::Writes, "it is unknown whether it happened: the tool no longer understands"),
        (
            gone.clone(),
            Risk::Commands,
            "it is unknown whether it happened: the tool is not there to be asked any more",
        ),
        // A read cannot have changed anything.
        (gone, Risk::ReadOnly, "it did not happen"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let test_engine = test_engine();
        let session = session(&test_engine, folder.path());
        let run_id = session.run_id().clone();
        let step_id = StepId::of_call(1);
        let call_id = CallId::derive(&run_id, &step_id, None, 1);
        let begun = ToolCall { call_id, step_id, run_id, risk_level: risk, ..tool_call(tool, args) };
        session.journal().call(&begun).unwrap();
        let run_dir = session.journal().run_dir().unwrap().to_path_buf();
        drop(session);
        *test_engine.work.happened.lock().unwrap() = Some(false);
        let request = ResumeRequest { run_dir: run_dir.clone(), cancel: RunCancel::new(), forecaster: None };
        test_engine.engine.resume(request).await.unwrap();
        let error = test_engine.results().pop().unwrap().error.unwrap();
        assert!(error.message.contains(says), "{}", error.message);
        intact(&run_dir);
    }
}
