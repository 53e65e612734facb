//! `vault.ensureFolder`: creates a folder unless it exists.

use envelope::{CallId, Failure, Fault, Idempotency, SideEffect, VaultPath};
use receipts::families::mutation::{self, FileMutation, MutationFacts, MutationOutcome};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolkit::{PathKeys, ProjectedResult, Projection};

use super::maybe_vault::MaybeVault;
use super::path_arg::FolderArg;
use super::reconcile::ReconcileEvidence;
use super::write_tool::{WriteTool, WriteToolDecl};
use crate::file_layer::{ChangeStep, EnsuredFolder, IoContext, PreparedSteps, Vault, WrittenFile};

pub(crate) struct EnsureFolder;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Args {
    /// Folder, such as `Projects/2026`.
    path: FolderArg,
    /// Only report.
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

impl WriteTool for EnsureFolder {
    const DECL: WriteToolDecl = WriteToolDecl {
        idempotency: Idempotency::Idempotent,
        ..WriteToolDecl::new(
            "vault.ensureFolder",
            "Make sure that a folder exists, creating it and its parents if needed.",
            &[SideEffect::CreateFolder],
        )
    };

    type Args = Args;
    type Output = Output;
    type Plan = EnsuredFolder;

    fn dry_run(args: &Args) -> bool {
        args.dry_run
    }

    fn check(args: &Args) -> Result<(), Fault> {
        folder(args).map(drop)
    }

    fn path_keys(vault: &MaybeVault, args: &Args) -> PathKeys {
        PathKeys { reads: Vec::new(), writes: args.path.path_scopes(vault) }
    }

    fn preview(args: &Args, _draft: Option<&EnsuredFolder>) -> String {
        format!("Create the folder {} if it is missing", args.path.display())
    }

    fn prepare(
        vault: &Vault,
        _call: &CallId,
        args: &Args,
        io: &dyn IoContext,
    ) -> Result<(PreparedSteps, EnsuredFolder), Fault> {
        let made = vault.would_make_folder(folder(args)?, io)?;
        let steps = made.created.iter().cloned().map(ChangeStep::create_folder).collect();
        Ok((PreparedSteps { steps }, made))
    }

    fn output(args: &Args, made: &EnsuredFolder, _written: Option<&WrittenFile>) -> Output {
        Output { path: made.path.to_string(), created: !made.created.is_empty(), dry_run: args.dry_run }
    }

    fn output_from_evidence(args: &Args, evidence: &ReconcileEvidence) -> Output {
        let path = evidence.changes.last().and_then(|change| change.paths().next());
        Output {
            path: path.map_or_else(|| args.path.display(), str::to_owned),
            created: true,
            dry_run: false,
        }
    }

    fn summary(output: &Output) -> String {
        match (output.created, output.dry_run) {
            (true, false) => format!("Created the folder {}", output.path),
            (true, true) => format!("Would create the folder {}", output.path),
            (false, _) => format!("The folder {} was already there", output.path),
        }
    }

    fn project(output: &Output, with: &mut Projection<'_>) -> Result<ProjectedResult, Fault> {
        let mutation = FileMutation {
            outcome: if output.created { MutationOutcome::Created } else { MutationOutcome::Unchanged },
            path: output.path.as_str().into(),
            etag: None,
            facts: MutationFacts::default(),
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
