//! One change to the vault, with the states on both sides of it.
//!
//! A call writes down the changes it intends before it makes them, and those it made in its result. Because
//! a change names what was there before and what is there after, it tells "it happened" from "it did not"
//! after a crash, and it can be turned around: that is all undo needs.

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
    /// The etag of a file with this content: the first 32 hex digits of its hash.
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
pub enum Change {
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

impl Change {
    /// A new folder that may be used for what the system says.
    pub fn folder_created(path: impl Into<String>) -> Change {
        Change::FolderCreated { path: path.into(), mode: None }
    }

    /// The change that takes this one back.
    pub fn inverse(&self) -> Change {
        match self.clone() {
            Change::FolderCreated { path, mode } => Change::FolderRemoved { path, mode },
            Change::FolderRemoved { path, mode } => Change::FolderCreated { path, mode },
            Change::FileCreated { path, after } => Change::FileRemoved { path, before: after },
            Change::FileRemoved { path, before } => Change::FileCreated { path, after: before },
            Change::FileReplaced { path, before, after } => {
                Change::FileReplaced { path, before: after, after: before }
            }
            Change::Moved { from, to, kind, state, kept } => {
                Change::Moved { from: to, to: from, kind, state, kept }
            }
        }
    }

    /// The contents that were there before and are not any more, or may soon be gone from the trash: what the
    /// store has for the way back.
    pub fn lost(&self) -> impl Iterator<Item = &FileState> {
        let (replaced, trashed) = match self {
            Change::FileRemoved { before, .. } | Change::FileReplaced { before, .. } => (Some(before), None),
            Change::Moved { kept, .. } => (None, Some(kept)),
            Change::FolderCreated { .. } | Change::FolderRemoved { .. } | Change::FileCreated { .. } => {
                (None, None)
            }
        };
        let trashed = trashed.into_iter().flatten().filter_map(|entry| entry.state.as_ref());
        replaced.into_iter().chain(trashed)
    }

    /// Every path it names.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        let (first, second) = match self {
            Change::FolderCreated { path, .. }
            | Change::FolderRemoved { path, .. }
            | Change::FileCreated { path, .. }
            | Change::FileRemoved { path, .. }
            | Change::FileReplaced { path, .. } => (path, None),
            Change::Moved { from, to, .. } => (from, Some(to)),
        };
        std::iter::once(first.as_str()).chain(second.map(String::as_str))
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::{Change, FileState, KeptEntry};
    use crate::{EntryKind, Hash};

    fn state(text: &str) -> FileState {
        FileState { hash: Hash::of(text.as_bytes()), bytes: text.len() as u64, mode: 0o644 }
    }

    fn every() -> Vec<Change> {
        let path = "a.md".to_owned();
        vec![
            Change::folder_created(path.clone()),
            Change::FolderRemoved { path: path.clone(), mode: Some(0o700) },
            Change::FileCreated { path: path.clone(), after: state("new") },
            Change::FileRemoved { path: path.clone(), before: state("old") },
            Change::FileReplaced { path: path.clone(), before: state("old"), after: state("new") },
            Change::Moved {
                from: path.clone(),
                to: "b.md".to_owned(),
                kind: EntryKind::File,
                state: Some(state("old")),
                kept: Vec::new(),
            },
            Change::Moved {
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
            assert_eq!(serde_json::from_str::<Change>(&text).unwrap(), change);
        }
        let replaced = serde_json::to_string(&every()[4]).unwrap();
        expect![[r#"{"change":"file-replaced","path":"a.md","before":{"hash":"b3:96a4257289f9ebcbc94bfc49276f89ed87f8c951e3fa832d44dceb9b220520a5","bytes":3,"mode":420},"after":{"hash":"b3:b20ab0a020a48d349e0c64d109c441f87c9bc43d49fc701c4a5f6f1b16aa4e32","bytes":3,"mode":420}}"#]].assert_eq(&replaced);
    }

    #[test]
    fn a_move_of_before_states_were_recorded_reads_back() {
        let old = r#"{"change":"moved","from":"a.md","to":"b.md","kind":"file"}"#;
        let read: Change = serde_json::from_str(old).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), old);
        assert_eq!(read.lost().count(), 0);
    }

    #[test]
    fn a_folder_of_before_modes_were_recorded_reads_back() {
        for old in [r#"{"change":"folder-created","path":"F"}"#, r#"{"change":"folder-removed","path":"F"}"#]
        {
            let read: Change = serde_json::from_str(old).unwrap();
            assert_eq!(serde_json::to_string(&read).unwrap(), old);
        }
        let private = serde_json::to_string(&every()[1]).unwrap();
        assert_eq!(private, r#"{"change":"folder-removed","path":"a.md","mode":448}"#);
    }

    #[test]
    fn what_goes_to_the_trash_is_lost_as_far_as_it_was_kept() {
        let lost: Vec<usize> = every().iter().map(|change| change.lost().count()).collect();
        assert_eq!(lost, [0, 0, 0, 1, 1, 0, 1]);
    }

    #[test]
    fn the_etag_is_the_start_of_the_hash() {
        let full = Hash::of(b"note").to_string();
        assert_eq!(state("note").etag(), full[3..35]);
    }
}
