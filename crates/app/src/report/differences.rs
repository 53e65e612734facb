//! The differences that a run made to the files of the vault: the state before its first change, and after its last one.
//!
//! Old content is in the object store. New content is in the vault, or in the store if a later run has replaced it.
//! Content that only another program has replaced is not stored anywhere; such a file is named without its difference.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use engine::RunChanges;
use envelope::{DataRef, EntryKind, FileState, Hash, VaultChange, VaultPath};
use journal::RunFolder;
use serde_json::{Value, json};
use vault::Vault;

use crate::diff::{DiffLimits, DiffSet, FileDiff};
use crate::display_text::escape_line;
use crate::error::AppError;
use crate::null_context::NullContext;
use crate::text_style::TextStyle;
use crate::vault_context::VaultContext;

/// Larger files are not compared.
const MAX_COMPARED_BYTES: u64 = 16 << 20;

/// The differences that a run made, as far as both contents are known.
#[derive(Debug)]
pub struct RunDifferences {
    files: DiffSet,
    folders: Vec<String>,
    /// Files whose content after the run is gone.
    unknown: Vec<String>,
}

impl RunDifferences {
    /// Reads the changes of a run and compares the contents. Fails if a record of the run is damaged.
    pub fn read(
        context: &VaultContext,
        run_dir: &Path,
        limits: DiffLimits,
    ) -> Result<RunDifferences, AppError> {
        let folder = RunFolder::open(run_dir)?;
        let changes = RunChanges::read(&folder)?.changes;
        let vault = Vault::open(&context.vault).map_err(|error| AppError::io("open the vault", error))?;
        let contents = ContentSource { vault, folder };
        let mut found =
            RunDifferences { files: DiffSet::new(limits), folders: Vec::new(), unknown: Vec::new() };
        let NetChanges { files, folders } = net_changes(&changes);
        found.folders = folders.into_iter().collect();
        for (path, file) in &files {
            found.compare(path, file, &contents);
        }
        Ok(found)
    }

    fn compare(&mut self, path: &str, file: &NetFileChange, contents: &ContentSource) {
        let size = [file.before, file.after].into_iter().flatten().map(|state| state.bytes).max();
        if !self.files.has_room() || size.is_some_and(|bytes| bytes > MAX_COMPARED_BYTES) {
            self.files.leave_out();
            return;
        }
        let same = file.before.map(|state| state.hash) == file.after.map(|state| state.hash);
        let (before, after) = if same {
            (Some(Vec::new()), Some(Vec::new()))
        } else {
            (contents.stored(file.before), contents.after(path, file.after))
        };
        match (file.before.is_some(), before, file.after.is_some(), after) {
            (true, None, _, _) | (_, _, true, None) => self.unknown.push(path.to_owned()),
            (was, before, is, after) => self.files.add(&FileDiff {
                path,
                moved_from: file.moved_from.as_deref(),
                before: before.as_deref().filter(|_| was),
                after: after.as_deref().filter(|_| is),
            }),
        }
    }

    /// Returns the lines for the user.
    pub fn render(&self, style: TextStyle) -> Vec<String> {
        let mut lines: Vec<String> = self.folders.iter().map(|folder| escape_line(folder)).collect();
        lines.extend(self.files.render(style));
        lines.extend(self.unknown.iter().map(|path| {
            format!(
                "{} {}: its content after this run is not stored",
                style.odd("changed"),
                escape_line(path)
            )
        }));
        if lines.is_empty() {
            lines.push("No file of the vault was changed.".to_owned());
        }
        lines
    }

    /// Returns the differences for programs.
    pub fn to_json(&self) -> Result<Value, AppError> {
        let files = serde_json::to_value(&self.files).map_err(|error| AppError::io("write JSON", error))?;
        Ok(json!({ "folders": self.folders, "differences": files, "notStored": self.unknown }))
    }
}

/// Where contents are found.
struct ContentSource {
    vault: Vault,
    folder: RunFolder,
}

impl ContentSource {
    fn stored(&self, state: Option<FileState>) -> Option<Vec<u8>> {
        let state = state?;
        self.folder.object(&DataRef { hash: state.hash, bytes: state.bytes }).ok()
    }

    /// Returns the content that the run left: from the vault if it is still there, otherwise from the store.
    fn after(&self, path: &str, state: Option<FileState>) -> Option<Vec<u8>> {
        let state = state?;
        let path = VaultPath::parse(path).ok();
        let now =
            path.and_then(|path| self.vault.content_at(&path, MAX_COMPARED_BYTES, &NullContext).ok()?);
        now.filter(|content| Hash::of(content) == state.hash).or_else(|| self.stored(Some(state)))
    }
}

/// The sum of all changes of a run.
#[derive(Debug, Default, PartialEq)]
struct NetChanges {
    /// By the path after the run; of a removed file, the path that it had.
    files: BTreeMap<String, NetFileChange>,
    /// A line for each folder.
    folders: BTreeSet<String>,
}

#[derive(Debug, Clone, Default, PartialEq)]
struct NetFileChange {
    moved_from: Option<String>,
    before: Option<FileState>,
    after: Option<FileState>,
}

