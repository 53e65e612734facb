//! A session: a run without a plan. Its calls come one by one from a client, such as a model in a conversation. Each
//! passes the twelve phases and is recorded; the run ends when the client closes the session.
//!
//! Without a plan there is nothing to confirm at once: each call that needs an approval asks for its own.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use envelope::{
    CallId, Effects, EventLevel, EventType, ExecutionEvent, Hash, PLAN_VERSION, Risk, RunId, SessionId,
    StepId, ToolCall, ToolError, ToolName, ToolResult, canonical_hash, canonical_object_hash,
};
use journal::{CallPolicy, Journal, JournalRecord, RunFolder, RunHeader, RunKind};
use plan::{RunStatus, StepStatus, StepSummary};
use serde_json::{Map, Value, json};
use toolkit::CancelToken;

use crate::Engine;
use crate::call::CallRequest;
use crate::driver::{ResumeError, RunError, RunPlace};
use crate::run_report::RunReport;
use crate::run_scope::RunScope;

/// Request to open a session.
pub struct SessionRequest {
    pub place: RunPlace,
    /// The group of runs that this one belongs to.
    pub session: Option<SessionId>,
    /// Purpose of the session, shown in lists of runs.
    pub goal: String,
    /// Client and model that decide about the calls, for the record.
    pub planner_version: Option<String>,
    /// Names of the tools that can be called. Their declarations go into the record.
    pub tools: Vec<ToolName>,
}

/// An open session. Calls can be made side by side.
pub struct SessionRun {
    engine: Engine,
    scope: Arc<RunScope>,
    run_id: RunId,
    plan_hash: Hash,
    planner_version: Option<String>,
    asked: AtomicU64,
    done: Mutex<SessionTotals>,
}

#[derive(Default)]
struct SessionTotals {
    calls: Vec<EndedCall>,
    effects: Effects,
}

/// A finished call, for the report. Small, and usually without heap memory: a session can last for weeks.
struct EndedCall {
    step: EndedStep,
    ok: bool,
    error: Option<Box<ToolError>>,
}

enum EndedStep {
    Numbered(u64),
    Named(StepId),
}

impl SessionTotals {
    fn note(&mut self, result: &ToolResult) {
        if let Some(effects) = &result.effects {
            self.effects.merge(effects);
        }
        let step = match result.step_id.call_number() {
            Some(number) => EndedStep::Numbered(number),
            None => EndedStep::Named(result.step_id.clone()),
        };
        self.calls.push(EndedCall { step, ok: result.ok, error: result.error.clone().map(Box::new) });
    }

    fn failed(&self) -> usize {
        self.calls.iter().filter(|call| !call.ok).count()
    }
}

impl EndedCall {
    fn summary(self) -> StepSummary {
        StepSummary {
            id: match self.step {
                EndedStep::Numbered(number) => StepId::of_call(number),
                EndedStep::Named(id) => id,
            },
            status: if self.ok { StepStatus::Ok } else { StepStatus::Failed },
            calls: 1,
            carried: 0,
            incomplete: None,
            failed: u64::from(!self.ok),
            error: self.error.map(|error| *error),
        }
    }
}

impl Engine {
    /// Opens a session. Returns an error if its journal cannot be created.
    pub fn open_session(&self, request: SessionRequest) -> Result<SessionRun, RunError> {
        let now = self.inner.clock.now();
        let run_id = self.inner.ids.run_id(now, request.place.newest_run_millis());
        let header = self.session_header(&run_id, &request);
        let plan_hash = header.plan_hash;
        let journal = match request.place {
            RunPlace::Disk(runs) => runs.create(&header)?,
            RunPlace::Memory => Journal::in_memory(&header),
        };
        let session = SessionRun {
            engine: self.clone(),
            scope: RunScope::new(journal),
            run_id,
            plan_hash,
            planner_version: request.planner_version,
            asked: AtomicU64::new(0),
            done: Mutex::default(),
        };
        let started =
            session.event(EventType::RunStarted, EventLevel::Info, request.goal, json!({ "session": true }));
        // If the record cannot be written, the first call fails and says so.
        let _unrecorded = self.record_event(&session.scope, &started);
        Ok(session)
    }

    fn session_header(&self, run_id: &RunId, request: &SessionRequest) -> RunHeader {
        let policy = serde_json::to_value(self.policy()).unwrap_or_default();
        let plan = json!({ "version": PLAN_VERSION, "goal": request.goal, "riskLevel": Risk::Commands, "steps": [] });
        let known = |name: &ToolName| self.inner.surface.resolve(name.as_str()).ok();
        RunHeader {
            format: RunHeader::FORMAT,
            run_id: run_id.clone(),
            created_at: self.inner.clock.now(),
            kind: RunKind::Session,
            undoes: Vec::new(),
            session: request.session.clone(),
            continues: None,
            // Filled in by the folder that keeps the run.
            vault: None,
            plan_hash: canonical_hash(&plan),
            plan,
            policy_hash: canonical_hash(&policy),
            policy: Some(policy),
            call_policy: Some(CallPolicy::from(&*self.policy().snapshot())),
            tools: request.tools.iter().filter_map(known).map(|entry| (*entry.decl).clone().into()).collect(),
            registry_version: self.inner.registry_version.to_string(),
            executor_version: self.inner.executor_version.to_string(),
            planner_version: request.planner_version.clone(),
            limits: self.policy().run_limits(),
            sibling: self.policy().sibling_failure,
            confirm: false,
        }
    }

