//! Positions in a note, counted as editors count them.
//!
//! Lines start at 0. `ch` counts UTF-16 code units, as every editor in a browser does: an emoji is two, a
//! combining mark one of its own. Every host must mean the same position by the same numbers, so no interface
//! of this crate counts bytes or characters.

use receipts::families::editor;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A place between two characters of a note.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Position")]
pub struct EditorPosition {
    /// Line, counted from 0.
    pub line: u32,
    /// UTF-16 code units from the start of the line, counted from 0: an emoji counts as 2.
    pub ch: u32,
}

/// The text between two places, `from` not after `to`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EditorRange {
    /// Where it begins.
    pub from: EditorPosition,
    /// Where it ends; the character after it does not belong to it.
    pub to: EditorPosition,
}

impl EditorRange {
    /// Returns the empty range at a position.
    pub fn at(position: EditorPosition) -> EditorRange {
        EditorRange { from: position, to: position }
    }

    pub fn is_empty(&self) -> bool {
        self.from == self.to
    }
}

impl From<EditorPosition> for editor::CursorPosition {
    fn from(place: EditorPosition) -> editor::CursorPosition {
        editor::CursorPosition { line: place.line, ch: place.ch }
    }
}

impl From<EditorRange> for editor::CursorRange {
    fn from(range: EditorRange) -> editor::CursorRange {
        editor::CursorRange { from: range.from.into(), to: range.to.into() }
    }
}

/// Returns the length of a text in UTF-16 units.
pub(crate) fn utf16_len(text: &str) -> u32 {
    u32::try_from(text.encode_utf16().count()).unwrap_or(u32::MAX)
}

impl std::fmt::Display for EditorPosition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.line, self.ch)
    }
}
