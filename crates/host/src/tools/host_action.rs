//! The common part of the tools that act on a host: edits and commands.
//!
//! The changes to files are prepared before permission is decided, so that rules see the paths, and again when
//! it is the call's turn, so that the intent can be written and overwritten content stored. Exactly that is
//! then done. A call that would touch other files than those it was permitted for is a conflict.

use std::collections::BTreeSet;
use std::marker::PhantomData;

use envelope::{
    Concurrency, Failure, Fault, Idempotency, ReceiptFamily, Requirement, Risk, SideEffect, VaultChange,
    VaultPath,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use toolkit::{
    BoxFuture, PathKeys, PathScope, ProjectedResult, Projection, ReconcileOutcome, StagedTool, ToolCx,
};
use vault::{ChangeStep, IoContext, Vault, reconcile_intent, run_blocking, run_blocking_uncancelled};

use super::host_handle::HostHandle;
use crate::prepared::PreparedFiles;
use crate::slot::HostSlot;

/// A tool that acts on a host.
pub(crate) trait HostAction: Send + Sync + 'static {
    const NAME: &'static str;
    const SUMMARY: &'static str;
    const CATEGORY: &'static str;
    const FAMILY: ReceiptFamily;
    const RISK: Risk;
    const SIDE_EFFECTS: &'static [SideEffect];

    type Args: Clone + DeserializeOwned + JsonSchema + Send + Sync + 'static;
    type Output: Serialize + DeserializeOwned + JsonSchema + Send + 'static;
    type Prepared: Clone + Send + Sync + 'static;

    fn dry_run(args: &Self::Args) -> bool;

    /// Works out what the host would do. Changes nothing.
    fn prepare<'a>(
        host: &'a HostSlot,
        cx: &'a ToolCx,
        args: &'a Self::Args,
    ) -> BoxFuture<'a, Result<Self::Prepared, Fault>>;

    fn files(prepared: &Self::Prepared) -> &PreparedFiles;

    /// Returns the paths that the action touches besides the files that it changes.
    fn touched_paths(prepared: &Self::Prepared) -> PathKeys;

    fn preview(args: &Self::Args, prepared: Option<&Self::Prepared>) -> String;

    fn apply<'a>(
        host: &'a HostSlot,
        cx: &'a ToolCx,
        args: &'a Self::Args,
        prepared: &'a Self::Prepared,
    ) -> BoxFuture<'a, Result<Self::Output, Fault>>;

    /// Returns the output of a dry run.
    fn dry_run_output(args: &Self::Args, prepared: &Self::Prepared) -> Self::Output;

    /// Returns the output of an interrupted call whose changes were found on disk. Fails if it cannot be worked
    /// out.
    fn reconciled_output(
        args: &Self::Args,
        intent: &[VaultChange],
        vault: &Vault,
        io: &dyn IoContext,
    ) -> Result<Self::Output, Fault>;

    fn summary(output: &Self::Output) -> String;

    fn project(output: &Self::Output, with: &mut Projection<'_>) -> Result<ProjectedResult, Fault>;
}

/// An action as a tool.
pub(crate) struct HostActionTool<A: HostAction> {
    host: HostHandle,
    action: PhantomData<fn() -> A>,
}

impl<A: HostAction> HostActionTool<A> {
    pub(crate) fn new(host: &HostHandle) -> HostActionTool<A> {
        HostActionTool { host: host.clone(), action: PhantomData }
    }
}

/// The work of one call as it is prepared.
pub(crate) struct PreparedAction<A: HostAction> {
    /// Prepared before permission was decided.
    first: Option<A::Prepared>,
    /// Prepared at the call's turn, or why that failed.
    ready: Option<Result<A::Prepared, Fault>>,
}

impl<A: HostAction> Default for PreparedAction<A> {
    fn default() -> PreparedAction<A> {
        PreparedAction { first: None, ready: None }
    }
}

impl<A: HostAction> HostActionTool<A> {
    /// Prepares the action at the call's turn, and stores the content that it overwrites. Fails with a conflict
    /// if it touches paths that were not permitted.
    async fn prepare_for_run(
        &self,
        cx: &ToolCx,
        args: &A::Args,
        first: Option<&A::Prepared>,
    ) -> Result<A::Prepared, Fault> {
        let host = self.host.get()?;
        let prepared = A::prepare(host, cx, args).await?;
        if let Some(first) = first {
            let permitted: BTreeSet<String> = all_paths::<A>(first).iter().map(VaultPath::folded).collect();
            let new = all_paths::<A>(&prepared).into_iter().find(|path| !permitted.contains(&path.folded()));
            if let Some(new) = new {
                return Err(Fault::new(
                    Failure::Conflict,
                    format!("`{new}` would be touched; that was not so when the call was permitted"),
                )
                .hint("call again: what is open will be looked up anew")
                .retryable(true));
            }
        }
        if !A::dry_run(args) {
            let (vault, overwritten) = (host.vault().clone(), A::files(&prepared).overwritten.clone());
            run_blocking(cx, move |io| vault.store_contents(&overwritten, io)).await?;
        }
        Ok(prepared)
    }
}

