//! Continues an interrupted run without repeating a finished call.
//!
//! The machine is pure, so resuming is rehearsing: a fresh machine is fed the record until it stands where the
//! crash left it. What it has started by then and the journal has no result for is what remains to be done or
//! found out.

use std::path::PathBuf;
use std::sync::Arc;

use envelope::{EventType, ExecutionEvent, Failure, Fault, Idempotency, Level, ToolCall, ToolResult};
use journal::{Journal, JournalError, OpenCall, Recovery, Rehearsal, RunFolder, RunHeader, RunKind};
use plan::{Finding, Output, RunSpec};
use serde_json::Value;
use toolkit::{CancelCause, CancelToken, Entry, RawOutput, Reconciled, Seen};

use crate::Engine;
use crate::approval::{UncertainCall, UncertainVerdict};
use crate::call::{CallRequest, Flight, RunScope};
use crate::catch::catch_panic;
use crate::forecast::{ForecastCall, Forecaster};
use crate::inputs::observable;
use crate::phases;
use crate::report::RunReport;
use crate::run::{Driver, RunCancel};
use crate::session::not_made;

/// A run that was interrupted and should go on.
pub struct ResumeRequest {
    pub run_dir: PathBuf,
    pub cancel: RunCancel,
    /// Tells what the plan would do, should it still have to be asked about.
    pub forecaster: Option<Arc<dyn Forecaster>>,
}

/// Why a run cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum ResumeError {
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("the run has already finished; there is nothing to resume")]
    Finished,
    #[error("{what} changed since the yes was given; run the plan again to be asked anew")]
    Changed { what: &'static str },
    #[error("the plan of this run no longer passes its check")]
    PlanRejected(Vec<Finding>),
    #[error("the record does not fit the plan: {why}")]
    Diverged { why: String },
}

impl Engine {
    /// Picks up a run where its journal ends.
    pub async fn resume(&self, request: ResumeRequest) -> Result<RunReport, ResumeError> {
        // Looked at before anything is mended: a run that cannot go on is left exactly as it was found.
        let looked = journal::verify(&request.run_dir, None)?;
        if let Some(first) = looked.problems.into_iter().next() {
            return Err(JournalError::Damaged(Box::new(first)).into());
        }
        if looked.finished {
            return Err(ResumeError::Finished);
        }
        // From here on nobody else writes to this run.
        let (journal, recovery) = Journal::reopen(&request.run_dir)?;
        if RunFolder::open(&request.run_dir)?.header().kind == RunKind::Session {
            return self.end_session(&request.run_dir, journal, request.cancel.token()).await;
        }
        let (mut driver, machine) = self.catch_up(&request.run_dir, &journal, &recovery)?;
        driver.forecasting(request.forecaster);
        Ok(driver.drive(machine, request.cancel).await)
    }

    /// Brings a machine and a driver to where the record ends.
    fn catch_up(
        &self,
        run_dir: &std::path::Path,
        journal: &Journal,
        recovery: &Recovery,
    ) -> Result<(Driver, plan::Machine), ResumeError> {
        let folder = RunFolder::open(run_dir)?;
        let spec = self.respec(folder.header())?;
        let approved = self.approved_before(&folder, &spec)?;
        let rehearsal = Rehearsal::of(&folder, spec.clone())?;
        if rehearsal.finished() {
            return Err(ResumeError::Finished);
        }
        if let Some(first) = rehearsal.divergences.first() {
            return Err(ResumeError::Diverged { why: first.to_string() });
        }
        let scope = RunScope::ordered(journal.clone());
        scope.context.restore(rehearsal.context);
        for given in &rehearsal.confirmations {
            scope.confirmed(given);
        }
        if let Some(approved) = approved {
            scope.approve(approved);
        }
        let mut driver = Driver::new(self.clone(), scope, &spec);
        driver.already(&rehearsal.effects, rehearsal.confirmations.first().cloned());
        let mut owed =
            vec![Output::Event(self.resumed_event(folder.header(), rehearsal.open.len(), recovery))];
        owed.extend(rehearsal.untold.values().map(|result| Output::Event(phases::ended_event(result))));
        owed.extend(rehearsal.owed);
        owed.extend(rehearsal.timers.into_iter().map(|(id, after_ms)| Output::SetTimer { id, after_ms }));
        owed.extend(rehearsal.question.map(Output::AskConfirm));
        driver.absorb(owed);
        let mut open: Vec<OpenCall> = rehearsal.open.into_values().collect();
        // In the order in which they were started.
        open.sort_by_key(|open| open.derived.iteration.as_ref().map(|iteration| iteration.index));
        for open in open {
            driver.carry_on(open);
        }
        Ok((driver, rehearsal.machine))
    }

