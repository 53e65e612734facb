//! `vault.delete`: moves an entry to the vault's trash or removes it; both can be undone.

use envelope::{CallId, EntryKind, Failure, Fault, SideEffect, VaultChange, VaultPath};
use receipts::families::mutation::{self, FileMutation, MutationFacts, MutationOutcome};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolkit::{PathKeys, PathScope, ProjectedResult, Projection};

use super::expected_etag::ExpectedEtag;
use super::maybe_vault::MaybeVault;
use super::path_arg::PathArg;
use super::reconcile::ReconcileEvidence;
use super::write_tool::{WriteTool, WriteToolDecl};
use crate::file_layer::{
    ChangeStep, IoContext, NameReservation, PathState, PreparedSteps, Vault, WrittenFile,
};

pub(crate) struct DeletePath;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Args {
    /// File or folder.
    path: PathArg,
    /// Move into `.trash`; false removes.
    #[serde(default = "default_true")]
    trash: bool,
    /// Fail with NOT_FOUND if nothing is there.
    #[serde(default = "default_true")]
    require_exists: bool,
    /// Fail unless the etag is this.
    #[serde(default)]
    expected_etag: Option<ExpectedEtag>,
    /// Only report.
    #[serde(default)]
    dry_run: bool,
}

fn default_true() -> bool {
    true
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Output {
    /// What was deleted, as it was spelled on disk.
    path: String,
    /// False when nothing was there.
    deleted: bool,
    /// True when it is in the trash now.
    trashed: bool,
    /// Where it is in the trash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    trash_path: Option<String>,
    /// How many files were deleted. Absent when a folder was found in the trash after a crash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    files: Option<u64>,
    /// True when nothing was done because `dryRun` was set.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    dry_run: bool,
}

/// Entry that a call will delete.
pub(crate) struct DeletePlan {
    path: VaultPath,
    there: bool,
    /// Held until the call has ended, so that no other call chooses the same name.
    trash: Option<NameReservation>,
    files: u64,
}

impl WriteTool for DeletePath {
    const DECL: WriteToolDecl = WriteToolDecl {
        timeout_ms: 300_000,
        ..WriteToolDecl::new(
            "vault.delete",
            "Delete a file or a folder, into the vault's trash unless told otherwise.",
            &[SideEffect::DeleteFile, SideEffect::DeleteFolder, SideEffect::CreateFolder],
        )
    };

    type Args = Args;
    type Output = Output;
    type Plan = DeletePlan;

    fn dry_run(args: &Args) -> bool {
        args.dry_run
    }

    fn check(args: &Args) -> Result<(), Fault> {
        args.path.existing().map(drop)
    }

    fn path_keys(vault: &MaybeVault, args: &Args) -> PathKeys {
        // A link itself is deleted, not its target. A rule that applies to both does no harm.
        let writes = args.path.path_scopes(vault).into_iter().map(|reach| match reach {
            PathScope::Path(path) => PathScope::Folder(path),
            PathScope::Vault | PathScope::File(_) | PathScope::Folder(_) => reach,
        });
        PathKeys { reads: Vec::new(), writes: writes.collect() }
    }

    fn preview(args: &Args, _draft: Option<&DeletePlan>) -> String {
        match args.trash {
            true => format!("Move {} to the trash", args.path.display()),
            false => format!("Delete {} for good", args.path.display()),
        }
    }

    fn prepare(
        vault: &Vault,
        call: &CallId,
        args: &Args,
        io: &dyn IoContext,
    ) -> Result<(PreparedSteps, DeletePlan), Fault> {
        let asked = args.path.existing()?;
        let Some(target) = vault.entry(asked)? else {
            if args.require_exists {
                return Err(vault.not_found(asked));
            }
            let plan = DeletePlan { path: asked.clone(), there: false, trash: None, files: 0 };
            return Ok((PreparedSteps::default(), plan));
        };
        let path = target.path.clone();
        if args.trash {
            let mut details = ExpectedEtag::details(args.expected_etag.as_ref(), vault, &target, io)?;
            let files = match target.kind {
                EntryKind::File => 1,
                EntryKind::Folder => vault.folder_tree(&path, io)?.files.len() as u64,
            };
            details.backup = vault.trash_backup(&path, target.kind, details.before, io)?;
            let (make_trash, trash) = vault.reserve_trash_name(&path, call)?;
            let to = trash.path().clone();
            let mut steps = Vec::new();
            if let (true, Some(path)) = (make_trash, to.parent()) {
                steps.push(ChangeStep::create_folder(path));
            }
            steps.push(ChangeStep::Move { from: path.clone(), to, kind: target.kind, details });
            return Ok((
                PreparedSteps { steps },
                DeletePlan { path, there: true, trash: Some(trash), files },
            ));
        }
        if let Some(expected) = &args.expected_etag {
            expected.check_entry(vault, &target, io)?;
        }
        let (files, folders) = match target.kind {
            EntryKind::File => (vec![path.clone()], Vec::new()),
            EntryKind::Folder => {
                let tree = vault.folder_tree(&path, io)?;
                (tree.files, tree.folders)
            }
        };
        let mut steps = Vec::with_capacity(files.len() + folders.len());
        for path in &files {
            match vault.entry_state(path, io)? {
                PathState::File { state: before, .. } => {
                    steps.push(ChangeStep::RemoveFile { path: path.clone(), before });
                }
                PathState::Missing | PathState::Folder | PathState::Other => {
                    return Err(cannot_be_kept(path));
                }
            }
        }
        let files = files.len() as u64;
        // Deepest first, so that each folder is empty when it is removed.
        for path in folders.into_iter().rev() {
            let mode = vault.folder_mode(&path)?;
            steps.push(ChangeStep::RemoveFolder { path, mode });
        }
        Ok((PreparedSteps { steps }, DeletePlan { path, there: true, trash: None, files }))
    }

    fn output(args: &Args, plan: &DeletePlan, _written: Option<&WrittenFile>) -> Output {
        Output {
            path: plan.path.to_string(),
            deleted: plan.there,
            trashed: plan.trash.is_some(),
            trash_path: plan.trash.as_ref().map(|trash| trash.path().to_string()),
            files: Some(plan.files),
            dry_run: args.dry_run,
        }
    }

    fn output_from_evidence(args: &Args, evidence: &ReconcileEvidence) -> Output {
        let moved = evidence.last_move();
        Output {
            path: moved.map_or_else(|| args.path.display(), |(from, _)| from.to_owned()),
            deleted: true,
            trashed: moved.is_some(),
            trash_path: moved.map(|(_, to)| to.to_owned()),
            files: files_gone(evidence),
            dry_run: false,
        }
    }

    fn summary(output: &Output) -> String {
        let Output { path, deleted, trashed, dry_run, files, .. } = output;
        let what = match files {
            None | Some(0 | 1) => path.clone(),
            Some(more) => format!("{path} with {more} files"),
        };
        match (deleted, trashed, dry_run) {
            (false, ..) => format!("Nothing to delete: {path} is not there"),
            (true, true, false) => format!("Moved {what} to the trash"),
            (true, true, true) => format!("Would move {what} to the trash"),
            (true, false, false) => format!("Deleted {what}"),
            (true, false, true) => format!("Would delete {what}"),
        }
    }

    fn project(output: &Output, with: &mut Projection<'_>) -> Result<ProjectedResult, Fault> {
        let mutation = FileMutation {
            outcome: match (output.deleted, output.trashed) {
                (false, _) => MutationOutcome::NotThere,
                (true, true) => MutationOutcome::Trashed,
                (true, false) => MutationOutcome::Deleted,
            },
            path: output.path.as_str().into(),
            etag: None,
            facts: MutationFacts {
                files: output.files.filter(|_| output.deleted),
                trash_path: output.trash_path.as_deref().map(Into::into),
                ..MutationFacts::default()
            },
            dry_run: output.dry_run,
        };
        mutation::project(mutation, with)
    }
}

/// Returns how many files the changes removed; `None` if a folder was moved as a whole.
fn files_gone(evidence: &ReconcileEvidence) -> Option<u64> {
    let moved = |wanted: EntryKind| {
        let is_one =
            |change: &&VaultChange| matches!(change, VaultChange::Moved { kind, .. } if *kind == wanted);
        evidence.changes.iter().filter(is_one).count() as u64
    };
    (moved(EntryKind::Folder) == 0).then(|| evidence.files_removed() + moved(EntryKind::File))
}

fn cannot_be_kept(path: &VaultPath) -> Fault {
    Fault::new(
        Failure::PreconditionFailed,
        format!("`{path}` is a link, a pipe or a device: it could not be brought back"),
    )
    .hint("delete with trash: true, which moves it as it is")
}
