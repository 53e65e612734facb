//! One change to the vault, with the states before and after it.
//!
//! A call records the changes it intends before it makes them, and the changes it made in its result. Because
//! a change contains both states, it shows after a crash whether it happened, and it can be inverted, which
//! is all that undo needs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{EntryKind, Hash};

/// The content of a file: enough to find it in the object store and to know it again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct FileState {
    /// Hash of the content.
    #[schemars(with = "String")]
    pub hash: Hash,
    /// How many bytes it has.
    pub bytes: u64,
    /// What the file may be used for, as the system writes it (`0o644` is 420).
    pub mode: u32,
}

impl FileState {
    /// Returns the etag of a file with this content: the first 32 hex digits of its hash.
    pub fn etag(&self) -> String {
        self.hash.to_string().chars().skip("b3:".len()).take(32).collect()
    }
}

/// One of the things that went to the trash together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct KeptEntry {
    /// Its path below what was moved; empty for that itself.
    pub path: String,
    /// What the file held, as the object store has it; absent for a folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "FileState")]
    pub state: Option<FileState>,
}

/// What changed at one path, or between two.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "change", rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "Change")]
pub enum VaultChange {
    FolderCreated {
        /// The folder that is there now.
        path: String,
        /// What the folder may be used for, where that is not left to the system.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "u32")]
        mode: Option<u32>,
    },
    /// It was empty.
    FolderRemoved {
        /// The folder that was there.
        path: String,
        /// What the folder could be used for, where somebody has looked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "u32")]
        mode: Option<u32>,
    },
    FileCreated {
        /// The file that is there now.
        path: String,
        /// What it holds.
        after: FileState,
    },
    FileRemoved {
        /// The file that was there.
        path: String,
        /// What it held.
        before: FileState,
    },
    FileReplaced {
        /// The file that was replaced.
        path: String,
        /// What it held.
        before: FileState,
        /// What it holds now.
        after: FileState,
    },
    /// A file or a folder with all that is in it. Into `.trash`, it was deleted.
    Moved {
        /// Where it was.
        from: String,
        /// Where it is now.
        to: String,
        /// Whether it is a file or a folder.
        kind: EntryKind,
        /// What the file held when it was moved; absent for a folder and for a link.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "FileState")]
        state: Option<FileState>,
        /// Everything that went to the trash, each folder before what is in it, so that it can be made anew
        /// when the trash was emptied. All of it is here, or nothing where that was too much to store.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        kept: Vec<KeptEntry>,
    },
}

impl VaultChange {
    /// Returns the creation of a folder with the mode that the system chooses.
    pub fn folder_created(path: impl Into<String>) -> VaultChange {
        VaultChange::FolderCreated { path: path.into(), mode: None }
    }

    /// Returns the change that undoes this one.
    pub fn inverse(&self) -> VaultChange {
        match self.clone() {
            VaultChange::FolderCreated { path, mode } => VaultChange::FolderRemoved { path, mode },
            VaultChange::FolderRemoved { path, mode } => VaultChange::FolderCreated { path, mode },
            VaultChange::FileCreated { path, after } => VaultChange::FileRemoved { path, before: after },
            VaultChange::FileRemoved { path, before } => VaultChange::FileCreated { path, after: before },
            VaultChange::FileReplaced { path, before, after } => {
                VaultChange::FileReplaced { path, before: after, after: before }
            }
            VaultChange::Moved { from, to, kind, state, kept } => {
                VaultChange::Moved { from: to, to: from, kind, state, kept }
            }
        }
    }

    /// Returns the contents that no longer exist after this change, or may soon be gone from the trash; the
    /// object store keeps them for an undo.
    pub fn overwritten_states(&self) -> impl Iterator<Item = &FileState> {
        let (replaced, trashed) = match self {
            VaultChange::FileRemoved { before, .. } | VaultChange::FileReplaced { before, .. } => {
                (Some(before), None)
            }
            // Out of the trash, an entry can only be lost by another change.
            VaultChange::Moved { from, kept, .. } => {
                (None, Some(kept).filter(|_| !from.starts_with(".trash/")))
            }
            VaultChange::FolderCreated { .. }
            | VaultChange::FolderRemoved { .. }
            | VaultChange::FileCreated { .. } => (None, None),
        };
        let trashed = trashed.into_iter().flatten().filter_map(|entry| entry.state.as_ref());
        replaced.into_iter().chain(trashed)
    }

