//! Replay of a run without a plan.
//!
//! Its calls came from outside, so the calls themselves cannot be derived. Derived are the id of each call
//! from the run and its number, the hash of its arguments, and that each call has one result and each result
//! a call.

use std::collections::BTreeMap;

use envelope::{CallId, EventType, StepId, ToolCall, ToolResult, canonical_hash};
use plan::RunStatus;
use serde_json::Value;

use crate::divergence::{Divergence, DivergenceKind, ReplayReport};
use crate::error::JournalError;
use crate::log_kind::Seq;
use crate::run_folder::{JournalRecord, RunFolder};

/// Compares each record of a session with the other records.
pub(crate) fn replay(folder: &RunFolder) -> Result<ReplayReport, JournalError> {
    let mut session = SessionReplay::default();
    for entry in folder.records()? {
        let entry = entry?;
        match entry.record {
            JournalRecord::Call(call) => session.call(entry.seq, &call),
            JournalRecord::Result(result) => session.result(entry.seq, &result),
            JournalRecord::Event(event) if event.event_type == EventType::RunFinished => {
                let status = event.payload.as_ref().and_then(|payload| payload.get("status"));
                session.status = status.and_then(|status| serde_json::from_value(status.clone()).ok());
                session.complete = true;
            }
            JournalRecord::Event(_) => {}
        }
    }
    Ok(session.into_replay())
}

#[derive(Default)]
struct SessionReplay {
    /// Calls without a result.
    open: BTreeMap<CallId, StepId>,
    calls: u64,
    divergences: Vec<Divergence>,
    complete: bool,
    status: Option<RunStatus>,
}

impl SessionReplay {
    fn call(&mut self, seq: Seq, call: &ToolCall) {
        if CallId::derive(&call.run_id, &call.step_id, None, call.attempt) != call.call_id {
            let message = "another id follows from the run and the number of the call".to_owned();
            self.add_divergence(
                DivergenceKind::UnexpectedCall,
                Some(seq),
                &call.step_id,
                &call.call_id,
                message,
            );
        }
        let args_hash = canonical_hash(&Value::Object(call.args.clone()));
        if call.args_hash.is_some_and(|recorded| recorded != args_hash) {
            let message = format!("the recorded arguments have the hash {args_hash}, not the recorded one");
            self.add_divergence(DivergenceKind::ArgsHash, Some(seq), &call.step_id, &call.call_id, message);
        }
        // A call that was open when the session was interrupted is recorded again when it is settled.
        let again = self.open.insert(call.call_id.clone(), call.step_id.clone()).is_some();
        self.calls += u64::from(!again);
    }

    fn result(&mut self, seq: Seq, result: &ToolResult) {
        if self.open.remove(&result.call_id).is_none() {
            let message = format!("a result of {} that no open call asked for", result.tool);
            self.add_divergence(
                DivergenceKind::UnexpectedResult,
                Some(seq),
                &result.step_id,
                &result.call_id,
                message,
            );
        }
    }

    fn add_divergence(
        &mut self,
        what: DivergenceKind,
        seq: Option<Seq>,
        step: &StepId,
        call: &CallId,
        message: String,
    ) {
        let (step, call_id) = (Some(step.clone()), Some(call.clone()));
        self.divergences.push(Divergence { what, seq, step, call_id, message });
    }

    fn into_replay(mut self) -> ReplayReport {
        if self.complete {
            for (call, step) in std::mem::take(&mut self.open) {
                let message = "the call has no result although the session has ended".to_owned();
                self.add_divergence(DivergenceKind::MissingResult, None, &step, &call, message);
            }
        }
        ReplayReport {
            calls: self.calls,
            divergences: self.divergences,
            complete: self.complete,
            status: self.status,
        }
    }
}

#[cfg(test)]
mod tests {
    use envelope::{CallId, StepId, ToolCall};

    use super::SessionReplay;
    use crate::samples;

    fn call(number: u64) -> ToolCall {
        let mut call = samples::call(number);
        call.step_id = StepId::of_call(number);
        call.call_id = CallId::derive(&call.run_id, &call.step_id, None, call.attempt);
        call
    }

    fn found(tamper: impl FnOnce(&mut SessionReplay)) -> Vec<String> {
        let mut session = SessionReplay { complete: true, ..SessionReplay::default() };
        tamper(&mut session);
        session.into_replay().divergences.iter().map(ToString::to_string).collect()
    }

    // Conformance: proxy 16.10
    #[test]
    fn what_does_not_follow_from_the_other_records_is_named() {
        let honest = call(1);
        let ended = |call: &ToolCall| {
            let mut result = samples::result(1);
            result.call_id = call.call_id.clone();
            result
        };
        assert_eq!(
            found(|session| {
                session.call(1, &honest);
                session.result(2, &ended(&honest));
            }),
            [""; 0]
        );
        let mut changed = call(1);
        changed.args.insert("more".to_owned(), true.into());
        let mut moved = call(1);
        moved.step_id = StepId::of_call(2);
        assert!(
            found(|session| {
                session.call(1, &changed);
                session.result(2, &ended(&changed));
            })[0]
                .contains("not the recorded one")
        );
        assert!(
            found(|session| {
                session.call(1, &moved);
                session.result(2, &ended(&moved));
            })[0]
                .contains("another id follows")
        );
        assert!(found(|session| session.call(1, &honest))[0].contains("has no result"));
        assert!(found(|session| session.result(1, &ended(&honest)))[0].contains("no open call asked for"));
    }
}
