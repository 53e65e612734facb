//! A comparison as data: what a program reads with `--json`, and what the lines for a person are made from.
//!
//! Texts are as they stand in the notes. They are made safe to show where they are shown.

use serde::Serialize;

/// How one content differs from another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "content", rename_all = "camelCase")]
pub(crate) enum Body {
    /// Not one byte differs.
    Same,
    Text(TextChange),
    /// At least one side is no text.
    Binary(Sizes),
    /// Text, but too much of it to compare.
    Large(Sizes),
}

/// The sizes and etags of both sides; a side that is not there has none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Sizes {
    pub(super) before: Option<Content>,
    pub(super) after: Option<Content>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Content {
    pub(super) bytes: usize,
    pub(super) etag: String,
}

/// How one text differs from another.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TextChange {
    /// All of them, shown or not. A changed line counts as one removed and one added.
    pub(super) added_lines: usize,
    pub(super) removed_lines: usize,
    pub(super) hunks: Vec<Hunk>,
    /// What differs besides the text of lines, in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) notes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) left_out: Option<LeftOut>,
}

/// Added and removed lines that no hunk has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct LeftOut {
    pub(super) lines: usize,
    pub(super) bytes: usize,
}

/// Changes that are near each other, with the lines around them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Hunk {
    pub(super) before: Span,
    pub(super) after: Span,
    pub(super) lines: Vec<Line>,
}

/// Which lines of a file a hunk covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Span {
    /// The first one, counted from 1. With no lines: the one before the place, 0 at the start.
    pub(super) line: usize,
    pub(super) count: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Line {
    pub(super) kind: LineKind,
    pub(super) words: Vec<Word>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum LineKind {
    Same,
    Removed,
    Added,
    /// A removed and an added line that are mostly the same.
    Changed,
}

/// Neighbouring words with one fate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Word {
    pub(super) tag: Tag,
    pub(super) text: String,
    /// Characters with the same fate that follow the text and are not shown.
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) cut: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Tag {
    Same,
    Del,
    Ins,
}

impl Word {
    pub(super) fn new(tag: Tag, text: impl Into<String>) -> Word {
        Word { tag, text: text.into(), cut: 0 }
    }
}

impl Line {
    /// How many lines of a screen it takes.
    pub(super) fn height(&self) -> usize {
        self.in_before() + self.in_after()
            - match self.kind {
                LineKind::Same => 1,
                LineKind::Removed | LineKind::Added | LineKind::Changed => 0,
            }
    }

    /// How many lines of the content before it stands for: none or one.
    pub(super) fn in_before(&self) -> usize {
        match self.kind {
            LineKind::Same | LineKind::Removed | LineKind::Changed => 1,
            LineKind::Added => 0,
        }
    }

    /// The same for the content after.
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
