//! One call, from the request to its one recorded result.

use std::collections::{BTreeSet, HashSet};
use std::pin::pin;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use envelope::{
    Artifact, Cancellation, ConfirmationId, ExecutionEvent, Failure, Family, Fault, Hash, Phase,
    PolicySnapshot, Timestamp, ToolCall, ToolResult,
};
use journal::{Journal, Seq};
use serde_json::Value;
use toolkit::{
    ArtifactSink, CancelToken, Closing, Entry, ObjectStore, Progress, ProgressSink, RawOutput, Seen, Surface,
    ToolCx,
};

use crate::artifacts::JournalArtifacts;
use crate::catch::{catch_call, catch_panic};
use crate::context::RunContext;
use crate::forecast::{ApprovedCalls, ForecastCall, Forecaster};
use crate::hooks::{Hook, Hooks};
use crate::order::RecordOrder;
use crate::phases::{self, Kept};
use crate::policy::{CompiledPolicy, Policy};
use crate::rules::BadRule;
use crate::schedule::{Scheduler, Slot, Ticket};
use crate::store::JournalStore;
use crate::trace::Trace;
use crate::{Approver, Clock, Ids, Observer, Purpose, Remembering};

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
    pub purpose: Purpose,
    /// Tells what a single call would do before somebody is asked about it. Without one, a question says what the tool
    /// says, and a yes is not bound to the state of any file.
    pub forecaster: Option<Arc<dyn Forecaster>>,
    /// Ends what calls left running when their run ends.
    pub closing: Option<Arc<dyn Closing>>,
}

/// The gate. Cheap to clone; all clones are the same gate.
#[derive(Clone)]
pub struct Engine {
    pub(crate) parts: Arc<Parts>,
}

pub(crate) struct Parts {
    pub(crate) surface: Arc<Surface>,
    pub(crate) policy: CompiledPolicy,
    pub(crate) policy_hash: Hash,
    pub(crate) hooks: Hooks,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<dyn Ids>,
    pub(crate) approver: Arc<dyn Approver>,
    pub(crate) observer: Option<Arc<dyn Observer>>,
    pub(crate) executor_version: Arc<str>,
    pub(crate) purpose: Purpose,
    pub(crate) forecaster: Option<Arc<dyn Forecaster>>,
    pub(crate) closing: Option<Arc<dyn Closing>>,
    /// Carried by every call.
    pub(crate) snapshot: Arc<PolicySnapshot>,
    pub(crate) registry_version: Arc<str>,
    pub(crate) scheduler: Scheduler,
    /// Approvals that the person wanted remembered: tool, reason, and which calls they answer.
    pub(crate) remembered: Mutex<HashSet<(String, String, Remembering)>>,
}

/// One run as its calls see it.
pub struct RunScope {
    pub(crate) journal: Journal,
    pub(crate) context: RunContext,
    /// Set for a run that a driver follows.
    pub(crate) order: Option<RecordOrder>,
    /// Every yes that a person gave in this run. A call that claims another one is taken to have none.
    confirmations: Mutex<BTreeSet<ConfirmationId>>,
    /// The forecast that the yes to the plan covers.
    approved: OnceLock<Arc<ApprovedCalls>>,
}

impl RunScope {
    /// For calls that belong to no plan.
    pub fn new(journal: Journal) -> Arc<RunScope> {
        Arc::new(RunScope {
            journal,
            context: RunContext::default(),
            order: None,
            confirmations: Mutex::default(),
            approved: OnceLock::new(),
        })
    }

    /// For a plan, whose driver takes note of results in the order in which they were recorded.
    pub(crate) fn ordered(journal: Journal) -> Arc<RunScope> {
        let order = Some(RecordOrder::default());
        let (confirmations, approved) = (Mutex::default(), OnceLock::new());
        Arc::new(RunScope { journal, context: RunContext::default(), order, confirmations, approved })
    }

    /// Binds the calls of the run to a forecast. The first time counts.
    pub(crate) fn approve(&self, calls: Vec<ForecastCall>) {
        let _bound_before = self.approved.set(Arc::new(ApprovedCalls::new(calls)));
    }

    /// The forecast that the yes to the plan covers, if it was given one.
    pub(crate) fn approved(&self) -> Option<Arc<ApprovedCalls>> {
        self.approved.get().cloned()
    }

    /// Notes a yes.
    pub(crate) fn confirmed(&self, given: &ConfirmationId) {
        self.confirmations.lock().unwrap_or_else(PoisonError::into_inner).insert(given.clone());
    }

    fn was_given(&self, claimed: &ConfirmationId) -> bool {
        self.confirmations.lock().unwrap_or_else(PoisonError::into_inner).contains(claimed)
    }

    /// Appends the result of a call.
    pub(crate) fn record_result(&self, result: &ToolResult) -> Result<Seq, Fault> {
        let appended = match &self.order {
            Some(order) => order.append(&result.call_id, || self.journal.result(result)),
            None => self.journal.result(result),
        };
        appended.map_err(|error| journal_fault(&error))
    }

