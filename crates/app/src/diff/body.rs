//! A comparison as data: the JSON of `--json`, and the source of the rendered lines.
//!
//! Texts are unescaped; the renderer makes them safe to show.

use serde::Serialize;

/// Difference between two contents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "content", rename_all = "camelCase")]
pub(super) enum DiffBody {
    /// The bytes are equal.
    Same,
    Text(TextChange),
    /// At least one side is binary.
    Binary(ContentSizes),
    /// Text that is too large to compare.
    Large(ContentSizes),
}

/// Sizes and etags of both sides; `None` for a side that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct ContentSizes {
    pub(super) before: Option<ContentSize>,
    pub(super) after: Option<ContentSize>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct ContentSize {
    pub(super) bytes: usize,
    pub(super) etag: String,
}

/// Difference between two texts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TextChange {
    /// All added lines, shown or not. A changed line counts as one removed and one added.
    pub(super) added_lines: usize,
    pub(super) removed_lines: usize,
    pub(super) hunks: Vec<DiffHunk>,
    /// Differences besides the text of lines, in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) notes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) left_out: Option<OmittedLines>,
}

/// Added and removed lines that no hunk contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct OmittedLines {
    pub(super) lines: usize,
    pub(super) bytes: usize,
}

/// Neighbouring changes with the lines around them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DiffHunk {
    pub(super) before: LineSpan,
    pub(super) after: LineSpan,
    pub(super) lines: Vec<DiffLine>,
}

/// Lines of a file that a hunk covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct LineSpan {
    /// First line, counted from 1. Without lines: the line before, 0 at the start.
    pub(super) line: usize,
    pub(super) count: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct DiffLine {
    pub(super) kind: LineKind,
    pub(super) words: Vec<DiffWord>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum LineKind {
    Same,
    Removed,
    Added,
    /// A removed and an added line that are mostly the same.
    Changed,
}

/// Neighbouring words with one tag.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct DiffWord {
    pub(super) tag: WordTag,
    pub(super) text: String,
    /// Following characters with the same tag that are not shown.
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) cut: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum WordTag {
    Same,
    Del,
    Ins,
}

impl DiffWord {
    pub(super) fn new(tag: WordTag, text: impl Into<String>) -> DiffWord {
        DiffWord { tag, text: text.into(), cut: 0 }
    }
}

impl DiffLine {
    /// Returns the number of screen lines.
    pub(super) fn height(&self) -> usize {
        self.in_before() + self.in_after()
            - match self.kind {
                LineKind::Same => 1,
                LineKind::Removed | LineKind::Added | LineKind::Changed => 0,
            }
    }

    /// Returns the number of lines in the content before: 0 or 1.
    pub(super) fn in_before(&self) -> usize {
        match self.kind {
            LineKind::Same | LineKind::Removed | LineKind::Changed => 1,
            LineKind::Added => 0,
        }
    }

    /// Returns the number of lines in the content after: 0 or 1.
    pub(super) fn in_after(&self) -> usize {
        match self.kind {
            LineKind::Same | LineKind::Added | LineKind::Changed => 1,
            LineKind::Removed => 0,
        }
    }
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}
