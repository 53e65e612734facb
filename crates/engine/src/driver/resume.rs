//! Resumes an interrupted run without repeating a finished call.
//!
//! The machine is pure: a fresh one is fed the record until it is in the state of the crash. Calls that it has started
//! by then and that have no result remain to be made or settled.

use std::path::PathBuf;
use std::sync::Arc;

use envelope::{EventLevel, EventType, ExecutionEvent, SchemasOnly};
use journal::{
    Journal, JournalError, OpenCall, RecordedTool, RecoveryReport, RunFolder, RunHeader, RunKind, RunReplay,
    brace_rule,
};
use plan::{BraceRule, MachineOutput, PlanFinding, RunSpec};

use super::local_driver::drive;
use super::plan_execution::{PlanExecution, ResumedState};
use super::run_request::RunCancel;
use crate::forecast::{ForecastCall, Forecaster};
use crate::phases;
use crate::run_scope::RunScope;
use crate::{Engine, RunReport};

/// An interrupted run to be resumed.
pub struct ResumeRequest {
    pub run_dir: PathBuf,
    pub cancel: RunCancel,
    /// Forecasts the plan if its question was not answered yet.
    pub forecaster: Option<Arc<dyn Forecaster>>,
}

/// Error of a run that cannot be resumed.
#[derive(Debug, thiserror::Error)]
pub enum ResumeError {
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("the run has already finished; there is nothing to resume")]
    Finished,
    #[error("{what} changed since the approval; run the plan again to be asked again")]
    Changed { what: &'static str },
    #[error("the plan of this run no longer passes its check")]
    PlanRejected(Vec<PlanFinding>),
    #[error("the record does not fit the plan: {why}")]
    Diverged { why: String },
}

/// An interrupted run that this process has opened for writing.
pub struct InterruptedRun {
    request: ResumeRequest,
    folder: RunFolder,
    journal: Journal,
    recovery: RecoveryReport,
}

impl InterruptedRun {
    /// Verifies the record of a run, repairs a torn end and locks the run for this process.
    ///
    /// Returns an error if the record is damaged or has an end; the run is then left exactly as it was found.
    pub fn open(request: ResumeRequest) -> Result<InterruptedRun, ResumeError> {
        let verified = journal::verify(&request.run_dir, None)?;
        if let Some(first) = verified.problems.into_iter().next() {
            return Err(JournalError::Damaged(Box::new(first)).into());
        }
        if verified.finished {
            // The process was killed between the end of the run and the end of its files: those are completed. A failure
            // leaves them as they are, and the end stays readable in the write-ahead log.
            if verified.open
                && let Ok((journal, _)) = Journal::reopen(&request.run_dir)
            {
                journal.close()?;
            }
            return Err(ResumeError::Finished);
        }
        let (journal, recovery) = Journal::reopen(&request.run_dir)?;
        let folder = RunFolder::open(&request.run_dir)?;
        Ok(InterruptedRun { request, folder, journal, recovery })
    }

    /// Only runs of a plan can be driven on; [`Engine::resume`] also ends an interrupted session.
    pub fn kind(&self) -> RunKind {
        self.folder.header().kind
    }
}

impl Engine {
    /// Resumes a run where its journal ends, with the local driver.
    pub async fn resume(&self, request: ResumeRequest) -> Result<RunReport, ResumeError> {
        let interrupted = InterruptedRun::open(request)?;
        if interrupted.kind() == RunKind::Session {
            let InterruptedRun { request, folder, journal, .. } = interrupted;
            return self.end_session(&folder, journal, request.cancel.token()).await;
        }
        Ok(drive(PlanExecution::resume(self, interrupted)?).await)
    }
}