/// Adds the changes up, so that each file has one difference.
fn net_changes(changes: &[VaultChange]) -> NetChanges {
    let mut net = NetChanges::default();
    for change in changes {
        match change {
            VaultChange::FolderCreated { path, .. } => {
                net.folders.insert(format!("created {path}/"));
            }
            VaultChange::FolderRemoved { path, .. } => {
                net.folders.insert(format!("deleted {path}/"));
            }
            VaultChange::FileCreated { path, after } => {
                net.files.entry(path.clone()).or_default().after = Some(*after);
            }
            VaultChange::FileRemoved { path, before } => {
                let known = NetFileChange { before: Some(*before), ..NetFileChange::default() };
                net.files.entry(path.clone()).or_insert(known).after = None;
            }
            VaultChange::FileReplaced { path, before, after } => {
                let known = NetFileChange { before: Some(*before), ..NetFileChange::default() };
                net.files.entry(path.clone()).or_insert(known).after = Some(*after);
            }
            VaultChange::Moved { from, to, kind: EntryKind::File, state, .. } => {
                let unchanged = NetFileChange { moved_from: None, before: *state, after: *state };
                let mut file = net.files.remove(from).unwrap_or(unchanged);
                if file.before.is_some() && file.moved_from.is_none() {
                    file.moved_from = Some(from.clone());
                }
                net.files.insert(to.clone(), file);
            }
            VaultChange::Moved { from, to, kind: EntryKind::Folder, .. } => {
                net.folders.insert(format!("moved {from}/ to {to}/"));
                let below = format!("{from}/");
                let inside: Vec<String> =
                    net.files.keys().filter(|path| path.starts_with(&below)).cloned().collect();
                for path in inside {
                    if let Some(file) = net.files.remove(&path) {
                        net.files.insert(format!("{to}/{}", &path[below.len()..]), file);
                    }
                }
            }
        }
    }
    net.files.retain(|path, file| {
        // A file may come back to its place, and one that was created may be removed again.
        let is_back = file.moved_from.as_ref() == Some(path);
        if is_back {
            file.moved_from = None;
        }
        let changed = file.before.map(|state| state.hash) != file.after.map(|state| state.hash);
        changed || file.moved_from.is_some()
    });
    net
}

#[cfg(test)]
mod tests {
    use envelope::{EntryKind, FileState, Hash, VaultChange};
    use expect_test::{Expect, expect};

    use super::net_changes;

    fn state(content: &str) -> FileState {
        FileState { hash: Hash::of(content.as_bytes()), bytes: content.len() as u64, mode: 0o644 }
    }

    fn created(path: &str, after: &str) -> VaultChange {
        VaultChange::FileCreated { path: path.to_owned(), after: state(after) }
    }

    fn replaced(path: &str, before: &str, after: &str) -> VaultChange {
        VaultChange::FileReplaced { path: path.to_owned(), before: state(before), after: state(after) }
    }

    fn moved(from: &str, to: &str, kind: EntryKind) -> VaultChange {
        let state = (kind == EntryKind::File).then(|| state("text"));
        VaultChange::Moved { from: from.to_owned(), to: to.to_owned(), kind, state, kept: Vec::new() }
    }

    #[track_caller]
    fn check(changes: &[VaultChange], expect: Expect) {
        let net = net_changes(changes);
        let word = |state: Option<FileState>| state.map_or("-".to_owned(), |state| state.bytes.to_string());
        let mut lines: Vec<String> = net.folders.into_iter().collect();
        lines.extend(net.files.iter().map(|(path, file)| {
            let from = file.moved_from.as_ref().map(|from| format!(" from {from}")).unwrap_or_default();
            format!("{path}{from}: {} to {}", word(file.before), word(file.after))
        }));
        expect.assert_eq(&lines.join("\n"));
    }

    #[test]
    fn a_file_that_changes_twice_has_one_difference() {
        check(
            &[replaced("a.md", "one", "three"), replaced("a.md", "three", "seven..")],
            expect!["a.md: 3 to 7"],
        );
        check(&[created("a.md", "x"), replaced("a.md", "x", "xy")], expect!["a.md: - to 2"]);
    }

    #[test]
    fn what_came_and_went_is_no_difference() {
        let removed = created("a.md", "x").inverse();
        check(&[created("a.md", "x"), removed], expect![""]);
        check(&[replaced("a.md", "one", "two"), replaced("a.md", "two", "one")], expect![""]);
        let back = [moved("a.md", "b.md", EntryKind::File), moved("b.md", "a.md", EntryKind::File)];
        check(&back, expect![""]);
    }

    #[test]
    fn a_moved_file_keeps_its_change() {
        check(
            &[moved("a.md", "b/a.md", EntryKind::File), replaced("b/a.md", "text", "longer")],
            expect!["b/a.md from a.md: 4 to 6"],
        );
        check(
            &[created("old/a.md", "x"), moved("old", "new", EntryKind::Folder)],
            expect![[r"
                moved old/ to new/
                new/a.md: - to 1"]],
        );
    }
}
