//! `editor.replaceSelection`: new text for what is selected; at the cursor when nothing is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolkit::families::editor;

use super::editing::{EditTool, characters};
use crate::host::{Edit, Edited, Target};
use crate::position::{EditorRange, utf16_len};

pub(crate) struct ReplaceSelection;

#[derive(Debug, Deserialize, JsonSchema)]
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

impl EditTool for ReplaceSelection {
    const NAME: &'static str = "editor.replaceSelection";
    const SUMMARY: &'static str = "Replace the selection in the active note, or insert at the cursor.";

    type Args = Args;
    type Output = Output;

    fn dry_run(args: &Args) -> bool {
        args.dry_run
    }

    fn edit(args: &Args) -> Edit {
        Edit {
            target: Target::Selection,
            text: args.text.clone(),
            preserve_indent: args.preserve_indent,
            expected_etag: args.expected_etag.clone(),
        }
    }

    fn preview(args: &Args) -> String {
        format!("Put {} in the place of the selection", characters(utf16_len(&args.text)))
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
