//! `vault.delete`: into the vault's own trash, or for good; either way it can be undone.

use envelope::{CallId, Change, EntryKind, Failure, Fault, SideEffect, VaultPath};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolkit::families::mutation::{self, Facts, Mutation, Outcome};
use toolkit::families::{Projected, Projection};
use toolkit::{PathKeys, Reach};

use super::evidence::Evidence;
use super::expected_etag::ExpectedEtag;
use super::given_path::GivenPath;
use super::maybe_vault::MaybeVault;
use super::writing::Writer;
use crate::sandbox::{FreeName, Prepared, Seen, Step, Vault, Witness, Written};

pub(crate) struct Delete;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Args {
    /// File or folder to delete, relative to the vault. A folder goes with everything in it.
    path: GivenPath,
    /// True moves it into the vault's `.trash`; false removes it from the vault. Left out: true. Both can be
    /// undone with the run; also when the trash was emptied, unless it was a file of more than 64 MiB, or a
    /// folder with more than that or with more than 1,000 files and folders in it.
    #[serde(default = "yes")]
    trash: bool,
    /// Fail with NOT_FOUND when nothing is there. Left out: true.
    #[serde(default = "yes")]
    require_exists: bool,
    /// Delete only if the file still has this etag; anything else is a CONFLICT. For files only.
    #[serde(default)]
    expected_etag: Option<ExpectedEtag>,
    /// Report what would happen without deleting anything.
    #[serde(default)]
    dry_run: bool,
}

fn yes() -> bool {
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

/// What is about to go.
pub(crate) struct Draft {
    path: VaultPath,
    there: bool,
    /// Held until the call has ended, so that no other call chooses the same name.
    trash: Option<FreeName>,
    files: u64,
}

impl Writer for Delete {
    const NAME: &'static str = "vault.delete";
    const SUMMARY: &'static str = "Delete a file or a folder, into the vault's trash unless told otherwise.";
    const SIDE_EFFECTS: &'static [SideEffect] =
        &[SideEffect::DeleteFile, SideEffect::DeleteFolder, SideEffect::CreateFolder];
    const TIMEOUT_MS: u64 = 300_000;

    type Args = Args;
    type Output = Output;
    type Draft = Draft;

    fn dry_run(args: &Args) -> bool {
        args.dry_run
    }

    fn check(args: &Args) -> Result<(), Fault> {
        args.path.get().map(drop)
    }

    fn reach(vault: &MaybeVault, args: &Args) -> PathKeys {
        // A link is deleted itself, not what it leads to; still, nobody is hurt by a rule that holds for both.
        let writes = args.path.reach(vault).into_iter().map(|reach| match reach {
            Reach::Path(path) => Reach::Folder(path),
            Reach::Vault | Reach::File(_) | Reach::Folder(_) => reach,
        });
        PathKeys { reads: Vec::new(), writes: writes.collect() }
    }

    fn preview(args: &Args, _draft: Option<&Draft>) -> String {
        match args.trash {
            true => format!("Move {} to the trash", args.path.shown()),
            false => format!("Delete {} for good", args.path.shown()),
        }
    }

    fn prepare(
        vault: &Vault,
        call: &CallId,
        args: &Args,
        witness: &dyn Witness,
    ) -> Result<(Prepared, Draft), Fault> {
        let asked = args.path.get()?;
        let Some(doomed) = vault.entry(asked)? else {
            if args.require_exists {
                return Err(vault.not_found(asked));
            }
            let draft = Draft { path: asked.clone(), there: false, trash: None, files: 0 };
            return Ok((Prepared::default(), draft));
        };
        let path = doomed.path.clone();
        if args.trash {
            let mut baggage = ExpectedEtag::baggage(args.expected_etag.as_ref(), vault, &doomed, witness)?;
            let files = match doomed.kind {
                EntryKind::File => 1,
                EntryKind::Folder => vault.tree(&path, witness)?.files.len() as u64,
            };
            baggage.kept = vault.keepable(&path, doomed.kind, baggage.before, witness)?;
            let (make_trash, trash) = vault.choose_in_trash(&path, call)?;
            let to = trash.path().clone();
            let mut steps = Vec::new();
            if let (true, Some(path)) = (make_trash, to.parent()) {
                steps.push(Step::making_folder(path));
            }
            steps.push(Step::Move { from: path.clone(), to, kind: doomed.kind, baggage });
            return Ok((Prepared { steps }, Draft { path, there: true, trash: Some(trash), files }));
        }
        if let Some(expected) = &args.expected_etag {
            expected.check_entry(vault, &doomed, witness)?;
        }
        let (files, folders) = match doomed.kind {
            EntryKind::File => (vec![path.clone()], Vec::new()),
            EntryKind::Folder => {
                let tree = vault.tree(&path, witness)?;
                (tree.files, tree.folders)
            }
        };
        let mut steps = Vec::with_capacity(files.len() + folders.len());
        for path in &files {
            match vault.survey_entry(path, witness)? {
                Seen::File { state: before, .. } => {
                    steps.push(Step::RemoveFile { path: path.clone(), before });
                }
                Seen::Nothing | Seen::Folder | Seen::Other => return Err(cannot_be_kept(path)),
            }
        }
        let files = files.len() as u64;
        // The deepest first, so that each is empty when its turn comes.
        for path in folders.into_iter().rev() {
            let mode = vault.folder_mode(&path)?;
            steps.push(Step::RemoveFolder { path, mode });
        }
        Ok((Prepared { steps }, Draft { path, there: true, trash: None, files }))
    }

    fn output(args: &Args, draft: &Draft, _written: Option<&Written>) -> Output {
        Output {
            path: draft.path.to_string(),
            deleted: draft.there,
            trashed: draft.trash.is_some(),
            trash_path: draft.trash.as_ref().map(|trash| trash.path().to_string()),
            files: Some(draft.files),
            dry_run: args.dry_run,
        }
    }

    fn found(args: &Args, evidence: &Evidence) -> Output {
        let moved = evidence.last_move();
        Output {
            path: moved.map_or_else(|| args.path.shown(), |(from, _)| from.to_owned()),
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

    fn project(output: &Output, with: &mut Projection<'_>) -> Result<Projected, Fault> {
        let mutation = Mutation {
            outcome: match (output.deleted, output.trashed) {
                (false, _) => Outcome::NotThere,
                (true, true) => Outcome::Trashed,
                (true, false) => Outcome::Deleted,
            },
            path: output.path.as_str().into(),
            etag: None,
            facts: Facts {
                files: output.files.filter(|_| output.deleted),
                trash_path: output.trash_path.as_deref().map(Into::into),
                ..Facts::default()
            },
            dry_run: output.dry_run,
        };
        mutation::project(mutation, with)
    }
}

/// How many files the changes took away; unknown for a folder that was moved as a whole.
fn files_gone(evidence: &Evidence) -> Option<u64> {
    let moved = |wanted: EntryKind| {
        let is_one = |change: &&Change| matches!(change, Change::Moved { kind, .. } if *kind == wanted);
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
