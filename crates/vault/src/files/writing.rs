//! What all tools that change the vault have in common.
//!
//! Such a tool says which steps it would take, and nothing else: the dry run, what is written down before
//! the effect, what is kept for the way back, the work itself and what can be said after a crash follow from
//! the steps and are the same for all. So no tool can forget one of them.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use envelope::{
    CallId, Change, Concurrency, Failure, Family, Fault, Idempotency, Requirement, Risk, SideEffect,
    VaultPath,
};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use toolkit::families::{Projected, Projection};
use toolkit::{PathKeys, Reach, Reconciled, Tool, ToolCx};

use super::blocking::{blocking, finding_out};
use super::evidence::{Evidence, examine};
use super::maybe_vault::MaybeVault;
use crate::sandbox::{Prepared, Step, TRASH, Vault, Witness, Written};

/// A tool that changes the vault.
pub(crate) trait Writer: Send + Sync + 'static {
    const NAME: &'static str;
    const SUMMARY: &'static str;
    const FAMILY: Family = Family::Mutation;
    const SIDE_EFFECTS: &'static [SideEffect];
    const IDEMPOTENCY: Idempotency = Idempotency::NotIdempotent;
    const CONCURRENCY: Concurrency = Concurrency::Parallel;
    const TIMEOUT_MS: u64 = 30_000;
    /// True when the arguments alone do not say which paths are written: the steps are then prepared once
    /// before anyone is asked, and only what was found then may be written later.
    const LOOKS_FIRST: bool = false;
    /// False when the steps are worse half done than done: the call may be stopped before the first of them,
    /// and then has its whole time to come to its end.
    const CANCELLABLE: bool = true;

    type Args: DeserializeOwned + JsonSchema + Send + Sync + 'static;
    type Output: Serialize + DeserializeOwned + JsonSchema + Send + 'static;
    /// What preparing found beyond the steps.
    type Draft: Send + Sync + 'static;

    fn dry_run(args: &Self::Args) -> bool;

    /// Checks values without a look at the vault.
    fn check(args: &Self::Args) -> Result<(), Fault>;

    /// The paths that the arguments name.
    fn reach(vault: &MaybeVault, args: &Self::Args) -> PathKeys;

    /// One line for the person: a verb, then the path.
    fn preview(args: &Self::Args, draft: Option<&Self::Draft>) -> String;

    /// The steps, from what is there now. Changes nothing.
    fn prepare(
        vault: &Vault,
        call: &CallId,
        args: &Self::Args,
        witness: &dyn Witness,
    ) -> Result<(Prepared, Self::Draft), Fault>;

    /// [`Writer::prepare`] when the call has its turn, with what was found before anyone was asked.
    fn prepare_again(
        vault: &Vault,
        call: &CallId,
        args: &Self::Args,
        _first: &Self::Draft,
        witness: &dyn Witness,
    ) -> Result<(Prepared, Self::Draft), Fault> {
        Self::prepare(vault, call, args, witness)
    }

    /// Makes the steps, and says what to answer.
    fn apply(
        vault: &Vault,
        args: &Self::Args,
        prepared: &Prepared,
        draft: &Self::Draft,
        witness: &dyn Witness,
    ) -> Result<Self::Output, Fault> {
        let written = vault.apply(prepared, witness)?;
        Ok(Self::output(args, draft, written.as_ref()))
    }

    /// What to answer; `written` is the last file that was written, absent on a dry run.
    fn output(args: &Self::Args, draft: &Self::Draft, written: Option<&Written>) -> Self::Output;

    /// What to answer when the call was found to have happened.
    fn found(args: &Self::Args, evidence: &Evidence) -> Self::Output;

    fn summary(output: &Self::Output) -> String;

    /// Hands the output to the projector of its family.
    fn project(output: &Self::Output, with: &mut Projection<'_>) -> Result<Projected, Fault>;
}

/// A writer as a tool.
pub(crate) struct Writing<W: Writer> {
    vault: MaybeVault,
    writer: std::marker::PhantomData<fn() -> W>,
}

impl<W: Writer> Writing<W> {
    pub(crate) fn new(vault: &MaybeVault) -> Writing<W> {
        Writing { vault: vault.clone(), writer: std::marker::PhantomData }
    }
}

type Steps<W> = Arc<(Prepared, <W as Writer>::Draft)>;

