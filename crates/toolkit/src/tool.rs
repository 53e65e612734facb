//! The trait that a tool author implements, one file per tool.
//!
//! Arguments and output are Rust types; the schemas are derived from them, so the two cannot disagree. The trait
//! does not depend on the engine: a tool declares itself and does its work, and the engine does the rest.

use std::future::{Future, ready};

use command_line::CommandLine;
use envelope::{Concurrency, Fault, Idempotency, ReceiptFamily, Requirement, Risk, SideEffect, VaultChange};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{PathKeys, ProjectedResult, Projection, ToolCx};

/// A tool: its declaration as constants, its types, its work and its texts.
pub trait Tool: Send + Sync + 'static {
    /// Words joined by dots, such as `vault.readFile`.
    const NAME: &'static str;
    const VERSION: &'static str = "1.0.0";
    /// One sentence that starts with a verb: the first text that a model or a user reads.
    const SUMMARY: &'static str;
    const CATEGORY: &'static str;
    /// Family whose projector bounds the results and whose renderer words the receipts.
    const FAMILY: ReceiptFamily = ReceiptFamily::External;
    /// Risk level. It has no default: every tool has to declare it.
    const RISK: Risk;
    const SIDE_EFFECTS: &'static [SideEffect];
    const IDEMPOTENCY: Idempotency;
    const REQUIRES: &'static [Requirement] = &[];
    const CONCURRENCY: Concurrency = Concurrency::Parallel;
    const TIMEOUT_MS: u64 = 30_000;
    /// Time in milliseconds that the tool may need to clean up after cancellation, if that is more than the policy
    /// allows.
    const STOP_MS: u64 = 0;
    /// False if the work cannot be stopped once it has begun.
    const CANCELLABLE: bool = true;

    type Args: DeserializeOwned + JsonSchema + Send + Sync + 'static;
    /// The complete output. It can be deserialized again, so that a hook's change is mapped like the original.
    type Output: Serialize + DeserializeOwned + JsonSchema + Send + 'static;

    /// Checks the values against the current state without changing it, before any approval is requested.
    fn validate(&self, _cx: &ToolCx, _args: &Self::Args) -> impl Future<Output = Result<(), Fault>> + Send {
        ready(Ok(()))
    }

    /// Returns the paths that the call reads and writes, for the order of calls and for path rules.
    fn paths(&self, _args: &Self::Args) -> PathKeys {
        PathKeys::default()
    }

    /// Returns the command line that the call would run, for command rules. `None` for a tool that runs no command.
    fn command(&self, _args: &Self::Args) -> Option<CommandLine> {
        None
    }

    /// Returns true for a dry run. A dry run changes nothing, so it needs no approval.
    fn is_dry_run(&self, _args: &Self::Args) -> bool {
        false
    }

    /// Returns one line for the user: a verb, then the path or command.
    fn preview(&self, args: &Self::Args) -> String;

    /// Returns the changes that [`Tool::run`] is about to make, recorded before it makes them. Content that they
    /// overwrite is stored through `cx` first. Called while no other call can touch the same paths.
    fn intend(&self, _cx: &ToolCx, _args: &Self::Args) -> impl Future<Output = Vec<VaultChange>> + Send {
        ready(Vec::new())
    }

    /// Does the work. Every change is reported through `cx` when it is observed, not when it is planned.
    fn run(&self, cx: &ToolCx, args: Self::Args) -> impl Future<Output = Result<Self::Output, Fault>> + Send;

    /// Determines after a crash whether the effect happened, by comparing the intent with the current state.
    fn reconcile(
        &self,
        _cx: &ToolCx,
        _args: &Self::Args,
        _intent: &[VaultChange],
    ) -> impl Future<Output = ReconcileOutcome<Self::Output>> + Send {
        ready(ReconcileOutcome::Unknown {
            why: "the tool cannot check afterwards whether it happened".to_owned(),
        })
    }

    /// Returns the receipt budget in tokens that the arguments request, if any.
    fn budget(&self, _args: &Self::Args) -> Option<u32> {
        None
    }

    /// Returns one line with the outcome first.
    fn summary(&self, output: &Self::Output) -> String;

    /// Passes the complete output to the projector of the tool's family, which bounds it.
    fn project(&self, output: &Self::Output, with: &mut Projection<'_>) -> Result<ProjectedResult, Fault>;
}

/// Outcome of a call that was started before a crash and has no result.
#[derive(Debug)]
pub enum ReconcileOutcome<Output> {
    /// The effect happened. The call must not be repeated.
    Happened(Output),
    /// The effect did not happen, or a part of it, of so many changes, was taken back. The call can be repeated safely.
    DidNot { taken_back: usize },
    /// Neither can be shown; the user has to decide.
    Unknown { why: String },
}