    pub fn journal(&self) -> &Journal {
        &self.journal
    }
}

/// A call that wants through the gate.
pub struct CallRequest {
    pub call: ToolCall,
    pub cancel: CancelToken,
    /// Tokens that the receipt may have; the family's own budget unless the caller says so.
    pub budget: Option<u32>,
    /// Who is asked about this call, where that is not whoever answers for the engine.
    pub approver: Option<Arc<dyn Approver>>,
    /// Told of the call's progress besides the record.
    pub progress: Option<ProgressSink>,
}

impl CallRequest {
    pub fn new(call: ToolCall, cancel: CancelToken) -> CallRequest {
        CallRequest { call, cancel, budget: None, approver: None, progress: None }
    }
}

/// A call on its way: what the phases add to it as they go.
pub(crate) struct Flight {
    pub(crate) call: ToolCall,
    /// What the model sent. Lives here until the call is logged, then in `call.args` again.
    pub(crate) model: Value,
    pub(crate) cancel: CancelToken,
    pub(crate) cx: ToolCx,
    /// What mapping the result has kept beside it so far.
    pub(crate) made: Mutex<Vec<Artifact>>,
    /// Tokens that the caller wants of the receipt.
    pub(crate) budget: Option<u32>,
    /// Who is asked about this call, where that is not whoever answers for the engine.
    pub(crate) approver: Option<Arc<dyn Approver>>,
    pub(crate) created: Timestamp,
    /// The longest time that the policy gives any call.
    pub(crate) longest_ms: u64,
    /// When the tool itself began.
    pub(crate) dispatched: Option<Timestamp>,
    /// Its place in the order of the run, until it has said what it touches.
    pub(crate) ticket: Option<Ticket>,
    pub(crate) slot: Option<Slot>,
    /// Whether the call stands in the journal as it is about to be made.
    pub(crate) logged: bool,
    /// Set when its end was found out after an interruption, rather than reported.
    pub(crate) found: bool,
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
        let policy_hash = policy.policy.hash();
        let limit = policy.policy.limits.max_concurrency.get() as usize;
        let snapshot = policy.policy.snapshot();
        let registry_version = parts.surface.version().into();
        let scheduler = Scheduler::new(limit, policy.policy.sibling_failure);
        Ok(Engine {
            parts: Arc::new(Parts {
                surface: parts.surface,
                policy,
                policy_hash,
                hooks: Hooks(parts.hooks),
                clock: parts.clock,
                ids: parts.ids,
                approver: parts.approver,
                observer: parts.observer,
                executor_version: parts.executor_version,
                purpose: parts.purpose,
                forecaster: parts.forecaster,
                closing: parts.closing,
                snapshot,
                registry_version,
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
        self.run_after(scope, request, None, &Seen::default()).await
    }

    /// The same for a call that has its place in the order of a run.
    pub(crate) async fn run_in_turn(
        &self,
        scope: &Arc<RunScope>,
        request: CallRequest,
        ticket: Ticket,
    ) -> ToolResult {
        self.run_after(scope, request, Some(ticket), &Seen::default()).await
    }

    /// The same for a call of which a part was found to have been done before an interruption.
    pub(crate) async fn run_after(
        &self,
        scope: &Arc<RunScope>,
        request: CallRequest,
        ticket: Option<Ticket>,
        found: &Seen,
    ) -> ToolResult {
        let mut trace = Trace::new(&*self.parts.clock);
        let mut flight = self.board(scope, request);
        flight.ticket = ticket;
        flight.cx.carry(found);
        // Phases fence what they call; whatever slips through still ends as a result of this call.
        let settled = {
            let phases = pin!(self.eleven_phases(scope, &mut flight, &mut trace));
            catch_panic(phases).await
        };
        let outcome = settled.unwrap_or_else(|panic| {
            Err(Fault::new(Failure::ExecutionFailed, format!("the call crashed: {panic}")).retryable(false))
        });
        phases::emit_terminal(self, scope, flight, trace, outcome).await
    }

    /// Ends a call whose effect was found to have happened before an interruption.
    pub(crate) async fn finish_found(
        &self,
        scope: &Arc<RunScope>,
        entry: &Entry,
        mut flight: Flight,
        raw: RawOutput,
    ) -> ToolResult {
        let mut trace = Trace::new(&*self.parts.clock);
        flight.restore_args();
        (flight.logged, flight.found) = (true, true);
        trace.enter(Phase::Execute);
        trace.note("it happened before the interruption");
        let outcome = self.last_phases(scope, entry, &flight, raw, &mut trace).await;
        phases::emit_terminal(self, scope, flight, trace, outcome).await
    }

    /// Ends a call that nobody can vouch for. What was found of it stays in its record, so that it can be
    /// taken back.
    pub(crate) async fn finish_left(
        &self,
        scope: &Arc<RunScope>,
        request: CallRequest,
        found: &Seen,
        fault: Fault,
    ) -> ToolResult {
        let mut trace = Trace::new(&*self.parts.clock);
        let mut flight = self.board(scope, request);
        flight.cx.carry(found);
        if flight.call.risk_level == envelope::Risk::Commands {
            // It was started, and nobody knows how far it came.
            flight.cx.observed(envelope::SideEffect::RunCommand);
        }
        flight.restore_args();
        (flight.logged, flight.found) = (true, true);
        trace.enter(Phase::Execute);
        phases::emit_terminal(self, scope, flight, trace, Err(fault)).await
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
        if self.parts.purpose == Purpose::Forecast && entry.decl.family == Family::Task {
            // It is about a task that nobody has started.
            return Err(phases::unforeseen(entry));
        }
        if entry.decl.risk_level.has_effects()
            && let Some(ticket) = &flight.ticket
        {
            self.parts.scheduler.turn_to_look(ticket, &flight.cancel).await?;
        }
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

        self.last_phases(scope, entry, flight, raw, trace).await
    }

    /// What follows once the tool has done its work.
    async fn last_phases(
        &self,
        scope: &RunScope,
        entry: &Entry,
        flight: &Flight,
        raw: RawOutput,
        trace: &mut Trace<'_>,
    ) -> Result<Kept, Fault> {
        trace.enter(Phase::MapResult);
        let mapped = phases::map_result(self, entry, flight, raw)?;

        trace.enter(Phase::PostHooks);
        let settled = phases::post_hooks(self, entry, flight, mapped, trace).await?;

        trace.enter(Phase::PersistResult);
        phases::persist_result(self, scope, entry, settled, trace)
    }

    pub(crate) fn board(&self, scope: &Arc<RunScope>, request: CallRequest) -> Flight {
        let CallRequest { mut call, cancel, budget, approver, progress } = request;
        let created = self.parts.clock.now();
        // Whatever speaks of authority is ours to say, not the caller's.
        call.confirmation_id = call.confirmation_id.filter(|claimed| scope.was_given(claimed));
        call.policy = self.parts.snapshot.clone();
        call.executor_version = self.parts.executor_version.clone();
        call.tool_registry_version = self.parts.registry_version.clone();
        let model = Value::Object(std::mem::take(&mut call.args));
        let progress = self.progress_sink(scope, &call, progress);
        let store: Arc<dyn ObjectStore> = Arc::new(JournalStore(scope.journal.clone()));
        let artifacts: Arc<dyn ArtifactSink> = Arc::new(JournalArtifacts::of(&scope.journal, &call));
        let id = call.call_id.clone();
        let cx = ToolCx::with_places(id, cancel.clone(), Some(progress), Some(store), Some(artifacts))
            .of_run(call.run_id.clone());
        Flight {
            call,
            model,
            cancel,
            cx,
            made: Mutex::default(),
            budget,
            approver,
            created,
            longest_ms: self.policy().limits.call_timeout_ms.get(),
            dispatched: None,
            ticket: None,
            slot: None,
            logged: false,
            found: false,
            cancellation: None,
        }
    }

    /// Progress becomes an event of the run. A lost progress event is no reason to fail a call.
    fn progress_sink(
        &self,
        scope: &Arc<RunScope>,
        call: &ToolCall,
        told: Option<ProgressSink>,
    ) -> ProgressSink {
        let (engine, scope) = (self.clone(), scope.clone());
        let (run, step, id, tool) =
            (call.run_id.clone(), call.step_id.clone(), call.call_id.clone(), call.tool.clone());
        Arc::new(move |progress: Progress| {
            if let Some(told) = &told {
                // Whoever follows a call cannot end it.
                let _crashed = catch_call(|| told(progress.clone()));
            }
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

    /// Tells whoever follows the run of a call that is on record.
    pub(crate) fn tell_call(&self, call: &ToolCall) {
        if let Some(observer) = &self.parts.observer {
            let _crashed = catch_call(|| observer.call(call));
        }
    }

    /// Records an event, then tells whoever follows the run.
    pub(crate) fn record_event(&self, scope: &RunScope, event: &ExecutionEvent) -> Result<Seq, Fault> {
        let seq = scope.journal.event(event).map_err(|error| journal_fault(&error))?;
        if let Some(observer) = &self.parts.observer {
            // Whoever follows a run cannot end it.
            let _crashed = catch_call(|| observer.event(event));
        }
        Ok(seq)
    }

    pub(crate) fn is_remembered(&self, tool: &str, why: &str, by: Remembering) -> bool {
        let remembered = self.parts.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        by != Remembering::Nothing && remembered.contains(&(tool.to_owned(), why.to_owned(), by))
    }

    pub(crate) fn remember(&self, tool: &str, why: &str, by: Remembering) {
        let mut remembered = self.parts.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        remembered.insert((tool.to_owned(), why.to_owned(), by));
    }
}

/// A record that cannot be kept ends the call: nothing happens that is not written down.
pub(crate) fn journal_fault(error: &journal::JournalError) -> Fault {
    Fault::new(Failure::ExecutionFailed, format!("the journal cannot be written: {error}"))
        .hint("free some space or mend the disk; the run ends here and can be resumed")
        .retryable(false)
}
