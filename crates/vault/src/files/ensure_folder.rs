//! `vault.ensureFolder`: a folder is there afterwards, whoever made it.

use envelope::{Failure, Fault, Idempotency, Observed, Requirement, Risk, SideEffect, VaultPath};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolkit::{PathKeys, Reconciled, Tool, ToolCx};

use super::before::{observed, report_folders};
use super::blocking::{blocking, finding_out};
use super::given_path::GivenFolder;
use super::maybe_vault::MaybeVault;
use crate::sandbox::{Seen, Survey};

pub(crate) struct EnsureFolder {
    pub(crate) vault: MaybeVault,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Args {
    /// Folder to make sure of, relative to the vault, with `/` between parts, such as `Projects/2026`.
    /// Missing folders above it are created too.
    path: GivenFolder,
    /// Report what would happen without creating anything.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Output {
    /// The folder as it is spelled on disk.
    path: String,
    /// False when the folder was already there.
    created: bool,
    /// True when nothing was done because `dryRun` was set.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    dry_run: bool,
}

impl Tool for EnsureFolder {
    const NAME: &'static str = "vault.ensureFolder";
    const SUMMARY: &'static str = "Make sure that a folder exists, creating it and its parents if needed.";
    const CATEGORY: &'static str = "vault";
    const RISK: Risk = Risk::Writes;
    const SIDE_EFFECTS: &'static [SideEffect] = &[SideEffect::CreateFolder];
    const IDEMPOTENCY: Idempotency = Idempotency::Idempotent;
    const REQUIRES: &'static [Requirement] = &[Requirement::Vault];

    type Args = Args;
    type Output = Output;

    async fn validate(&self, _cx: &ToolCx, args: &Args) -> Result<(), Fault> {
        folder(args).map(drop)
    }

    fn paths(&self, args: &Args) -> PathKeys {
        PathKeys { reads: Vec::new(), writes: args.path.reach(&self.vault) }
    }

    fn preview(&self, args: &Args) -> String {
        format!("Create the folder {} if it is missing", args.path.shown())
    }

    async fn observe(&self, cx: &ToolCx, args: &Args) -> Vec<Observed> {
        let (Ok(vault), Ok(path)) = (self.vault.get(), folder(args).cloned()) else {
            return Vec::new();
        };
        blocking(cx, move |witness| vault.survey(&path, witness)).await.map_or_else(|_| Vec::new(), observed)
    }

    async fn run(&self, cx: &ToolCx, args: Args) -> Result<Output, Fault> {
        let path = folder(&args)?.clone();
        let vault = self.vault.get()?;
        let dry_run = args.dry_run;
        let made = blocking(cx, move |witness| {
            if dry_run { vault.would_make_folder(&path) } else { vault.ensure_folder(&path, witness) }
        })
        .await?;
        Ok(Output { path: made.path.to_string(), created: !made.created.is_empty(), dry_run })
    }

    async fn reconcile(&self, cx: &ToolCx, args: &Args, before: &[Observed]) -> Reconciled<Output> {
        // Doing it again does nothing more than doing it once, so that is the answer to every doubt.
        let (Some(asked), false, Ok(vault), Ok(path)) =
            (before.last().cloned(), args.dry_run, self.vault.get(), folder(args).cloned())
        else {
            return Reconciled::DidNot;
        };
        let before = before.to_vec();
        let found = finding_out(cx, move |witness| {
            report_folders(&vault, &before, witness)?;
            vault.survey(&path, witness)
        });
        match found.await {
            Ok(Survey { path, seen: Seen::Folder, .. }) => Reconciled::Happened(Output {
                path: path.to_string(),
                created: asked.etag.is_none(),
                dry_run: false,
            }),
            Ok(_) | Err(_) => Reconciled::DidNot,
        }
    }

    fn summary(&self, output: &Output) -> String {
        match (output.created, output.dry_run) {
            (true, false) => format!("Created the folder {}", output.path),
            (true, true) => format!("Would create the folder {}", output.path),
            (false, _) => format!("The folder {} was already there", output.path),
        }
    }
}

fn folder(args: &Args) -> Result<&VaultPath, Fault> {
    args.path.get()?.ok_or_else(|| {
        Fault::new(Failure::InvalidArguments, "the path is empty: the vault itself is always there")
            .hint("name a folder, such as `Projects/2026`")
    })
}
