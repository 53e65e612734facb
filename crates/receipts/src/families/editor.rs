//! The open note: its selection, and the effect of an edit.
//!
//! A selection is never stored as an artifact: the note can still be read. An edit cannot be large.

use envelope::{Fault, ReceiptFamily};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::receipt_writer::{ReceiptWriter, escape_text, fitting_prefix, json_quoted};
use super::{ProjectedResult, Projection, external, project_within};

/// Complete output of an editor tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditorOutput<'a> {
    Selection(EditorSelection<'a>),
    Edit(EditorEdit<'a>),
}

/// The selection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditorSelection<'a> {
    pub file_path: &'a str,
    pub range: CursorRange,
    pub text: &'a str,
    /// View mode of the note, if known.
    pub mode: Option<&'a str>,
}

/// An edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditorEdit<'a> {
    pub file_path: &'a str,
    /// Replaced range before the edit; `None` for an insertion at the cursor.
    pub range: Option<CursorRange>,
    /// Cursor after the edit, if known.
    pub cursor_after: Option<CursorPosition>,
    /// In UTF-16 code units.
    pub inserted_chars: u32,
    pub etag: &'a str,
    pub dry_run: bool,
}

/// Position between two characters: lines from 0, `ch` in UTF-16 code units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CursorPosition {
    pub line: u32,
    pub ch: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CursorRange {
    pub from: CursorPosition,
    pub to: CursorPosition,
}