impl<A: HostAction> StagedTool for HostActionTool<A> {
    const NAME: &'static str = A::NAME;
    const SUMMARY: &'static str = A::SUMMARY;
    const CATEGORY: &'static str = A::CATEGORY;
    const FAMILY: ReceiptFamily = A::FAMILY;
    const RISK: Risk = A::RISK;
    const SIDE_EFFECTS: &'static [SideEffect] = A::SIDE_EFFECTS;
    const IDEMPOTENCY: Idempotency = Idempotency::NotIdempotent;
    const REQUIRES: &'static [Requirement] = &[Requirement::Host];
    // There is one focus and one cursor, which any other call could move.
    const CONCURRENCY: Concurrency = Concurrency::Serial;

    type Args = A::Args;
    type Output = A::Output;
    type Prepared = PreparedAction<A>;

    async fn validate(
        &self,
        cx: &ToolCx,
        args: &A::Args,
        prepared: &mut PreparedAction<A>,
    ) -> Result<(), Fault> {
        let host = self.host.get()?;
        prepared.first = match A::prepare(host, cx, args).await {
            Ok(first) => Some(first),
            // May become possible by the call's turn, when something else is open.
            Err(Fault { failure: Failure::PreconditionFailed | Failure::InvalidArguments, .. }) => None,
            Err(fault) => return Err(fault),
        };
        Ok(())
    }

    fn paths(&self, _args: &A::Args, prepared: &PreparedAction<A>) -> PathKeys {
        let Some(first) = &prepared.first else {
            // The note that will be active then is not known yet.
            return PathKeys { reads: Vec::new(), writes: vec![PathScope::Vault] };
        };
        let mut keys = A::touched_paths(first);
        for scope in changed_paths(A::files(first)) {
            if !keys.writes.contains(&scope) {
                keys.writes.push(scope);
            }
        }
        keys
    }

    fn is_dry_run(&self, args: &A::Args) -> bool {
        A::dry_run(args)
    }

    fn preview(&self, args: &A::Args, prepared: &PreparedAction<A>) -> String {
        A::preview(args, prepared.first.as_ref())
    }

    async fn intend(
        &self,
        cx: &ToolCx,
        args: &A::Args,
        prepared: &mut PreparedAction<A>,
    ) -> Vec<VaultChange> {
        let ready = self.prepare_for_run(cx, args, prepared.first.as_ref()).await;
        let intent = match &ready {
            Ok(ready) if !A::dry_run(args) => A::files(ready).steps.intent(),
            Ok(_) | Err(_) => Vec::new(),
        };
        prepared.ready = Some(ready);
        intent
    }

    async fn run(&self, cx: &ToolCx, args: A::Args, prepared: PreparedAction<A>) -> Result<A::Output, Fault> {
        let ready = match prepared.ready {
            Some(ready) => ready?,
            None => self.prepare_for_run(cx, &args, prepared.first.as_ref()).await?,
        };
        if A::dry_run(&args) {
            return Ok(A::dry_run_output(&args, &ready));
        }
        A::apply(self.host.get()?, cx, &args, &ready).await
    }

    async fn reconcile(
        &self,
        cx: &ToolCx,
        args: &A::Args,
        intent: &[VaultChange],
    ) -> ReconcileOutcome<A::Output> {
        if A::dry_run(args) {
            return ReconcileOutcome::DidNot { taken_back: 0 };
        }
        if intent.is_empty() {
            return ReconcileOutcome::Unknown {
                why: "it was to change no file, so none can show it".to_owned(),
            };
        }
        let Ok(host) = self.host.get() else {
            return ReconcileOutcome::Unknown { why: "no vault is open".to_owned() };
        };
        let (vault, args, intent) = (host.vault().clone(), args.clone(), intent.to_vec());
        let found = run_blocking_uncancelled(cx, move |io| {
            Ok(match reconcile_intent(&vault, &intent, io)? {
                ReconcileOutcome::Happened(_) => {
                    ReconcileOutcome::Happened(A::reconciled_output(&args, &intent, &vault, io)?)
                }
                ReconcileOutcome::DidNot { taken_back } => ReconcileOutcome::DidNot { taken_back },
                ReconcileOutcome::Unknown { why } => ReconcileOutcome::Unknown { why },
            })
        });
        found.await.unwrap_or_else(|fault| ReconcileOutcome::Unknown { why: fault.message })
    }

    fn summary(&self, output: &A::Output) -> String {
        A::summary(output)
    }

    fn project(&self, output: &A::Output, with: &mut Projection<'_>) -> Result<ProjectedResult, Fault> {
        A::project(output, with)
    }
}

/// Returns the paths that the files occupy before and after.
fn changed_paths(files: &PreparedFiles) -> Vec<PathScope> {
    let scopes = |step: &ChangeStep| match step {
        ChangeStep::MakeFolder { path, .. } | ChangeStep::RemoveFolder { path, .. } => {
            vec![PathScope::Path(path.clone())]
        }
        ChangeStep::CreateFile { path, .. }
        | ChangeStep::ReplaceFile { path, .. }
        | ChangeStep::RemoveFile { path, .. } => {
            vec![PathScope::File(path.clone())]
        }
        ChangeStep::Move { from, to, .. } => vec![PathScope::Path(from.clone()), PathScope::Path(to.clone())],
    };
    files.steps.steps.iter().flat_map(scopes).collect()
}

/// Returns every path that an action touches. A scope without a path cannot be compared.
pub(super) fn all_paths<A: HostAction>(prepared: &A::Prepared) -> Vec<VaultPath> {
    let touched = A::touched_paths(prepared);
    let files = changed_paths(A::files(prepared));
    touched.all().chain(&files).filter_map(PathScope::path).cloned().collect()
}
