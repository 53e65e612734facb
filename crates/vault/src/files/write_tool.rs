//! The part that all tools that change the vault share.
//!
//! Such a tool only says which steps it would apply. The dry run, the recorded intent, the stored content that
//! the steps overwrite, the work itself and the reconciliation after a crash follow from the steps and are the
//! same for all tools, so no tool can forget one of them.
//!
//! The steps are prepared when the call has its turn. A tool whose arguments do not name all the paths prepares
//! them once before that, in phase 3, and may then change no other path. Both are values of [`PreparedCall`],
//! which the phases pass on.

use std::collections::HashSet;
use std::sync::Arc;

use envelope::{
    CallId, Concurrency, Failure, Fault, Idempotency, ReceiptFamily, Requirement, Risk, SideEffect,
    VaultChange, VaultPath,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use toolkit::{PathKeys, PathScope, ProjectedResult, Projection, ReconcileOutcome, StagedTool, ToolCx};

use super::blocking::{run_blocking, run_blocking_uncancelled};
use super::maybe_vault::MaybeVault;
use super::reconcile::{ReconcileEvidence, reconcile_intent};
use crate::file_layer::{ChangeStep, IoContext, PreparedSteps, TRASH, Vault, WrittenFile};

/// Declaration of a [`WriteTool`].
pub(crate) struct WriteToolDecl {
    pub(super) name: &'static str,
    pub(super) summary: &'static str,
    pub(super) family: ReceiptFamily,
    pub(super) side_effects: &'static [SideEffect],
    pub(super) idempotency: Idempotency,
    pub(super) concurrency: Concurrency,
    pub(super) timeout_ms: u64,
    /// True if the arguments alone do not name the paths that are written. The steps are then prepared once before
    /// approval, and only the paths found then may be written later.
    pub(super) prepares_early: bool,
    /// False if half of the steps is worse than all or none: the call can be stopped before the first step, and
    /// then has its whole time limit to finish.
    pub(super) cancellable: bool,
}

impl WriteToolDecl {
    /// A tool whose arguments name every path that it writes.
    pub(super) const fn new(
        name: &'static str,
        summary: &'static str,
        side_effects: &'static [SideEffect],
    ) -> WriteToolDecl {
        WriteToolDecl {
            name,
            summary,
            family: ReceiptFamily::Mutation,
            side_effects,
            idempotency: Idempotency::NotIdempotent,
            concurrency: Concurrency::Parallel,
            timeout_ms: 30_000,
            prepares_early: false,
            cancellable: true,
        }
    }
}

/// A tool that changes the vault.
pub(crate) trait WriteTool: Send + Sync + 'static {
    const DECL: WriteToolDecl;

    type Args: DeserializeOwned + JsonSchema + Send + Sync + 'static;
    type Output: Serialize + DeserializeOwned + JsonSchema + Send + 'static;
    /// Findings of the preparation besides the steps.
    type Plan: Send + Sync + 'static;

    fn dry_run(args: &Self::Args) -> bool;

    /// Checks the values without reading the vault.
    fn check(args: &Self::Args) -> Result<(), Fault>;

    /// Returns the paths that the arguments name.
    fn path_keys(vault: &MaybeVault, args: &Self::Args) -> PathKeys;

    /// Returns one line for the user: a verb, then the path.
    fn preview(args: &Self::Args, plan: Option<&Self::Plan>) -> String;

    /// Returns the steps for the current state of the vault. Changes nothing.
    fn prepare(
        vault: &Vault,
        call: &CallId,
        args: &Self::Args,
        io: &dyn IoContext,
    ) -> Result<(PreparedSteps, Self::Plan), Fault>;

    /// [`WriteTool::prepare`] when the call has its turn, with the plan that was made before approval.
    fn prepare_again(
        vault: &Vault,
        call: &CallId,
        args: &Self::Args,
        _first: &Self::Plan,
        io: &dyn IoContext,
    ) -> Result<(PreparedSteps, Self::Plan), Fault> {
        Self::prepare(vault, call, args, io)
    }

    /// Applies the steps and returns the output.
    fn apply(
        vault: &Vault,
        args: &Self::Args,
        prepared: &PreparedSteps,
        plan: &Self::Plan,
        io: &dyn IoContext,
    ) -> Result<Self::Output, Fault> {
        let written = vault.apply(prepared, io)?;
        Ok(Self::output(args, plan, written.as_ref()))
    }

    /// Returns the output; `written` is the file that was written last, `None` on a dry run.
    fn output(args: &Self::Args, plan: &Self::Plan, written: Option<&WrittenFile>) -> Self::Output;

    /// Returns the output of a call that reconciliation found to have happened.
    fn output_from_evidence(args: &Self::Args, evidence: &ReconcileEvidence) -> Self::Output;

    fn summary(output: &Self::Output) -> String;

    /// Returns what the call could not do, if its main work is done and the rest is not.
    fn incomplete(_output: &Self::Output) -> Option<String> {
        None
    }

    /// Passes the output to the projector of its family.
    fn project(output: &Self::Output, with: &mut Projection<'_>) -> Result<ProjectedResult, Fault>;
}

/// Adapter from a [`WriteTool`] to a [`StagedTool`].
pub(crate) struct WriteToolAdapter<W: WriteTool> {
    vault: MaybeVault,
    tool: std::marker::PhantomData<fn() -> W>,
}

/// The steps of one call, with the tool's own plan.
struct PreparedWrite<W: WriteTool> {
    steps: PreparedSteps,
    plan: W::Plan,
}

/// Steps as they were prepared before approval, with the paths that they change.
struct PermittedWrite<W: WriteTool> {
    write: Arc<PreparedWrite<W>>,
    scopes: Vec<PathScope>,
    /// Folded.
    paths: HashSet<String>,
}

/// Preparation of one call, passed on from phase to phase.
pub(crate) struct PreparedCall<W: WriteTool> {
    /// Prepared by `validate`, before approval. `None` if the tool does not prepare early, or could not.
    permitted: Option<PermittedWrite<W>>,
    /// Prepared by `intend`, when the call has its turn, or the reason why it cannot run.
    ready: Option<Result<Arc<PreparedWrite<W>>, Fault>>,
}

impl<W: WriteTool> Default for PreparedCall<W> {
    fn default() -> PreparedCall<W> {
        PreparedCall { permitted: None, ready: None }
    }
}

impl<W: WriteTool> PermittedWrite<W> {
    fn new(write: Arc<PreparedWrite<W>>) -> PermittedWrite<W> {
        let mut seen = HashSet::new();
        let scopes = write.steps.steps.iter().flat_map(scopes_of);
        let scopes = scopes.filter(|scope| seen.insert(format!("{scope:?}"))).collect();
        let paths = changed_paths(&write.steps);
        PermittedWrite { write, scopes, paths }
    }
}

impl<W: WriteTool> WriteToolAdapter<W> {
    pub(crate) fn new(vault: &MaybeVault) -> WriteToolAdapter<W> {
        WriteToolAdapter { vault: vault.clone(), tool: std::marker::PhantomData }
    }

    /// Prepares the steps on a blocking thread; stores what they overwrite if `store` is set.
    async fn prepare(
        &self,
        cx: &ToolCx,
        args: &Arc<W::Args>,
        permitted: Option<&PermittedWrite<W>>,
        store: bool,
    ) -> Result<Arc<PreparedWrite<W>>, Fault> {
        let (vault, call, args) = (self.vault.get()?, cx.call_id().clone(), args.clone());
        let first = permitted.map(|permitted| permitted.write.clone());
        run_blocking(cx, move |io| {
            let (steps, plan) = match &first {
                Some(first) => W::prepare_again(&vault, &call, &args, &first.plan, io)?,
                None => W::prepare(&vault, &call, &args, io)?,
            };
            if store {
                vault.store_overwritten(&steps, io)?;
            }
            Ok(Arc::new(PreparedWrite { steps, plan }))
        })
        .await
    }

    /// Prepares the steps right before they are applied. Fails with a conflict if they change a path that was not
    /// known when the call was permitted.
    async fn make_ready(
        &self,
        cx: &ToolCx,
        args: &Arc<W::Args>,
        permitted: Option<&PermittedWrite<W>>,
    ) -> Result<Arc<PreparedWrite<W>>, Fault> {
        let write = self.prepare(cx, args, permitted, !W::dry_run(args)).await?;
        let mut paths = changed_paths(&write.steps).into_iter();
        let unexpected = match permitted {
            Some(permitted) => paths.find(|path| !permitted.paths.contains(path)),
            // Early preparation failed, so only the paths in the arguments were permitted.
            None if W::DECL.prepares_early => {
                let named = W::path_keys(&self.vault, args);
                paths.find(|path| !named.writes.iter().any(|scope| covers(scope, path)))
            }
            None => None,
        };
        match unexpected {
            None => Ok(write),
            Some(new) => Err(Fault::new(
                Failure::Conflict,
                format!("`{new}` would be changed too; that was not so when the call was permitted"),
            )
            .hint("call again: the changes are then prepared again")
            .retryable(true)),
        }
    }
}

impl<W: WriteTool> StagedTool for WriteToolAdapter<W> {
    const NAME: &'static str = W::DECL.name;
    const SUMMARY: &'static str = W::DECL.summary;
    const CATEGORY: &'static str = "vault";
    const FAMILY: ReceiptFamily = W::DECL.family;
    const RISK: Risk = Risk::Writes;
    const SIDE_EFFECTS: &'static [SideEffect] = W::DECL.side_effects;
    const IDEMPOTENCY: Idempotency = W::DECL.idempotency;
    const REQUIRES: &'static [Requirement] = &[Requirement::Vault];
    const CONCURRENCY: Concurrency = W::DECL.concurrency;
    const TIMEOUT_MS: u64 = W::DECL.timeout_ms;
    const CANCELLABLE: bool = W::DECL.cancellable;

    /// Shared with the blocking threads.
    type Args = Arc<W::Args>;
    type Output = W::Output;
    type Prepared = PreparedCall<W>;

    async fn validate(
        &self,
        cx: &ToolCx,
        args: &Arc<W::Args>,
        prepared: &mut PreparedCall<W>,
    ) -> Result<(), Fault> {
        W::check(args)?;
        if W::DECL.prepares_early {
            // A preparation that fails now can succeed when the call has its turn.
            let early = self.prepare(cx, args, prepared.permitted.as_ref(), false).await;
            prepared.permitted = early.ok().map(PermittedWrite::new);
        }
        Ok(())
    }

    fn paths(&self, args: &Arc<W::Args>, prepared: &PreparedCall<W>) -> PathKeys {
        let mut keys = W::path_keys(&self.vault, args);
        if let Some(permitted) = &prepared.permitted {
            keys.writes.extend_from_slice(&permitted.scopes);
        }
        keys
    }

    fn is_dry_run(&self, args: &Arc<W::Args>) -> bool {
        W::dry_run(args)
    }

    fn preview(&self, args: &Arc<W::Args>, prepared: &PreparedCall<W>) -> String {
        W::preview(args, prepared.permitted.as_ref().map(|permitted| &permitted.write.plan))
    }

    async fn intend(
        &self,
        cx: &ToolCx,
        args: &Arc<W::Args>,
        prepared: &mut PreparedCall<W>,
    ) -> Vec<VaultChange> {
        let ready = self.make_ready(cx, args, prepared.permitted.as_ref()).await;
        let intent = match &ready {
            Ok(write) if !W::dry_run(args) => write.steps.intent(),
            Ok(_) | Err(_) => Vec::new(),
        };
        prepared.ready = Some(ready);
        intent
    }

    async fn run(
        &self,
        cx: &ToolCx,
        args: Arc<W::Args>,
        prepared: PreparedCall<W>,
    ) -> Result<W::Output, Fault> {
        let write = match prepared.ready {
            Some(ready) => ready?,
            None => self.make_ready(cx, &args, prepared.permitted.as_ref()).await?,
        };
        if W::dry_run(&args) {
            return Ok(W::output(&args, &write.plan, None));
        }
        let vault = self.vault.get()?;
        run_blocking(cx, move |io| W::apply(&vault, &args, &write.steps, &write.plan, io)).await
    }

    async fn reconcile(
        &self,
        cx: &ToolCx,
        args: &Arc<W::Args>,
        intent: &[VaultChange],
    ) -> ReconcileOutcome<W::Output> {
        if W::dry_run(args) || intent.is_empty() {
            return ReconcileOutcome::DidNot { taken_back: 0 };
        }
        let Ok(vault) = self.vault.get() else {
            return ReconcileOutcome::Unknown { why: "no vault is open".to_owned() };
        };
        let (args, intent) = (args.clone(), intent.to_vec());
        let outcome = run_blocking_uncancelled(cx, move |io| {
            Ok(match reconcile_intent(&vault, &intent, io)? {
                ReconcileOutcome::Happened(evidence) => {
                    ReconcileOutcome::Happened(W::output_from_evidence(&args, &evidence))
                }
                ReconcileOutcome::DidNot { taken_back } => ReconcileOutcome::DidNot { taken_back },
                ReconcileOutcome::Unknown { why } => ReconcileOutcome::Unknown { why },
            })
        });
        outcome.await.unwrap_or_else(|fault| ReconcileOutcome::Unknown { why: fault.message })
    }

    fn summary(&self, output: &W::Output) -> String {
        W::summary(output)
    }

    fn incomplete(&self, output: &W::Output) -> Option<String> {
        W::incomplete(output)
    }

    fn project(&self, output: &W::Output, with: &mut Projection<'_>) -> Result<ProjectedResult, Fault> {
        W::project(output, with)
    }
}

/// Returns true if a folded path is in a scope, or is a folder above it that has to be created.
fn covers(scope: &PathScope, folded: &str) -> bool {
    let Some(named) = scope.path().map(VaultPath::folded) else { return true };
    let inside =
        |inner: &str, outer: &str| inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with('/'));
    named == folded || inside(&named, folded) || inside(folded, &named)
}

