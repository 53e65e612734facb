//! A run without a plan: calls that come one by one from somebody who decides as they go, such as a model in a
//! conversation. Each passes the gate and is recorded; the run ends when whoever opened it says so.
//!
//! Nothing is confirmed as a whole, since there is no whole: each call that needs a yes asks for its own.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use envelope::{
    CallId, Effects, EventType, ExecutionEvent, Failure, Fault, Hash, Level, PLAN_VERSION, Risk, RunId,
    StepId, ToolCall, ToolError, ToolName, ToolResult, canonical_hash, canonical_object_hash,
};
use journal::{Journal, Record, RunFolder, RunHeader, RunKind};
use plan::{RunStatus, StepStatus, StepSummary};
use serde_json::{Map, Value, json};
use toolkit::{CancelToken, ProgressSink};

use crate::call::{CallRequest, RunScope};
use crate::report::RunReport;
use crate::resume::ResumeError;
use crate::run::{RunError, RunPlace};
use crate::{Approver, Engine};

/// A run that is about to be opened.
pub struct SessionRequest {
    pub place: RunPlace,
    /// What it is for, as lists of runs show it.
    pub goal: String,
    /// Who decides about the calls: a client and its model, for the record.
    pub planner_version: Option<String>,
    /// The tools that may be called, by name. Their declarations go into the record.
    pub tools: Vec<ToolName>,
}

/// One call of a session.
pub struct SessionCall {
    pub tool: ToolName,
    pub args: Map<String, Value>,
    pub cancel: CancelToken,
    /// Tokens that the receipt may have.
    pub budget: Option<u32>,
    /// Who is asked about this call, where that is not whoever answers for the engine.
    pub approver: Option<Arc<dyn Approver>>,
    /// Told of the call's progress besides the record.
    pub progress: Option<ProgressSink>,
}

/// A run that takes calls. Calls may be made side by side.
pub struct SessionRun {
    engine: Engine,
    scope: Arc<RunScope>,
    run_id: RunId,
    plan_hash: Hash,
    planner_version: Option<String>,
    asked: AtomicU64,
    done: Mutex<Done>,
}

#[derive(Default)]
struct Done {
    calls: Vec<EndedCall>,
    effects: Effects,
}

/// What the report needs of a call that has ended. Small, and as a rule without memory of its own: a session may last
/// for weeks.
struct EndedCall {
    step: Step,
    ok: bool,
    error: Option<Box<ToolError>>,
}

enum Step {
    Numbered(u64),
    Named(StepId),
}

impl Done {
    fn note(&mut self, result: &ToolResult) {
        if let Some(effects) = &result.effects {
            self.effects.absorb(effects);
        }
        let step = match result.step_id.call_number() {
            Some(number) => Step::Numbered(number),
            None => Step::Named(result.step_id.clone()),
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
                Step::Numbered(number) => StepId::of_call(number),
                Step::Named(id) => id,
            },
            status: if self.ok { StepStatus::Ok } else { StepStatus::Failed },
            calls: 1,
            failed: u64::from(!self.ok),
            error: self.error.map(|error| *error),
        }
    }
}

impl Engine {
    /// Opens a run for calls that belong to no plan.
    pub fn open_session(&self, request: SessionRequest) -> Result<SessionRun, RunError> {
        let now = self.parts.clock.now();
        let run_id = self.parts.ids.run_id(now);
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
            session.event(EventType::RunStarted, Level::Info, request.goal, json!({ "session": true }));
        // A record that cannot be kept makes the first call fail, which says so.
        let _unrecorded = self.record_event(&session.scope, &started);
        Ok(session)
    }

    fn session_header(&self, run_id: &RunId, request: &SessionRequest) -> RunHeader {
        let policy = serde_json::to_value(self.policy()).unwrap_or_default();
        let plan = json!({ "version": PLAN_VERSION, "goal": request.goal, "riskLevel": Risk::Commands, "steps": [] });
        let known = |name: &ToolName| self.parts.surface.resolve(name.as_str()).ok();
        RunHeader {
            format: RunHeader::FORMAT,
            run_id: run_id.clone(),
            created_at: self.parts.clock.now(),
            kind: RunKind::Session,
            undoes: Vec::new(),
            // Filled in by the folder that keeps the run.
            vault: None,
            plan_hash: canonical_hash(&plan),
            plan,
            policy_hash: canonical_hash(&policy),
            policy,
            tools: request.tools.iter().filter_map(known).map(|entry| (*entry.decl).clone()).collect(),
            registry_version: self.parts.registry_version.to_string(),
            executor_version: self.parts.executor_version.to_string(),
            planner_version: request.planner_version.clone(),
            limits: self.policy().run_limits(),
            sibling: self.policy().sibling_failure,
            confirm: false,
        }
    }

