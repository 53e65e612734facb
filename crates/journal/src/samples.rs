//! Sample records for tests: a small run, written as a driver would write it.

use std::path::Path;
use std::sync::Arc;

use envelope::{
    ApprovalChannel, CallId, Confirmation, ConfirmationId, EventLevel, EventType, ExecutionEvent, Hash,
    LimitsSnapshot, Phase, PhaseFact, PhaseOutcome, PolicySnapshot, Risk, RunId, SandboxSnapshot, Status,
    StepId, Timestamp, ToolCall, ToolName, ToolResult, canonical_hash,
};
use plan::{RunLimits, SiblingPolicy};
use serde_json::{Value, json};

use crate::disk::FolderHandle;
use crate::{Journal, JournalError, RunHeader, RunKind};

pub(crate) fn run_id() -> RunId {
    RunId::parse("run-1").unwrap()
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

pub(crate) fn header(run: &str) -> RunHeader {
    let plan = json!({ "version": "1.0", "goal": "Make notes", "riskLevel": "writes", "steps": [] });
    let policy = json!({ "mode": "ask" });
    RunHeader {
        format: RunHeader::FORMAT,
        run_id: RunId::parse(run).unwrap(),
        created_at: at(0),
        kind: RunKind::Plan,
        undoes: Vec::new(),
        session: None,
        continues: None,
        vault: None,
        plan_hash: canonical_hash(&plan),
        plan,
        policy_hash: canonical_hash(&policy),
        policy: Some(policy),
        call_policy: Some((&*call_policy()).into()),
        tools: Vec::new(),
        registry_version: "registry".to_owned(),
        executor_version: "0.1.0".to_owned(),
        planner_version: None,
        limits: RunLimits { max_parallel: 4, max_attempts: 3, max_foreach_items: 100, max_backoff_ms: 1000 },
        sibling: SiblingPolicy::Ignore,
        confirm: true,
    }
}

pub(crate) fn confirmation() -> Confirmation {
    confirmation_of(&header("run-1"))
}

pub(crate) fn confirmation_of(header: &RunHeader) -> Confirmation {
    Confirmation {
        confirmation_id: ConfirmationId::parse("yes-1").unwrap(),
        binding: Confirmation::binding(
            &header.plan_hash,
            &header.policy_hash,
            &header.registry_version,
            None,
        ),
        forecast: None,
        shown: Hash::of(b"shown"),
        channel: ApprovalChannel::Terminal,
        confirmed_at: at(1),
    }
}

pub(crate) fn call_id(index: u64) -> CallId {
    CallId::derive(&run_id(), &StepId::parse("s1").unwrap(), Some(index), 1)
}

fn call_policy() -> Arc<PolicySnapshot> {
    Arc::new(PolicySnapshot {
        confirmations_required: true,
        sandbox: SandboxSnapshot::of_vault(),
        limits: LimitsSnapshot {
            max_concurrency: 4,
            max_attempts: Some(3),
            call_timeout_ms: Some(600_000),
            max_foreach_items: Some(100),
        },
    })
}

pub(crate) fn call(index: u64) -> ToolCall {
    let args = json!({ "path": format!("Notes/{index}.md"), "content": "text “with” quotes\n" });
    let Value::Object(args) = args else { panic!("not an object") };
    ToolCall {
        call_id: call_id(index),
        run_id: run_id(),
        step_id: StepId::parse("s1").unwrap(),
        tool: ToolName::parse("vault.createFile").unwrap(),
        attempt: 1,
        args_hash: Some(canonical_hash(&Value::Object(args.clone()))),
        args,
        filled_in: Vec::new(),
        timeout_ms: Some(30_000),
        deadline_at: None,
        cancellable: true,
        iteration: None,
        loop_id: None,
        created_at: at(2),
        planner_version: None,
        executor_version: "0.1.0".into(),
        tool_registry_version: "registry".into(),
        preview: None,
        note: None,
        request_id: None,
        risk_level: Risk::Writes,
        category: None,
        policy: call_policy(),
        confirmation_id: Some(confirmation().confirmation_id),
        called_with: None,
        intent: Vec::new(),
    }
}

pub(crate) fn result(index: u64) -> ToolResult {
    ToolResult {
        call_id: call_id(index),
        run_id: run_id(),
        step_id: StepId::parse("s1").unwrap(),
        tool: ToolName::parse("vault.createFile").unwrap(),
        attempt: 1,
        status: Status::Ok,
        ok: true,
        data: Some(json!({ "created": true, "path": format!("Notes/{index}.md") })),
        data_hash: None,
        data_ref: None,
        error: None,
        started_at: at(2),
        ended_at: at(3),
        duration_ms: 1000,
        effects: None,
        changes: Vec::new(),
        artifacts: Vec::new(),
        user_message: Some(format!("Created Notes/{index}.md")),
        debug_message: None,
        canonical: None,
        receipt: None,
        phases: vec![PhaseFact { phase: Phase::Execute, outcome: PhaseOutcome::Ok, micros: 5, detail: None }],
        mutations: Vec::new(),
        cancellation: None,
        context_modifiers: Vec::new(),
        reconciled: false,
        incomplete: None,
    }
}

pub(crate) fn event(event_type: EventType, payload: Option<Value>) -> ExecutionEvent {
    ExecutionEvent {
        event_type,
        run_id: run_id(),
        timestamp: at(4),
        level: EventLevel::Info,
        message: "message".to_owned(),
        call_id: None,
        step_id: None,
        tool: None,
        payload,
    }
}

/// Writes a confirmed run of `calls` calls, all with results; does not close it.
pub(crate) fn write_run(journal: &Journal, calls: u64) -> Result<(), JournalError> {
    journal.event(&event(EventType::RunStarted, None))?;
    journal.event(&event(EventType::RunConfirmed, Some(json!(confirmation()))))?;
    journal.confirm(&confirmation())?;
    for index in 0..calls {
        journal.call(&call(index))?;
        journal.event(&event(EventType::StepStarted, None))?;
        journal.result(&result(index))?;
    }
    journal.event(&event(EventType::RunFinished, Some(json!({ "status": "ok" }))))?;
    Ok(())
}

/// Writes a finished, closed run as earlier builds did: with the policy in `run.json`.
pub(crate) fn finished_run_of_earlier_build(state: &Path, id: &str, calls: u64) -> std::path::PathBuf {
    let (journal, folder) = begin_run_of_earlier_build(state, header(id));
    write_run(&journal, calls).unwrap();
    journal.close().unwrap();
    folder
}

/// Starts a run as earlier builds did: with the policy and the declarations in `run.json`.
pub(crate) fn begin_run_of_earlier_build(state: &Path, header: RunHeader) -> (Journal, std::path::PathBuf) {
    let folder = state.join("runs").join(header.run_id.as_str());
    std::fs::create_dir_all(&folder).unwrap();
    let handle = FolderHandle::open(&folder).unwrap();
    let disk = Box::new(handle.duplicate().unwrap());
    let journal = Journal::create_in(handle, disk, &RunHeader { format: 1, ..header }).unwrap();
    (journal, folder)
}

/// Writes a finished, closed run to `<dir>/runs/<id>` and returns its folder.
pub(crate) fn finished_run(state: &Path, id: &str, calls: u64) -> std::path::PathBuf {
    let folder = state.join("runs").join(id);
    let journal = Journal::create(&folder, &header(id)).unwrap();
    write_run(&journal, calls).unwrap();
    journal.close().unwrap();
    folder
}
