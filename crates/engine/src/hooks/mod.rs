//! Hooks: the user's code before and after calls. It can add, change, tighten or stop, never loosen.

mod command;
mod pinned_file;
mod process;

use std::sync::Arc;
use std::time::Duration;

use envelope::{Effects, Failure, Fault, Risk, ToolCall, ToolName};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolkit::{BoxFuture, CancelCause, CancelToken};

use crate::panic_guard::{catch_call, catch_panic};

pub use command::CommandHook;
pub use pinned_file::PinnedFile;

/// When a hook is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HookWhen {
    Before,
    After,
    Both,
}

/// Input of a hook before a call: the observable copy, never the original.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BeforeCall<'a> {
    pub call: CallIdentity<'a>,
    pub preview: &'a str,
    pub input: &'a Value,
}

/// Input of a hook after a call. `input` is the observable copy of the tool's arguments.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AfterCall<'a> {
    pub call: CallIdentity<'a>,
    pub input: &'a Value,
    pub output: &'a Value,
    pub effects: &'a Effects,
}

/// Identification of the call.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CallIdentity<'a> {
    pub run_id: &'a str,
    pub step_id: &'a str,
    pub call_id: &'a str,
    pub tool: &'a ToolName,
    pub attempt: u32,
    pub risk_level: Risk,
}

impl<'a> CallIdentity<'a> {
    pub(crate) fn of(call: &'a ToolCall) -> CallIdentity<'a> {
        CallIdentity {
            run_id: call.run_id.as_str(),
            step_id: call.step_id.as_str(),
            call_id: call.call_id.as_str(),
            tool: &call.tool,
            attempt: call.attempt,
            risk_level: call.risk_level,
        }
    }
}

/// A hook's decision about the call. Deliberately omitted: "allow". A hook can only tighten.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HookDecision {
    #[default]
    Pass,
    Ask,
    Deny,
    Stop,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct BeforeReply {
    pub decision: HookDecision,
    pub reason: Option<String>,
    /// Added to the record of the call.
    pub context: Option<String>,
    /// Reported as progress of the call.
    pub progress: Option<String>,
    /// Replaces the whole input; checked again like the first one. Parts that only repeat the shown input, escaped
    /// characters included, are replaced by the original.
    pub updated_input: Option<Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct AfterReply {
    /// Withholds the result; the effects of the call stay, and stay in the record.
    pub stop: bool,
    pub reason: Option<String>,
    pub context: Option<String>,
    /// Replaces the output; recorded and mapped again.
    pub updated_output: Option<Value>,
    /// JSON pointers of strings to redact before anything is stored.
    pub redact: Vec<String>,
}

/// Error of a hook that could not answer. Before a call, the call does not run. After it, its result is withheld and its
/// effects stay recorded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct HookError(pub String);

/// A hook before or after calls.
pub trait Hook: Send + Sync {
    fn name(&self) -> &str;
    /// Timeout of one answer; a later answer counts as a failure.
    fn limit(&self) -> Duration;
    fn when(&self) -> HookWhen;
    /// Whether it applies to calls of this tool.
    fn watches(&self, tool: &ToolName) -> bool;
    fn before<'a>(&'a self, call: &'a BeforeCall<'a>) -> BoxFuture<'a, Result<BeforeReply, HookError>>;
    fn after<'a>(&'a self, call: &'a AfterCall<'a>) -> BoxFuture<'a, Result<AfterReply, HookError>>;
}

/// The hooks of an engine, in order.
pub(crate) struct HookList(pub(crate) Vec<Arc<dyn Hook>>);

impl HookList {
    pub(crate) fn before<'a>(&'a self, tool: &'a ToolName) -> impl Iterator<Item = &'a Arc<dyn Hook>> {
        self.0.iter().filter(move |hook| hook.when() != HookWhen::After && hook.watches(tool))
    }

    pub(crate) fn after<'a>(&'a self, tool: &'a ToolName) -> impl Iterator<Item = &'a Arc<dyn Hook>> {
        self.0.iter().filter(move |hook| hook.when() != HookWhen::Before && hook.watches(tool))
    }
}

/// Asks a hook about a call that has not run: a run that is cancelled does not wait for the answer.
pub(crate) async fn run_before_hook(
    hook: &dyn Hook,
    cancel: &CancelToken,
    call: &BeforeCall<'_>,
) -> Result<BeforeReply, Fault> {
    tokio::select! {
        biased;
        settled = within_limit(hook, Failure::HookFailed, || hook.before(call)) => settled,
        cause = cancel.cancelled() => Err(cancelled_while(cause, hook)),
    }
}

/// Asks a hook about a call that has run. Cancelling does not undo the effects, so it must not hide them either: a
/// cancelled run gives the hook its `grace`, and then records the effects and withholds the result.
pub(crate) async fn run_after_hook(
    hook: &dyn Hook,
    cancel: &CancelToken,
    grace: Duration,
    call: &AfterCall<'_>,
) -> Result<AfterReply, Fault> {
    tokio::select! {
        biased;
        settled = within_limit(hook, Failure::PostHookFailed, || hook.after(call)) => settled,
        () = grace_elapsed(cancel, grace) => {
            Err(hook_fault(hook, Failure::PostHookFailed, "the run was cancelled before it answered"))
        }
    }
}

async fn grace_elapsed(cancel: &CancelToken, grace: Duration) {
    match cancel.cancelled().await {
        CancelCause::Run | CancelCause::Sibling => tokio::time::sleep(grace).await,
        // The call reached its own timeout and still ended, so the hook keeps its full time.
        CancelCause::Deadline => std::future::pending().await,
    }
}

/// Waits for an answer within the hook's timeout. A crash, an error and a late answer all fail closed.
async fn within_limit<'a, T>(
    hook: &dyn Hook,
    failure: Failure,
    ask: impl FnOnce() -> BoxFuture<'a, Result<T, HookError>>,
) -> Result<T, Fault> {
    let settled = match catch_call(ask) {
        Ok(answer) => tokio::time::timeout(hook.limit(), catch_panic(answer)).await,
        Err(panic) => Ok(Err(panic)),
    };
    let why = match settled {
        Ok(Ok(Ok(reply))) => return Ok(reply),
        Ok(Ok(Err(error))) => error.0,
        Ok(Err(panic)) => format!("it crashed: {panic}"),
        Err(_late) => format!("it did not answer within {} ms", hook.limit().as_millis()),
    };
    Err(hook_fault(hook, failure, &why))
}

pub(crate) fn hook_fault(hook: &dyn Hook, failure: Failure, why: &str) -> Fault {
    Fault::new(failure, format!("hook `{}` failed: {why}", hook.name())).detail("hook", hook.name())
}

fn cancelled_while(cause: CancelCause, hook: &dyn Hook) -> Fault {
    let failure = match cause {
        CancelCause::Run | CancelCause::Deadline => Failure::Canceled,
        CancelCause::Sibling => Failure::SiblingCanceled,
    };
    Fault::new(failure, format!("the call was cancelled while hook `{}` was asked", hook.name()))
}
