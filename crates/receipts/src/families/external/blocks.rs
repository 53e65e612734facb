//! An answer with several blocks of text, JSON and bytes, as other servers return it.

use std::fmt::Write as _;

use envelope::{Fault, Hash};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::cut::{CUT_FIELDS, CutOutput, FullOutput, append_reference};
use super::readable;
use crate::families::streams::{ArtifactRef, REFERENCE, describe_artifact};
use crate::families::{Projection, json_cost};

/// Number of blocks that are shown; further ones are counted.
const MAX_BLOCKS: usize = 32;
/// Smallest budget of a block.
const LEAST: usize = 40;
/// Tokens of a block that is cut, at least.
const PART: usize = CUT_FIELDS + LEAST;
/// Tokens around a block, and around all of them.
const FRAME: usize = 24;

/// Complete answer of an external tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ExternalOutput<'a> {
    pub blocks: Vec<OutputBlock<'a>>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum OutputBlock<'a> {
    Text(&'a str),
    Json(&'a Value),
    Binary { media_type: &'a str, bytes: &'a [u8] },
}

/// The answer in the canonical result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BoundedBlocks {
    blocks: Vec<BoundedBlock>,
    #[serde(default, skip_serializing_if = "crate::families::receipt_writer::is_zero")]
    blocks_left_out: u64,
    truncated: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    artifacts: Vec<ArtifactRef>,
}

/// One block. An incomplete block refers to its artifact.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
enum BoundedBlock {
    Text {
        text: String,
    },
    Json {
        value: Value,
    },
    /// A part of a text or JSON value.
    Part {
        preview: Value,
        truncated: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        artifact: Option<usize>,
        bytes: u64,
        digest: String,
    },
    Binary {
        media_type: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        artifact: Option<usize>,
        bytes: u64,
        digest: String,
    },
}

impl BoundedBlocks {
    pub(super) fn of(
        blocks: &[OutputBlock<'_>],
        tokens: usize,
        with: &mut Projection<'_>,
    ) -> Result<BoundedBlocks, Fault> {
        let mut result = BoundedBlocks {
            blocks: Vec::with_capacity(blocks.len().min(MAX_BLOCKS)),
            blocks_left_out: 0,
            truncated: false,
            artifacts: Vec::new(),
        };
        let mut left = tokens.saturating_sub(FRAME);
        for (index, block) in blocks.iter().enumerate() {
            // An equal share of what is left, and enough for a part that says something.
            let share = left / (blocks.len() - index);
            let enough = share.max(PART.min(left));
            if index == MAX_BLOCKS || (index > 0 && enough < PART) {
                result.blocks_left_out = (blocks.len() - index) as u64;
                result.truncated = true;
                break;
            }
            let whole = enough.saturating_sub(FRAME);
            let preview = enough.saturating_sub(CUT_FIELDS).max(LEAST);
            let shown = match *block {
                OutputBlock::Text(text) if FullOutput::Text(text).fits(whole, whole) => {
                    BoundedBlock::Text { text: text.to_owned() }
                }
                OutputBlock::Json(value) if FullOutput::Json(value).fits(whole, whole) => {
                    BoundedBlock::Json { value: value.clone() }
                }
                OutputBlock::Text(text) => {
                    result.part(CutOutput::of(FullOutput::Text(text), "output", preview, with)?)
                }
                OutputBlock::Json(value) => {
                    result.part(CutOutput::of(FullOutput::Json(value), "output", preview, with)?)
                }
                OutputBlock::Binary { media_type, bytes } => result.binary(media_type, bytes, with)?,
            };
            let cost = serde_json::to_value(&shown).map_or(enough, |shown| json_cost(&shown));
            // A reference to an artifact is beside the block.
            left = left.saturating_sub(cost + REFERENCE);
            result.blocks.push(shown);
        }
        Ok(result)
    }

    fn part(&mut self, cut: CutOutput) -> BoundedBlock {
        self.truncated = true;
        let artifact = cut.path.map(|path| self.refer(path));
        BoundedBlock::Part {
            preview: cut.preview,
            truncated: true,
            artifact,
            bytes: cut.bytes,
            digest: cut.digest,
        }
    }

    fn binary(
        &mut self,
        media_type: &str,
        bytes: &[u8],
        with: &mut Projection<'_>,
    ) -> Result<BoundedBlock, Fault> {
        // The bytes are only in the artifact.
        self.truncated = true;
        let kept = with.keep("output", extension(media_type), bytes)?;
        let digest = kept.as_ref().map_or_else(|| Hash::of(bytes), |kept| kept.hash).to_string();
        let artifact = kept.map(|kept| self.refer(kept.path));
        let media_type = readable::cleaned(media_type);
        Ok(BoundedBlock::Binary { media_type, artifact, bytes: bytes.len() as u64, digest })
    }

    fn refer(&mut self, path: String) -> usize {
        self.artifacts.push(ArtifactRef { path });
        self.artifacts.len() - 1
    }

    fn path(&self, artifact: Option<usize>) -> Option<&str> {
        artifact.and_then(|index| self.artifacts.get(index)).map(|kept| kept.path.as_str())
    }

    pub(super) fn render(&self, text: &mut String, tokens: usize) {
        let share = (tokens / self.blocks.len().max(1)).max(LEAST);
        for block in &self.blocks {
            match block {
                BoundedBlock::Text { text: content } => {
                    readable::append_value(text, &Value::String(content.clone()), share);
                }
                BoundedBlock::Json { value } => readable::append_value(text, value, share),
                BoundedBlock::Part { preview, artifact, bytes, .. } => {
                    append_reference(text, "text", self.path(*artifact), *bytes);
                    readable::append_value(text, preview, share);
                }
                BoundedBlock::Binary { media_type, artifact, bytes, .. } => {
                    let kept = self.path(*artifact).unwrap_or("not kept");
                    let _infallible =
                        write!(text, "\n{media_type}: {}", describe_artifact(kept, None, Some(*bytes)));
                }
            }
        }
        if self.blocks_left_out > 0 {
            let _infallible =
                write!(text, "\n[{} more blocks are in the record of the call]", self.blocks_left_out);
        }
    }
}

/// Returns the file extension for a media type. The artifact may be opened by the user.
fn extension(media_type: &str) -> &'static str {
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    match essence.to_ascii_lowercase().as_str() {
        "image/png" => "png",
        "image/jpeg" => "jpg",
        "image/gif" => "gif",
        "image/webp" => "webp",
        "image/svg+xml" => "svg",
        "application/pdf" => "pdf",
        "application/zip" => "zip",
        "audio/mpeg" => "mp3",
        "audio/wav" | "audio/x-wav" => "wav",
        "video/mp4" => "mp4",
        _ => "bin",
    }
}
