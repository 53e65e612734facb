//! The output of the tools that replace a range of the active note.

use receipts::families::editor;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::edit_action::characters;
use crate::position::EditorRange;
use crate::prepared::NoteEditResult;

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schemars(rename = "Output")]
pub(crate) struct ReplacedText {
    /// The note that was edited.
    file_path: String,
    /// The range that was replaced, as it was before: lines from 0, `ch` in UTF-16 code units.
    range: EditorRange,
    /// How much text was put in, in UTF-16 code units; a line break counts as 1.
    inserted_chars: u32,
    /// Hash of the note's content afterwards: 32 hex digits.
    etag: String,
    /// True when nothing was done because `dryRun` was set.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    dry_run: bool,
}

impl ReplacedText {
    pub(super) fn new(result: NoteEditResult, dry_run: bool) -> ReplacedText {
        ReplacedText {
            file_path: result.path.to_string(),
            range: result.range,
            inserted_chars: result.inserted_chars,
            etag: result.etag,
            dry_run,
        }
    }

    /// Returns one line with the outcome first.
    pub(super) fn summary(&self) -> String {
        let ReplacedText { file_path, range, inserted_chars, dry_run, .. } = self;
        let verb = if *dry_run { "Would replace" } else { "Replaced" };
        let count = characters(*inserted_chars);
        format!("{verb} {} to {} of {file_path} by {count}", range.from, range.to)
    }

    /// Returns the edit as its receipt shows it.
    pub(super) fn receipt(&self) -> editor::EditorEdit<'_> {
        editor::EditorEdit {
            file_path: &self.file_path,
            range: Some(self.range.into()),
            cursor_after: None,
            inserted_chars: self.inserted_chars,
            etag: &self.etag,
            dry_run: self.dry_run,
        }
    }
}
