//! `editor.replaceSelection`: new text for what is selected; at the cursor when nothing is.

use receipts::families::editor;
use schemars::JsonSchema;
use serde::Deserialize;

use super::edit_action::{NoteEditTool, characters};
use super::replaced_text::ReplacedText;
use crate::position::utf16_len;
use crate::prepared::NoteEditResult;
use crate::protocol::{EditLocation, EditRequest};

pub(crate) struct ReplaceSelection;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Args {
    /// The text that takes the place of the selection. With an empty selection it is inserted at the cursor.
    text: String,
    /// Indent every line after the first like the line in which the selection begins.
    #[serde(default)]
    preserve_indent: bool,
    /// Only edit when the note has this etag, as read before; else CONFLICT.
    #[serde(default)]
    expected_etag: Option<String>,
    /// Report what would happen without changing anything.
    #[serde(default)]
    dry_run: bool,
}

impl NoteEditTool for ReplaceSelection {
    const NAME: &'static str = "editor.replaceSelection";
    const SUMMARY: &'static str = "Replace the selection in the active note, or insert at the cursor.";

    type Args = Args;
    type Output = ReplacedText;

    fn dry_run(args: &Args) -> bool {
        args.dry_run
    }

    fn edit(args: &Args) -> EditRequest {
        EditRequest {
            target: EditLocation::Selection,
            text: args.text.clone(),
            preserve_indent: args.preserve_indent,
            expected_etag: args.expected_etag.clone(),
        }
    }

    fn preview(args: &Args) -> String {
        format!("Put {} in the place of the selection", characters(utf16_len(&args.text)))
    }

    fn output(args: &Args, edited: NoteEditResult) -> ReplacedText {
        ReplacedText::new(edited, args.dry_run)
    }

    fn summary(output: &ReplacedText) -> String {
        output.summary()
    }

    fn edited(output: &ReplacedText) -> editor::EditorEdit<'_> {
        output.receipt()
    }
}
