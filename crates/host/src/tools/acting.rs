//! What the tools have in common that act on a host: an edit and a command alike.
//!
//! What would happen to files is foreseen before anyone is asked, so that rules see the paths, and once more
//! when it is the call's turn, so that it can be written down and what is overwritten kept. What is done then
//! is what was foreseen. A call that would touch other files than those it was permitted for is a conflict.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError};

use envelope::{
    Change, Concurrency, Failure, Family, Fault, Idempotency, Requirement, Risk, SideEffect, VaultPath,
};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use toolkit::families::{Projected, Projection};
use toolkit::{BoxFuture, PathKeys, Reach, Reconciled, Tool, ToolCx};
use vault::{Step, Vault, Witness, blocking, examine, finding_out};

use super::maybe_host::MaybeHost;
use crate::host::{FileWork, Host};

/// A tool that acts on a host.
pub(crate) trait Act: Send + Sync + 'static {
    const NAME: &'static str;
    const SUMMARY: &'static str;
    const CATEGORY: &'static str;
    const FAMILY: Family;
    const RISK: Risk;
    const SIDE_EFFECTS: &'static [SideEffect];

    type Args: DeserializeOwned + JsonSchema + Send + Sync + 'static;
    type Output: Serialize + DeserializeOwned + JsonSchema + Send + 'static;
    type Foreseen: Clone + Send + Sync + 'static;

    fn dry_run(args: &Self::Args) -> bool;

    /// What the host would do. Changes nothing.
    fn foresee<'a>(
        host: &'a dyn Host,
        cx: &'a ToolCx,
        args: &'a Self::Args,
    ) -> BoxFuture<'a, Result<Self::Foreseen, Fault>>;

    fn files(foreseen: &Self::Foreseen) -> &FileWork;

    /// What it touches besides the files it changes.
    fn touches(foreseen: &Self::Foreseen) -> PathKeys;

    fn preview(args: &Self::Args, foreseen: Option<&Self::Foreseen>) -> String;

    fn perform<'a>(
        host: &'a dyn Host,
        cx: &'a ToolCx,
        args: &'a Self::Args,
        foreseen: &'a Self::Foreseen,
    ) -> BoxFuture<'a, Result<Self::Output, Fault>>;

    /// What to answer on a dry run.
    fn foretold(args: &Self::Args, foreseen: &Self::Foreseen) -> Self::Output;

    /// What to answer when the changes were found to have been made; an error says why that cannot be told.
    fn found(
        args: &Self::Args,
        intent: &[Change],
        vault: &Vault,
        witness: &dyn Witness,
    ) -> Result<Self::Output, Fault>;

    fn summary(output: &Self::Output) -> String;

    fn project(output: &Self::Output, with: &mut Projection<'_>) -> Result<Projected, Fault>;
}

/// An act as a tool.
pub(crate) struct Acting<A: Act> {
    host: MaybeHost,
    act: PhantomData<fn() -> A>,
}

impl<A: Act> Acting<A> {
    pub(crate) fn new(host: &MaybeHost) -> Acting<A> {
        Acting { host: host.clone(), act: PhantomData }
    }
}

/// Arguments with what was foreseen from them.
pub(crate) struct Held<A: Act> {
    args: Arc<A::Args>,
    /// Before anyone was asked.
    first: Mutex<Option<A::Foreseen>>,
    /// Just before it is done, or why it cannot be.
    ready: Mutex<Option<Result<A::Foreseen, Fault>>>,
}

impl<A: Act> Held<A> {
    fn first(&self) -> Option<A::Foreseen> {
        self.first.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl<'de, A: Act> Deserialize<'de> for Held<A> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Held<A>, D::Error> {
        let args = A::Args::deserialize(deserializer)?;
        Ok(Held { args: Arc::new(args), first: Mutex::default(), ready: Mutex::default() })
    }
}

impl<A: Act> JsonSchema for Held<A> {
    fn schema_name() -> Cow<'static, str> {
        A::Args::schema_name()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        A::Args::json_schema(generator)
    }
}

impl<A: Act> Acting<A> {
    /// What is about to be done, with everything kept that it overwrites.
    async fn make_ready(&self, cx: &ToolCx, held: &Held<A>) -> Result<A::Foreseen, Fault> {
        let host = self.host.get()?;
        let foreseen = A::foresee(&*host, cx, &held.args).await?;
        if let Some(first) = held.first() {
            let permitted: BTreeSet<String> = paths::<A>(&first).iter().map(VaultPath::folded).collect();
            let new = paths::<A>(&foreseen).into_iter().find(|path| !permitted.contains(&path.folded()));
            if let Some(new) = new {
                return Err(Fault::new(
                    Failure::Conflict,
                    format!("`{new}` would be touched; that was not so when the call was permitted"),
                )
                .hint("call again: what is open will be looked up anew")
                .retryable(true));
            }
        }
        // In a preview nothing is overwritten.
        if !A::dry_run(&held.args) && !host.vault().is_imagined() {
            let overwritten = A::files(&foreseen).overwritten.clone();
            blocking(cx, move |witness| {
                overwritten.iter().try_for_each(|content| witness.keep(&mut &content[..]).map(drop))
            })
            .await?;
        }
        Ok(foreseen)
    }
}

