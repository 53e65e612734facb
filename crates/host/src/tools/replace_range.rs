//! `editor.replaceRange`: new text between two places of the active note, which must exist.

use receipts::families::editor;
use schemars::JsonSchema;
use serde::Deserialize;

use super::edit_action::{NoteEditTool, characters};
use super::replaced_text::ReplacedText;
use crate::position::{EditorPosition, EditorRange, utf16_len};
use crate::prepared::NoteEditResult;
use crate::protocol::{EditLocation, EditRequest};

pub(crate) struct ReplaceEditorRange;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Args {
    /// Where the text to replace begins: line from 0, `ch` in UTF-16 code units. A place that is not in the
    /// note is an error, never moved.
    from: EditorPosition,
    /// Where it ends. The same place as `from` inserts without replacing.
    to: EditorPosition,
    /// The text that takes its place; empty to delete.
    text: String,
    /// Only edit when the note has this etag, as read before; else CONFLICT.
    #[serde(default)]
    expected_etag: Option<String>,
    /// Report what would happen without changing anything.
    #[serde(default)]
    dry_run: bool,
}

impl NoteEditTool for ReplaceEditorRange {
    const NAME: &'static str = "editor.replaceRange";
    const SUMMARY: &'static str = "Replace the text between two positions of the active note.";

    type Args = Args;
    type Output = ReplacedText;

    fn dry_run(args: &Args) -> bool {
        args.dry_run
    }

    fn edit(args: &Args) -> EditRequest {
        EditRequest {
            target: EditLocation::Range(EditorRange { from: args.from, to: args.to }),
            text: args.text.clone(),
            preserve_indent: false,
            expected_etag: args.expected_etag.clone(),
        }
    }

    fn preview(args: &Args) -> String {
        format!("Put {} in the place of {} to {}", characters(utf16_len(&args.text)), args.from, args.to)
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
