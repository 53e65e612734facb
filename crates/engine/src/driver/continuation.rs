//! The part of a finished run that a new run of the same plan takes over.

use std::collections::BTreeMap;

use envelope::{CallId, Status, StepId, ToolResult};
use journal::{Continuation, JournalError, JournalRecord, RunFolder, UncertainCall};
use plan::{CarriedCall, CheckedPlan};
use serde_json::{Map, Value};

/// Reads which calls of a finished run succeeded, with the outputs that the plan reads, and which may have happened
/// although they failed.
///
/// Results of calls that `folder` carried itself are carried on. Fails if the record or a stored output cannot be read.
pub fn continuation(folder: &RunFolder, plan: &CheckedPlan) -> Result<Continuation, JournalError> {
    let before = folder.header().continues.as_ref();
    let mut carried = before.map(|run| run.carried.clone()).unwrap_or_default();
    let mut context: Map<String, Value> = before.map(|run| run.context.clone()).unwrap_or_default();
    let uncertain_before = before.map(|run| run.uncertain.clone()).unwrap_or_default();
    let mut uncertain: BTreeMap<(StepId, Option<u64>), UncertainCall> =
        uncertain_before.into_iter().map(|call| ((call.step_id.clone(), call.index), call)).collect();
    let mut indexes: BTreeMap<CallId, Option<u64>> = BTreeMap::new();
    for entry in folder.records()? {
        match entry?.record {
            JournalRecord::Call(call) => {
                indexes.insert(call.call_id, call.iteration.map(|iteration| iteration.index));
            }
            JournalRecord::Result(result) => {
                // Without a record of the call, it was never started.
                let Some(index) = indexes.remove(&result.call_id) else { continue };
                let applied = result.context_modifiers.iter().filter(|change| change.applied);
                context.extend(applied.map(|change| (change.key.clone(), change.value.clone())));
                let item = (result.step_id.clone(), index);
                let step = plan.steps.iter().find(|step| step.id == result.step_id);
                let is_read = step.is_some_and(|step| step.keep_output || step.fail_on_exit);
                let is_ok = result.status == Status::Ok;
                let data = if is_read && is_ok { folder.data(&result)? } else { None };
                let has_failed_by_exit = step.is_some_and(|step| step.exit_failure(data.as_ref()).is_some());
                if is_ok && !has_failed_by_exit {
                    uncertain.remove(&item);
                    let data = data.filter(|_| step.is_some_and(|step| step.keep_output));
                    let ToolResult { step_id, incomplete, .. } = *result;
                    carried.push(CarriedCall { step_id, index, data, incomplete });
                } else if has_failed_by_exit || has_open_outcome(&result) {
                    let (step_id, tool) = (result.step_id, result.tool);
                    uncertain.insert(item, UncertainCall { step_id, tool, index });
                }
            }
            JournalRecord::Event(_) => {}
        }
    }
    Ok(Continuation {
        run_id: folder.header().run_id.clone(),
        carried,
        uncertain: uncertain.into_values().collect(),
        context,
    })
}

/// Whether the call may have had its effect, or a part of it, although it failed.
fn has_open_outcome(result: &ToolResult) -> bool {
    // A hook after the call or a result that is too large makes it fail although it had its effect.
    let had_effects =
        !result.changes.is_empty() || result.effects.as_ref().is_some_and(|effects| !effects.is_empty());
    let details = result.error.as_ref().and_then(|error| error.details.as_ref());
    had_effects || details.is_some_and(|details| details.contains_key("outcome"))
}
