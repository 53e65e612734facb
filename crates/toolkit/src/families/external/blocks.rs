//! An answer in several blocks, as other servers give it: text, JSON and bytes side by side.

use std::fmt::Write as _;

use envelope::{Fault, Hash};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::cut::{Cut, Whole, where_it_is};
use super::readable;
use crate::families::Projection;
use crate::families::streams::{ArtifactRef, described};

/// More blocks than this are counted, not shown.
const MAX_BLOCKS: usize = 32;
/// What a block may have at least, however many there are.
const LEAST: usize = 40;

/// The complete answer of a tool that was not written here.
#[derive(Debug, Clone, PartialEq)]
pub struct External<'a> {
    pub blocks: Vec<Block<'a>>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Block<'a> {
    Text(&'a str),
    Json(&'a Value),
    Binary { media_type: &'a str, bytes: &'a [u8] },
}

/// The answer as it stands in a result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Blocks {
    blocks: Vec<Shown>,
    #[serde(default, skip_serializing_if = "is_zero")]
    blocks_left_out: u64,
    truncated: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    artifacts: Vec<ArtifactRef>,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// One block. Those that are not whole here say where they are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
enum Shown {
    Text {
        text: String,
    },
    Json {
        value: Value,
    },
    /// Text or JSON of which this is a part.
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

impl Blocks {
    pub(super) fn of(
        blocks: &[Block<'_>],
        tokens: usize,
        with: &mut Projection<'_>,
    ) -> Result<Blocks, Fault> {
        let fits = blocks.len().min(MAX_BLOCKS);
        let mut result = Blocks {
            blocks: Vec::with_capacity(fits),
            blocks_left_out: (blocks.len() - fits) as u64,
            truncated: blocks.len() > fits,
            artifacts: Vec::new(),
        };
        let share = (tokens / fits.max(1)).max(LEAST);
        for block in &blocks[..fits] {
            let shown = match *block {
                Block::Text(text) if Whole::Text(text).fits(share) => Shown::Text { text: text.to_owned() },
                Block::Json(value) if Whole::Json(value).fits(share) => Shown::Json { value: value.clone() },
                Block::Text(text) => result.part(Cut::of(Whole::Text(text), "output", share, with)?),
                Block::Json(value) => result.part(Cut::of(Whole::Json(value), "output", share, with)?),
                Block::Binary { media_type, bytes } => result.binary(media_type, bytes, with)?,
            };
            result.blocks.push(shown);
        }
        Ok(result)
    }

    fn part(&mut self, cut: Cut) -> Shown {
        self.truncated = true;
        let artifact = cut.path.map(|path| self.refer(path));
        Shown::Part { preview: cut.preview, truncated: true, artifact, bytes: cut.bytes, digest: cut.digest }
    }

    fn binary(&mut self, media_type: &str, bytes: &[u8], with: &mut Projection<'_>) -> Result<Shown, Fault> {
        let kept = with.keep("output", extension(media_type), bytes)?;
        let digest = kept.as_ref().map_or_else(|| Hash::of(bytes), |kept| kept.hash).to_string();
        let artifact = kept.map(|kept| self.refer(kept.path));
        let media_type = readable::cleaned(media_type);
        Ok(Shown::Binary { media_type, artifact, bytes: bytes.len() as u64, digest })
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
                Shown::Text { text: said } => readable::append(text, &Value::String(said.clone()), share),
                Shown::Json { value } => readable::append(text, value, share),
                Shown::Part { preview, artifact, bytes, .. } => {
                    where_it_is(text, "text", self.path(*artifact), *bytes);
                    readable::append(text, preview, share);
                }
                Shown::Binary { media_type, artifact, bytes, .. } => {
                    let kept = self.path(*artifact).unwrap_or("not kept");
                    let _infallible = write!(text, "\n{media_type}: {}", described(kept, None, Some(*bytes)));
                }
            }
        }
        if self.blocks_left_out > 0 {
            let _infallible =
                write!(text, "\n[{} more blocks are in the record of the call]", self.blocks_left_out);
        }
    }
}

/// A name for the kind of file, from the kinds that tools answer with. The artifact is for people, too.
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