impl<A: Act> Tool for Acting<A> {
    const NAME: &'static str = A::NAME;
    const SUMMARY: &'static str = A::SUMMARY;
    const CATEGORY: &'static str = A::CATEGORY;
    const FAMILY: Family = A::FAMILY;
    const RISK: Risk = A::RISK;
    const SIDE_EFFECTS: &'static [SideEffect] = A::SIDE_EFFECTS;
    const IDEMPOTENCY: Idempotency = Idempotency::NotIdempotent;
    const REQUIRES: &'static [Requirement] = &[Requirement::Host];
    // There is one focus and one cursor: whatever else ran meanwhile could move them.
    const CONCURRENCY: Concurrency = Concurrency::Serial;

    type Args = Held<A>;
    type Output = A::Output;

    async fn validate(&self, cx: &ToolCx, held: &Held<A>) -> Result<(), Fault> {
        let host = self.host.get()?;
        let foreseen = match A::foresee(&*host, cx, &held.args).await {
            Ok(foreseen) => Some(foreseen),
            // What cannot be done with what is open now may become possible when it is the call's turn.
            Err(Fault { failure: Failure::PreconditionFailed | Failure::InvalidArguments, .. }) => None,
            Err(fault) => return Err(fault),
        };
        *held.first.lock().unwrap_or_else(PoisonError::into_inner) = foreseen;
        Ok(())
    }

    fn paths(&self, held: &Held<A>) -> PathKeys {
        let Some(first) = held.first() else {
            // Nobody can say yet what will be open then.
            return PathKeys { reads: Vec::new(), writes: vec![Reach::Vault] };
        };
        let mut keys = A::touches(&first);
        for reach in changed(A::files(&first)) {
            if !keys.writes.contains(&reach) {
                keys.writes.push(reach);
            }
        }
        keys
    }

    fn is_dry_run(&self, held: &Held<A>) -> bool {
        A::dry_run(&held.args)
    }

    fn preview(&self, held: &Held<A>) -> String {
        A::preview(&held.args, held.first().as_ref())
    }

    async fn intend(&self, cx: &ToolCx, held: &Held<A>) -> Vec<Change> {
        let ready = self.make_ready(cx, held).await;
        let intent = match &ready {
            Ok(foreseen) if !A::dry_run(&held.args) => A::files(foreseen).prepared.intent(),
            Ok(_) | Err(_) => Vec::new(),
        };
        *held.ready.lock().unwrap_or_else(PoisonError::into_inner) = Some(ready);
        intent
    }

    async fn run(&self, cx: &ToolCx, held: Held<A>) -> Result<A::Output, Fault> {
        let ready = held.ready.lock().unwrap_or_else(PoisonError::into_inner).take();
        let foreseen = match ready {
            Some(ready) => ready?,
            None => self.make_ready(cx, &held).await?,
        };
        if A::dry_run(&held.args) {
            return Ok(A::foretold(&held.args, &foreseen));
        }
        let host = self.host.get()?;
        A::perform(&*host, cx, &held.args, &foreseen).await
    }

    async fn reconcile(&self, cx: &ToolCx, held: &Held<A>, intent: &[Change]) -> Reconciled<A::Output> {
        if A::dry_run(&held.args) {
            return Reconciled::DidNot;
        }
        if intent.is_empty() {
            return Reconciled::Unknown { why: "it was to change no file, so none can show it".to_owned() };
        }
        let Ok(host) = self.host.get() else {
            return Reconciled::Unknown { why: "no host has the vault open".to_owned() };
        };
        let (vault, args, intent) = (host.vault(), held.args.clone(), intent.to_vec());
        let found = finding_out(cx, move |witness| {
            Ok(match examine(&vault, &intent, witness)? {
                Reconciled::Happened(_) => Reconciled::Happened(A::found(&args, &intent, &vault, witness)?),
                Reconciled::DidNot => Reconciled::DidNot,
                Reconciled::Unknown { why } => Reconciled::Unknown { why },
            })
        });
        found.await.unwrap_or_else(|fault| Reconciled::Unknown { why: fault.message })
    }

    fn summary(&self, output: &A::Output) -> String {
        A::summary(output)
    }

    fn project(&self, output: &A::Output, with: &mut Projection<'_>) -> Result<Projected, Fault> {
        A::project(output, with)
    }
}

/// What the work changes.
fn changed(files: &FileWork) -> Vec<Reach> {
    let reach = |step: &Step| match step {
        Step::MakeFolder { path, .. } | Step::RemoveFolder { path, .. } => vec![Reach::Path(path.clone())],
        Step::CreateFile { path, .. } | Step::ReplaceFile { path, .. } | Step::RemoveFile { path, .. } => {
            vec![Reach::File(path.clone())]
        }
        Step::Move { from, to, .. } => vec![Reach::Path(from.clone()), Reach::Path(to.clone())],
    };
    files.prepared.steps.iter().flat_map(reach).collect()
}

/// Every path that an act touches. Where it may be any, there is nothing to compare.
fn paths<A: Act>(foreseen: &A::Foreseen) -> Vec<VaultPath> {
    let touched = A::touches(foreseen);
    let files = changed(A::files(foreseen));
    touched.all().chain(&files).filter_map(Reach::path).cloned().collect()
}
