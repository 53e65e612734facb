//! What a call was seen to change. Observed, never intended.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A kind of change, as a tool declares it and as a call is seen to do it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SideEffect {
    CreateFile,
    CreateFolder,
    ModifyFile,
    DeleteFile,
    DeleteFolder,
    RenameFile,
    RenameFolder,
    /// An open note changed that is not saved yet.
    EditBuffer,
    /// What the person sees changed: an opened note, a new pane.
    ChangeWorkspace,
    /// A background task of the same run was ended.
    StopTask,
    RunCommand,
    Network,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum EntryKind {
    File,
    Folder,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Created {
    pub path: String,
    pub kind: EntryKind,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Modified {
    pub path: String,
    pub kind: EntryKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before_etag: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_etag: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deleted {
    pub path: String,
    pub kind: EntryKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trashed: Option<bool>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Renamed {
    pub from: String,
    pub to: String,
}

/// Everything one call, or one run, was seen to change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Effects {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub side_effects_observed: Vec<SideEffect>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub created: Vec<Created>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modified: Vec<Modified>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deleted: Vec<Deleted>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub renamed: Vec<Renamed>,
}

impl Effects {
    pub fn is_empty(&self) -> bool {
        self.side_effects_observed.is_empty()
            && self.created.is_empty()
            && self.modified.is_empty()
            && self.deleted.is_empty()
            && self.renamed.is_empty()
    }

    /// Notes that a kind of change was seen, once.
    pub fn observe(&mut self, effect: SideEffect) {
        if !self.side_effects_observed.contains(&effect) {
            self.side_effects_observed.push(effect);
        }
    }

    /// Adds what another call did, in order.
    pub fn absorb(&mut self, other: &Effects) {
        for effect in &other.side_effects_observed {
            self.observe(*effect);
        }
        self.created.extend_from_slice(&other.created);
        self.modified.extend_from_slice(&other.modified);
        self.deleted.extend_from_slice(&other.deleted);
        self.renamed.extend_from_slice(&other.renamed);
    }
}
