//! `vault.restore`: applies recorded changes backwards, and never overwrites an edit unread.
//!
//! Used by undo and redo; models never see it, as its arguments come from the record of a run. Each change
//! applies only to its own before-state. An entry that was edited since is a conflict, and one conflict stops
//! the whole call unless the user decided about that entry.

mod planner;
mod plan;
mod locations;
mod path_map;
mod planned_tree;
mod history;
mod link_updates;

use envelope::{
    CallId, Concurrency, EntryKind, Failure, Fault, Idempotency, SideEffect, VaultChange, VaultPath,
};
use receipts::families::mutation::restored::{self, ConflictEntry};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolkit::{PathKeys, PathScope, ProjectedResult, Projection};

pub use self::history::is_taken_back;
use self::link_updates::add_link_steps;
pub use self::link_updates::{DeadLink, RestoredLinkEdit, RestoredLinks, plan_link_updates};
use self::locations::parsed;
pub use self::plan::{RestoreCause, RestoreConflict};
pub use self::plan::{RestoreChoices, RestorePlan, RestoredEntry, plan_restore};
use super::intent_rollback::apply_or_roll_back;
use super::maybe_vault::MaybeVault;
use super::reconcile::{ReconcileEvidence, removed_content};
use super::write_tool::{WriteTool, WriteToolDecl};
use crate::file_layer::{IoContext, PreparedSteps, TRASH, Vault, WrittenFile, protected};

/// Conflicts that the message names; the details contain all.
const NAMED: usize = 5;

pub(crate) struct RestoreChanges;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Args {
    /// The changes to make, in order. One that is already so is skipped.
    changes: Vec<VaultChange>,
    /// Notes whose links are rewritten after the changes, because the files that they lead to get another name.
    #[serde(default)]
    links: Vec<RestoredLinks>,
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

impl WriteTool for RestoreChanges {
    const DECL: WriteToolDecl = WriteToolDecl {
        // A change that is already made is not repeated.
        idempotency: Idempotency::Idempotent,
        concurrency: Concurrency::Serial,
        timeout_ms: 600_000,
        ..WriteToolDecl::new(
            "vault.restore",
            "Put files, folders and names back as a list of changes says.",
            &[
                SideEffect::CreateFile,
                SideEffect::CreateFolder,
                SideEffect::ModifyFile,
                SideEffect::DeleteFile,
                SideEffect::DeleteFolder,
                SideEffect::RenameFile,
                SideEffect::RenameFolder,
            ],
        )
    };

    type Args = Args;
    type Output = Output;
    type Plan = Output;

    fn dry_run(args: &Args) -> bool {
        args.dry_run
    }

    fn check(args: &Args) -> Result<(), Fault> {
        check_paths(&args.changes)?;
        check_paths(&link_changes(&args.links))
    }

    fn path_keys(vault: &MaybeVault, args: &Args) -> PathKeys {
        let mut writes = Vec::new();
        for change in args.changes.iter().chain(&link_changes(&args.links)) {
            // A rule about entries below a folder applies to moving the folder.
            let reach = match change {
                VaultChange::Moved { kind: EntryKind::Folder, .. } => PathScope::Folder,
                VaultChange::Moved { kind: EntryKind::File, .. }
                | VaultChange::FolderCreated { .. }
                | VaultChange::FolderRemoved { .. }
                | VaultChange::FileCreated { .. }
                | VaultChange::FileRemoved { .. }
                | VaultChange::FileReplaced { .. } => PathScope::Path,
            };
            let paths = change.paths().filter_map(|path| VaultPath::parse_escaped(path).ok());
            for path in paths.filter(|path| path.segments().next() != Some(TRASH)) {
                let real = vault.get().ok().and_then(|vault| vault.real_path(&path));
                let real = real.filter(|real| *real != path);
                writes.extend(std::iter::once(path).chain(real).map(reach));
            }
        }
        PathKeys { reads: Vec::new(), writes }
    }