    /// Returns every path in the change.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        let (first, second) = match self {
            VaultChange::FolderCreated { path, .. }
            | VaultChange::FolderRemoved { path, .. }
            | VaultChange::FileCreated { path, .. }
            | VaultChange::FileRemoved { path, .. }
            | VaultChange::FileReplaced { path, .. } => (path, None),
            VaultChange::Moved { from, to, .. } => (from, Some(to)),
        };
        std::iter::once(first.as_str()).chain(second.map(String::as_str))
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::{FileState, KeptEntry, VaultChange};
    use crate::{EntryKind, Hash};

    fn state(text: &str) -> FileState {
        FileState { hash: Hash::of(text.as_bytes()), bytes: text.len() as u64, mode: 0o644 }
    }

    fn every() -> Vec<VaultChange> {
        let path = "a.md".to_owned();
        vec![
            VaultChange::folder_created(path.clone()),
            VaultChange::FolderRemoved { path: path.clone(), mode: Some(0o700) },
            VaultChange::FileCreated { path: path.clone(), after: state("new") },
            VaultChange::FileRemoved { path: path.clone(), before: state("old") },
            VaultChange::FileReplaced { path: path.clone(), before: state("old"), after: state("new") },
            VaultChange::Moved {
                from: path.clone(),
                to: "b.md".to_owned(),
                kind: EntryKind::File,
                state: Some(state("old")),
                kept: Vec::new(),
            },
            VaultChange::Moved {
                from: path,
                to: ".trash/a.md".to_owned(),
                kind: EntryKind::Folder,
                state: None,
                kept: vec![
                    KeptEntry { path: String::new(), state: None },
                    KeptEntry { path: "in.md".to_owned(), state: Some(state("old")) },
                ],
            },
        ]
    }

    #[test]
    fn taking_back_twice_is_the_change_itself() {
        for change in every() {
            assert_ne!(change.inverse(), change);
            assert_eq!(change.inverse().inverse(), change);
        }
    }

    #[test]
    fn a_change_prints_and_reads_back() {
        for change in every() {
            let text = serde_json::to_string(&change).unwrap();
            assert_eq!(serde_json::from_str::<VaultChange>(&text).unwrap(), change);
        }
        let replaced = serde_json::to_string(&every()[4]).unwrap();
        expect![[r#"{"change":"file-replaced","path":"a.md","before":{"hash":"b3:96a4257289f9ebcbc94bfc49276f89ed87f8c951e3fa832d44dceb9b220520a5","bytes":3,"mode":420},"after":{"hash":"b3:b20ab0a020a48d349e0c64d109c441f87c9bc43d49fc701c4a5f6f1b16aa4e32","bytes":3,"mode":420}}"#]].assert_eq(&replaced);
    }

    #[test]
    fn a_move_of_before_states_were_recorded_reads_back() {
        let old = r#"{"change":"moved","from":"a.md","to":"b.md","kind":"file"}"#;
        let read: VaultChange = serde_json::from_str(old).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), old);
        assert_eq!(read.overwritten_states().count(), 0);
    }

    #[test]
    fn a_folder_of_before_modes_were_recorded_reads_back() {
        for old in [r#"{"change":"folder-created","path":"F"}"#, r#"{"change":"folder-removed","path":"F"}"#]
        {
            let read: VaultChange = serde_json::from_str(old).unwrap();
            assert_eq!(serde_json::to_string(&read).unwrap(), old);
        }
        let private = serde_json::to_string(&every()[1]).unwrap();
        assert_eq!(private, r#"{"change":"folder-removed","path":"a.md","mode":448}"#);
    }

    #[test]
    fn what_goes_to_the_trash_is_lost_as_far_as_it_was_kept() {
        let lost: Vec<usize> = every().iter().map(|change| change.overwritten_states().count()).collect();
        assert_eq!(lost, [0, 0, 0, 1, 1, 0, 1]);
    }

    #[test]
    fn the_etag_is_the_start_of_the_hash() {
        let full = Hash::of(b"note").to_string();
        assert_eq!(state("note").etag(), full[3..35]);
    }
}