    /// Ends an interrupted session. Its client is gone, so no call is made: for each open call, the engine finds out
    /// and records whether it happened.
    pub(crate) async fn end_session(
        &self,
        folder: &RunFolder,
        journal: Journal,
        cancel: &CancelToken,
    ) -> Result<RunReport, ResumeError> {
        let header = folder.header();
        let mut open: Vec<ToolCall> = Vec::new();
        let mut done = SessionTotals::default();
        for entry in folder.records()? {
            match entry?.record {
                JournalRecord::Call(call) => {
                    open.retain(|before| before.call_id != call.call_id);
                    open.push(*call);
                }
                JournalRecord::Result(result) => {
                    open.retain(|call| call.call_id != result.call_id);
                    done.note(&result);
                }
                JournalRecord::Event(_) => {}
            }
        }
        let session = SessionRun {
            engine: self.clone(),
            scope: RunScope::new(journal),
            run_id: header.run_id.clone(),
            plan_hash: header.plan_hash,
            planner_version: header.planner_version.clone(),
            asked: AtomicU64::new(0),
            done: Mutex::new(done),
        };
        for call in open {
            let result = self.settle_abandoned(&session.scope, call, cancel.clone()).await;
            session.note(&result);
        }
        Ok(session.close(Some("interrupted".to_owned())).await)
    }
}

impl SessionRun {
    pub fn run_id(&self) -> &RunId {
        &self.run_id
    }

    pub fn journal(&self) -> &Journal {
        self.scope.journal()
    }

    /// Makes a call. Never fails: a failure is a result.
    pub async fn call(&self, request: CallRequest) -> ToolResult {
        let CallRequest { tool, args, cancel, budget, approver, progress } = request;
        let call = self.tool_call(tool, args);
        let mut state = self.engine.begin(&self.scope, call, cancel.into(), progress);
        (state.budget, state.approver) = (budget, approver);
        let result = self.engine.run_phases(&self.scope, state).await;
        self.note(&result);
        result
    }

    fn tool_call(&self, tool: ToolName, args: Map<String, Value>) -> ToolCall {
        let number = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        let step_id = StepId::of_call(number);
        let parts = &self.engine.inner;
        let entry = parts.surface.resolve(tool.as_str()).ok();
        let args_hash = canonical_object_hash(&args);
        ToolCall {
            call_id: CallId::derive(&self.run_id, &step_id, None, 1),
            run_id: self.run_id.clone(),
            step_id,
            attempt: 1,
            args,
            filled_in: Vec::new(),
            args_hash: Some(args_hash),
            timeout_ms: None,
            deadline_at: None,
            cancellable: entry.is_none_or(|entry| entry.decl.cancellable),
            iteration: None,
            loop_id: None,
            created_at: parts.clock.now(),
            planner_version: self.planner_version.clone(),
            executor_version: parts.executor_version.clone(),
            tool_registry_version: parts.registry_version.clone(),
            preview: None,
            // An unknown tool does not run; until it is resolved, its risk is taken for the highest.
            note: None,
            request_id: None,
            risk_level: entry.map_or(Risk::Commands, |entry| entry.decl.risk_level),
            category: entry.map(|entry| entry.decl.category.as_str().into()),
            tool,
            policy: parts.snapshot.clone(),
            confirmation_id: None,
            called_with: None,
            intent: Vec::new(),
        }
    }

    fn note(&self, result: &ToolResult) {
        self.done.lock().unwrap_or_else(PoisonError::into_inner).note(result);
    }

    /// Ends the run: ends the processes that calls left running, and closes the record. Call it once, when no call is
    /// under way; a later call fails because its record cannot be written.
    pub async fn close(&self, reason: Option<String>) -> RunReport {
        let done = std::mem::take(&mut *self.done.lock().unwrap_or_else(PoisonError::into_inner));
        let (calls, failed) = (done.calls.len(), done.failed());
        let status = if reason.is_some() { RunStatus::Cancelled } else { RunStatus::Ok };
        let message = match &reason {
            Some(reason) => format!("{status}: {reason}"),
            None => format!("{calls} calls, {failed} of them failed"),
        };
        let payload = json!({ "status": status.name(), "calls": calls, "failed": failed });
        let level = if reason.is_some() { EventLevel::Warn } else { EventLevel::Info };
        let finished = self.event(EventType::RunFinished, level, message, payload);
        let mut journal_error =
            self.engine.record_event(&self.scope, &finished).err().map(|fault| fault.message);
        // An event that cannot be recorded shows in the error of the journal.
        let _unrecorded = self.engine.close_leftovers(&self.scope, &self.run_id).await;
        let journal = self.scope.journal();
        let lost = journal.failure();
        let chain_head = match journal.close() {
            Ok(head) => Some(head),
            Err(error) => {
                journal_error.get_or_insert(error.to_string());
                None
            }
        };
        RunReport {
            run_id: self.run_id.clone(),
            status,
            plan_hash: self.plan_hash,
            confirmation_id: None,
            steps: done.calls.into_iter().map(EndedCall::summary).collect(),
            effects: done.effects,
            outputs: Map::new(),
            chain_head,
            run_dir: journal.run_dir().map(Path::to_path_buf),
            reason,
            journal_error: journal_error.or(lost),
        }
    }

    fn event(
        &self,
        event_type: EventType,
        level: EventLevel,
        message: String,
        payload: Value,
    ) -> ExecutionEvent {
        ExecutionEvent {
            event_type,
            run_id: self.run_id.clone(),
            timestamp: self.engine.inner.clock.now(),
            level,
            message,
            call_id: None,
            step_id: None,
            tool: None,
            payload: Some(payload),
        }
    }
}