/// The output in the canonical result.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum BoundedEditor<Text> {
    Selection(BoundedSelection<Text>),
    Edit(BoundedEdit<Text>),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BoundedSelection<Text> {
    file_path: Text,
    range: CursorRange,
    is_empty: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<Text>,
    text_preview: Text,
    text_bytes: u64,
    truncated: bool,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BoundedEdit<Text> {
    file_path: Text,
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<CursorRange>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor_after: Option<CursorPosition>,
    inserted_chars: u32,
    etag: Text,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    dry_run: bool,
}

/// Bounds the output of an editor tool.
pub fn project(complete: &EditorOutput<'_>, with: &mut Projection<'_>) -> Result<ProjectedResult, Fault> {
    project_within(ReceiptFamily::Editor, with, |room| match complete {
        EditorOutput::Selection(selection) => {
            let cut = fitting_prefix(selection.text, room);
            BoundedEditor::Selection(BoundedSelection {
                file_path: selection.file_path,
                range: selection.range,
                is_empty: selection.range.from == selection.range.to,
                mode: selection.mode,
                text_preview: &selection.text[..cut],
                text_bytes: selection.text.len() as u64,
                truncated: cut < selection.text.len(),
            })
        }
        EditorOutput::Edit(edit) => BoundedEditor::Edit(BoundedEdit {
            file_path: edit.file_path,
            range: edit.range,
            cursor_after: edit.cursor_after,
            inserted_chars: edit.inserted_chars,
            etag: edit.etag,
            dry_run: edit.dry_run,
        }),
    })
}

pub(super) fn render(summary: &str, result: &Value, budget: usize) -> String {
    let mut receipt = ReceiptWriter::new(summary);
    match BoundedEditor::<String>::deserialize(result) {
        Ok(BoundedEditor::Selection(selection)) => receipt.render_text(budget, |room, receipt| {
            let cut = fitting_prefix(&selection.text_preview, room);
            let text = escape_text(&selection.text_preview[..cut]);
            if !text.is_empty() {
                receipt.line(text.strip_suffix('\n').unwrap_or(&text));
            }
            let left_out = selection.text_bytes - cut as u64;
            if left_out > 0 {
                receipt.line(&format!(
                    "… {left_out} more bytes: read the note with vault_readFile {{\"path\":{}}}",
                    json_quoted(&selection.file_path)
                ));
            }
        }),
        Ok(BoundedEditor::Edit(edit)) => {
            receipt.append(&format!(" (etag {})", edit.etag));
            receipt.finish()
        }
        Err(_) => external::render(summary, result, budget),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

    use super::{CursorPosition, CursorRange, EditorEdit, EditorOutput, EditorSelection, project, render};
    use crate::families::Projection;
    use crate::preview::tokenizer::estimate;

    const RANGE: CursorRange =
        CursorRange { from: CursorPosition { line: 0, ch: 2 }, to: CursorPosition { line: 3, ch: 0 } };

    #[track_caller]
    fn check(complete: &EditorOutput<'_>, summary: &str, budget: usize, expected: &Expect) {
        let result = project(complete, &mut Projection::new(budget, None)).unwrap().result;
        expected.assert_eq(&format!("{result}\n---\n{}\n", render(summary, &result, budget)));
    }

    // Conformance: result 1.3
    #[test]
    fn an_edit_is_confirmed_with_its_etag() {
        let edit = EditorEdit {
            file_path: "Inbox.md",
            range: None,
            cursor_after: Some(CursorPosition { line: 0, ch: 5 }),
            inserted_chars: 5,
            etag: "8f434346648f6b96df89dda901c5176b",
            dry_run: false,
        };
        check(
            &EditorOutput::Edit(edit.clone()),
            "Inserted 5 characters in Inbox.md; the cursor is at 0:5",
            1_000,
            &expect![[r#"
                {"file_path":"Inbox.md","cursor_after":{"line":0,"ch":5},"inserted_chars":5,"etag":"8f434346648f6b96df89dda901c5176b"}
                ---
                Inserted 5 characters in Inbox.md; the cursor is at 0:5 (etag 8f434346648f6b96df89dda901c5176b)
            "#]],
        );
        check(
            &EditorOutput::Edit(EditorEdit { range: Some(RANGE), cursor_after: None, dry_run: true, ..edit }),
            "Would replace 0:2 to 3:0 of Inbox.md by 5 characters",
            1_000,
            &expect![[r#"
                {"file_path":"Inbox.md","range":{"from":{"line":0,"ch":2},"to":{"line":3,"ch":0}},"inserted_chars":5,"etag":"8f434346648f6b96df89dda901c5176b","dry_run":true}
                ---
                Would replace 0:2 to 3:0 of Inbox.md by 5 characters (etag 8f434346648f6b96df89dda901c5176b)
            "#]],
        );
    }

    #[test]
    fn a_selection_is_shown_and_what_is_too_long_is_cut_with_a_way_to_the_rest() {
        let text = "a line of the note\n".repeat(30);
        let selection = |text| {
            EditorOutput::Selection(EditorSelection {
                file_path: "In box.md",
                range: RANGE,
                text,
                mode: Some("source"),
            })
        };
        check(
            &selection("one\n\u{1b}[2Jtwo\n"),
            "0:2 to 3:0 of In box.md is selected",
            1_000,
            &expect![[r#"
                {"file_path":"In box.md","range":{"from":{"line":0,"ch":2},"to":{"line":3,"ch":0}},"is_empty":false,"mode":"source","text_preview":"one\n\u001b[2Jtwo\n","text_bytes":12,"truncated":false}
                ---
                0:2 to 3:0 of In box.md is selected
                one
                \u{1b}[2Jtwo
            "#]],
        );
        check(
            &selection(&text),
            "0:2 to 3:0 of In box.md is selected",
            115,
            &expect![[r#"
                {"file_path":"In box.md","range":{"from":{"line":0,"ch":2},"to":{"line":3,"ch":0}},"is_empty":false,"mode":"source","text_preview":"a line of the note\na line of the note\na line of the note\n","text_bytes":570,"truncated":true}
                ---
                0:2 to 3:0 of In box.md is selected
                a line of the note
                a line of the note
                a line of the note
                … 513 more bytes: read the note with vault_readFile {"path":"In box.md"}
            "#]],
        );
    }

    proptest! {
        #[test]
        fn a_receipt_stays_near_its_budget(text in any::<String>(), budget in 150_usize..600) {
            let text = text.repeat(20);
            let complete =
                EditorOutput::Selection(EditorSelection { file_path: "a.md", range: RANGE, text: &text, mode: None });
            let result = project(&complete, &mut Projection::new(budget, None)).unwrap().result;
            let again = project(&complete, &mut Projection::new(budget, None)).unwrap().result;
            prop_assert_eq!(&result, &again);
            let receipt = render("a.md: 0:2 to 3:0 is selected", &result, budget);
            prop_assert!(estimate(&receipt) <= budget, "{receipt}");
        }
    }
}
