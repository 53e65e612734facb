//! Later runs that changed files of a run: named where they stand in the way of its undo, and undone together with it.

use std::collections::BTreeSet;

use engine::{RunChanges, UndoHistory};
use envelope::{EntryKind, RunId, Timestamp, VaultChange, VaultPath};
use journal::{RunFolder, RunKind, RunState, RunSummary};

use super::target::{UndoTarget, changes_of, running_error, unknown_changes};
use crate::error::AppError;
use crate::vault_context::VaultContext;

/// A run that changed files of the run to undo after it.
pub(super) struct LaterRun {
    pub(super) run_id: RunId,
    pub(super) goal: String,
    /// Whether `--with-later` takes it back: it is no undo, and it has ended.
    can_be_undone: bool,
    paths: ChangedPaths,
}

/// The paths that a run changed, without regard to case.
#[derive(Default)]
struct ChangedPaths {
    paths: BTreeSet<String>,
    /// Folders that were moved, with everything in them.
    folders: BTreeSet<String>,
}

impl ChangedPaths {
    fn of(changes: &[VaultChange]) -> ChangedPaths {
        let mut found = ChangedPaths::default();
        for change in changes {
            let paths = change.paths().map(VaultPath::fold_name);
            match change {
                VaultChange::Moved { kind: EntryKind::Folder, .. } => found.folders.extend(paths),
                VaultChange::Moved { kind: EntryKind::File, .. }
                | VaultChange::FileCreated { .. }
                | VaultChange::FileRemoved { .. }
                | VaultChange::FileReplaced { .. } => found.paths.extend(paths),
                // Several runs may use a folder that one of them has created.
                VaultChange::FolderCreated { .. } | VaultChange::FolderRemoved { .. } => {}
            }
        }
        found
    }

    fn add(&mut self, other: &ChangedPaths) {
        self.paths.extend(other.paths.iter().cloned());
        self.folders.extend(other.folders.iter().cloned());
    }

    /// Returns whether both changed the same file, or one moved a folder with files of the other.
    fn meets(&self, other: &ChangedPaths) -> bool {
        let is_met = |path: &String| other.paths.contains(path) || other.is_below_moved(path);
        self.paths.iter().any(is_met)
            || other.paths.iter().any(|path| self.is_below_moved(path))
            || self.folders.iter().any(|folder| other.is_below_moved(folder))
            || other.folders.iter().any(|folder| self.is_below_moved(folder))
    }

    /// Returns whether the path is a folder that was moved, or below one.
    fn is_below_moved(&self, path: &str) -> bool {
        let above = path.match_indices('/').map(|(slash, _)| &path[..slash]);
        above.chain([path]).any(|folder| self.folders.contains(folder))
    }
}

/// Returns the runs that changed files of the target and are newer than the oldest of its runs, newest first. Runs that
/// are undone are left out, and so is a run whose record cannot be read.
pub(super) fn later_runs(context: &VaultContext, target: &UndoTarget) -> Result<Vec<LaterRun>, AppError> {
    let runs = context.runs()?.list()?;
    let history = UndoHistory::of(&runs);
    let own: Vec<&RunSummary> = target.undoes.iter().filter_map(|run| history.get(run)).collect();
    let changed = ChangedPaths::of(&target.made);
    let mut found = Vec::new();
    for run in candidates(&history, &own) {
        let Ok(changes) = RunFolder::open(&run.dir).and_then(|folder| RunChanges::read(&folder)) else {
            continue;
        };
        let paths = ChangedPaths::of(&changes.changes);
        if paths.meets(&changed) {
            found.push(LaterRun {
                run_id: run.run_id.clone(),
                goal: run.goal.clone().unwrap_or_default(),
                can_be_undone: !run.kind.is_undo() && run.state != RunState::Running,
                paths,
            });
        }
    }
    Ok(found)
}

impl LaterRun {
    /// Returns whether this run changed the file or folder at a path.
    pub(super) fn has_changed(&self, path: &str) -> bool {
        let mut asked = ChangedPaths::default();
        asked.paths.insert(VaultPath::fold_name(path));
        self.paths.meets(&asked)
    }

    pub(super) fn can_be_undone(&self) -> bool {
        self.can_be_undone
    }
}

/// Returns a run and every run that has to be undone with it: each that changed a file of one of them after the oldest of
/// them began. Newest first.
pub(super) fn with_later_runs<'a>(
    context: &VaultContext,
    history: &UndoHistory<'a>,
    run: &'a RunSummary,
) -> Result<Vec<&'a RunSummary>, AppError> {
    let mut chosen = history.connected_runs(run);
    chosen.retain(|run| history.undone_by(&run.run_id).is_none());
    let mut changed = ChangedPaths::of(&changes_of(context, &chosen)?.changes);
    let mut seen: BTreeSet<&RunId> = BTreeSet::new();
    let mut others: Vec<(&RunSummary, ChangedPaths)> = Vec::new();
    // Each round adds a run, and an older one may bring further candidates.
    loop {
        for other in candidates(history, &chosen) {
            if other.kind.is_undo() || !seen.insert(&other.run_id) {
                continue;
            }
            // Verified when it is undone.
            let changes = RunFolder::open(&other.dir)
                .and_then(|folder| RunChanges::read(&folder))
                .map_err(|error| unknown_changes(other, error.into()))?;
            others.push((other, ChangedPaths::of(&changes.changes)));
        }
        let Some(place) = others.iter().position(|(_, paths)| paths.meets(&changed)) else { break };
        let (other, paths) = others.swap_remove(place);
        if other.state == RunState::Running {
            return Err(running_error(other));
        }
        changed.add(&paths);
        for run in history.connected_runs(other) {
            let is_new = !chosen.iter().any(|known| known.run_id == run.run_id);
            if is_new && history.undone_by(&run.run_id).is_none() {
                chosen.push(run);
            }
        }
    }
    history.sort_newest_first(&mut chosen);
    Ok(chosen)
}

/// Returns the runs that can have changed something after the oldest of these began: newer runs, and older sessions that
/// were open then. Runs that are undone are left out.
fn candidates<'a>(history: &UndoHistory<'a>, own: &[&RunSummary]) -> Vec<&'a RunSummary> {
    let is_own = |run: &RunSummary| own.iter().any(|own| own.run_id == run.run_id);
    let oldest = history.runs().iter().rposition(&is_own);
    let began = own.iter().map(|run| run.created_at).min();
    let mut found = Vec::new();
    for (place, run) in history.runs().iter().enumerate() {
        let is_newer = oldest.is_some_and(|oldest| place < oldest);
        let was_open =
            || run.kind == RunKind::Session && began.is_some_and(|began| was_written_since(run, began));
        if !is_own(run) && history.undone_by(&run.run_id).is_none() && (is_newer || was_open()) {
            found.push(run);
        }
    }
    found
}

/// Returns whether results of a run were written at this time or later.
fn was_written_since(run: &RunSummary, time: Timestamp) -> bool {
    let written = std::fs::metadata(run.dir.join("results.jsonl")).and_then(|file| file.modified());
    // Without a time, the record is read.
    written.ok().and_then(|written| Timestamp::try_from(written).ok()).is_none_or(|written| written >= time)
}
