//! Tools that prepare their work in one phase and carry it out in a later one.
//!
//! A preparation is a value of its own that the phases pass on beside the arguments. Most tools prepare nothing and
//! implement [`Tool`], which is a [`StagedTool`] with an empty preparation.

use std::future::{Future, ready};

use command_line::CommandLine;
use envelope::{Concurrency, Fault, Idempotency, ReceiptFamily, Requirement, Risk, SideEffect, VaultChange};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{PathKeys, ProjectedResult, Projection, ReconcileOutcome, Tool, ToolCx};

/// A [`Tool`] with a preparation. Constants and methods mean the same as there.
pub trait StagedTool: Send + Sync + 'static {
    const NAME: &'static str;
    const VERSION: &'static str = "1.0.0";
    const SUMMARY: &'static str;
    const CATEGORY: &'static str;
    const FAMILY: ReceiptFamily = ReceiptFamily::External;
    const RISK: Risk;
    const SIDE_EFFECTS: &'static [SideEffect];
    const IDEMPOTENCY: Idempotency;
    const REQUIRES: &'static [Requirement] = &[];
    const CONCURRENCY: Concurrency = Concurrency::Parallel;
    const TIMEOUT_MS: u64 = 30_000;
    const STOP_MS: u64 = 0;
    const CANCELLABLE: bool = true;

    type Args: DeserializeOwned + JsonSchema + Send + Sync + 'static;
    type Output: Serialize + DeserializeOwned + JsonSchema + Send + 'static;
    /// Work prepared for one call. Starts as its default; `validate` and `intend` fill it in, `run` consumes it.
    type Prepared: Default + Send + Sync + 'static;

    fn validate(
        &self,
        cx: &ToolCx,
        args: &Self::Args,
        prepared: &mut Self::Prepared,
    ) -> impl Future<Output = Result<(), Fault>> + Send;

    fn paths(&self, args: &Self::Args, prepared: &Self::Prepared) -> PathKeys;

    fn command(&self, _args: &Self::Args) -> Option<CommandLine> {
        None
    }

    fn is_dry_run(&self, _args: &Self::Args) -> bool {
        false
    }

    fn preview(&self, args: &Self::Args, prepared: &Self::Prepared) -> String;

    fn intend(
        &self,
        _cx: &ToolCx,
        _args: &Self::Args,
        _prepared: &mut Self::Prepared,
    ) -> impl Future<Output = Vec<VaultChange>> + Send {
        ready(Vec::new())
    }

    fn run(
        &self,
        cx: &ToolCx,
        args: Self::Args,
        prepared: Self::Prepared,
    ) -> impl Future<Output = Result<Self::Output, Fault>> + Send;

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

    fn budget(&self, _args: &Self::Args) -> Option<u32> {
        None
    }

    fn summary(&self, output: &Self::Output) -> String;

    /// Returns what the call could not do, if its main work is done and the rest is not.
    fn incomplete(&self, _output: &Self::Output) -> Option<String> {
        None
    }

    fn project(&self, output: &Self::Output, with: &mut Projection<'_>) -> Result<ProjectedResult, Fault>;
}

impl<T: Tool> StagedTool for T {
    const NAME: &'static str = <T as Tool>::NAME;
    const VERSION: &'static str = <T as Tool>::VERSION;
    const SUMMARY: &'static str = <T as Tool>::SUMMARY;
    const CATEGORY: &'static str = <T as Tool>::CATEGORY;
    const FAMILY: ReceiptFamily = <T as Tool>::FAMILY;
    const RISK: Risk = <T as Tool>::RISK;
    const SIDE_EFFECTS: &'static [SideEffect] = <T as Tool>::SIDE_EFFECTS;
    const IDEMPOTENCY: Idempotency = <T as Tool>::IDEMPOTENCY;
    const REQUIRES: &'static [Requirement] = <T as Tool>::REQUIRES;
    const CONCURRENCY: Concurrency = <T as Tool>::CONCURRENCY;
    const TIMEOUT_MS: u64 = <T as Tool>::TIMEOUT_MS;
    const STOP_MS: u64 = <T as Tool>::STOP_MS;
    const CANCELLABLE: bool = <T as Tool>::CANCELLABLE;

    type Args = <T as Tool>::Args;
    type Output = <T as Tool>::Output;
    type Prepared = ();

    fn validate(
        &self,
        cx: &ToolCx,
        args: &Self::Args,
        _prepared: &mut (),
    ) -> impl Future<Output = Result<(), Fault>> + Send {
        Tool::validate(self, cx, args)
    }

    fn paths(&self, args: &Self::Args, _prepared: &()) -> PathKeys {
        Tool::paths(self, args)
    }

    fn command(&self, args: &Self::Args) -> Option<CommandLine> {
        Tool::command(self, args)
    }

    fn is_dry_run(&self, args: &Self::Args) -> bool {
        Tool::is_dry_run(self, args)
    }

    fn preview(&self, args: &Self::Args, _prepared: &()) -> String {
        Tool::preview(self, args)
    }

    fn intend(
        &self,
        cx: &ToolCx,
        args: &Self::Args,
        _prepared: &mut (),
    ) -> impl Future<Output = Vec<VaultChange>> + Send {
        Tool::intend(self, cx, args)
    }

    fn run(
        &self,
        cx: &ToolCx,
        args: Self::Args,
        _prepared: (),
    ) -> impl Future<Output = Result<Self::Output, Fault>> + Send {
        Tool::run(self, cx, args)
    }

    fn reconcile(
        &self,
        cx: &ToolCx,
        args: &Self::Args,
        intent: &[VaultChange],
    ) -> impl Future<Output = ReconcileOutcome<Self::Output>> + Send {
        Tool::reconcile(self, cx, args, intent)
    }

    fn budget(&self, args: &Self::Args) -> Option<u32> {
        Tool::budget(self, args)
    }

    fn summary(&self, output: &Self::Output) -> String {
        Tool::summary(self, output)
    }

    fn project(&self, output: &Self::Output, with: &mut Projection<'_>) -> Result<ProjectedResult, Fault> {
        Tool::project(self, output, with)
    }
}
