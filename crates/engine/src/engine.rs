//! The engine: everything that calls and runs share.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use envelope::{
    EventLevel, EventType, ExecutionEvent, Failure, Fault, Hash, PolicySnapshot, RunId, ToolCall,
};
use journal::{JournalError, Seq};
use serde_json::json;
use toolkit::{RunCleanup, Surface};

use crate::calls_under_way::CallsUnderWay;
use crate::forecast::Forecaster;
use crate::hooks::{Hook, HookList};
use crate::panic_guard::catch_call;
use crate::policy::{CompiledPolicy, Policy};
use crate::rules::BadRule;
use crate::run_scope::RunScope;
use crate::scheduler::Scheduler;
use crate::{Approver, Clock, IdSource, Observer, Purpose, RememberScope};

/// Parts of an engine. An engine uses nothing else.
pub struct EngineParts {
    pub surface: Arc<Surface>,
    pub policy: Policy,
    pub hooks: Vec<Arc<dyn Hook>>,
    pub clock: Arc<dyn Clock>,
    pub ids: Arc<dyn IdSource>,
    pub approver: Arc<dyn Approver>,
    pub observer: Option<Arc<dyn Observer>>,
    pub executor_version: Arc<str>,
    pub purpose: Purpose,
    /// Forecasts a single call before the approver is asked about it. Without one, the question shows the tool's own
    /// preview, and an approval is not bound to the state of any file.
    pub forecaster: Option<Arc<dyn Forecaster>>,
    /// Ends the processes that calls left running when their run ends.
    pub cleanup: Option<Arc<dyn RunCleanup>>,
}

/// Runs plans and sessions. Cheap to clone; all clones share their state.
#[derive(Clone)]
pub struct Engine {
    pub(crate) inner: Arc<EngineInner>,
}

pub(crate) struct EngineInner {
    pub(crate) surface: Arc<Surface>,
    pub(crate) policy: CompiledPolicy,
    pub(crate) policy_hash: Hash,
    pub(crate) hooks: HookList,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<dyn IdSource>,
    pub(crate) approver: Arc<dyn Approver>,
    pub(crate) observer: Option<Arc<dyn Observer>>,
    pub(crate) executor_version: Arc<str>,
    pub(crate) purpose: Purpose,
    pub(crate) forecaster: Option<Arc<dyn Forecaster>>,
    pub(crate) cleanup: Option<Arc<dyn RunCleanup>>,
    /// Copied into every call.
    pub(crate) snapshot: Arc<PolicySnapshot>,
    pub(crate) registry_version: Arc<str>,
    pub(crate) scheduler: Scheduler,
    pub(crate) calls_under_way: CallsUnderWay,
    /// Approvals to be remembered: tool, reason, and which later calls they answer.
    pub(crate) remembered: Mutex<HashSet<(String, String, RememberScope)>>,
}

impl Engine {
    /// Returns an error if a rule cannot be understood: an engine with half of its rules would be unsafe.
    pub fn new(parts: EngineParts) -> Result<Engine, BadRule> {
        let policy = CompiledPolicy::compile(parts.policy)?;
        let policy_hash = policy.policy.hash();
        let limit = policy.policy.limits.max_concurrency.get() as usize;
        let snapshot = policy.policy.snapshot();
        let registry_version = parts.surface.version().into();
        let scheduler = Scheduler::new(limit, policy.policy.sibling_failure);
        Ok(Engine {
            inner: Arc::new(EngineInner {
                surface: parts.surface,
                policy,
                policy_hash,
                hooks: HookList(parts.hooks),
                clock: parts.clock,
                ids: parts.ids,
                approver: parts.approver,
                observer: parts.observer,
                executor_version: parts.executor_version,
                purpose: parts.purpose,
                forecaster: parts.forecaster,
                cleanup: parts.cleanup,
                snapshot,
                registry_version,
                scheduler,
                calls_under_way: CallsUnderWay::default(),
                remembered: Mutex::default(),
            }),
        })
    }

    pub fn policy(&self) -> &Policy {
        &self.inner.policy.policy
    }

    /// Returns false if the policy refuses every call of the tool that changes anything, so that listing it would only
    /// cost tokens. A rule with conditions on paths or commands does not hide a tool.
    pub fn may_permit(&self, tool: &envelope::ToolDecl) -> bool {
        self.inner.policy.may_permit(tool)
    }

    pub fn surface(&self) -> &Surface {
        &self.inner.surface
    }

    /// Notifies the observer of a call that is on record.
    pub(crate) fn notify_call(&self, call: &ToolCall) {
        if let Some(observer) = &self.inner.observer {
            let _crashed = catch_call(|| observer.call(call));
        }
    }

    /// Records an event, then notifies the observer. An observer that panics does not end the run.
    pub(crate) fn record_event(&self, scope: &RunScope, event: &ExecutionEvent) -> Result<Seq, Fault> {
        let seq = scope.journal().event(event).map_err(|error| journal_fault(&error))?;
        if let Some(observer) = &self.inner.observer {
            let _crashed = catch_call(|| observer.event(event));
        }
        Ok(seq)
    }

    /// Ends the processes that the calls of a run left running, and records what became of each.
    ///
    /// Returns the first error of the journal; every process is ended nevertheless.
    pub(crate) async fn close_leftovers(&self, scope: &RunScope, run_id: &RunId) -> Result<(), Fault> {
        let Some(cleanup) = &self.inner.cleanup else { return Ok(()) };
        let mut recorded = Ok(());
        for closed in cleanup.close(run_id).await {
            let event = ExecutionEvent {
                event_type: EventType::StepProgress,
                run_id: run_id.clone(),
                timestamp: self.inner.clock.now(),
                level: EventLevel::Warn,
                message: closed.message,
                call_id: None,
                step_id: None,
                tool: None,
                payload: Some(json!({ "artifacts": closed.artifacts, "unread": closed.unread })),
            };
            recorded = recorded.and(self.record_event(scope, &event).map(drop));
        }
        recorded
    }

    pub(crate) fn is_remembered(&self, tool: &str, why: &str, by: RememberScope) -> bool {
        let remembered = self.inner.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        by != RememberScope::Nothing && remembered.contains(&(tool.to_owned(), why.to_owned(), by))
    }

    pub(crate) fn remember(&self, tool: &str, why: &str, by: RememberScope) {
        let mut remembered = self.inner.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        remembered.insert((tool.to_owned(), why.to_owned(), by));
    }
}

/// Fault of a call whose record cannot be written. The call ends: nothing happens without a record.
pub(crate) fn journal_fault(error: &JournalError) -> Fault {
    Fault::new(Failure::ExecutionFailed, format!("the journal cannot be written: {error}"))
        .hint("free some space or fix the disk; the run ends here and can be resumed")
        .retryable(false)
}
