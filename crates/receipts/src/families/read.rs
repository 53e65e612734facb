//! Content of a file: as much as fits from its beginning, and the range to continue with.
//!
//! The content is never stored as an artifact: the file can still be read.

use envelope::{Fault, ReceiptFamily};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::receipt_writer::{ReceiptWriter, escape_text, fitting_prefix};
use super::{ProjectedResult, Projection, external, project_within};

/// Characters of base64 for three bytes.
const QUARTET: usize = 4;

/// Complete output of a read tool.
pub struct FileRead<'a> {
    pub path: &'a str,
    /// The text, or the bytes in base64.
    pub content: &'a str,
    pub encoding: ContentEncoding,
    pub etag: Option<&'a str>,
    /// Size of the whole file.
    pub size_bytes: u64,
    /// Range of the file that `content` holds.
    pub range: ContentRange,
    /// True if the file has more content.
    pub more: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ContentEncoding {
    #[serde(rename = "utf-8")]
    Utf8,
    #[serde(rename = "base64")]
    Base64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContentRange {
    pub start: u64,
    pub end: u64,
}

/// The content in the canonical result.
#[derive(Debug, Serialize, Deserialize)]
struct BoundedRead<Text> {
    path: Text,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    etag: Option<Text>,
    encoding: ContentEncoding,
    size_bytes: u64,
    /// Range of the file that is included here.
    range: ContentRange,
    content_preview: Text,
    truncated: bool,
    /// Range that remains to be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    next_range: Option<ContentRange>,
}

/// Bounds the content.
pub fn project(complete: &FileRead<'_>, with: &mut Projection<'_>) -> Result<ProjectedResult, Fault> {
    let FileRead { path, content, encoding, etag, size_bytes, range, more } = *complete;
    project_within(ReceiptFamily::Read, with, |room| {
        let cut = cut(content, encoding, room);
        let shown_range = cut_range(content, cut, encoding, range);
        let end = if more { size_bytes } else { range.end };
        let truncated = more || cut < content.len();
        BoundedRead {
            path,
            etag,
            encoding,
            size_bytes,
            range: shown_range,
            content_preview: &content[..cut],
            truncated,
            next_range: truncated.then_some(ContentRange { start: shown_range.end, end }),
        }
    })
}

pub(super) fn render(summary: &str, result: &Value, budget: usize) -> String {
    let Ok(shown) = BoundedRead::<String>::deserialize(result) else {
        return external::render(summary, result, budget);
    };
    let mut receipt = ReceiptWriter::new(summary);
    if let Some(etag) = &shown.etag {
        receipt.append(&format!(" (etag {etag})"));
    }
    receipt.render_text(budget, |room, receipt| shown.render(room, receipt))
}

impl BoundedRead<String> {
    /// Renders as much of the content as fits, notes about it, and how to continue.
    fn render(&self, room: usize, receipt: &mut ReceiptWriter) {
        let content = self.content_preview.as_str();
        let cut = cut(content, self.encoding, room);
        // Tools accept either line ending, so a note is enough.
        let unix = content[..cut].replace("\r\n", "\n");
        let text = escape_text(&unix);
        let foreign_endings = unix.len() < cut;
        let spelled_out = matches!(text, std::borrow::Cow::Owned(_));
        if !text.is_empty() {
            receipt.line(text.strip_suffix('\n').unwrap_or(&text));
        }
        for (applies, note) in [
            (foreign_endings, "[lines end with CRLF]"),
            (spelled_out, "[characters that cannot be seen are spelled out, such as \\u{200b}]"),
        ] {
            if applies {
                receipt.line(note);
            }
        }
        let whole = ContentRange { start: self.range.end, end: self.range.end };
        let next = self.next_range.unwrap_or(whole);
        let start = cut_range(content, cut, self.encoding, self.range).end;
        if self.truncated || start < self.range.end {
            receipt.line(&format!(
                "… {} more bytes: read on with range {{\"start\":{start},\"end\":{}}}",
                next.end.saturating_sub(start),
                next.end
            ));
        }
    }
}

/// Returns the length of the content that fits.
fn cut(content: &str, encoding: ContentEncoding, room: usize) -> usize {
    let end = fitting_prefix(content, room);
    match encoding {
        ContentEncoding::Base64 if end < content.len() => {
            content.floor_char_boundary((end - end % QUARTET).max(QUARTET))
        }
        ContentEncoding::Utf8 | ContentEncoding::Base64 => end,
    }
}

/// Returns the range of the file after its content is cut.
fn cut_range(content: &str, cut: usize, encoding: ContentEncoding, range: ContentRange) -> ContentRange {
    let bytes = match encoding {
        _ if cut >= content.len() => return range,
        ContentEncoding::Utf8 => cut,
        ContentEncoding::Base64 => cut / QUARTET * 3,
    };
    ContentRange { start: range.start, end: range.start.saturating_add(bytes as u64) }
}

#[cfg(test)]
mod tests;
