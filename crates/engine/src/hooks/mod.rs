//! Code that stands before and after a call: it may add, change, tighten or stop, never loosen.

mod command;
mod pinned;
mod process;

use std::sync::Arc;
use std::time::Duration;

use envelope::{Effects, Failure, Fault, Risk, ToolCall, ToolName};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolkit::{BoxFuture, CancelCause, CancelToken};

use crate::catch::{catch_call, catch_panic};

pub use command::CommandHook;
pub use pinned::PinnedFile;

/// When a hook is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HookWhen {
    Before,
    After,
    Both,
}

/// What a hook sees before a call: the observable copy, never the original.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BeforeCall<'a> {
    pub call: CallNames<'a>,
    pub preview: &'a str,
    pub input: &'a Value,
}

/// What a hook sees after a call. The input is the observable copy of what the tool was called with.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AfterCall<'a> {
    pub call: CallNames<'a>,
    pub input: &'a Value,
    pub output: &'a Value,
    pub effects: &'a Effects,
}

/// Which call it is.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CallNames<'a> {
    pub run_id: &'a str,
    pub step_id: &'a str,
    pub call_id: &'a str,
    pub tool: &'a ToolName,
    pub attempt: u32,
    pub risk_level: Risk,
}

impl<'a> CallNames<'a> {
    pub(crate) fn of(call: &'a ToolCall) -> CallNames<'a> {
        CallNames {
            run_id: call.run_id.as_str(),
            step_id: call.step_id.as_str(),
            call_id: call.call_id.as_str(),
            tool: &call.tool,
            attempt: call.attempt,
            risk_level: call.risk_level,
        }
    }
}

/// What a hook wants done with the call. There is no "allow": a hook can only tighten.
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
    /// Kept in the record of the call.
    pub context: Option<String>,
    /// Told to whoever follows the run.
    pub progress: Option<String>,
    /// Replaces the input, whole; checked again like the first one. What it only repeats from the input it
    /// was shown stands for the original, spelled-out characters included.
    pub updated_input: Option<Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct AfterReply {
    /// Withholds the result; what the call did stays done and stays listed.
    pub stop: bool,
    pub reason: Option<String>,
    pub context: Option<String>,
    /// Replaces the output; recorded and mapped again.
    pub updated_output: Option<Value>,
    /// JSON pointers of strings to blank out before anything is kept.
    pub redact: Vec<String>,
}

/// A hook that could not answer. Whatever the reason, the call is not let through.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct HookError(pub String);

/// Something that stands before or after calls.
pub trait Hook: Send + Sync {
    fn name(&self) -> &str;
    /// How long it may take; later than that is a failure.
    fn limit(&self) -> Duration;
    fn when(&self) -> HookWhen;
    /// Whether it wants to see calls of this tool.
    fn watches(&self, tool: &ToolName) -> bool;
    fn before<'a>(&'a self, call: &'a BeforeCall<'a>) -> BoxFuture<'a, Result<BeforeReply, HookError>>;
    fn after<'a>(&'a self, call: &'a AfterCall<'a>) -> BoxFuture<'a, Result<AfterReply, HookError>>;
}

/// The hooks of an engine, in order.
pub(crate) struct Hooks(pub(crate) Vec<Arc<dyn Hook>>);

impl Hooks {
    pub(crate) fn before<'a>(&'a self, tool: &'a ToolName) -> impl Iterator<Item = &'a Arc<dyn Hook>> {
        self.0.iter().filter(move |hook| hook.when() != HookWhen::After && hook.watches(tool))
    }

    pub(crate) fn after<'a>(&'a self, tool: &'a ToolName) -> impl Iterator<Item = &'a Arc<dyn Hook>> {
        self.0.iter().filter(move |hook| hook.when() != HookWhen::Before && hook.watches(tool))
    }
}

/// Asks a hook about a call that has not run: a run that is cancelled does not wait for the answer.
pub(crate) async fn ask_before(
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

/// Asks a hook about a call that has run. Cancelling cannot undo what was done, so it must not hide it
/// either: a run that is cancelled gives the hook its `grace`, and then keeps the effects and withholds the
/// result.
pub(crate) async fn ask_after(
    hook: &dyn Hook,
    cancel: &CancelToken,
    grace: Duration,
    call: &AfterCall<'_>,
) -> Result<AfterReply, Fault> {
    tokio::select! {
        biased;
        settled = within_limit(hook, Failure::PostHookFailed, || hook.after(call)) => settled,
        () = out_of_patience(cancel, grace) => {
            Err(hook_fault(hook, Failure::PostHookFailed, "the run was cancelled before it answered"))
        }
    }
}

async fn out_of_patience(cancel: &CancelToken, grace: Duration) {
    match cancel.cancelled().await {
        CancelCause::Run | CancelCause::Sibling => tokio::time::sleep(grace).await,
        // The call's own time ran out, and it still came to its end. Nobody waits for less of the hook.
        CancelCause::Deadline => std::future::pending().await,
    }
}

/// A crash, an error and a late answer all fail closed.
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