    /// Brings an interrupted session to its end. Nobody waits for its calls any more, so none is made: for each
    /// it is found out, and recorded, whether it happened.
    pub(crate) async fn end_session(
        &self,
        run_dir: &Path,
        journal: Journal,
        cancel: &CancelToken,
    ) -> Result<RunReport, ResumeError> {
        let folder = RunFolder::open(run_dir)?;
        let header = folder.header();
        let mut open: Vec<ToolCall> = Vec::new();
        let mut done = Done::default();
        for entry in folder.records()? {
            match entry?.record {
                Record::Call(call) => {
                    open.retain(|before| before.call_id != call.call_id);
                    open.push(*call);
                }
                Record::Result(result) => {
                    open.retain(|call| call.call_id != result.call_id);
                    done.note(&result);
                }
                Record::Event(_) => {}
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
            let result = self.settle_unwanted(&session.scope, call, cancel.clone()).await;
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

    /// Makes a call. Always yields a result, never an error.
    pub async fn call(&self, wanted: SessionCall) -> ToolResult {
        let call = self.tool_call(wanted.tool, wanted.args);
        let SessionCall { cancel, budget, approver, progress, .. } = wanted;
        let request = CallRequest { call, cancel, budget, approver, progress };
        let result = self.engine.run_call(&self.scope, request).await;
        self.note(&result);
        result
    }

    fn tool_call(&self, tool: ToolName, args: Map<String, Value>) -> ToolCall {
        let number = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        let step_id = StepId::of_call(number);
        let parts = &self.engine.parts;
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
            // A tool that nobody knows does not run; until that is found out it is taken for the worst.
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

    /// Ends the run: what its calls left running is ended, and the record closed. To be called once, when no call
    /// is under way; a call that comes later fails, because its record cannot be kept.
    pub async fn close(&self, reason: Option<String>) -> RunReport {
        let done = std::mem::take(&mut *self.done.lock().unwrap_or_else(PoisonError::into_inner));
        let (calls, failed) = (done.calls.len(), done.failed());
        let status = if reason.is_some() { RunStatus::Cancelled } else { RunStatus::Ok };
        let message = match &reason {
            Some(reason) => format!("{status}: {reason}"),
            None => format!("{calls} calls, {failed} of them failed"),
        };
        let payload = json!({ "status": status.name(), "calls": calls, "failed": failed });
        let level = if reason.is_some() { Level::Warn } else { Level::Info };
        let finished = self.event(EventType::RunFinished, level, message, payload);
        let mut journal_error =
            self.engine.record_event(&self.scope, &finished).err().map(|fault| fault.message);
        self.close_what_is_left().await;
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

    async fn close_what_is_left(&self) {
        let Some(closing) = &self.engine.parts.closing else { return };
        for closed in closing.close(&self.run_id).await {
            let payload = json!({ "artifacts": closed.artifacts, "unread": closed.unread });
            let event = self.event(EventType::StepProgress, Level::Warn, closed.message, payload);
            let _unrecorded = self.engine.record_event(&self.scope, &event);
        }
    }

    fn event(&self, event_type: EventType, level: Level, message: String, payload: Value) -> ExecutionEvent {
        ExecutionEvent {
            event_type,
            run_id: self.run_id.clone(),
            timestamp: self.engine.parts.clock.now(),
            level,
            message,
            call_id: None,
            step_id: None,
            tool: None,
            payload: Some(payload),
        }
    }
}

/// What an interrupted session says of a call that it can be shown not to have made.
pub(crate) fn not_made(call: &ToolCall) -> Fault {
    Fault::new(
        Failure::Canceled,
        format!("{} was about to be called when the session was interrupted; it did not happen", call.tool),
    )
    .retryable(false)
}
