//! `vault.restore`: puts back what was there before, change by change, and never over an edit unread.
//!
//! For undo and redo, not for models: its arguments come from the record of a run. Each change is made only
//! against its own before-state. What was edited since is a conflict, and one conflict stops all of it, unless
//! a person has said what to do about that file.

mod choice;
mod conflict;
mod foresee;
mod locate;
mod names;
mod space;
mod thread;
mod trash;
mod work;

use envelope::{CallId, Change, Concurrency, EntryKind, Failure, Fault, Idempotency, SideEffect, VaultPath};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolkit::families::mutation::restored::{self, InTheWay};
use toolkit::families::{Projected, Projection};
use toolkit::{PathKeys, Reach};

pub use self::conflict::{RestoreCause, RestoreConflict};
pub use self::foresee::{Restoration, RestoreChoices, Restored, foresee_restore};
use self::locate::parsed;
use super::evidence::Evidence;
use super::maybe_vault::MaybeVault;
use super::writing::Writer;
use crate::sandbox::{Prepared, TRASH, Vault, Witness, Written, protected};

/// Conflicts that a fault names one by one; all of them are in its details.
const NAMED: usize = 5;

pub(crate) struct Restore;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Args {
    /// The changes to make, in order. One that is already so is skipped.
    changes: Vec<Change>,
    /// Paths that stay as they are, with everything below them, even where the list would change them. A file
    /// that was edited and moved keeps what it holds; its name is put back.
    #[serde(default)]
    keep: Vec<String>,
    /// Paths that are restored although they were edited since. What is there now is kept for the way back.
    #[serde(default)]
    overwrite: Vec<String>,
    /// Report what would happen, and what stands in the way, without changing anything.
    #[serde(default)]
    dry_run: bool,
    /// Why this is done, for the record.
    #[serde(default)]
    #[expect(dead_code, reason = "read in the record of the call")]
    note: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Output {
    /// How many changes were made.
    restored: u64,
    /// How many files and folders were already as they should be.
    already_so: u64,
    /// Files that were left as they are, or stay away, because `keep` names them.
    kept: Vec<String>,
    /// Folders that stay because something is in them that was not there before.
    left: Vec<String>,
    /// What stands in the way. Only a dry run tells of it here; any other call fails with CONFLICT.
    conflicts: Vec<RestoreConflict>,
    /// True when nothing was done because `dryRun` was set.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    dry_run: bool,
}

impl Writer for Restore {
    const NAME: &'static str = "vault.restore";
    const SUMMARY: &'static str = "Put files, folders and names back as a list of changes says.";
    const SIDE_EFFECTS: &'static [SideEffect] = &[
        SideEffect::CreateFile,
        SideEffect::CreateFolder,
        SideEffect::ModifyFile,
        SideEffect::DeleteFile,
        SideEffect::DeleteFolder,
        SideEffect::RenameFile,
        SideEffect::RenameFolder,
    ];
    /// What is already so is not done again.
    const IDEMPOTENCY: Idempotency = Idempotency::Idempotent;
    const CONCURRENCY: Concurrency = Concurrency::Serial;
    const TIMEOUT_MS: u64 = 600_000;

    type Args = Args;
    type Output = Output;
    type Draft = Output;

    fn dry_run(args: &Args) -> bool {
        args.dry_run
    }

    fn check(args: &Args) -> Result<(), Fault> {
        check_paths(&args.changes)
    }

    fn reach(vault: &MaybeVault, args: &Args) -> PathKeys {
        let mut writes = Vec::new();
        for change in &args.changes {
            // Rules about what is below a folder hold for the move of it.
            let reach = match change {
                Change::Moved { kind: EntryKind::Folder, .. } => Reach::Folder,
                Change::Moved { kind: EntryKind::File, .. }
                | Change::FolderCreated { .. }
                | Change::FolderRemoved { .. }
                | Change::FileCreated { .. }
                | Change::FileRemoved { .. }
                | Change::FileReplaced { .. } => Reach::Path,
            };
            let paths = change.paths().filter_map(|path| VaultPath::parse(path).ok());
            for path in paths.filter(|path| path.segments().next() != Some(TRASH)) {
                let real = vault.get().ok().and_then(|vault| vault.real_path(&path));
                let real = real.filter(|real| *real != path);
                writes.extend(std::iter::once(path).chain(real).map(reach));
            }
        }
        PathKeys { reads: Vec::new(), writes }
    }

