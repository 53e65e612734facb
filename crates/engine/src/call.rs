//! One call, from the request to its one recorded result.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use envelope::{Cancellation, ExecutionEvent, Failure, Fault, Phase, Timestamp, ToolCall, ToolResult};
use journal::{Journal, Seq};
use serde_json::Value;
use toolkit::{CancelToken, Progress, ProgressSink, Surface, ToolCx};

use crate::context::RunContext;
use crate::hooks::{Hook, Hooks};
use crate::phases::{self, Kept};
use crate::policy::{CompiledPolicy, Policy};
use crate::rules::BadRule;
use crate::schedule::{Scheduler, Slot};
use crate::trace::Trace;
use crate::{Approver, Clock, Ids, Observer};

/// What an engine is made of. Everything it may touch comes in here.
pub struct EngineParts {
    pub surface: Arc<Surface>,
    pub policy: Policy,
    pub hooks: Vec<Arc<dyn Hook>>,
    pub clock: Arc<dyn Clock>,
    pub ids: Arc<dyn Ids>,
    pub approver: Arc<dyn Approver>,
    pub observer: Option<Arc<dyn Observer>>,
    pub executor_version: Arc<str>,
}

/// The gate. Cheap to clone; all clones are the same gate.
#[derive(Clone)]
pub struct Engine {
    pub(crate) parts: Arc<Parts>,
}

pub(crate) struct Parts {
    pub(crate) surface: Arc<Surface>,
    pub(crate) policy: CompiledPolicy,
    pub(crate) hooks: Hooks,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<dyn Ids>,
    pub(crate) approver: Arc<dyn Approver>,
    pub(crate) observer: Option<Arc<dyn Observer>>,
    pub(crate) executor_version: Arc<str>,
    pub(crate) scheduler: Scheduler,
    /// Approvals that the person wanted remembered: tool and reason.
    pub(crate) remembered: Mutex<HashSet<(String, String)>>,
}

/// One run as its calls see it.
pub struct RunScope {
    pub(crate) journal: Journal,
    pub(crate) context: RunContext,
}

impl RunScope {
    pub fn new(journal: Journal) -> Arc<RunScope> {
        Arc::new(RunScope { journal, context: RunContext::default() })
    }

    pub fn journal(&self) -> &Journal {
        &self.journal
    }
}

/// A call that wants through the gate.
pub struct CallRequest {
    pub call: ToolCall,
    pub cancel: CancelToken,
    /// True when the call already stands in the journal, from before an interruption.
    pub logged: bool,
}

/// A call on its way: what the phases add to it as they go.
pub(crate) struct Flight {
    pub(crate) call: ToolCall,
    /// What the model sent. Lives here until the call is logged, then in `call.args` again.
    pub(crate) model: Value,
    pub(crate) cancel: CancelToken,
    pub(crate) cx: ToolCx,
    pub(crate) created: Timestamp,
    /// When the tool itself began.
    pub(crate) dispatched: Option<Timestamp>,
    pub(crate) slot: Option<Slot>,
    /// Whether the call stands in the journal.
    pub(crate) logged: bool,
    /// Whether the call got as far as being about to run.
    pub(crate) intended: bool,
    pub(crate) cancellation: Option<Cancellation>,
}

impl Flight {
    /// Puts what the model sent back into the call, to be logged.
    pub(crate) fn restore_args(&mut self) {
        if let Value::Object(args) = std::mem::take(&mut self.model) {
            self.call.args = args;
        }
    }
}

impl Engine {
    /// Fails only on a rule that cannot be understood: a gate with half its rules is no gate.
    pub fn new(parts: EngineParts) -> Result<Engine, BadRule> {
        let policy = CompiledPolicy::compile(parts.policy)?;
        let limit = policy.policy.limits.max_concurrency.get() as usize;
        let scheduler = Scheduler::new(limit, policy.policy.sibling_failure);
        Ok(Engine {
            parts: Arc::new(Parts {
                surface: parts.surface,
                policy,
                hooks: Hooks(parts.hooks),
                clock: parts.clock,
                ids: parts.ids,
                approver: parts.approver,
                observer: parts.observer,
                executor_version: parts.executor_version,
                scheduler,
                remembered: Mutex::default(),
            }),
        })
    }

    pub fn policy(&self) -> &Policy {
        &self.parts.policy.policy
    }

    pub fn surface(&self) -> &Surface {
        &self.parts.surface
    }