    /// The forecast that the yes to the run covers, if it was given for one. Every call that is still to be made is held
    /// to it.
    fn approved_before(
        &self,
        folder: &RunFolder,
        spec: &RunSpec,
    ) -> Result<Option<Vec<ForecastCall>>, ResumeError> {
        let Some(given) = folder.confirmation() else { return Ok(None) };
        let forecast = given.forecast.as_ref();
        if given.binding != self.binding(&spec.plan, forecast.map(|kept| &kept.hash)) {
            return Err(ResumeError::Changed { what: "the set of tools" });
        }
        let Some(kept) = forecast else { return Ok(None) };
        let calls = serde_json::from_slice(&folder.object(kept)?);
        calls.map(Some).map_err(|_unreadable| ResumeError::Changed { what: "the forecast that was approved" })
    }

    /// The same run as before, if nothing it rests on has changed. What the run may do is worked out again
    /// from the policy, never taken from the folder.
    fn respec(&self, header: &RunHeader) -> Result<RunSpec, ResumeError> {
        if header.policy_hash != self.policy().hash() {
            return Err(ResumeError::Changed { what: "the policy" });
        }
        let same_tool = |old: &envelope::ToolDecl| {
            self.parts.surface.resolve(old.name.as_str()).is_ok_and(|entry| *entry.decl == *old)
        };
        if !header.tools.iter().all(same_tool) {
            return Err(ResumeError::Changed { what: "a tool of the plan" });
        }
        let report =
            plan::check(&header.plan.to_string(), &*self.parts.surface, &self.policy().check_limits());
        let Some(plan) = report.plan else {
            return Err(ResumeError::PlanRejected(report.findings));
        };
        let mut spec = self.spec(header.run_id.clone(), Arc::new(plan), header.planner_version.clone());
        // Whether the plan is asked about as a whole depended on its forecast then. Without that question every call
        // is asked about by itself, so the folder cannot loosen anything here.
        spec.confirm = header.confirm;
        let same = spec.limits == header.limits && spec.sibling == header.sibling;
        if same { Ok(spec) } else { Err(ResumeError::Changed { what: "what the run may do" }) }
    }

    fn resumed_event(&self, header: &RunHeader, open: usize, recovery: &Recovery) -> ExecutionEvent {
        ExecutionEvent {
            event_type: EventType::RunStarted,
            run_id: header.run_id.clone(),
            timestamp: self.parts.clock.now(),
            level: Level::Warn,
            message: format!("resumed with {open} open calls"),
            call_id: None,
            step_id: None,
            tool: None,
            payload: Some(serde_json::json!({ "resumed": true, "recoveredTo": recovery.head })),
        }
    }

    /// Settles a call that was written down before the crash: found out, made again, or left to a person.
    pub(crate) async fn settle_uncertain(
        &self,
        scope: &Arc<RunScope>,
        recorded: ToolCall,
        cancel: CancelToken,
    ) -> ToolResult {
        let decided = match self.parts.surface.resolve(recorded.tool.as_str()) {
            // A call that cannot have changed anything is simply made again.
            Ok(entry) if may_have_changed(entry, &recorded) => {
                self.find_out(scope, entry, &recorded, &cancel).await
            }
            Err(_) if recorded.risk_level.has_effects() => Found::Left(GONE.to_owned(), Seen::default()),
            Ok(_) | Err(_) => Found::Run(Seen::default()),
        };
        let request =
            CallRequest::new(ToolCall { called_with: None, intent: Vec::new(), ..recorded.clone() }, cancel);
        match decided {
            Found::Run(done) => self.run_after(scope, request, None, &done).await,
            Found::Happened(entry, raw, flight) => self.finish_found(scope, entry, *flight, raw).await,
            Found::Left(why, found) => {
                self.finish_left(scope, request, &found, cannot_tell(&recorded, &why)).await
            }
        }
    }

    /// The same for a call that nobody waits for any more: it is not made, whatever is found.
    pub(crate) async fn settle_unwanted(
        &self,
        scope: &Arc<RunScope>,
        recorded: ToolCall,
        cancel: CancelToken,
    ) -> ToolResult {
        let looked = match self.parts.surface.resolve(recorded.tool.as_str()) {
            Ok(entry) if may_have_changed(entry, &recorded) => {
                self.look(scope, entry, &recorded, &cancel).await
            }
            Err(_) if recorded.risk_level.has_effects() => Looked::CannotAsk(GONE),
            Ok(_) | Err(_) => Looked::DidNot(Seen::default()),
        };
        let request = CallRequest::new(recorded.clone(), cancel);
        match looked {
            Looked::DidNot(seen) => self.finish_left(scope, request, &seen, not_made(&recorded)).await,
            Looked::Happened(entry, raw, flight) => self.finish_found(scope, entry, *flight, raw).await,
            Looked::Unknown(why, seen) => {
                self.finish_left(scope, request, &seen, cannot_tell(&recorded, &why)).await
            }
            Looked::CannotAsk(why) => {
                self.finish_left(scope, request, &Seen::default(), cannot_tell(&recorded, why)).await
            }
        }
    }

