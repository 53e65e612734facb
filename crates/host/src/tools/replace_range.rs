//! `editor.replaceRange`: new text between two places of the active note, which must exist.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolkit::families::editor;

use super::editing::{EditTool, characters};
use crate::host::{Edit, Edited, Target};
use crate::position::{EditorRange, Position, utf16_len};

pub(crate) struct ReplaceRange;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Args {
    /// Where the text to replace begins: line from 0, `ch` in UTF-16 code units. A place that is not in the
    /// note is an error, never moved.
    from: Position,
    /// Where it ends. The same place as `from` inserts without replacing.
    to: Position,
    /// The text that takes its place; empty to delete.
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

impl EditTool for ReplaceRange {
    const NAME: &'static str = "editor.replaceRange";
    const SUMMARY: &'static str = "Replace the text between two positions of the active note.";

    type Args = Args;
    type Output = Output;

    fn dry_run(args: &Args) -> bool {
        args.dry_run
    }

    fn edit(args: &Args) -> Edit {
        Edit {
            target: Target::Range(EditorRange { from: args.from, to: args.to }),
            text: args.text.clone(),
            preserve_indent: false,
            expected_etag: args.expected_etag.clone(),
        }
    }

    fn preview(args: &Args) -> String {
        format!("Put {} in the place of {} to {}", characters(utf16_len(&args.text)), args.from, args.to)
    }

    fn output(args: &Args, edited: Edited) -> Output {
        Output {
            file_path: edited.path.to_string(),
            range: edited.range,
            inserted_chars: edited.inserted_chars,
            etag: edited.etag,
            dry_run: args.dry_run,
        }
    }

    fn summary(output: &Output) -> String {
        let Output { file_path, range, inserted_chars, dry_run, .. } = output;
        let verb = if *dry_run { "Would replace" } else { "Replaced" };
        let count = characters(*inserted_chars);
        format!("{verb} {} to {} of {file_path} by {count}", range.from, range.to)
    }

    fn edited(output: &Output) -> editor::Edit<'_> {
        editor::Edit {
            file_path: &output.file_path,
            range: Some(output.range.into()),
            cursor_after: None,
            inserted_chars: output.inserted_chars,
            etag: &output.etag,
            dry_run: output.dry_run,
        }
    }
}
