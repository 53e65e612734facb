//! The calls that an approval covers, and the comparison of a call that is about to be made with them.
//!
//! Two differences between a forecast and the run have no meaning, because calls on different paths run side by side:
//! which call creates a folder that several need, and which free name in the trash a file gets.

use std::collections::{BTreeMap, HashMap, HashSet};

use envelope::{FileState, KeptEntry, SideEffect, StepId, ToolCall, ToolDecl, VaultChange};

use super::{ForecastCall, ForecastOutcome};

/// Differences that are listed; the rest is counted.
const MAX_LINES: usize = 8;
const TRASH: &str = ".trash/";

/// A forecast that was approved.
#[derive(Debug, Default)]
pub(crate) struct ApprovedCalls {
    calls: HashMap<(StepId, Option<u64>), ForecastCall>,
    /// Folders that the calls would create.
    folders: HashSet<String>,
}

impl ApprovedCalls {
    pub(crate) fn new(calls: Vec<ForecastCall>) -> ApprovedCalls {
        let folders = calls.iter().flat_map(|call| &call.changes).filter_map(made_folder).collect();
        let key = |call: ForecastCall| ((call.step.clone(), call.index), call);
        ApprovedCalls { calls: calls.into_iter().map(key).collect(), folders }
    }

    /// Returns the differences between a call and the approved one, one line each; none if the approval covers the
    /// call. `intent` has the changes that it would make now.
    pub(crate) fn differences(
        &self,
        call: &ToolCall,
        decl: &ToolDecl,
        intent: &[VaultChange],
    ) -> Vec<String> {
        let key = (call.step_id.clone(), call.iteration.as_ref().map(|iteration| iteration.index));
        let approved = self.calls.get(&key);
        let same_args = approved.is_some_and(|approved| approved.args_hash == call.args_hash);
        if intent.is_empty() && (same_args || !acts_without_files(decl)) {
            // It changes no file: it fails, or has nothing to do.
            return Vec::new();
        }
        let Some(approved) = approved else {
            return truncate_lines(
                vec![format!("{} was not part of it", call_label(call))]
                    .into_iter()
                    .chain(describe_all(intent)),
            );
        };
        match &approved.outcome {
            ForecastOutcome::Works | ForecastOutcome::Unknown => {}
            ForecastOutcome::Fails { message } => {
                let first =
                    format!("{} was expected to fail ({message}), and would not now", call_label(call));
                return truncate_lines(std::iter::once(first).chain(describe_all(intent)));
            }
        }
        truncate_lines(self.changed(&approved.changes, intent).into_iter())
    }

    fn changed(&self, approved: &[VaultChange], intent: &[VaultChange]) -> Vec<String> {
        let strange_folder = |change: &VaultChange| {
            made_folder(change)
                .filter(|folder| !self.folders.contains(folder))
                .map(|folder| format!("the folder {folder} would be created, which was not part of it"))
        };
        let mut lines: Vec<String> = intent.iter().filter_map(strange_folder).collect();
        let relevant = |change: &&VaultChange| made_folder(change).is_none();
        let was: Vec<&VaultChange> = approved.iter().filter(relevant).collect();
        let is = intent.iter().filter(relevant);
        // A change that is not needed any more does not count: less happens than was approved.
        for change in is.filter(|change| !was.iter().any(|same| is_same_change(same, change))) {
            match was.iter().find(|other| change_path(other) == change_path(change)) {
                Some(other) => lines.push(state_difference(other, change)),
                None => lines.push(format!("{}, which was not part of it", describe(change))),
            }
        }
        lines
    }
}

/// Whether a tool has effects other than changes of files.
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

fn made_folder(change: &VaultChange) -> Option<String> {
    match change {
        VaultChange::FolderCreated { path, .. } => Some(path.clone()),
        VaultChange::FolderRemoved { .. }
        | VaultChange::FileCreated { .. }
        | VaultChange::FileRemoved { .. }
        | VaultChange::FileReplaced { .. }
        | VaultChange::Moved { .. } => None,
    }
}

