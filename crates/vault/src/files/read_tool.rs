//! The part that the tools share which read and keep no state between calls: their declaration, and the blocking thread.

use std::marker::PhantomData;

use envelope::{Fault, Idempotency, ReceiptFamily, Requirement, Risk, SideEffect};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use toolkit::{PathKeys, ProjectedResult, Projection, Tool, ToolCx};

use super::blocking::run_blocking;
use super::maybe_vault::MaybeVault;
use crate::file_layer::{IoContext, Vault};

/// A tool that reads the vault.
pub(crate) trait ReadTool: Send + Sync + 'static {
    const NAME: &'static str;
    const SUMMARY: &'static str;
    const FAMILY: ReceiptFamily;
    const TIMEOUT_MS: u64 = 30_000;

    type Args: DeserializeOwned + JsonSchema + Send + Sync + 'static;
    type Output: Serialize + DeserializeOwned + JsonSchema + Send + 'static;

    /// Checks the values without reading the vault.
    fn check(args: &Self::Args) -> Result<(), Fault>;

    /// Returns the paths that the call reads.
    fn path_keys(vault: &MaybeVault, args: &Self::Args) -> PathKeys;

    /// Returns one line for the user: a verb, then the path.
    fn preview(args: &Self::Args) -> String;

    /// Does the work, on a thread that may block.
    fn read(vault: &Vault, args: &Self::Args, io: &dyn IoContext) -> Result<Self::Output, Fault>;

    fn summary(output: &Self::Output) -> String;

    /// Passes the output to the projector of its family.
    fn project(output: &Self::Output, with: &mut Projection<'_>) -> Result<ProjectedResult, Fault>;
}

/// Adapter from a [`ReadTool`] to a [`Tool`].
pub(crate) struct ReadToolAdapter<R: ReadTool> {
    vault: MaybeVault,
    tool: PhantomData<fn() -> R>,
}

impl<R: ReadTool> ReadToolAdapter<R> {
    pub(crate) fn new(vault: &MaybeVault) -> ReadToolAdapter<R> {
        ReadToolAdapter { vault: vault.clone(), tool: PhantomData }
    }
}

impl<R: ReadTool> Tool for ReadToolAdapter<R> {
    const NAME: &'static str = R::NAME;
    const SUMMARY: &'static str = R::SUMMARY;
    const CATEGORY: &'static str = "vault";
    const FAMILY: ReceiptFamily = R::FAMILY;
    const RISK: Risk = Risk::ReadOnly;
    const SIDE_EFFECTS: &'static [SideEffect] = &[];
    const IDEMPOTENCY: Idempotency = Idempotency::Idempotent;
    const REQUIRES: &'static [Requirement] = &[Requirement::Vault];
    const TIMEOUT_MS: u64 = R::TIMEOUT_MS;

    type Args = R::Args;
    type Output = R::Output;

    async fn validate(&self, _cx: &ToolCx, args: &R::Args) -> Result<(), Fault> {
        R::check(args)
    }

    fn paths(&self, args: &R::Args) -> PathKeys {
        R::path_keys(&self.vault, args)
    }

    fn preview(&self, args: &R::Args) -> String {
        R::preview(args)
    }

    async fn run(&self, cx: &ToolCx, args: R::Args) -> Result<R::Output, Fault> {
        let vault = self.vault.get()?;
        run_blocking(cx, move |io| R::read(&vault, &args, io)).await
    }

    fn summary(&self, output: &R::Output) -> String {
        R::summary(output)
    }

    fn project(&self, output: &R::Output, with: &mut Projection<'_>) -> Result<ProjectedResult, Fault> {
        R::project(output, with)
    }
}