/// Arguments with what was prepared from them.
pub(crate) struct Held<W: Writer> {
    args: Arc<W::Args>,
    /// What was found before anyone was asked.
    first: Mutex<Option<Arc<Foreseen<W>>>>,
    /// What is about to be done, or why it cannot be.
    ready: Mutex<Option<Result<Steps<W>, Fault>>>,
}

/// The steps as they stood when the call was permitted, and what they touch.
struct Foreseen<W: Writer> {
    steps: Steps<W>,
    reach: Vec<Reach>,
    paths: HashSet<String>,
}

impl<W: Writer> Foreseen<W> {
    fn new(steps: Steps<W>) -> Foreseen<W> {
        let mut seen = HashSet::new();
        let reach = steps.0.steps.iter().flat_map(reach_of).filter(|reach| seen.insert(format!("{reach:?}")));
        let reach = reach.collect();
        let paths = touched(&steps.0);
        Foreseen { steps, reach, paths }
    }
}

impl<W: Writer> Held<W> {
    fn first(&self) -> Option<Arc<Foreseen<W>>> {
        self.first.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl<'de, W: Writer> Deserialize<'de> for Held<W> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Held<W>, D::Error> {
        let args = W::Args::deserialize(deserializer)?;
        Ok(Held { args: Arc::new(args), first: Mutex::default(), ready: Mutex::default() })
    }
}

impl<W: Writer> JsonSchema for Held<W> {
    fn schema_name() -> Cow<'static, str> {
        W::Args::schema_name()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        W::Args::json_schema(generator)
    }
}

impl<W: Writer> Writing<W> {
    /// Prepares the steps off the async threads.
    async fn prepare(&self, cx: &ToolCx, held: &Held<W>, keep: bool) -> Result<Steps<W>, Fault> {
        let (vault, call, args) = (self.vault.get()?, cx.call_id().clone(), held.args.clone());
        let first = held.first();
        blocking(cx, move |witness| {
            let (prepared, draft) = match &first {
                Some(first) => W::prepare_again(&vault, &call, &args, &first.steps.1, witness)?,
                None => W::prepare(&vault, &call, &args, witness)?,
            };
            if keep {
                vault.keep_overwritten(&prepared, witness)?;
            }
            Ok(Arc::new((prepared, draft)))
        })
        .await
    }

    /// The steps just before they are taken. Nothing that was not foreseen when the call was permitted may be
    /// among them.
    async fn make_ready(&self, cx: &ToolCx, held: &Held<W>) -> Result<Steps<W>, Fault> {
        let steps = self.prepare(cx, held, !W::dry_run(&held.args)).await?;
        let unforeseen = match held.first() {
            Some(first) => touched(&steps.0).into_iter().find(|path| !first.paths.contains(path)),
            // Nothing could be foreseen, so only what the arguments name was permitted.
            None if W::LOOKS_FIRST => {
                let named = W::reach(&self.vault, &held.args);
                touched(&steps.0)
                    .into_iter()
                    .find(|path| !named.writes.iter().any(|reach| covers(reach, path)))
            }
            None => None,
        };
        match unforeseen {
            None => Ok(steps),
            Some(new) => Err(Fault::new(
                Failure::Conflict,
                format!("`{new}` would be changed too; that was not so when the call was permitted"),
            )
            .hint("call again: what is changed will be looked up anew")
            .retryable(true)),
        }
    }
}

impl<W: Writer> Tool for Writing<W> {
    const NAME: &'static str = W::NAME;
    const SUMMARY: &'static str = W::SUMMARY;
    const CATEGORY: &'static str = "vault";
    const FAMILY: Family = W::FAMILY;
    const RISK: Risk = Risk::Writes;
    const SIDE_EFFECTS: &'static [SideEffect] = W::SIDE_EFFECTS;
    const IDEMPOTENCY: Idempotency = W::IDEMPOTENCY;
    const REQUIRES: &'static [Requirement] = &[Requirement::Vault];
    const CONCURRENCY: Concurrency = W::CONCURRENCY;
    const TIMEOUT_MS: u64 = W::TIMEOUT_MS;
    const CANCELLABLE: bool = W::CANCELLABLE;

    type Args = Held<W>;
    type Output = W::Output;

    async fn validate(&self, cx: &ToolCx, held: &Held<W>) -> Result<(), Fault> {
        W::check(&held.args)?;
        if W::LOOKS_FIRST {
            // What cannot be prepared yet may become possible when it is the call's turn.
            let first = self.prepare(cx, held, false).await.ok().map(Foreseen::new).map(Arc::new);
            *held.first.lock().unwrap_or_else(PoisonError::into_inner) = first;
        }
        Ok(())
    }