/// Returns every path that the steps change, folded.
fn changed_paths(prepared: &PreparedSteps) -> HashSet<String> {
    prepared
        .steps
        .iter()
        .flat_map(scopes_of)
        .filter_map(|scope| scope.path().map(VaultPath::folded))
        .collect()
}

/// Returns what a step writes, for path rules. They do not apply inside the trash.
fn scopes_of(step: &ChangeStep) -> Vec<PathScope> {
    let scopes = match step {
        ChangeStep::MakeFolder { path, .. } | ChangeStep::RemoveFolder { path, .. } => {
            vec![PathScope::Path(path.clone())]
        }
        ChangeStep::CreateFile { path, .. }
        | ChangeStep::ReplaceFile { path, .. }
        | ChangeStep::RemoveFile { path, .. } => {
            vec![PathScope::File(path.clone())]
        }
        ChangeStep::Move { from, to, kind, .. } => [from, to]
            .into_iter()
            .cloned()
            .map(|path| match kind {
                envelope::EntryKind::File => PathScope::File(path),
                envelope::EntryKind::Folder => PathScope::Folder(path),
            })
            .collect(),
    };
    let in_trash = |scope: &PathScope| scope.path().is_some_and(|path| path.segments().next() == Some(TRASH));
    scopes.into_iter().filter(|scope| !in_trash(scope)).collect()
}
