//! One file or folder that would not stay as it is, as it is written down and compared later.

use envelope::{EntryKind, FileState, Hash};
use serde::{Deserialize, Serialize};
use vault::{Fate, Foreseen};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PathOutlook {
    /// Where it would be; of what would go, where it is.
    pub(crate) path: String,
    pub(crate) kind: EntryKind,
    pub(crate) fate: PathFate,
    /// Where it is now, if that is elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) from: Option<String>,
    /// Hash of the content of a file that is there now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) before: Option<Hash>,
    /// Hash of the content of a file that would be there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) after: Option<Hash>,
}

/// The fates of the vault, as they are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum PathFate {
    Created,
    Changed,
    Moved,
    Trashed,
    Removed,
}

impl PathOutlook {
    pub(super) fn of(foreseen: &Foreseen) -> PathOutlook {
        let hash = |state: Option<FileState>| state.map(|state| state.hash);
        PathOutlook {
            path: foreseen.path.to_string(),
            kind: foreseen.kind,
            fate: match foreseen.fate {
                Fate::Created => PathFate::Created,
                Fate::Changed => PathFate::Changed,
                Fate::Moved => PathFate::Moved,
                Fate::Trashed => PathFate::Trashed,
                Fate::Removed => PathFate::Removed,
            },
            from: foreseen.from.as_ref().map(ToString::to_string),
            before: hash(foreseen.before),
            after: hash(foreseen.after),
        }
    }

    pub(super) fn is_note(&self) -> bool {
        self.path.rsplit_once('.').is_some_and(|(_, extension)| extension.eq_ignore_ascii_case("md"))
    }

    /// Where it is on disk now, if it is there.
    pub(super) fn now_at(&self) -> &str {
        self.from.as_deref().unwrap_or(&self.path)
    }
}

impl PathFate {
    /// What would happen to it, as a person says it.
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
