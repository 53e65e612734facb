//! The changes of a run, read from its record.

use std::collections::{BTreeMap, HashSet};

use envelope::{CallId, SideEffect, StepId, Timestamp, ToolCall, ToolName, ToolResult, VaultChange};
use journal::{JournalError, JournalRecord, RunFolder, Seq};

use super::call_order::{CallChanges, OrderedChanges, order_calls};

/// All changes that one or more runs made in the vault, in order, and their effects elsewhere.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct RunChanges {
    pub changes: Vec<VaultChange>,
    /// Files that another program edited between two of the changes.
    pub edited_between: Vec<String>,
    /// Calls with effects outside the vault's files, which no undo reverts.
    pub irreversible: Vec<IrreversibleCall>,
}

/// A call that cannot be undone.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct IrreversibleCall {
    pub tool: ToolName,
    pub step_id: StepId,
    pub call_id: CallId,
    pub effects: Vec<SideEffect>,
    /// Message of the call.
    #[serde(rename = "said", skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// The calls of one run that changed something, in order.
#[derive(Default)]
struct RecordedChanges {
    calls: Vec<CallChanges>,
    irreversible: Vec<IrreversibleCall>,
}

impl RunChanges {
    /// Reads the record of a run that is not active: finished, cancelled, failed or interrupted.
    pub fn read(folder: &RunFolder) -> Result<RunChanges, JournalError> {
        RunChanges::read_all(std::slice::from_ref(folder))
    }

    /// Reads the records of runs, oldest first. Their calls may alternate.
    pub fn read_all(folders: &[RunFolder]) -> Result<RunChanges, JournalError> {
        let mut found = RunChanges::default();
        let mut runs = Vec::with_capacity(folders.len());
        for folder in folders {
            let run = RecordedChanges::read(folder)?;
            found.irreversible.extend(run.irreversible);
            runs.push(run.calls);
        }
        let OrderedChanges { changes, edited_between } = order_calls(runs);
        found.changes = folders_first(changes);
        found.edited_between = edited_between;
        Ok(found)
    }

    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }
}

impl RecordedChanges {
    /// Reads the calls of a run.
    ///
    /// Results have the changes in the order in which they were made: calls on the same paths never run side by side,
    /// and a result is recorded before the next of them begins. A call without a result was interrupted; its intended
    /// changes count. Some of them may never have happened, which does no harm: undoing such a change finds nothing to
    /// do.
    fn read(folder: &RunFolder) -> Result<RecordedChanges, JournalError> {
        let mut open: BTreeMap<CallId, (Seq, ToolCall)> = BTreeMap::new();
        let mut found = RecordedChanges::default();
        for entry in folder.records()? {
            let entry = entry?;
            match entry.record {
                JournalRecord::Call(call) => {
                    // The newest line of a call includes everything that it had done before.
                    open.insert(call.call_id.clone(), (entry.seq, *call));
                }
                JournalRecord::Result(result) => {
                    let call = open.remove(&result.call_id).map(|(_, call)| call);
                    found.ended(call, *result);
                }
                JournalRecord::Event(_) => {}
            }
        }
        let mut left: Vec<(Seq, ToolCall)> = open.into_values().collect();
        left.sort_by_key(|(seq, _)| *seq);
        left.into_iter().for_each(|(_, call)| found.interrupted(call));
        Ok(found)
    }

    fn ended(&mut self, call: Option<ToolCall>, result: ToolResult) {
        let effects = result.effects.as_ref().map_or(&[][..], |effects| &effects.side_effects_observed);
        let beyond: Vec<SideEffect> =
            effects.iter().copied().filter(|effect| is_outside_vault(*effect)).collect();
        if !beyond.is_empty() {
            self.irreversible.push(IrreversibleCall {
                tool: result.tool.clone(),
                step_id: result.step_id.clone(),
                call_id: result.call_id.clone(),
                effects: beyond,
                message: result.user_message.clone(),
            });
        }
        let intent = call.map(|call| call.intent).filter(|intent| !intent.is_empty());
        match intent {
            Some(intent) if is_unknown(&result) => self.add(result.ended_at, intent, true),
            Some(_) | None => self.add(result.ended_at, result.changes, false),
        }
    }

    fn add(&mut self, ended_at: Timestamp, changes: Vec<VaultChange>, is_uncertain: bool) {
        if !changes.is_empty() {
            self.calls.push(CallChanges { ended_at, changes, is_uncertain });
        }
    }

    fn interrupted(&mut self, call: ToolCall) {
        if call.risk_level == envelope::Risk::Commands {
            self.irreversible.push(IrreversibleCall {
                tool: call.tool,
                step_id: call.step_id,
                call_id: call.call_id,
                effects: vec![SideEffect::RunCommand],
                message: call.preview,
            });
        }
        self.add(call.created_at, call.intent, true);
    }
}

/// Whether the outcome of the call is unknown, so that its report may be incomplete.
fn is_unknown(result: &ToolResult) -> bool {
    let details = result.error.as_ref().and_then(|error| error.details.as_ref());
    details.and_then(|details| details.get("outcome")).is_some_and(|outcome| outcome == "unknown")
}

