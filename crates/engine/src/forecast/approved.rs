//! The calls that a yes covers, and whether a call that is about to be made is one of them.
//!
//! Two things may differ between a forecast and the run without meaning anything, because calls that touch other paths
//! run side by side: which of them makes a folder that several need, and which free name in the trash a file gets.

use std::collections::{BTreeMap, HashMap, HashSet};

use envelope::{Change, FileState, KeptEntry, SideEffect, StepId, ToolCall, ToolDecl};

use super::{ForecastCall, ForecastOutcome};

/// Differences that are told; the rest is counted.
const TOLD: usize = 8;
const TRASH: &str = ".trash/";

/// A forecast that somebody has said yes to.
#[derive(Debug, Default)]
pub(crate) struct ApprovedCalls {
    calls: HashMap<(StepId, Option<u64>), ForecastCall>,
    /// Folders that some call would make.
    folders: HashSet<String>,
}

impl ApprovedCalls {
    pub(crate) fn new(calls: Vec<ForecastCall>) -> ApprovedCalls {
        let folders = calls.iter().flat_map(|call| &call.changes).filter_map(made_folder).collect();
        let key = |call: ForecastCall| ((call.step.clone(), call.index), call);
        ApprovedCalls { calls: calls.into_iter().map(key).collect(), folders }
    }

    /// In what a call differs from what was approved, one line each; nothing if the yes covers it. `intent` is what it
    /// would change now.
    pub(crate) fn differences(&self, call: &ToolCall, decl: &ToolDecl, intent: &[Change]) -> Vec<String> {
        let key = (call.step_id.clone(), call.iteration.as_ref().map(|iteration| iteration.index));
        let approved = self.calls.get(&key);
        let same_args = approved.is_some_and(|approved| approved.args_hash == call.args_hash);
        if intent.is_empty() && (same_args || !acts_without_files(decl)) {
            // It changes no file: it fails, or finds that everything is as it should be.
            return Vec::new();
        }
        let Some(approved) = approved else {
            return told(
                vec![format!("{} was not part of it", named(call))].into_iter().chain(listed(intent)),
            );
        };
        match &approved.outcome {
            ForecastOutcome::Works | ForecastOutcome::Unknown => {}
            ForecastOutcome::Fails { message } => {
                let first = format!("{} was expected to fail ({message}), and would not now", named(call));
                return told(std::iter::once(first).chain(listed(intent)));
            }
        }
        told(self.changed(&approved.changes, intent).into_iter())
    }

    fn changed(&self, approved: &[Change], intent: &[Change]) -> Vec<String> {
        let strange_folder = |change: &Change| {
            made_folder(change)
                .filter(|folder| !self.folders.contains(folder))
                .map(|folder| format!("the folder {folder} would be created, which was not part of it"))
        };
        let mut lines: Vec<String> = intent.iter().filter_map(strange_folder).collect();
        let relevant = |change: &&Change| made_folder(change).is_none();
        let was: Vec<&Change> = approved.iter().filter(relevant).collect();
        let is = intent.iter().filter(relevant);
        // A change that is no longer needed is no difference: less happens than was approved.
        for change in is.filter(|change| !was.iter().any(|same| equal(same, change))) {
            match was.iter().find(|other| place(other) == place(change)) {
                Some(other) => lines.push(other_state(other, change)),
                None => lines.push(format!("{}, which was not part of it", described(change))),
            }
        }
        lines
    }
}

/// Whether a tool has effects that no change of a file tells.
fn acts_without_files(decl: &ToolDecl) -> bool {
    decl.side_effects.iter().any(|effect| match effect {
        SideEffect::CreateFile
        | SideEffect::CreateFolder
        | SideEffect::ModifyFile
        | SideEffect::DeleteFile
        | SideEffect::DeleteFolder
        | SideEffect::RenameFile
        | SideEffect::RenameFolder => false,
        SideEffect::EditBuffer
        | SideEffect::ChangeWorkspace
        | SideEffect::StopTask
        | SideEffect::RunCommand
        | SideEffect::Network => true,
    })
}

fn made_folder(change: &Change) -> Option<String> {
    match change {
        Change::FolderCreated { path, .. } => Some(path.clone()),
        Change::FolderRemoved { .. }
        | Change::FileCreated { .. }
        | Change::FileRemoved { .. }
        | Change::FileReplaced { .. }
        | Change::Moved { .. } => None,
    }
}

