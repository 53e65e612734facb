//! One file or folder that would change, as it is saved and compared later.

use envelope::{EntryKind, FileState, Hash};
use serde::{Deserialize, Serialize};
use vault::{TreeChange, TreeEffect};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PathOutlook {
    /// Path afterwards; for a removed entry, the current path.
    pub path: String,
    pub kind: EntryKind,
    pub fate: PathFate,
    /// Current path, if it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Hash of the current content of a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Hash>,
    /// Hash of the content of a file afterwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Hash>,
}

/// Change of a path, as it is serialised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PathFate {
    Created,
    Changed,
    Moved,
    Trashed,
    Removed,
}

impl PathOutlook {
    pub(super) fn of(foreseen: &TreeChange) -> PathOutlook {
        let hash = |state: Option<FileState>| state.map(|state| state.hash);
        PathOutlook {
            path: foreseen.path.to_string(),
            kind: foreseen.kind,
            fate: match foreseen.effect {
                TreeEffect::Created => PathFate::Created,
                TreeEffect::Changed => PathFate::Changed,
                TreeEffect::Moved => PathFate::Moved,
                TreeEffect::Trashed => PathFate::Trashed,
                TreeEffect::Removed => PathFate::Removed,
            },
            from: foreseen.from.as_ref().map(ToString::to_string),
            before: hash(foreseen.before),
            after: hash(foreseen.after),
        }
    }

    pub(super) fn is_note(&self) -> bool {
        self.path.rsplit_once('.').is_some_and(|(_, extension)| extension.eq_ignore_ascii_case("md"))
    }

    /// Returns its current path on disk.
    pub(super) fn now_at(&self) -> &str {
        self.from.as_deref().unwrap_or(&self.path)
    }
}

impl PathFate {
    /// Returns the change as a word.
    pub(super) fn word(self) -> &'static str {
        match self {
            PathFate::Created => "created",
            PathFate::Changed => "changed",
            PathFate::Moved => "moved",
            PathFate::Trashed => "trashed",
            PathFate::Removed => "deleted for good",
        }
    }
}
