//! `vault.getOutline`: the headings and block ids of a note, which `vault.patchSection` can name.

use envelope::{Fault, ReceiptFamily};
use notes::section::{BlockId, Heading, headings_and_blocks};
use receipts::families::listing::note_outline::{self, NoteOutline, OutlineEntry};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolkit::{PathKeys, ProjectedResult, Projection};

use super::maybe_vault::MaybeVault;
use super::path_arg::PathArg;
use super::read_tool::ReadTool;
use crate::file_layer::{IoContext, Vault, etag_of};

const DEFAULT_LIMIT: u32 = 500;
const MAX_LIMIT: u32 = 10_000;

pub(crate) struct GetOutline;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Args {
    /// Note, relative to the vault.
    path: PathArg,
    /// Most headings and blocks to return, 1 to 10000. Left out: 500.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 10_000))]
    limit: u32,
    /// How many headings and blocks to pass over first.
    #[serde(default)]
    offset: u64,
}

fn default_limit() -> u32 {
    DEFAULT_LIMIT
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Output {
    /// The note as it is spelled on disk.
    path: String,
    /// Hash of the whole content: 32 hex digits.
    etag: String,
    headings: Vec<HeadingEntry>,
    blocks: Vec<BlockEntry>,
    /// True when there are more after these.
    truncated: bool,
    /// How many were passed over before these.
    #[serde(default, skip_serializing_if = "is_zero")]
    offset: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct HeadingEntry {
    /// Its path: the `heading` of `vault.patchSection`.
    heading: Vec<String>,
    /// 1 to 6.
    level: u8,
    /// Counted from 1.
    line: u64,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct BlockEntry {
    /// Without `^`.
    id: String,
    line: u64,
}

impl ReadTool for GetOutline {
    const NAME: &'static str = "vault.getOutline";
    const SUMMARY: &'static str = "List the headings and block ids of a note.";
    const FAMILY: ReceiptFamily = ReceiptFamily::Listing;

    type Args = Args;
    type Output = Output;

    fn check(args: &Args) -> Result<(), Fault> {
        args.path.existing().map(drop)
    }

    fn path_keys(vault: &MaybeVault, args: &Args) -> PathKeys {
        PathKeys { reads: args.path.path_scopes(vault), writes: Vec::new() }
    }

    fn preview(args: &Args) -> String {
        format!("List the headings and block ids of {}", args.path.display())
    }

    fn read(vault: &Vault, args: &Args, io: &dyn IoContext) -> Result<Output, Fault> {
        get_outline(vault, args, io)
    }

    fn summary(output: &Output) -> String {
        let Output { path, headings, blocks, truncated, offset, .. } = output;
        let more = if *truncated { ", and there are more" } else { "" };
        let after = if *offset > 0 { format!(" after the first {offset}") } else { String::new() };
        format!("{path} has {} headings and {} block ids{after}{more}", headings.len(), blocks.len())
    }

    fn project(output: &Output, with: &mut Projection<'_>) -> Result<ProjectedResult, Fault> {
        let headings = output.headings.iter().map(|heading| OutlineEntry {
            line: heading.line,
            level: Some(heading.level),
            text: heading.heading.last().map_or("", String::as_str),
        });
        let blocks = output.blocks.iter().map(|block| OutlineEntry {
            line: block.line,
            level: None,
            text: block.id.as_str(),
        });
        let mut entries: Vec<_> = headings.chain(blocks).collect();
        entries.sort_by_key(|entry| entry.line);
        let complete = NoteOutline {
            path: &output.path,
            etag: &output.etag,
            entries,
            offset: output.offset,
            more: output.truncated,
        };
        note_outline::project(complete, with)
    }
}

/// Most bytes of a result: each heading repeats the texts of those above it. At least one item is returned.
const RESULT_BYTES: usize = 1 << 20;
/// The keys and numbers of one item.
const ITEM_BYTES: usize = 64;

/// A heading or a block, in the order of the lines.
enum OutlineItem {
    Heading(Heading),
    Block(BlockId),
}

impl OutlineItem {
    /// Returns about how much the item takes in a result.
    fn bytes(&self) -> usize {
        ITEM_BYTES
            + match self {
                OutlineItem::Heading(heading) => heading.path.iter().map(|text| text.len()).sum(),
                OutlineItem::Block(block) => block.id.len(),
            }
    }

    fn line(&self) -> usize {
        match self {
            OutlineItem::Heading(heading) => heading.line,
            OutlineItem::Block(block) => block.line,
        }
    }
}

fn get_outline(vault: &Vault, args: &Args, io: &dyn IoContext) -> Result<Output, Fault> {
    let (offset, limit) = (args.offset, args.limit.clamp(1, MAX_LIMIT) as usize);
    let loaded = vault.load(args.path.existing()?, io)?;
    let (headings, blocks) = headings_and_blocks(loaded.text()?);
    let mut items: Vec<OutlineItem> = headings.into_iter().map(OutlineItem::Heading).collect();
    items.extend(blocks.into_iter().map(OutlineItem::Block));
    items.sort_by_key(OutlineItem::line);
    let skipped = usize::try_from(offset).unwrap_or(usize::MAX);
    let mut items = items.into_iter().skip(skipped).peekable();
    let (mut headings, mut blocks) = (Vec::new(), Vec::new());
    let mut bytes = 0;
    while headings.len() + blocks.len() < limit {
        let is_first = bytes == 0;
        let Some(item) = items.next_if(|item| is_first || bytes + item.bytes() <= RESULT_BYTES) else {
            break;
        };
        bytes += item.bytes();
        let line = item.line() as u64;
        match item {
            OutlineItem::Heading(Heading { path, level, .. }) => {
                let heading = path.iter().map(|text| text.to_string()).collect();
                headings.push(HeadingEntry { heading, level, line });
            }
            OutlineItem::Block(BlockId { id, .. }) => blocks.push(BlockEntry { id, line }),
        }
    }
    let truncated = items.next().is_some();
    let etag = etag_of(&loaded.bytes);
    Ok(Output { path: loaded.path.into_string(), etag, headings, blocks, truncated, offset })
}