/// Whether two changes are the same, whatever name a file gets in the trash. What a removed folder could be used for is
/// kept for the way back only.
fn equal(was: &Change, is: &Change) -> bool {
    match (was, is) {
        (Change::FolderRemoved { path, .. }, Change::FolderRemoved { path: path_now, .. }) => {
            path == path_now
        }
        (
            Change::Moved { from, to, kind, state, kept },
            Change::Moved { from: from_now, to: to_now, kind: kind_now, state: state_now, kept: kept_now },
        ) => {
            let both_trashed = to.starts_with(TRASH) && to_now.starts_with(TRASH);
            from == from_now
                && (to == to_now || both_trashed)
                && kind == kind_now
                && state == state_now
                && same_entries(kept, kept_now)
        }
        _ => was == is,
    }
}

/// Whether the same files in the same states go along with a move, in whatever order they were found.
fn same_entries(was: &[KeptEntry], is: &[KeptEntry]) -> bool {
    let by_path = |entries: &[KeptEntry]| -> BTreeMap<String, Option<FileState>> {
        entries.iter().map(|entry| (entry.path.clone(), entry.state)).collect()
    };
    was == is || by_path(was) == by_path(is)
}

/// The path that a change is about; what is moved is known by where it is before.
fn place(change: &Change) -> &str {
    change.paths().next().unwrap_or_default()
}

fn other_state(was: &Change, is: &Change) -> String {
    let (before, now) = (before(was), before(is));
    let path = place(is);
    if before != now {
        return format!("{path} has changed: it was {}, now it is {}", etag(before), etag(now));
    }
    if let (Change::Moved { kept, .. }, Change::Moved { kept: kept_now, .. }) = (was, is)
        && let Some(line) = other_content(path, kept, kept_now)
    {
        return line;
    }
    match (after(was), after(is)) {
        (Some(was), Some(is)) if was != is => {
            format!(
                "{path} would get other content: {} was expected, now {}",
                etag(Some(was)),
                etag(Some(is))
            )
        }
        _ => format!("{}, which was not part of it", described(is)),
    }
}

/// The first file in a folder that is not as it was approved.
fn other_content(folder: &str, was: &[KeptEntry], is: &[KeptEntry]) -> Option<String> {
    let state = |entries: &[KeptEntry], path: &str| {
        entries.iter().find(|entry| entry.path == path).map(|entry| entry.state)
    };
    let names = was.iter().chain(is).map(|entry| entry.path.as_str());
    let changed = names.into_iter().find(|path| state(was, path) != state(is, path))?;
    let told = |entry: Option<Option<FileState>>| etag(entry.flatten().as_ref());
    let (was, is) = (told(state(was, changed)), told(state(is, changed)));
    Some(format!("{folder}/{changed} has changed: it was {was}, now it is {is}"))
}

fn before(change: &Change) -> Option<&FileState> {
    match change {
        Change::FileRemoved { before, .. } | Change::FileReplaced { before, .. } => Some(before),
        Change::Moved { state, .. } => state.as_ref(),
        Change::FolderCreated { .. } | Change::FolderRemoved { .. } | Change::FileCreated { .. } => None,
    }
}

fn after(change: &Change) -> Option<&FileState> {
    match change {
        Change::FileCreated { after, .. } | Change::FileReplaced { after, .. } => Some(after),
        Change::FileRemoved { .. }
        | Change::Moved { .. }
        | Change::FolderCreated { .. }
        | Change::FolderRemoved { .. } => None,
    }
}

/// The beginning of the etag, which is enough to tell two states apart.
fn etag(state: Option<&FileState>) -> String {
    match state {
        Some(state) => state.etag().chars().take(8).collect(),
        None => "absent".to_owned(),
    }
}

fn described(change: &Change) -> String {
    match change {
        Change::FolderCreated { path, .. } => format!("the folder {path} would be created"),
        Change::FolderRemoved { path, .. } => format!("the folder {path} would be deleted"),
        Change::FileCreated { path, .. } => format!("{path} would be created"),
        Change::FileRemoved { path, .. } => format!("{path} would be deleted for good"),
        Change::FileReplaced { path, before, .. } => {
            format!("{path} (now {}) would be changed", etag(Some(before)))
        }
        Change::Moved { from, to, .. } if to.starts_with(TRASH) => format!("{from} would be trashed"),
        Change::Moved { from, to, .. } => format!("{from} would be moved to {to}"),
    }
}

fn listed(intent: &[Change]) -> impl Iterator<Item = String> + '_ {
    intent.iter().map(described)
}

fn named(call: &ToolCall) -> String {
    match &call.iteration {
        Some(iteration) => format!("step {} for item {}", call.step_id, iteration.index + 1),
        None => format!("step {}", call.step_id),
    }
}

fn told(lines: impl Iterator<Item = String>) -> Vec<String> {
    let mut lines: Vec<String> = lines.map(|line| crate::question::one_line(&line)).collect();
    if lines.len() > TOLD {
        let left = lines.len() - TOLD;
        lines.truncate(TOLD);
        lines.push(format!("and {left} more"));
    }
    lines
}