    fn preview(args: &Args, _draft: Option<&Output>) -> String {
        let changes = match args.changes.len() {
            1 => "Take back 1 change".to_owned(),
            number => format!("Take back {number} changes"),
        };
        match args.links.len() {
            0 => changes,
            1 => format!("{changes}, and update the links of 1 note"),
            number => format!("{changes}, and update the links of {number} notes"),
        }
    }

    fn prepare(
        vault: &Vault,
        _call: &CallId,
        args: &Args,
        io: &dyn IoContext,
    ) -> Result<(PreparedSteps, Output), Fault> {
        let choices = RestoreChoices { only: &[], leave: &[], keep: &args.keep, overwrite: &args.overwrite };
        let mut found = plan_restore(vault, &args.changes, choices, io)?;
        add_link_steps(vault, &mut found, &args.links, &args.keep, io)?;
        if !args.dry_run && !found.conflicts.is_empty() {
            return Err(conflicts_fault(&found.conflicts));
        }
        let output = Output {
            restored: found.steps.len() as u64,
            already_so: found.already_so as u64,
            kept: found.kept.into_iter().chain(found.missing).collect(),
            left: found.left,
            conflicts: found.conflicts,
            dry_run: args.dry_run,
        };
        Ok((PreparedSteps { steps: found.steps }, output))
    }

    fn apply(
        vault: &Vault,
        args: &Args,
        prepared: &PreparedSteps,
        foreseen: &Output,
        io: &dyn IoContext,
    ) -> Result<Output, Fault> {
        // A run that was killed may have left hidden copies of the content that its last calls replaced, and no one else
        // will complete these calls.
        let replaced = args.changes.iter().filter_map(|change| removed_content(&change.inverse()));
        vault.clear_crash_leftovers(&replaced.collect::<Vec<_>>(), io)?;
        let written = apply_or_roll_back(vault, prepared, io)?;
        Ok(Self::output(args, foreseen, written.as_ref()))
    }

    fn output(_args: &Args, foreseen: &Output, _written: Option<&WrittenFile>) -> Output {
        foreseen.clone()
    }

    fn output_from_evidence(_args: &Args, evidence: &ReconcileEvidence) -> Output {
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

    fn project(output: &Output, with: &mut Projection<'_>) -> Result<ProjectedResult, Fault> {
        let conflicts = output.conflicts.iter().map(|conflict| ConflictEntry {
            path: conflict.path.clone(),
            words: conflict.words(),
            can_overwrite: conflict.can_overwrite,
        });
        let complete = restored::RestoreReport {
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

fn link_changes(links: &[RestoredLinks]) -> Vec<VaultChange> {
    links.iter().map(RestoredLinks::change).collect()
}

/// Checks that a tool may have changed every path: it is in the vault and outside of protected folders, or
/// directly in the trash.
pub(super) fn check_paths(changes: &[VaultChange]) -> Result<(), Fault> {
    for change in changes {
        for path in change.paths() {
            let path = parsed(path)?;
            let Some(by) = path.protected_by() else { continue };
            let in_trash = path.segments().next() == Some(TRASH);
            let allowed = match (change, path.segments().count()) {
                (VaultChange::FolderCreated { .. } | VaultChange::FolderRemoved { .. }, 1)
                | (VaultChange::Moved { .. }, 2) => in_trash && path.segments().skip(1).all(plain_name),
                (
                    VaultChange::FolderCreated { .. }
                    | VaultChange::FolderRemoved { .. }
                    | VaultChange::FileCreated { .. }
                    | VaultChange::FileRemoved { .. }
                    | VaultChange::FileReplaced { .. }
                    | VaultChange::Moved { .. },
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

fn conflicts_fault(conflicts: &[RestoreConflict]) -> Fault {
    let mut words: Vec<String> = conflicts.iter().take(NAMED).map(RestoreConflict::words).collect();
    if conflicts.len() > NAMED {
        words.push(format!("and {} more", conflicts.len() - NAMED));
    }
    Fault::new(Failure::Conflict, format!("nothing was restored: {}", words.join("; ")))
        .detail("conflicts", serde_json::to_value(conflicts).unwrap_or_default())
        .hint("say for each path whether to `keep` it or to `overwrite` it")
}

#[cfg(test)]
mod restore_fixture;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod round_trip_tests;