impl PlanExecution {
    /// Brings a run to where its record ends. Its actions are then the calls, timers and the question that were open.
    ///
    /// Returns an error if the policy, a tool or the plan's check has changed, or if the record does not follow from
    /// the plan.
    pub fn resume(engine: &Engine, interrupted: InterruptedRun) -> Result<PlanExecution, ResumeError> {
        let InterruptedRun { request, folder, journal, recovery } = interrupted;
        let braces = brace_rule(&folder, &|braces| rebuild_spec(engine, folder.header(), braces).ok())?;
        let spec = rebuild_spec(engine, folder.header(), braces)?;
        let approved = stored_forecast(engine, &folder, &spec)?;
        let replay = RunReplay::rebuild(&folder, spec.clone())?;
        if replay.is_finished() {
            return Err(ResumeError::Finished);
        }
        if let Some(first) = replay.divergences.first() {
            return Err(ResumeError::Diverged { why: first.to_string() });
        }
        let (scope, order) = RunScope::ordered(journal);
        let continues = folder.header().continues.clone();
        let mut context = continues.as_ref().map(|run| run.context.clone()).unwrap_or_default();
        context.extend(replay.context);
        scope.context.restore(context);
        for given in &replay.confirmations {
            scope.add_confirmation(given);
        }
        if let Some(approved) = approved {
            scope.approve(approved);
        }
        let mut outputs =
            vec![MachineOutput::Event(resumed_event(engine, folder.header(), replay.open.len(), &recovery))];
        outputs.extend(
            replay
                .unreported_results
                .values()
                .map(|result| MachineOutput::Event(phases::ended_event(result))),
        );
        outputs.extend(replay.unrecorded_outputs);
        outputs
            .extend(replay.timers.into_iter().map(|(id, after_ms)| MachineOutput::SetTimer { id, after_ms }));
        outputs.extend(replay.question.map(MachineOutput::AskConfirm));
        let mut open: Vec<OpenCall> = replay.open.into_values().collect();
        open.sort_by_key(|open| open.derived.iteration.as_ref().map(|iteration| iteration.index));
        let state = ResumedState {
            scope,
            order,
            machine: replay.machine,
            effects: replay.effects,
            confirmation: replay.confirmations.first().cloned(),
            open,
            outputs,
            continues,
        };
        Ok(PlanExecution::from_state(engine, &spec, state, request.cancel, request.forecaster))
    }
}

/// Returns the forecast that the approval of the run covers, if it was given for one. Every call that is still to be
/// made is held to it.
fn stored_forecast(
    engine: &Engine,
    folder: &RunFolder,
    spec: &RunSpec,
) -> Result<Option<Vec<ForecastCall>>, ResumeError> {
    let Some(given) = folder.confirmation() else { return Ok(None) };
    let forecast = given.forecast.as_ref();
    if given.binding != engine.binding(&spec.plan, forecast.map(|stored| &stored.hash)) {
        return Err(ResumeError::Changed { what: "the plan, the policy or the set of tools" });
    }
    let Some(stored) = forecast else { return Ok(None) };
    let calls = serde_json::from_slice(&folder.object(stored)?);
    calls.map(Some).map_err(|_unreadable| ResumeError::Changed { what: "the forecast that was approved" })
}

/// Returns the spec of the interrupted run if nothing that it depends on has changed. Permissions are derived from the
/// policy again, never taken from the folder.
fn rebuild_spec(engine: &Engine, header: &RunHeader, braces: BraceRule) -> Result<RunSpec, ResumeError> {
    if header.policy_hash != engine.policy().hash() {
        return Err(ResumeError::Changed { what: "the policy" });
    }
    let same_tool = |old: &RecordedTool| {
        engine.surface().resolve(old.name().as_str()).is_ok_and(|entry| old.is(&entry.decl))
    };
    if !header.tools.iter().all(same_tool) {
        return Err(ResumeError::Changed { what: "a tool of the plan" });
    }
    let report = plan::check_recorded(
        &header.plan.to_string(),
        &SchemasOnly(engine.surface()),
        &engine.policy().check_limits(),
        braces,
    );
    let Some(plan) = report.plan else {
        return Err(ResumeError::PlanRejected(report.findings));
    };
    let mut spec = engine.run_spec(header.run_id.clone(), Arc::new(plan), header.planner_version.clone());
    // Whether the plan is asked about as a whole depended on its forecast then. Without that question every call is
    // asked about by itself, so the folder cannot loosen anything here.
    spec.confirm = header.confirm;
    spec.carried = Arc::new(header.carried_calls());
    let same = spec.limits == header.limits && spec.sibling == header.sibling;
    if same { Ok(spec) } else { Err(ResumeError::Changed { what: "what the run may do" }) }
}

fn resumed_event(
    engine: &Engine,
    header: &RunHeader,
    open: usize,
    recovery: &RecoveryReport,
) -> ExecutionEvent {
    ExecutionEvent {
        event_type: EventType::RunStarted,
        run_id: header.run_id.clone(),
        timestamp: engine.inner.clock.now(),
        level: EventLevel::Warn,
        message: format!("resumed with {open} open calls"),
        call_id: None,
        step_id: None,
        tool: None,
        payload: Some(serde_json::json!({ "resumed": true, "recoveredTo": recovery.head })),
    }
}
