//! The observed effects of a call, as opposed to the intended ones.

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
pub struct CreatedPath {
    pub path: String,
    pub kind: EntryKind,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModifiedFile {
    pub path: String,
    pub kind: EntryKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before_etag: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_etag: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeletedPath {
    pub path: String,
    pub kind: EntryKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trashed: Option<bool>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RenamedPath {
    pub from: String,
    pub to: String,
}

/// All observed effects of one call or one run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Effects {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub side_effects_observed: Vec<SideEffect>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub created: Vec<CreatedPath>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modified: Vec<ModifiedFile>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deleted: Vec<DeletedPath>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub renamed: Vec<RenamedPath>,
}

impl Effects {
    pub fn is_empty(&self) -> bool {
        self.side_effects_observed.is_empty()
            && self.created.is_empty()
            && self.modified.is_empty()
            && self.deleted.is_empty()
            && self.renamed.is_empty()
    }

    /// Adds a kind of side effect, once.
    pub fn add_side_effect(&mut self, effect: SideEffect) {
        if !self.side_effects_observed.contains(&effect) {
            self.side_effects_observed.push(effect);
        }
    }

    /// Adds the effects of another call, in order.
    pub fn merge(&mut self, other: &Effects) {
        for effect in &other.side_effects_observed {
            self.add_side_effect(*effect);
        }
        self.created.extend_from_slice(&other.created);
        self.modified.extend_from_slice(&other.modified);
        self.deleted.extend_from_slice(&other.deleted);
        self.renamed.extend_from_slice(&other.renamed);
    }
}
