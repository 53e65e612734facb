//! What a run changed, from its record.

use std::collections::{BTreeMap, HashSet};

use envelope::{CallId, Change, SideEffect, StepId, ToolCall, ToolName, ToolResult};
use journal::{JournalError, Record, RunFolder, Seq};

/// Everything that a run changed in the vault, in order, and what it did elsewhere.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct RunChanges {
    pub changes: Vec<Change>,
    /// Calls whose effects lie outside the vault's files: no undo reaches them.
    pub irreversible: Vec<Irreversible>,
}

/// A call that cannot be taken back.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Irreversible {
    pub tool: ToolName,
    pub step_id: StepId,
    pub call_id: CallId,
    pub effects: Vec<SideEffect>,
    /// What the call said about itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
}

impl RunChanges {
    /// Reads the record of a run that nobody writes to: finished, cancelled, failed or interrupted.
    ///
    /// Results tell what was made, in the order in which it was made: calls that touch the same paths never run
    /// side by side, and a result is written before the next of them begins. A call without a result was under
    /// way when the run was interrupted; it counts with what it was about to do. Some of that may never have
    /// happened, which does no harm: to take back a change that was not made is to find it already so.
    pub fn read(folder: &RunFolder) -> Result<RunChanges, JournalError> {
        let mut open: BTreeMap<CallId, (Seq, ToolCall)> = BTreeMap::new();
        let mut found = RunChanges::default();
        for entry in folder.records()? {
            let entry = entry?;
            match entry.record {
                Record::Call(call) => {
                    // The newest line of a call tells all that it had done before as well.
                    open.insert(call.call_id.clone(), (entry.seq, *call));
                }
                Record::Result(result) => {
                    let call = open.remove(&result.call_id).map(|(_, call)| call);
                    found.ended(call, *result);
                }
                Record::Event(_) => {}
            }
        }
        let mut left: Vec<(Seq, ToolCall)> = open.into_values().collect();
        left.sort_by_key(|(seq, _)| *seq);
        left.into_iter().for_each(|(_, call)| found.interrupted(call));
        found.changes = folders_first(found.changes);
        Ok(found)
    }

    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    fn ended(&mut self, call: Option<ToolCall>, result: ToolResult) {
        let effects = result.effects.as_ref().map_or(&[][..], |effects| &effects.side_effects_observed);
        let beyond: Vec<SideEffect> = effects.iter().copied().filter(|effect| is_beyond(*effect)).collect();
        if !beyond.is_empty() {
            self.irreversible.push(Irreversible {
                tool: result.tool.clone(),
                step_id: result.step_id.clone(),
                call_id: result.call_id.clone(),
                effects: beyond,
                said: result.user_message.clone(),
            });
        }
        let intent = call.map(|call| call.intent).filter(|intent| !intent.is_empty());
        match intent {
            Some(intent) if is_unknown(&result) => self.changes.extend(intent),
            Some(_) | None => self.changes.extend(result.changes),
        }
    }

    fn interrupted(&mut self, call: ToolCall) {
        if call.risk_level == envelope::Risk::Commands {
            self.irreversible.push(Irreversible {
                tool: call.tool,
                step_id: call.step_id,
                call_id: call.call_id,
                effects: vec![SideEffect::RunCommand],
                said: call.preview,
            });
        }
        self.changes.extend(call.intent);
    }
}

/// Whether nobody can tell what became of the call, so that what it reported may not be all.
fn is_unknown(result: &ToolResult) -> bool {
    let details = result.error.as_ref().and_then(|error| error.details.as_ref());
    details.and_then(|details| details.get("outcome")).is_some_and(|outcome| outcome == "unknown")
}

/// An effect that is not one on the files and folders of the vault.
fn is_beyond(effect: SideEffect) -> bool {
    match effect {
        SideEffect::RunCommand | SideEffect::Network | SideEffect::EditBuffer => true,
        SideEffect::CreateFile
        | SideEffect::CreateFolder
        | SideEffect::ModifyFile
        | SideEffect::DeleteFile
        | SideEffect::DeleteFolder
        | SideEffect::RenameFile
        | SideEffect::RenameFolder
        // Which note is open is the person's to change.
        | SideEffect::ChangeWorkspace
        // Every task ends with its run.
        | SideEffect::StopTask => false,
    }
}

/// What takes these changes back: the last one first.
pub fn taking_back(changes: &[Change]) -> Vec<Change> {
    changes.iter().rev().map(Change::inverse).collect()
}

/// Puts new folders before everything else, so that they are the last to go.
///
/// Two calls may use a folder that a third has made, and end before it: in the order of results their files
/// would then come before the folder that they are in. A folder keeps its place where anything else happened
/// before to its name or to a folder above it.
fn folders_first(changes: Vec<Change>) -> Vec<Change> {
    let (mut folders, mut others): (Vec<Change>, Vec<Change>) = (Vec::new(), Vec::new());
    let mut elsewhere: HashSet<String> = HashSet::new();
    for change in changes {
        let goes_first = match &change {
            Change::FolderCreated { path, .. } => {
                let above = path.match_indices('/').map(|(slash, _)| &path[..slash]);
                above.chain([path.as_str()]).all(|path| !elsewhere.contains(path))
            }
            Change::FolderRemoved { .. }
            | Change::FileCreated { .. }
            | Change::FileRemoved { .. }
            | Change::FileReplaced { .. }
            | Change::Moved { .. } => false,
        };
        if goes_first {
            folders.push(change);
        } else {
            elsewhere.extend(change.paths().map(str::to_owned));
            others.push(change);
        }
    }
    // Each after the one it is in, whichever call was first to end.
    folders.sort_by_key(|change| change.paths().next().map_or(0, |path| path.matches('/').count()));
    folders.extend(others);
    folders
}

#[cfg(test)]
mod tests {
    use envelope::{Change, EntryKind, FileState, Hash};
    use expect_test::expect;

    use super::{folders_first, taking_back};

    fn folder(path: &str) -> Change {
        Change::folder_created(path)
    }

    fn file(path: &str) -> Change {
        let after = FileState { hash: Hash::of(b"x"), bytes: 1, mode: 0o644 };
        Change::FileCreated { path: path.to_owned(), after }
    }

    fn moved(from: &str, to: &str) -> Change {
        let (from, to) = (from.to_owned(), to.to_owned());
        Change::Moved { from, to, kind: EntryKind::Folder, state: None, kept: Vec::new() }
    }

    /// One word a change.
    fn shown(changes: &[Change]) -> String {
        let word = |change: &Change| match change {
            Change::FolderCreated { path, .. } => format!("+{path}/"),
            Change::FolderRemoved { path, .. } => format!("-{path}/"),
            Change::FileCreated { path, .. } => format!("+{path}"),
            Change::FileRemoved { path, .. } => format!("-{path}"),
            Change::FileReplaced { path, .. } => format!("~{path}"),
            Change::Moved { from, to, .. } => format!("{from}>{to}"),
        };
        changes.iter().map(word).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_folder_that_was_made_goes_after_all_that_was_put_into_it() {
        // The second call used the folder of the first and ended before it.
        let changes = vec![file("N/D/2.md"), folder("N/D"), folder("N"), file("N/1.md")];
        let ordered = folders_first(changes);
        expect!["+N/ +N/D/ +N/D/2.md +N/1.md"].assert_eq(&shown(&ordered));
        expect!["-N/1.md -N/D/2.md -N/D/ -N/"].assert_eq(&shown(&taking_back(&ordered)));
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
