//! The words about a slice: what was looked at, what stands there, and how to go on.

use serde::Deserialize;
use serde_json::{Value, json};

use super::cut::{fitted, newlines};
use super::{Encoding, Found, Piece, Shown, Slice, View};
use crate::families::external;
use crate::families::plain::{Receipt, counted, one_line};
use crate::families::streams::described;
use crate::preview::clean;
use crate::preview::tokens::estimate;

pub(super) fn summary(slice: &Slice) -> String {
    let mut whole = described(&one_line(&slice.path), slice.total_lines, Some(slice.total_bytes));
    if let Some(run) = &slice.run {
        whole.push_str(&format!(" of run {run}"));
    }
    let piece = slice.pieces.first();
    let lines = slice.pieces.iter().map(lines_in).sum::<u64>();
    match slice.view {
        _ if slice.total_bytes == 0 => format!("{whole} is empty"),
        View::Lines => match piece.filter(|piece| !piece.content.is_empty()) {
            Some(Piece { start_line: Some(first), .. }) => {
                format!("Lines {first}-{} of {whole}", first + lines - 1)
            }
            Some(_) | None => format!("No such lines in {whole}"),
        },
        View::Bytes => match piece.filter(|piece| piece.end_byte > piece.start_byte) {
            Some(piece) => format!("Bytes {}-{} of {whole}", piece.start_byte, piece.end_byte - 1),
            None => format!("No such bytes in {whole}"),
        },
        View::Head if lines == 1 => format!("The first line of {whole}"),
        View::Head => format!("The first {lines} lines of {whole}"),
        View::Tail if lines == 1 => format!("The last line of {whole}"),
        View::Tail => format!("The last {lines} lines of {whole}"),
        View::HeadAndTail if slice.pieces.len() > 1 => format!("Beginning and end of {whole}"),
        // Whether it fits the receipt is not known here.
        View::HeadAndTail => whole,
        View::Grep => match slice.matches {
            None | Some(0) => format!("No line matches in {whole}"),
            Some(found) => {
                let more = if slice.next.is_some() { " so far" } else { "" };
                format!("{}{more} in {whole}", counted(found, "matching line", "matching lines"))
            }
        },
    }
}

pub(in crate::families) fn render(summary: &str, result: &Value, budget: usize) -> String {
    let Ok(shown) = Shown::deserialize(result) else {
        return external::render(summary, result, budget);
    };
    // A smaller budget than the result was made for shows less of it.
    Receipt::new(summary).with_text(budget, |room, receipt| write(&fitted(&shown.slice, room).slice, receipt))
}

fn write(slice: &Slice, receipt: &mut Receipt) {
    let mut before: Option<&Piece> = None;
    for piece in &slice.pieces {
        if let Some(before) = before {
            receipt.line(&gap(before, piece));
        }
        let text = match piece.encoding {
            Encoding::Utf8 | Encoding::Lossy => readable(&piece.content),
            Encoding::Hex => format!("hex: {}", piece.content),
        };
        if !text.is_empty() {
            receipt.line(text.strip_suffix('\n').unwrap_or(&text));
        }
        before = Some(piece);
    }
    let mut last = None;
    for found in &slice.found {
        if last.is_some_and(|last| found.line > last + 1) {
            receipt.line("--");
        }
        receipt.line(&line(found));
        last = Some(found.line);
    }
    if let Some(next) = &slice.next {
        let mut call = json!({ "path": slice.path });
        if let (Some(call), Ok(Value::Object(next))) = (call.as_object_mut(), serde_json::to_value(next)) {
            call.extend(slice.run.iter().map(|run| ("run".to_owned(), run.as_str().into())));
            call.extend(next);
        }
        receipt.line(&format!("… go on with artifact.read {}", one_line(&call.to_string())));
    }
}

/// `12: what matches` or `13- what is near`, as `grep -n` prints it.
pub(super) fn line(found: &Found) -> String {
    let sign = if found.matched { ':' } else { '-' };
    let cut = |bytes: u64| if bytes > 0 { format!("[{bytes} bytes]") } else { String::new() };
    let (before, after) = (cut(found.left_out_before), cut(found.left_out_after));
    let text = readable(&found.text).replace('\n', "\\n");
    format!("{}{sign} {before}{text}{after}", found.line)
}

fn gap(before: &Piece, after: &Piece) -> String {
    let lines = before.start_line.zip(after.start_line);
    match lines.map(|(first, next)| next.saturating_sub(first + newlines(&before.content))) {
        Some(lines) if lines > 0 => format!("... [{} left out]", counted(lines, "line", "lines")),
        Some(_) | None => {
            let bytes = after.start_byte.saturating_sub(before.end_byte);
            format!("... [{} left out]", counted(bytes, "byte", "bytes"))
        }
    }
}

/// What a piece costs in a receipt.
pub(super) fn cost_of(piece: &Piece) -> usize {
    piece.content.split_inclusive('\n').map(|line| estimate(&readable(line))).sum()
}

/// Text as a person would have seen it, without what acts on a screen.
pub(super) fn readable(text: &str) -> String {
    clean::clean(text.replace('\u{1a}', "\u{fffd}").as_bytes()).text
}

fn lines_in(piece: &Piece) -> u64 {
    newlines(&piece.content) + u64::from(!piece.content.is_empty() && !piece.content.ends_with('\n'))
}