/// Whether two changes are the same, whatever name a file gets in the trash. The mode of a removed folder is only
/// recorded for the undo.
fn is_same_change(was: &VaultChange, is: &VaultChange) -> bool {
    match (was, is) {
        (VaultChange::FolderRemoved { path, .. }, VaultChange::FolderRemoved { path: path_now, .. }) => {
            path == path_now
        }
        (
            VaultChange::Moved { from, to, kind, state, kept },
            VaultChange::Moved {
                from: from_now,
                to: to_now,
                kind: kind_now,
                state: state_now,
                kept: kept_now,
            },
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

/// Whether a move takes the same files in the same states along, in any order.
fn same_entries(was: &[KeptEntry], is: &[KeptEntry]) -> bool {
    let by_path = |entries: &[KeptEntry]| -> BTreeMap<String, Option<FileState>> {
        entries.iter().map(|entry| (entry.path.clone(), entry.state)).collect()
    };
    was == is || by_path(was) == by_path(is)
}

/// Returns the path of a change; for a move, the path before it.
fn change_path(change: &VaultChange) -> &str {
    change.paths().next().unwrap_or_default()
}

fn state_difference(was: &VaultChange, is: &VaultChange) -> String {
    let (before, now) = (before(was), before(is));
    let path = change_path(is);
    if before != now {
        return format!("{path} has changed: it was {}, now it is {}", etag(before), etag(now));
    }
    if let (VaultChange::Moved { kept, .. }, VaultChange::Moved { kept: kept_now, .. }) = (was, is)
        && let Some(line) = content_difference(path, kept, kept_now)
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
        _ => format!("{}, which was not part of it", describe(is)),
    }
}

/// Describes the first file in a folder that differs from the approved state.
fn content_difference(folder: &str, was: &[KeptEntry], is: &[KeptEntry]) -> Option<String> {
    let state = |entries: &[KeptEntry], path: &str| {
        entries.iter().find(|entry| entry.path == path).map(|entry| entry.state)
    };
    let names = was.iter().chain(is).map(|entry| entry.path.as_str());
    let changed = names.into_iter().find(|path| state(was, path) != state(is, path))?;
    let short_etag = |entry: Option<Option<FileState>>| etag(entry.flatten().as_ref());
    let (was, is) = (short_etag(state(was, changed)), short_etag(state(is, changed)));
    Some(format!("{folder}/{changed} has changed: it was {was}, now it is {is}"))
}

fn before(change: &VaultChange) -> Option<&FileState> {
    match change {
        VaultChange::FileRemoved { before, .. } | VaultChange::FileReplaced { before, .. } => Some(before),
        VaultChange::Moved { state, .. } => state.as_ref(),
        VaultChange::FolderCreated { .. }
        | VaultChange::FolderRemoved { .. }
        | VaultChange::FileCreated { .. } => None,
    }
}

fn after(change: &VaultChange) -> Option<&FileState> {
    match change {
        VaultChange::FileCreated { after, .. } | VaultChange::FileReplaced { after, .. } => Some(after),
        VaultChange::FileRemoved { .. }
        | VaultChange::Moved { .. }
        | VaultChange::FolderCreated { .. }
        | VaultChange::FolderRemoved { .. } => None,
    }
}

/// Returns the beginning of the etag, which is enough to distinguish two states.
fn etag(state: Option<&FileState>) -> String {
    match state {
        Some(state) => state.etag().chars().take(8).collect(),
        None => "absent".to_owned(),
    }
}

fn describe(change: &VaultChange) -> String {
    match change {
        VaultChange::FolderCreated { path, .. } => format!("the folder {path} would be created"),
        VaultChange::FolderRemoved { path, .. } => format!("the folder {path} would be deleted"),
        VaultChange::FileCreated { path, .. } => format!("{path} would be created"),
        VaultChange::FileRemoved { path, .. } => format!("{path} would be deleted for good"),
        VaultChange::FileReplaced { path, before, .. } => {
            format!("{path} (now {}) would be changed", etag(Some(before)))
        }
        VaultChange::Moved { from, to, .. } if to.starts_with(TRASH) => format!("{from} would be trashed"),
        VaultChange::Moved { from, to, .. } => format!("{from} would be moved to {to}"),
    }
}

fn describe_all(intent: &[VaultChange]) -> impl Iterator<Item = String> + '_ {
    intent.iter().map(describe)
}

fn call_label(call: &ToolCall) -> String {
    match &call.iteration {
        Some(iteration) => format!("step {} for item {}", call.step_id, iteration.index + 1),
        None => format!("step {}", call.step_id),
    }
}

fn truncate_lines(lines: impl Iterator<Item = String>) -> Vec<String> {
    let mut lines: Vec<String> = lines.map(|line| crate::question::one_line(&line)).collect();
    if lines.len() > MAX_LINES {
        let left = lines.len() - MAX_LINES;
        lines.truncate(MAX_LINES);
        lines.push(format!("and {left} more"));
    }
    lines
}
