//! Places in a note, counted as editors count them.
//!
//! Lines start at 0. `ch` counts UTF-16 code units, as every editor in a browser does: an emoji is two, a
//! combining mark one of its own. A live host and a headless one must mean the same place by the same
//! numbers, so nothing in this crate counts bytes or characters towards the outside.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolkit::families::editor;

/// A place between two characters of a note.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Position {
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
    pub from: Position,
    /// Where it ends; the character after it does not belong to it.
    pub to: Position,
}

impl EditorRange {
    /// The empty range at a place.
    pub fn at(place: Position) -> EditorRange {
        EditorRange { from: place, to: place }
    }

    pub fn is_empty(&self) -> bool {
        self.from == self.to
    }
}

impl From<Position> for editor::Place {
    fn from(place: Position) -> editor::Place {
        editor::Place { line: place.line, ch: place.ch }
    }
}

impl From<EditorRange> for editor::Range {
    fn from(range: EditorRange) -> editor::Range {
        editor::Range { from: range.from.into(), to: range.to.into() }
    }
}

/// How long a text is for an editor.
pub(crate) fn utf16_len(text: &str) -> u32 {
    u32::try_from(text.encode_utf16().count()).unwrap_or(u32::MAX)
}

impl std::fmt::Display for Position {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.line, self.ch)
    }
}
