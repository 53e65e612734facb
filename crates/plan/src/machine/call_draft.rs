//! Creates the records of a run: calls with all arguments filled in, and results of calls that never start.

use std::borrow::Cow;

use envelope::{
    CallId, ConfirmationId, Failure, Fault, Iteration, Risk, Status, Timestamp, ToolCall, ToolError,
    ToolResult, canonical_hash,
};
use serde_json::Value;

use super::RunSpec;
use super::output_store::OutputStore;
use super::step_work::{ItemAttempt, ItemSource};
use crate::{
    CheckedStep, PathSegment, Reference, ReferenceRoot, Template, TemplateBindings, UnresolvedReference,
};

/// The data for one call: its step, its item and the confirmation that covers it.
pub(super) struct CallDraft<'a> {
    pub(super) spec: &'a RunSpec,
    pub(super) step: &'a CheckedStep,
    pub(super) items: &'a ItemSource,
    pub(super) store: &'a OutputStore,
    pub(super) attempt: ItemAttempt,
    pub(super) confirmation: Option<&'a ConfirmationId>,
    pub(super) now: Timestamp,
}

impl CallDraft<'_> {
    /// Returns the complete call. Fails if its arguments cannot be filled in.
    pub(super) fn build(&self) -> Result<ToolCall, Fault> {
        let item = self.item().map_err(|dangling| unresolved_fault("foreach/from", &dangling))?;
        let index = item.is_some().then_some(self.attempt.position);
        let bindings = TemplateBindings { values: self.store, item, index };
        let args =
            self.step.args.resolve(&bindings).map_err(|dangling| unresolved_fault("args", &dangling))?;
        let args_hash = canonical_hash(&args);
        let Value::Object(args) = args else {
            return Err(Fault::new(Failure::InvalidArguments, "the arguments are not an object"));
        };
        let preview = self.step.preview.as_ref().and_then(|preview| preview.resolve(&bindings).ok());
        let foreach = self.step.foreach.as_ref();
        let iteration = foreach.zip(item).map(|(foreach, item)| Iteration {
            index: self.attempt.position,
            item_name: foreach.item_name.to_string(),
            item_value: item.clone(),
        });
        let RunSpec { run_id, .. } = self.spec;
        let decl = &self.step.decl;
        Ok(ToolCall {
            call_id: CallId::derive(run_id, &self.step.id, index, self.attempt.attempt),
            run_id: run_id.clone(),
            step_id: self.step.id.clone(),
            tool: decl.name.clone(),
            attempt: self.attempt.attempt,
            args,
            filled_in: self.reference_pointers(),
            args_hash: Some(args_hash),
            timeout_ms: Some(self.step.timeout_ms),
            deadline_at: None,
            cancellable: decl.cancellable,
            loop_id: iteration.is_some().then(|| format!("{run_id}/{}", self.step.id)),
            iteration,
            created_at: self.now,
            planner_version: self.spec.planner_version.clone(),
            executor_version: self.spec.executor_version.clone(),
            tool_registry_version: self.spec.registry_version.clone(),
            // A preview that cannot be filled in is left out: it must not prevent a valid call.
            preview: preview.as_ref().and_then(Value::as_str).map(str::to_owned),
            note: None,
            request_id: None,
            risk_level: decl.risk_level,
            category: Some(decl.category.as_str().into()),
            policy: self.spec.policy.clone(),
            confirmation_id: self.confirmation.cloned(),
            called_with: None,
            intent: Vec::new(),
        })
    }

    /// Returns why the item gets no call: it stands for an item of an earlier step that failed and so has no output.
    pub(super) fn reason_to_skip(&self) -> Option<String> {
        let foreach = self.step.foreach.as_ref()?;
        if !matches!(self.item(), Ok(Some(Value::Null))) {
            return None;
        }
        let Template::Whole(Reference { root: ReferenceRoot::Steps(id), path }) = &foreach.from else {
            return None;
        };
        let is_items = matches!(path.as_slice(), [PathSegment::Key(key)] if key == "items");
        let source = self.spec.plan.steps.iter().find(|step| step.id == *id)?;
        (is_items && source.foreach.is_some())
            .then(|| format!("item {} of step `{id}` has no output", self.attempt.position + 1))
    }

    /// Returns the positions of references in the arguments of a command. You read a command carefully before
    /// you confirm it, so it matters that these parts were not visible then.
    fn reference_pointers(&self) -> Vec<String> {
        let mut pointers: Vec<String> = Vec::new();
        if self.step.decl.risk_level == Risk::Commands {
            self.step.args.references(&mut |pointer, _, _| {
                if pointers.last().is_none_or(|last| last != pointer) {
                    pointers.push(pointer.to_owned());
                }
            });
        }
        pointers
    }

    fn item(&self) -> Result<Option<&Value>, UnresolvedReference> {
        let position = usize::try_from(self.attempt.position).unwrap_or(usize::MAX);
        match (self.items, &self.step.foreach) {
            (ItemSource::One, _) | (ItemSource::InPlace, None) => Ok(None),
            (ItemSource::Own(items), _) => Ok(items.get(position)),
            (ItemSource::InPlace, Some(foreach)) => {
                let bindings = TemplateBindings { values: self.store, item: None, index: None };
                Ok(match foreach.from.resolve_borrowed(&bindings)? {
                    Cow::Borrowed(list) => list.get(position),
                    Cow::Owned(_) => None,
                })
            }
        }
    }
}

/// The failure of a reference that passed every check but has no value in this run.
pub(super) fn unresolved_fault(part: &str, dangling: &UnresolvedReference) -> Fault {
    let pointer = format!("/{part}{}", dangling.pointer);
    Fault::new(Failure::InvalidArguments, format!("cannot fill in `{pointer}`: {dangling}"))
        .hint("refer to a field that is always there, or make sure that the earlier step gives it")
        .detail("pointer", pointer)
        .detail("reference", dangling.reference.clone())
}

/// The reason why a call never started.
pub(super) enum NotStartedReason {
    Skipped { reason: String },
    Refused(Fault),
}

/// Returns the result of a call that never started.
pub(super) fn not_started_result(
    spec: &RunSpec,
    step: &CheckedStep,
    index: Option<u64>,
    why: NotStartedReason,
    now: Timestamp,
) -> ToolResult {
    let (status, error, user_message): (Status, Option<ToolError>, String) = match why {
        NotStartedReason::Skipped { reason } => (Status::Skipped, None, reason),
        NotStartedReason::Refused(fault) => {
            (fault.failure.status(), Some(fault.to_tool_error()), fault.message)
        }
    };
    ToolResult {
        call_id: CallId::derive(&spec.run_id, &step.id, index, 1),
        run_id: spec.run_id.clone(),
        step_id: step.id.clone(),
        tool: step.decl.name.clone(),
        attempt: 1,
        status,
        ok: false,
        data: None,
        data_hash: None,
        data_ref: None,
        error,
        started_at: now,
        ended_at: now,
        duration_ms: 0,
        effects: None,
        changes: Vec::new(),
        artifacts: Vec::new(),
        user_message: Some(user_message),
        debug_message: None,
        canonical: None,
        receipt: None,
        phases: Vec::new(),
        mutations: Vec::new(),
        cancellation: None,
        context_modifiers: Vec::new(),
        reconciled: false,
        incomplete: None,
    }
}