/// Whether the effect is outside of the vault's files and folders.
fn is_outside_vault(effect: SideEffect) -> bool {
    match effect {
        SideEffect::RunCommand | SideEffect::Network | SideEffect::EditBuffer => true,
        SideEffect::CreateFile
        | SideEffect::CreateFolder
        | SideEffect::ModifyFile
        | SideEffect::DeleteFile
        | SideEffect::DeleteFolder
        | SideEffect::RenameFile
        | SideEffect::RenameFolder
        // The user can change which note is open.
        | SideEffect::ChangeWorkspace
        // Every task ends with its run.
        | SideEffect::StopTask => false,
    }
}

/// Returns the changes that undo the given ones: the last one first.
pub fn inverse_changes(changes: &[VaultChange]) -> Vec<VaultChange> {
    changes.iter().rev().map(VaultChange::inverse).collect()
}

/// Moves new folders before everything else, so that they are removed last.
///
/// Two calls may use a folder that a third one has created, and end before it: in the order of results, their files
/// would come before the folder that contains them. A folder keeps its place if an earlier change concerns its path or
/// a folder above it.
fn folders_first(changes: Vec<VaultChange>) -> Vec<VaultChange> {
    let (mut folders, mut others): (Vec<VaultChange>, Vec<VaultChange>) = (Vec::new(), Vec::new());
    let mut elsewhere: HashSet<String> = HashSet::new();
    for change in changes {
        let goes_first = match &change {
            VaultChange::FolderCreated { path, .. } => {
                let above = path.match_indices('/').map(|(slash, _)| &path[..slash]);
                above.chain([path.as_str()]).all(|path| !elsewhere.contains(path))
            }
            VaultChange::FolderRemoved { .. }
            | VaultChange::FileCreated { .. }
            | VaultChange::FileRemoved { .. }
            | VaultChange::FileReplaced { .. }
            | VaultChange::Moved { .. } => false,
        };
        if goes_first {
            folders.push(change);
        } else {
            elsewhere.extend(change.paths().map(str::to_owned));
            others.push(change);
        }
    }
    // Each folder after its parent, whichever call ended first.
    folders.sort_by_key(|change| change.paths().next().map_or(0, |path| path.matches('/').count()));
    folders.extend(others);
    folders
}

#[cfg(test)]
mod tests {
    use envelope::{EntryKind, FileState, Hash, VaultChange};
    use expect_test::expect;

    use super::{folders_first, inverse_changes};

    fn folder(path: &str) -> VaultChange {
        VaultChange::folder_created(path)
    }

    fn file(path: &str) -> VaultChange {
        let after = FileState { hash: Hash::of(b"x"), bytes: 1, mode: 0o644 };
        VaultChange::FileCreated { path: path.to_owned(), after }
    }

    fn moved(from: &str, to: &str) -> VaultChange {
        let (from, to) = (from.to_owned(), to.to_owned());
        VaultChange::Moved { from, to, kind: EntryKind::Folder, state: None, kept: Vec::new() }
    }

    /// Renders each change as one word.
    fn shown(changes: &[VaultChange]) -> String {
        let word = |change: &VaultChange| match change {
            VaultChange::FolderCreated { path, .. } => format!("+{path}/"),
            VaultChange::FolderRemoved { path, .. } => format!("-{path}/"),
            VaultChange::FileCreated { path, .. } => format!("+{path}"),
            VaultChange::FileRemoved { path, .. } => format!("-{path}"),
            VaultChange::FileReplaced { path, .. } => format!("~{path}"),
            VaultChange::Moved { from, to, .. } => format!("{from}>{to}"),
        };
        changes.iter().map(word).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_folder_that_was_made_goes_after_all_that_was_put_into_it() {
        // The second call used the folder of the first one and ended before it.
        let changes = vec![file("N/D/2.md"), folder("N/D"), folder("N"), file("N/1.md")];
        let ordered = folders_first(changes);
        expect!["+N/ +N/D/ +N/D/2.md +N/1.md"].assert_eq(&shown(&ordered));
        expect!["-N/1.md -N/D/2.md -N/D/ -N/"].assert_eq(&shown(&inverse_changes(&ordered)));
    }

    #[test]
    fn a_folder_where_something_else_was_before_keeps_its_place() {
        let changes = vec![file("N").inverse(), folder("N"), folder("N/D"), folder("M")];
        expect!["+M/ -N +N/ +N/D/"].assert_eq(&shown(&folders_first(changes)));
    }

    #[test]
    fn a_folder_where_something_was_moved_keeps_its_place() {
        let changes = vec![moved("A", "B"), folder("B/new"), folder("A"), folder("C"), moved("C", "D")];
        expect!["+C/ A>B +B/new/ +A/ C>D"].assert_eq(&shown(&folders_first(changes)));
    }

    #[test]
    fn a_folder_that_was_there_before_keeps_its_place() {
        let gone = folder("A").inverse();
        expect!["-A/ +A/"].assert_eq(&shown(&folders_first(vec![gone, folder("A")])));
    }
}