    /// Runs one call through all twelve phases. Always yields a result, never an error.
    pub async fn run_call(&self, scope: &Arc<RunScope>, request: CallRequest) -> ToolResult {
        let mut trace = Trace::new(&*self.parts.clock);
        let mut flight = self.board(scope, request);
        let outcome = self.eleven_phases(scope, &mut flight, &mut trace).await;
        phases::emit_terminal(self, scope, flight, trace, outcome).await
    }

    /// The pipeline, as a table of contents. Each phase takes what the one before it made.
    async fn eleven_phases(
        &self,
        scope: &RunScope,
        flight: &mut Flight,
        trace: &mut Trace<'_>,
    ) -> Result<Kept, Fault> {
        trace.enter(Phase::ResolveTool);
        let entry = phases::resolve_tool(self, flight)?;

        trace.enter(Phase::ParseSchema);
        let decoded = phases::parse_schema(entry, &flight.model)?;

        trace.enter(Phase::ValidateValues);
        phases::validate_values(entry, flight, &decoded).await?;

        trace.enter(Phase::PrepareObservableInput);
        let inputs = phases::prepare_observable_input(entry, flight, decoded)?;

        trace.enter(Phase::PreHooks);
        let hooked = phases::pre_hooks(self, entry, flight, inputs, trace).await?;

        trace.enter(Phase::Permission);
        let permitted = phases::permission(self, entry, flight, hooked, trace).await?;

        trace.enter(Phase::Schedule);
        let permitted = phases::schedule(self, scope, entry, flight, permitted, trace).await?;

        trace.enter(Phase::Execute);
        let raw = phases::execute(self, entry, flight, permitted).await?;

        trace.enter(Phase::MapResult);
        let mapped = phases::map_result(entry, raw)?;

        trace.enter(Phase::PostHooks);
        let settled = phases::post_hooks(self, entry, flight, mapped, trace).await?;

        trace.enter(Phase::PersistResult);
        phases::persist_result(self, scope, entry, settled, trace)
    }

    fn board(&self, scope: &Arc<RunScope>, request: CallRequest) -> Flight {
        let CallRequest { mut call, cancel, logged } = request;
        let created = self.parts.clock.now();
        let model = Value::Object(std::mem::take(&mut call.args));
        let progress = self.progress_sink(scope, &call);
        let cx = ToolCx::new(call.call_id.clone(), cancel.clone(), Some(progress), scope.context.current());
        Flight {
            call,
            model,
            cancel,
            cx,
            created,
            dispatched: None,
            slot: None,
            logged,
            intended: false,
            cancellation: None,
        }
    }

    /// Progress becomes an event of the run. A lost progress event is no reason to fail a call.
    fn progress_sink(&self, scope: &Arc<RunScope>, call: &ToolCall) -> ProgressSink {
        let (engine, scope) = (self.clone(), scope.clone());
        let (run, step, id, tool) =
            (call.run_id.clone(), call.step_id.clone(), call.call_id.clone(), call.tool.clone());
        Arc::new(move |progress: Progress| {
            let event = ExecutionEvent {
                event_type: envelope::EventType::StepProgress,
                run_id: run.clone(),
                timestamp: engine.parts.clock.now(),
                level: envelope::Level::Info,
                message: progress.message,
                call_id: Some(id.clone()),
                step_id: Some(step.clone()),
                tool: Some(tool.clone()),
                payload: Some(serde_json::json!({ "done": progress.done, "total": progress.total })),
            };
            let _lost = engine.record_event(&scope, &event);
        })
    }

    /// Records an event, then tells whoever follows the run.
    pub(crate) fn record_event(&self, scope: &RunScope, event: &ExecutionEvent) -> Result<Seq, Fault> {
        let seq = scope.journal.event(event).map_err(|error| journal_fault(&error))?;
        if let Some(observer) = &self.parts.observer {
            observer.event(event);
        }
        Ok(seq)
    }

    pub(crate) fn is_remembered(&self, tool: &str, why: &str) -> bool {
        let remembered = self.parts.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        remembered.contains(&(tool.to_owned(), why.to_owned()))
    }

    pub(crate) fn remember(&self, tool: &str, why: &str) {
        let mut remembered = self.parts.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        remembered.insert((tool.to_owned(), why.to_owned()));
    }
}

/// A record that cannot be kept ends the call: nothing happens that is not written down.
pub(crate) fn journal_fault(error: &journal::JournalError) -> Fault {
    Fault::new(Failure::ExecutionFailed, format!("the journal cannot be written: {error}"))
        .hint("free some space or mend the disk; the run ends here and can be resumed")
        .retryable(false)
        .detail("journal", true)
}
