//! `editor.insertAtCursor`: text where the cursor is; what is selected is not replaced.

use receipts::families::editor;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::edit_action::{NoteEditTool, characters};
use crate::position::{EditorPosition, utf16_len};
use crate::prepared::NoteEditResult;
use crate::protocol::{EditLocation, EditRequest};

pub(crate) struct InsertAtCursor;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Args {
    /// The text to insert. The cursor is after it then.
    text: String,
    /// Only edit when the note has this etag, as read before; else CONFLICT.
    #[serde(default)]
    expected_etag: Option<String>,
    /// Report what would happen without changing anything.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Output {
    /// The note that was edited.
    file_path: String,
    /// Where the cursor is after the text: line from 0, `ch` in UTF-16 code units.
    cursor_after: EditorPosition,
    /// How much text was put in, in UTF-16 code units; a line break counts as 1.
    inserted_chars: u32,
    /// Hash of the note's content afterwards: 32 hex digits.
    etag: String,
    /// True when nothing was done because `dryRun` was set.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    dry_run: bool,
}

impl NoteEditTool for InsertAtCursor {
    const NAME: &'static str = "editor.insertAtCursor";
    const SUMMARY: &'static str = "Insert text at the cursor of the active note.";

    type Args = Args;
    type Output = Output;

    fn dry_run(args: &Args) -> bool {
        args.dry_run
    }

    fn edit(args: &Args) -> EditRequest {
        EditRequest {
            target: EditLocation::Cursor,
            text: args.text.clone(),
            preserve_indent: false,
            expected_etag: args.expected_etag.clone(),
        }
    }

    fn preview(args: &Args) -> String {
        format!("Insert {} at the cursor", characters(utf16_len(&args.text)))
    }

    fn output(args: &Args, edited: NoteEditResult) -> Output {
        Output {
            file_path: edited.path.to_string(),
            cursor_after: edited.cursor_after,
            inserted_chars: edited.inserted_chars,
            etag: edited.etag,
            dry_run: args.dry_run,
        }
    }

    fn summary(output: &Output) -> String {
        let Output { file_path, cursor_after, inserted_chars, dry_run, .. } = output;
        let verb = if *dry_run { "Would insert" } else { "Inserted" };
        let count = characters(*inserted_chars);
        format!("{verb} {count} in {file_path}; the cursor is at {cursor_after}")
    }

    fn edited(output: &Output) -> editor::EditorEdit<'_> {
        editor::EditorEdit {
            file_path: &output.file_path,
            range: None,
            cursor_after: Some(output.cursor_after.into()),
            inserted_chars: output.inserted_chars,
            etag: &output.etag,
            dry_run: output.dry_run,
        }
    }
}
