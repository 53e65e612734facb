//! What an author writes: one typed trait, one file a tool.
//!
//! Arguments and output are Rust types; the schemas are derived from them, so the two cannot disagree.
//! Nothing here knows the engine: a tool says what it is and does its work, and the gate does the rest.

use std::future::{Future, ready};

use envelope::{Change, Concurrency, Family, Fault, Idempotency, Requirement, Risk, SideEffect};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::command_line::CommandLine;
use crate::families::{self, Projected, Projection};
use crate::{PathKeys, ToolCx};

/// A tool: its declaration as constants, its types, its work and what to say about it.
pub trait Tool: Send + Sync + 'static {
    /// Words joined by dots, such as `vault.readFile`.
    const NAME: &'static str;
    const VERSION: &'static str = "1.0.0";
    /// One sentence that starts with a verb: what a model and a person read first.
    const SUMMARY: &'static str;
    const CATEGORY: &'static str;
    /// Who bounds its results and who words them.
    const FAMILY: Family = Family::External;
    /// No default: whoever writes a tool says how far it can reach.
    const RISK: Risk;
    const SIDE_EFFECTS: &'static [SideEffect];
    const IDEMPOTENCY: Idempotency;
    const REQUIRES: &'static [Requirement] = &[];
    const CONCURRENCY: Concurrency = Concurrency::Parallel;
    const TIMEOUT_MS: u64 = 30_000;
    /// How long it may need to leave things in order once it was told to stop, where that is more than the policy gives.
    const STOP_MS: u64 = 0;
    /// False when the work cannot be stopped once it has begun.
    const CANCELLABLE: bool = true;

    type Args: DeserializeOwned + JsonSchema + Send + Sync + 'static;
    /// The complete output. Readable back, so that a hook's change can be mapped like the original.
    type Output: Serialize + DeserializeOwned + JsonSchema + Send + 'static;

    /// Checks values and looks at the world without changing it, before anyone is asked.
    fn validate(&self, _cx: &ToolCx, _args: &Self::Args) -> impl Future<Output = Result<(), Fault>> + Send {
        ready(Ok(()))
    }

    /// What the call reads and writes: the gate orders calls and applies path rules by it.
    fn paths(&self, _args: &Self::Args) -> PathKeys {
        PathKeys::default()
    }

    /// What the call would have the system run, for rules about commands. None for a tool that runs nothing.
    fn command(&self, _args: &Self::Args) -> Option<CommandLine> {
        None
    }

    /// Whether these arguments ask only what would happen. Such a call changes nothing, so nobody is asked about it.
    fn is_dry_run(&self, _args: &Self::Args) -> bool {
        false
    }

    /// One line for the person: a verb, then the path or command.
    fn preview(&self, args: &Self::Args) -> String;

    /// The changes that [`Tool::run`] is about to make, written down before it makes them. What they
    /// overwrite is kept through `cx` first. Called when no other call can touch the same paths.
    fn intend(&self, _cx: &ToolCx, _args: &Self::Args) -> impl Future<Output = Vec<Change>> + Send {
        ready(Vec::new())
    }

    /// Does the work. Every change is reported through `cx` when it is seen, not when it is planned.
    fn run(&self, cx: &ToolCx, args: Self::Args) -> impl Future<Output = Result<Self::Output, Fault>> + Send;

    /// Finds out after a crash whether the effect happened, from what it intended and what is there now.
    fn reconcile(
        &self,
        _cx: &ToolCx,
        _args: &Self::Args,
        _intent: &[Change],
    ) -> impl Future<Output = Reconciled<Self::Output>> + Send {
        ready(Reconciled::Unknown { why: "the tool cannot tell afterwards".to_owned() })
    }

    /// Tokens that the caller wants of the receipt, for a tool whose arguments say so.
    fn budget(&self, _args: &Self::Args) -> Option<u32> {
        None
    }

    /// One line, the outcome first.
    fn summary(&self, output: &Self::Output) -> String;

    /// Hands the complete output to the projector of the tool's family, which bounds it.
    fn project(&self, output: &Self::Output, with: &mut Projection<'_>) -> Result<Projected, Fault> {
        families::external::project(output, with)
    }
}

/// What became of a call that was started before a crash and never reported back.
#[derive(Debug)]
pub enum Reconciled<Output> {
    /// The effect is there. It must not be run again.
    Happened(Output),
    /// The effect is not there. It is safe to run.
    DidNot,
    /// Neither can be shown; a person has to decide.
    Unknown { why: String },
}
