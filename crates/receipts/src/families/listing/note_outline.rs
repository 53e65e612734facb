//! The outline of a note: as many headings and block ids as fit, in the order of the lines.

use envelope::{Fault, ReceiptFamily};
use serde::{Deserialize, Serialize};

use super::super::receipt_writer::{
    ReceiptWriter, is_zero, left_out_note, line_cost, one_line, take_fitting,
};
use super::super::{ProjectedResult, Projection, project_within};

/// Complete output of an outline tool.
pub struct NoteOutline<'a> {
    pub path: &'a str,
    pub etag: &'a str,
    /// In the order of the lines.
    pub entries: Vec<OutlineEntry<&'a str>>,
    /// Number of entries that were skipped before these.
    pub offset: u64,
    /// True if there are more entries.
    pub more: bool,
}

/// A heading or a block id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutlineEntry<Text> {
    /// Counted from 1.
    pub line: u64,
    /// Of a heading; `None` for a block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<u8>,
    /// The heading, or the id without its caret.
    pub text: Text,
}

/// The outline in the canonical result.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct BoundedOutline<Text> {
    path: Text,
    etag: Text,
    outline: Vec<OutlineEntry<Text>>,
    count: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    left_out: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    offset: u64,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    more: bool,
    truncated: bool,
}

/// Bounds an outline.
pub fn project(complete: NoteOutline<'_>, with: &mut Projection<'_>) -> Result<ProjectedResult, Fault> {
    let NoteOutline { path, etag, entries, offset, more } = complete;
    let count = entries.len() as u64;
    project_within(ReceiptFamily::Listing, with, |room| {
        let outline = take_fitting(entries.iter().cloned(), room, |entry| line_cost(&entry_line(entry)));
        let left_out = count - outline.len() as u64;
        let truncated = left_out > 0 || more;
        BoundedOutline { path, etag, outline, count, left_out, offset, more, truncated }
    })
}

pub(super) fn render(summary: &str, shown: &BoundedOutline<String>, budget: usize) -> String {
    let entries: Vec<OutlineEntry<&str>> = shown.outline.iter().map(borrowed).collect();
    ReceiptWriter::new(summary).render_most(1..=entries.len(), budget, |most, receipt| {
        let kept = &entries[..most.min(entries.len())];
        kept.iter().for_each(|entry| receipt.line(&entry_line(entry)));
        let left_out = shown.left_out + (entries.len() - kept.len()) as u64;
        if left_out > 0 || shown.more {
            let what = left_out_note(left_out, shown.count, shown.more);
            let next = shown.offset.saturating_add(kept.len() as u64);
            receipt.line(&format!("… {what}: call again with offset {next}"));
        }
    })
}

fn borrowed(entry: &OutlineEntry<String>) -> OutlineEntry<&str> {
    OutlineEntry { line: entry.line, level: entry.level, text: &entry.text }
}

/// Formats an entry as in the note, after its line number.
fn entry_line(entry: &OutlineEntry<&str>) -> String {
    let text = one_line(entry.text);
    match entry.level {
        Some(level) => format!("{}: {} {text}", entry.line, "#".repeat(usize::from(level))),
        None => format!("{}: ^{text}", entry.line),
    }
}