    fn preview(args: &Args, _draft: Option<&Output>) -> String {
        match args.changes.len() {
            1 => "Take back 1 change".to_owned(),
            number => format!("Take back {number} changes"),
        }
    }

    fn prepare(
        vault: &Vault,
        _call: &CallId,
        args: &Args,
        witness: &dyn Witness,
    ) -> Result<(Prepared, Output), Fault> {
        let choices = RestoreChoices { keep: &args.keep, overwrite: &args.overwrite };
        let found = foresee_restore(vault, &args.changes, choices, witness)?;
        if !args.dry_run && !found.conflicts.is_empty() {
            return Err(in_the_way(&found.conflicts));
        }
        let output = Output {
            restored: found.steps.len() as u64,
            already_so: found.already_so as u64,
            kept: found.kept.into_iter().chain(found.missing).collect(),
            left: found.left,
            conflicts: found.conflicts,
            dry_run: args.dry_run,
        };
        Ok((Prepared { steps: found.steps }, output))
    }

    fn output(_args: &Args, foreseen: &Output, _written: Option<&Written>) -> Output {
        foreseen.clone()
    }

    fn found(_args: &Args, evidence: &Evidence) -> Output {
        Output {
            restored: evidence.changes.len() as u64,
            already_so: 0,
            kept: Vec::new(),
            left: Vec::new(),
            conflicts: Vec::new(),
            dry_run: false,
        }
    }

    fn summary(output: &Output) -> String {
        let verb = if output.dry_run { "Would make" } else { "Made" };
        let noun = if output.restored == 1 { "change" } else { "changes" };
        let mut words = format!("{verb} {} {noun}", output.restored);
        for (number, what) in [
            (output.already_so as usize, "already so"),
            (output.kept.len(), "kept"),
            (output.left.len(), "not empty and left"),
            (output.conflicts.len(), "in the way"),
        ] {
            if number > 0 {
                words.push_str(&format!(", {number} {what}"));
            }
        }
        words
    }

    fn project(output: &Output, with: &mut Projection<'_>) -> Result<Projected, Fault> {
        let conflicts = output.conflicts.iter().map(|conflict| InTheWay {
            path: conflict.path.clone(),
            words: conflict.words(),
            can_overwrite: conflict.can_overwrite,
        });
        let complete = restored::Restored {
            restored: output.restored,
            already_so: output.already_so,
            kept: &output.kept,
            left: &output.left,
            conflicts: conflicts.collect(),
            dry_run: output.dry_run,
        };
        restored::project(complete, with)
    }
}

/// That every path is one that a tool may have changed: in the vault, outside of protected places, or directly
/// in the trash.
pub(super) fn check_paths(changes: &[Change]) -> Result<(), Fault> {
    for change in changes {
        for path in change.paths() {
            let path = parsed(path)?;
            let Some(by) = path.protected_by() else { continue };
            let in_trash = path.segments().next() == Some(TRASH);
            let allowed = match (change, path.segments().count()) {
                (Change::FolderCreated { .. } | Change::FolderRemoved { .. }, 1)
                | (Change::Moved { .. }, 2) => in_trash && path.segments().skip(1).all(plain_name),
                (
                    Change::FolderCreated { .. }
                    | Change::FolderRemoved { .. }
                    | Change::FileCreated { .. }
                    | Change::FileRemoved { .. }
                    | Change::FileReplaced { .. }
                    | Change::Moved { .. },
                    _,
                ) => false,
            };
            if !allowed {
                return Err(protected(path.as_str(), by));
            }
        }
    }
    Ok(())
}

fn plain_name(name: &str) -> bool {
    !VaultPath::is_protected_name(name)
}

fn in_the_way(conflicts: &[RestoreConflict]) -> Fault {
    let mut words: Vec<String> = conflicts.iter().take(NAMED).map(RestoreConflict::words).collect();
    if conflicts.len() > NAMED {
        words.push(format!("and {} more", conflicts.len() - NAMED));
    }
    Fault::new(Failure::Conflict, format!("nothing was restored: {}", words.join("; ")))
        .detail("conflicts", serde_json::to_value(conflicts).unwrap_or_default())
        .hint("say for each path whether to `keep` it or to `overwrite` it")
}

#[cfg(test)]
mod desk;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod laws;