    /// What the tool can tell of a call that was under way.
    async fn look<'a>(
        &self,
        scope: &Arc<RunScope>,
        entry: &'a Entry,
        recorded: &ToolCall,
        cancel: &CancelToken,
    ) -> Looked<'a> {
        let Ok(decoded) = phases::parse_schema(entry, &called_with(recorded)) else {
            return Looked::CannotAsk(CHANGED);
        };
        let flight = self.board(scope, CallRequest::new(recorded.clone(), cancel.clone()));
        match catch_panic(entry.tool.reconcile(&flight.cx, &decoded, &recorded.intent)).await {
            Ok(Reconciled::Happened(raw)) => Looked::Happened(entry, raw, Box::new(flight)),
            // Folders it had made on the way are there, and stay in the record of this call.
            Ok(Reconciled::DidNot) => Looked::DidNot(flight.cx.take_seen()),
            Ok(Reconciled::Unknown { why }) => Looked::Unknown(why, flight.cx.take_seen()),
            Err(panic) => {
                Looked::Unknown(format!("the tool crashed while looking: {panic}"), flight.cx.take_seen())
            }
        }
    }

    async fn find_out<'a>(
        &self,
        scope: &Arc<RunScope>,
        entry: &'a Entry,
        recorded: &ToolCall,
        cancel: &CancelToken,
    ) -> Found<'a> {
        let (why, seen) = match self.look(scope, entry, recorded, cancel).await {
            Looked::Happened(entry, raw, flight) => return Found::Happened(entry, raw, flight),
            Looked::DidNot(seen) => return Found::Run(seen),
            // It could not be made again either, so there is nothing to ask a person.
            Looked::CannotAsk(why) => return Found::Left(why.to_owned(), Seen::default()),
            Looked::Unknown(_, seen) if entry.decl.idempotency == Idempotency::Idempotent => {
                return Found::Run(seen);
            }
            Looked::Unknown(why, seen) => (why, seen),
        };
        let uncertain = UncertainCall {
            call_id: recorded.call_id.clone(),
            step_id: recorded.step_id.clone(),
            tool: recorded.tool.clone(),
            input: observable(&called_with(recorded)).into_owned(),
            why: why.clone(),
        };
        let verdict = tokio::select! {
            biased;
            verdict = catch_panic(self.parts.approver.settle(&uncertain)) => verdict,
            _cause = cancel.cancelled() => return Found::Left(why, seen),
        };
        match verdict {
            Ok(UncertainVerdict::Run) => Found::Run(seen),
            Ok(UncertainVerdict::Leave) | Err(_) => Found::Left(why, seen),
        }
    }
}

const GONE: &str = "the tool is not there to be asked any more";
const CHANGED: &str = "the tool no longer understands what it was called with";

/// By what the tool said of itself then, or says now.
fn may_have_changed(entry: &Entry, recorded: &ToolCall) -> bool {
    recorded.risk_level.has_effects() || entry.decl.risk_level.has_effects()
}

/// What the tool was to be called with.
fn called_with(recorded: &ToolCall) -> Value {
    Value::Object(recorded.called_with.clone().unwrap_or_else(|| recorded.args.clone()))
}

fn cannot_tell(recorded: &ToolCall, why: &str) -> Fault {
    Fault::new(
        Failure::ExecutionFailed,
        format!(
            "{} was under way when the run was interrupted, and nobody can tell whether it happened: {why}",
            recorded.tool
        ),
    )
    .hint("look at what it would have changed, then decide")
    .retryable(false)
    .detail("outcome", "unknown")
}

/// What a tool can tell of a call that was under way.
enum Looked<'a> {
    Happened(&'a Entry, RawOutput, Box<Flight>),
    DidNot(Seen),
    /// Why it cannot tell, and what it saw nevertheless.
    Unknown(String, Seen),
    /// There is no tool that understands the call any more, which says nothing about what the call did.
    CannotAsk(&'static str),
}

/// What is to be done about a call that was under way.
enum Found<'a> {
    /// To be made, on top of what it had done already.
    Run(Seen),
    Happened(&'a Entry, RawOutput, Box<Flight>),
    /// Why nobody can tell, and what can be told nevertheless.
    Left(String, Seen),
}

/// A call that was open when the run was interrupted: with its token already cancelled if the run wants it
/// stopped.
pub(crate) fn token_of(open: &OpenCall) -> CancelToken {
    let cancel = CancelToken::new();
    if open.cancelled {
        cancel.cancel(CancelCause::Run);
    }
    cancel
}
