//! `vault.ensureFolder`: a folder is there afterwards, whoever made it.

use envelope::{CallId, Failure, Fault, Idempotency, SideEffect, VaultPath};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolkit::PathKeys;
use toolkit::families::mutation::{self, Facts, Mutation, Outcome};
use toolkit::families::{Projected, Projection};

use super::evidence::Evidence;
use super::given_path::GivenFolder;
use super::maybe_vault::MaybeVault;
use super::writing::Writer;
use crate::sandbox::{MadeFolder, Prepared, Step, Vault, Witness, Written};

pub(crate) struct EnsureFolder;

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

impl Writer for EnsureFolder {
    const NAME: &'static str = "vault.ensureFolder";
    const SUMMARY: &'static str = "Make sure that a folder exists, creating it and its parents if needed.";
    const SIDE_EFFECTS: &'static [SideEffect] = &[SideEffect::CreateFolder];
    const IDEMPOTENCY: Idempotency = Idempotency::Idempotent;

    type Args = Args;
    type Output = Output;
    type Draft = MadeFolder;

    fn dry_run(args: &Args) -> bool {
        args.dry_run
    }

    fn check(args: &Args) -> Result<(), Fault> {
        folder(args).map(drop)
    }

    fn reach(vault: &MaybeVault, args: &Args) -> PathKeys {
        PathKeys { reads: Vec::new(), writes: args.path.reach(vault) }
    }

    fn preview(args: &Args, _draft: Option<&MadeFolder>) -> String {
        format!("Create the folder {} if it is missing", args.path.shown())
    }

    fn prepare(
        vault: &Vault,
        _call: &CallId,
        args: &Args,
        witness: &dyn Witness,
    ) -> Result<(Prepared, MadeFolder), Fault> {
        let made = vault.would_make_folder(folder(args)?, witness)?;
        let steps = made.created.iter().cloned().map(Step::making_folder).collect();
        Ok((Prepared { steps }, made))
    }

    fn output(args: &Args, made: &MadeFolder, _written: Option<&Written>) -> Output {
        Output { path: made.path.to_string(), created: !made.created.is_empty(), dry_run: args.dry_run }
    }

    fn found(args: &Args, evidence: &Evidence) -> Output {
        let path = evidence.changes.last().and_then(|change| change.paths().next());
        Output { path: path.map_or_else(|| args.path.shown(), str::to_owned), created: true, dry_run: false }
    }

    fn summary(output: &Output) -> String {
        match (output.created, output.dry_run) {
            (true, false) => format!("Created the folder {}", output.path),
            (true, true) => format!("Would create the folder {}", output.path),
            (false, _) => format!("The folder {} was already there", output.path),
        }
    }

    fn project(output: &Output, with: &mut Projection<'_>) -> Result<Projected, Fault> {
        let mutation = Mutation {
            outcome: if output.created { Outcome::Created } else { Outcome::Unchanged },
            path: output.path.as_str().into(),
            etag: None,
            facts: Facts::default(),
            dry_run: output.dry_run,
        };
        mutation::project(mutation, with)
    }
}

fn folder(args: &Args) -> Result<&VaultPath, Fault> {
    args.path.get()?.ok_or_else(|| {
        Fault::new(Failure::InvalidArguments, "the path is empty: the vault itself is always there")
            .hint("name a folder, such as `Projects/2026`")
    })
}