    fn paths(&self, held: &Held<W>) -> PathKeys {
        let mut keys = W::reach(&self.vault, &held.args);
        if let Some(first) = held.first() {
            keys.writes.extend_from_slice(&first.reach);
        }
        keys
    }

    fn is_dry_run(&self, held: &Held<W>) -> bool {
        W::dry_run(&held.args)
    }

    fn preview(&self, held: &Held<W>) -> String {
        let first = held.first();
        W::preview(&held.args, first.as_ref().map(|first| &first.steps.1))
    }

    async fn intend(&self, cx: &ToolCx, held: &Held<W>) -> Vec<Change> {
        let ready = self.make_ready(cx, held).await;
        let intent = match &ready {
            Ok(steps) if !W::dry_run(&held.args) => steps.0.intent(),
            Ok(_) | Err(_) => Vec::new(),
        };
        *held.ready.lock().unwrap_or_else(PoisonError::into_inner) = Some(ready);
        intent
    }

    async fn run(&self, cx: &ToolCx, held: Held<W>) -> Result<W::Output, Fault> {
        let ready = held.ready.lock().unwrap_or_else(PoisonError::into_inner).take();
        let steps = match ready {
            Some(ready) => ready?,
            None => self.make_ready(cx, &held).await?,
        };
        if W::dry_run(&held.args) {
            return Ok(W::output(&held.args, &steps.1, None));
        }
        let vault = self.vault.get()?;
        blocking(cx, move |witness| W::apply(&vault, &held.args, &steps.0, &steps.1, witness)).await
    }

    async fn reconcile(&self, cx: &ToolCx, held: &Held<W>, intent: &[Change]) -> Reconciled<W::Output> {
        if W::dry_run(&held.args) || intent.is_empty() {
            return Reconciled::DidNot;
        }
        let Ok(vault) = self.vault.get() else {
            return Reconciled::Unknown { why: "no vault is open".to_owned() };
        };
        let (args, intent) = (held.args.clone(), intent.to_vec());
        let found = finding_out(cx, move |witness| {
            Ok(match examine(&vault, &intent, witness)? {
                Reconciled::Happened(evidence) => Reconciled::Happened(W::found(&args, &evidence)),
                Reconciled::DidNot => Reconciled::DidNot,
                Reconciled::Unknown { why } => Reconciled::Unknown { why },
            })
        });
        found.await.unwrap_or_else(|fault| Reconciled::Unknown { why: fault.message })
    }

    fn summary(&self, output: &W::Output) -> String {
        W::summary(output)
    }

    fn project(&self, output: &W::Output, with: &mut Projection<'_>) -> Result<Projected, Fault> {
        W::project(output, with)
    }
}

/// Whether a folded path lies in a place, or is a folder above it that has to be made.
fn covers(reach: &Reach, folded: &str) -> bool {
    let Some(named) = reach.path().map(VaultPath::folded) else { return true };
    let inside =
        |inner: &str, outer: &str| inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with('/'));
    named == folded || inside(&named, folded) || inside(folded, &named)
}

/// Every path that the steps touch, folded.
fn touched(prepared: &Prepared) -> HashSet<String> {
    prepared.steps.iter().flat_map(reach_of).filter_map(|reach| reach.path().map(VaultPath::folded)).collect()
}

/// What a step writes, as the rules see it. What becomes of a file in the trash is no business of theirs.
fn reach_of(step: &Step) -> Vec<Reach> {
    let reach = match step {
        Step::MakeFolder { path, .. } | Step::RemoveFolder { path, .. } => vec![Reach::Path(path.clone())],
        Step::CreateFile { path, .. } | Step::ReplaceFile { path, .. } | Step::RemoveFile { path, .. } => {
            vec![Reach::File(path.clone())]
        }
        Step::Move { from, to, kind, .. } => [from, to]
            .into_iter()
            .cloned()
            .map(|path| match kind {
                envelope::EntryKind::File => Reach::File(path),
                envelope::EntryKind::Folder => Reach::Folder(path),
            })
            .collect(),
    };
    let in_trash = |reach: &Reach| reach.path().is_some_and(|path| path.segments().next() == Some(TRASH));
    reach.into_iter().filter(|reach| !in_trash(reach)).collect()
}
