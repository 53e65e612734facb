//! Renders a slice: the summary, the content, and how to continue.

use serde::Deserialize;
use serde_json::{Value, json};

use super::cut::{fit_slice, newlines};
use super::{
    ArtifactSlice, ArtifactView, BoundedSlice, ByteSelection, GrepLine, NextRequest, PieceEncoding,
    SlicePiece,
};
use crate::families::external;
use crate::families::receipt_writer::{ReceiptWriter, count_noun, one_line};
use crate::families::streams::describe_artifact;
use crate::preview::clean;
use crate::preview::tokenizer::estimate;

pub(super) fn summary(slice: &ArtifactSlice) -> String {
    let mut whole = describe_artifact(&one_line(&slice.path), slice.total_lines, Some(slice.total_bytes));
    if let Some(run) = &slice.run {
        whole.push_str(&format!(" of run {run}"));
    }
    let piece = slice.pieces.first();
    let lines = slice.pieces.iter().map(lines_in).sum::<u64>();
    match slice.view {
        _ if slice.total_bytes == 0 => format!("{whole} is empty"),
        ArtifactView::Lines => match piece.filter(|piece| !piece.content.is_empty()) {
            Some(SlicePiece { start_line: Some(first), .. }) => {
                format!("Lines {first}-{} of {whole}", first + lines - 1)
            }
            Some(_) | None => format!("No such lines in {whole}"),
        },
        ArtifactView::Bytes => match piece.filter(|piece| piece.end_byte > piece.start_byte) {
            Some(piece) => format!("Bytes {}-{} of {whole}", piece.start_byte, piece.end_byte - 1),
            None => format!("No such bytes in {whole}"),
        },
        ArtifactView::Head if lines == 1 => format!("The first line of {whole}"),
        ArtifactView::Head => format!("The first {lines} lines of {whole}"),
        ArtifactView::Tail if lines == 1 => format!("The last line of {whole}"),
        ArtifactView::Tail => format!("The last {lines} lines of {whole}"),
        ArtifactView::HeadAndTail if slice.pieces.len() > 1 => format!("Beginning and end of {whole}"),
        // Whether it fits the receipt is not known here.
        ArtifactView::HeadAndTail => whole,
        ArtifactView::Grep => match slice.matches {
            None | Some(0) => format!("No line matches in {whole}"),
            Some(found) => {
                let more = if slice.next.is_some() { " so far" } else { "" };
                format!("{}{more} in {whole}", count_noun(found, "matching line", "matching lines"))
            }
        },
    }
}

pub(in crate::families) fn render(summary: &str, result: &Value, budget: usize) -> String {
    let Ok(shown) = BoundedSlice::deserialize(result) else {
        return external::render(summary, result, budget);
    };
    // A budget smaller than the result was made for shows less of it.
    ReceiptWriter::new(summary)
        .render_text(budget, |room, receipt| write_slice(&fit_slice(&shown.slice, room).slice, receipt))
}

fn write_slice(slice: &ArtifactSlice, receipt: &mut ReceiptWriter) {
    let mut before: Option<&SlicePiece> = None;
    for piece in &slice.pieces {
        if let Some(before) = before {
            receipt.line(&gap_note(before, piece));
        }
        let text = match piece.encoding {
            PieceEncoding::Utf8 | PieceEncoding::Lossy => readable(&piece.content),
            PieceEncoding::Hex => format!("hex: {}", piece.content),
        };
        if !text.is_empty() {
            receipt.line(text.strip_suffix('\n').unwrap_or(&text));
        }
        if piece.encoding == PieceEncoding::Lossy {
            let count = piece.end_byte - piece.start_byte;
            let exact = NextRequest::Bytes(ByteSelection { start: piece.start_byte, count });
            let call = one_line(&call_of(slice, &exact)).into_owned();
            receipt.line(&format!(
                "[bytes that are no UTF-8 are shown as \u{fffd}; exactly: artifact_read {call}]"
            ));
        }
        before = Some(piece);
    }
    let mut last = None;
    for found in &slice.found {
        if last.is_some_and(|last| found.line > last + 1) {
            receipt.line("--");
        }
        receipt.line(&grep_line(found));
        last = Some(found.line);
    }
    if let Some(next) = &slice.next {
        receipt.line(&format!("… go on with artifact_read {}", one_line(&call_of(slice, next))));
    }
}

/// Returns the arguments of a call for a part of the artifact.
fn call_of(slice: &ArtifactSlice, next: &NextRequest) -> String {
    let mut call = json!({ "path": slice.path });
    if let (Some(call), Ok(Value::Object(next))) = (call.as_object_mut(), serde_json::to_value(next)) {
        call.extend(slice.run.iter().map(|run| ("run".to_owned(), run.as_str().into())));
        call.extend(next);
    }
    call.to_string()
}

/// Formats a match as `grep -n` does: `12: match` or `13- context`.
pub(super) fn grep_line(found: &GrepLine) -> String {
    let sign = if found.matched { ':' } else { '-' };
    let cut = |bytes: u64| if bytes > 0 { format!("[{bytes} bytes]") } else { String::new() };
    let (before, after) = (cut(found.left_out_before), cut(found.left_out_after));
    let text = readable(&found.text).replace('\n', "\\n");
    format!("{}{sign} {before}{text}{after}", found.line)
}

fn gap_note(before: &SlicePiece, after: &SlicePiece) -> String {
    let lines = before.start_line.zip(after.start_line);
    match lines.map(|(first, next)| next.saturating_sub(first + newlines(&before.content))) {
        Some(lines) if lines > 0 => format!("... [{} left out]", count_noun(lines, "line", "lines")),
        Some(_) | None => {
            let bytes = after.start_byte.saturating_sub(before.end_byte);
            format!("... [{} left out]", count_noun(bytes, "byte", "bytes"))
        }
    }
}

/// Returns the tokens of a piece in a receipt.
pub(super) fn piece_cost(piece: &SlicePiece) -> usize {
    piece.content.split_inclusive('\n').map(|line| estimate(&readable(line))).sum()
}

/// Returns the text as a terminal would show it, without control sequences.
pub(super) fn readable(text: &str) -> String {
    clean::clean(text.replace('\u{1a}', "\u{fffd}").as_bytes()).text
}

fn lines_in(piece: &SlicePiece) -> u64 {
    newlines(&piece.content) + u64::from(!piece.content.is_empty() && !piece.content.ends_with('\n'))
}
