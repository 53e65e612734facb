//! A slice of an artifact: lines, bytes, matches, its beginning or its end.
//!
//! A slice is never stored as another artifact. Content that does not fit the budget is left out at the far end,
//! and `next` in the result requests the rest.

mod cut;
mod request;
mod renderer;

use envelope::{Fault, ReceiptFamily};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ProjectedResult, Projection, project_within};

pub use request::{ByteSelection, GrepQuery, LineSelection, NextRequest, PatternMode};

pub(super) use renderer::render;

/// What was read, complete as it was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArtifactSlice {
    /// The artifact, as it was asked for.
    pub path: String,
    /// The run that it belongs to; absent when that is the run of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub run: Option<String>,
    /// How it was looked at.
    pub view: ArtifactView,
    /// Size of the whole artifact.
    pub total_bytes: u64,
    /// Lines of the whole artifact; absent when nobody counted them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    pub total_lines: Option<u64>,
    /// What stands there, for every view but `grep`. Two pieces when a part between them was left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pieces: Vec<SlicePiece>,
    /// Lines that match and the lines around them, for `grep`, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub found: Vec<GrepLine>,
    /// What was looked for, for `grep`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "GrepQuery")]
    pub grep: Option<GrepQuery>,
    /// How many lines match, up to where the search ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    pub matches: Option<u64>,
    /// What to ask for to go on; absent when there is no more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "NextRequest")]
    pub next: Option<NextRequest>,
}

/// A way to look at an artifact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum ArtifactView {
    Lines,
    Bytes,
    Grep,
    Head,
    Tail,
    HeadAndTail,
}

/// A part of an artifact in one piece.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct SlicePiece {
    /// The line in which it begins, counted from 1; absent when nobody counted so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    pub start_line: Option<u64>,
    /// Its first byte, counted from 0.
    pub start_byte: u64,
    /// The byte after its last one.
    pub end_byte: u64,
    /// As `encoding` says.
    pub content: String,
    /// How the bytes stand in `content`.
    pub encoding: PieceEncoding,
}

/// How bytes are written as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum PieceEncoding {
    /// As they are.
    Utf8,
    /// As text in which one U+001A, the substitute, stands for each byte that is no UTF-8: places still count.
    Lossy,
    /// Two digits a byte: no text.
    Hex,
}

/// A line that matches, or one near it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct GrepLine {
    /// Counted from 1.
    pub line: u64,
    /// Where the line begins.
    pub at_byte: u64,
    /// False for a line that is only shown because it is near.
    pub matched: bool,
    /// The line without its end; of a long line what is around the match.
    pub text: String,
    /// Bytes of the line that stand before `text`.
    #[serde(default, skip_serializing_if = "super::receipt_writer::is_zero")]
    pub left_out_before: u64,
    /// Bytes of the line that stand after `text`.
    #[serde(default, skip_serializing_if = "super::receipt_writer::is_zero")]
    pub left_out_after: u64,
}

/// The slice in the canonical result, cut to the budget.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct BoundedSlice {
    #[serde(flatten)]
    pub(super) slice: ArtifactSlice,
    /// True if this is less than what was requested.
    pub(super) truncated: bool,
}

/// Bounds a slice.
pub fn project(complete: &ArtifactSlice, with: &mut Projection<'_>) -> Result<ProjectedResult, Fault> {
    project_within(ReceiptFamily::Artifact, with, |room| cut::fit_slice(complete, room))
}

/// Returns one line: the requested part and the size of the artifact.
pub fn summary(slice: &ArtifactSlice) -> String {
    renderer::summary(slice)
}

#[cfg(test)]
mod tests;
