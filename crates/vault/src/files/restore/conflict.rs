//! What stands in the way of restoring: somebody changed the vault since.

use envelope::FileState;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::thread::{Thread, in_trash};
use super::trash::content_of;

/// RestoreCause something cannot be restored as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum RestoreCause {
    /// The file holds something else by now.
    Edited,
    /// The name belongs to something else by now.
    Taken,
    /// It is not there any more.
    Gone,
}

/// One thing that was changed since.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schemars(inline)]
pub struct RestoreConflict {
    /// Where that is now.
    pub path: String,
    /// `edited`: the file holds something else. `taken`: the name belongs to something else, in the trash too.
    /// `gone`: it is not there any more.
    pub why: RestoreCause,
    /// Whether it can be restored all the same. What is there now is then kept, and a redo brings it back.
    pub can_overwrite: bool,
    /// Etag of what the list left there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub expected_etag: Option<String>,
    /// Etag of what is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub current_etag: Option<String>,
    /// The content that would be restored, for whoever wants to compare.
    #[serde(skip)]
    pub target: Option<FileState>,
    /// The content that is there.
    #[serde(skip)]
    pub current: Option<FileState>,
}

impl RestoreConflict {
    pub(super) fn new(
        thread: &Thread,
        path: &str,
        why: RestoreCause,
        now: Option<&FileState>,
        can_overwrite: bool,
    ) -> RestoreConflict {
        let held = thread.trashed.held.as_ref().map(|held| &held.hash);
        let expected = thread.contents.first().or(held).filter(|_| !thread.born);
        RestoreConflict {
            path: path.to_owned(),
            why,
            can_overwrite,
            expected_etag: expected.map(etag_of_hash),
            current_etag: now.map(FileState::etag),
            target: content_of(thread).filter(|_| !thread.dies),
            current: now.copied(),
        }
    }

    /// In words, with the path first.
    pub fn words(&self) -> String {
        let path = &self.path;
        match self.why {
            RestoreCause::Edited => format!("`{path}` was edited since"),
            RestoreCause::Taken if in_trash(path) => format!(
                "`{path}` is not what was deleted: the trash was emptied, and something else of that name is \
                 in it now"
            ),
            RestoreCause::Taken => format!("`{path}` is something else by now"),
            RestoreCause::Gone => format!("`{path}` is not there any more"),
        }
    }
}

fn etag_of_hash(hash: &envelope::Hash) -> String {
    FileState { hash: *hash, bytes: 0, mode: 0 }.etag()
}
