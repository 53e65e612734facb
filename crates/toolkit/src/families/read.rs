//! The content of a file: as much as fits from its beginning, and the range that goes on.
//!
//! What was read is never kept as an artifact: the file is still there to be read.

use envelope::{Family, Fault};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::plain::{Receipt, fitting_text, many_lines, projected, room};
use super::{Projected, Projection, external};

/// Characters of base64 that stand for three bytes.
const QUARTET: usize = 4;

/// What a tool read, without bound.
pub struct Read<'a> {
    pub path: &'a str,
    /// The text, or the bytes in base64.
    pub content: &'a str,
    pub encoding: Encoding,
    pub etag: Option<&'a str>,
    /// Size of the whole file.
    pub size_bytes: u64,
    /// The bytes of the file that `content` holds.
    pub range: ByteRange,
    /// Whether there is more than this to be read.
    pub more: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Encoding {
    #[serde(rename = "utf-8")]
    Utf8,
    #[serde(rename = "base64")]
    Base64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByteRange {
    pub start: u64,
    pub end: u64,
}

/// What stands in the canonical result.
#[derive(Debug, Serialize, Deserialize)]
struct Shown<Text> {
    path: Text,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    etag: Option<Text>,
    encoding: Encoding,
    size_bytes: u64,
    /// The bytes that stand here.
    range: ByteRange,
    content_preview: Text,
    truncated: bool,
    /// What is left to be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    next_range: Option<ByteRange>,
}

/// Bounds what was read.
pub fn project(complete: &Read<'_>, with: &mut Projection<'_>) -> Result<Projected, Fault> {
    let Read { path, content, encoding, etag, size_bytes, range, more } = *complete;
    let cut = cut(content, encoding, room(with.budget()));
    let shown_range = cut_range(content, cut, encoding, range);
    let end = if more { size_bytes } else { range.end };
    let truncated = more || cut < content.len();
    let next_range = truncated.then_some(ByteRange { start: shown_range.end, end });
    let content_preview = &content[..cut];
    let shown = Shown {
        path,
        etag,
        encoding,
        size_bytes,
        range: shown_range,
        content_preview,
        truncated,
        next_range,
    };
    projected(Family::Read, &shown)
}

pub(super) fn render(summary: &str, result: &Value, budget: usize) -> String {
    let Ok(shown) = Shown::<String>::deserialize(result) else {
        return external::render(summary, result, budget);
    };
    let mut receipt = Receipt::new(summary);
    if let Some(etag) = &shown.etag {
        receipt.add(&format!(" (etag {etag})"));
    }
    receipt.with_text(budget, |room, receipt| shown.render(room, receipt))
}

impl Shown<String> {
    /// As much of the content as there is room for, what must be known about it, and how to go on.
    fn render(&self, room: usize, receipt: &mut Receipt) {
        let content = self.content_preview.as_str();
        let cut = cut(content, self.encoding, room);
        // Tools take either kind of line ending for the other, so it is enough to name it.
        let unix = content[..cut].replace("\r\n", "\n");
        let text = many_lines(&unix);
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
        let whole = ByteRange { start: self.range.end, end: self.range.end };
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

/// Up to which byte of `content` it fits.
fn cut(content: &str, encoding: Encoding, room: usize) -> usize {
    let end = fitting_text(content, room);
    match encoding {
        Encoding::Base64 if end < content.len() => {
            content.floor_char_boundary((end - end % QUARTET).max(QUARTET))
        }
        Encoding::Utf8 | Encoding::Base64 => end,
    }
}

/// The bytes of the file that are left of `range` when its content is cut.
fn cut_range(content: &str, cut: usize, encoding: Encoding, range: ByteRange) -> ByteRange {
    let bytes = match encoding {
        _ if cut >= content.len() => return range,
        Encoding::Utf8 => cut,
        Encoding::Base64 => cut / QUARTET * 3,
    };
    ByteRange { start: range.start, end: range.start.saturating_add(bytes as u64) }
}

#[cfg(test)]
mod tests;
