//! Cuts a slice to its budget: keeps the beginning, or the end if the end was requested.

use super::{
    ArtifactSlice, ArtifactView, BoundedSlice, ByteSelection, GrepLine, GrepQuery, LineSelection,
    NextRequest, PieceEncoding, SlicePiece, renderer,
};
use crate::families::receipt_writer::{line_cost, take_fitting};
use crate::preview::tokenizer::{estimate, prefix_within};

/// Number of lines to propose if the total is unknown.
const PAGE: u64 = 200;

pub(super) fn fit_slice(complete: &ArtifactSlice, tokens: usize) -> BoundedSlice {
    let bounded = fit_view(complete, tokens);
    BoundedSlice { truncated: bounded.truncated || lacks_requested(complete), ..bounded }
}

/// Returns true if the slice itself is less than what was requested: a page or a number of matches is limited, and the
/// views without a requested number want everything.
fn lacks_requested(complete: &ArtifactSlice) -> bool {
    match complete.view {
        ArtifactView::Tail | ArtifactView::HeadAndTail | ArtifactView::Grep => complete.next.is_some(),
        // `next` continues behind what was requested, too.
        ArtifactView::Lines | ArtifactView::Bytes | ArtifactView::Head => false,
    }
}

fn fit_view(complete: &ArtifactSlice, tokens: usize) -> BoundedSlice {
    match complete.view {
        ArtifactView::Lines | ArtifactView::Bytes | ArtifactView::Head => fit_head(complete, tokens),
        ArtifactView::Tail => fit_tail(complete, tokens),
        ArtifactView::HeadAndTail => fit_head_and_tail(complete, tokens),
        ArtifactView::Grep => fit_matches(complete, tokens),
    }
}

fn unchanged(complete: &ArtifactSlice) -> BoundedSlice {
    BoundedSlice { slice: complete.clone(), truncated: false }
}

/// Keeps the first part; `next` continues after it.
fn fit_head(complete: &ArtifactSlice, tokens: usize) -> BoundedSlice {
    let Some(piece) = complete.pieces.first() else { return unchanged(complete) };
    let cut = head_of(piece, tokens);
    if cut.end_byte == piece.end_byte {
        return unchanged(complete);
    }
    let next = Some(next_after_head(complete, piece, &cut));
    BoundedSlice {
        slice: ArtifactSlice { pieces: vec![cut], next, ..without_content(complete) },
        truncated: true,
    }
}

/// Returns the request for the rest of the slice.
fn next_after_head(complete: &ArtifactSlice, piece: &SlicePiece, cut: &SlicePiece) -> NextRequest {
    // The complete slice may itself be one page: its `next` continues after the page.
    let (lines_beyond, asked_end) = match &complete.next {
        Some(NextRequest::Lines(lines)) if complete.view == ArtifactView::Lines => {
            (lines.count, piece.end_byte)
        }
        Some(NextRequest::Bytes(bytes)) => (0, bytes.start + bytes.count),
        Some(NextRequest::Lines(_) | NextRequest::Grep(_)) | None => (0, piece.end_byte),
    };
    let at = cut.end_byte;
    match cut.start_line.filter(|_| ends_with_line(cut) && complete.view != ArtifactView::Bytes) {
        Some(first) => {
            let shown = newlines(&cut.content);
            let of_page = newlines(&piece.content) + u64::from(!piece.content.ends_with('\n'));
            let count = of_page - shown + lines_beyond;
            NextRequest::Lines(LineSelection { start: first + shown, count, at_byte: Some(at) })
        }
        None => NextRequest::Bytes(ByteSelection { start: at, count: asked_end - at }),
    }
}

/// Keeps the last part; `next` requests the bytes before it.
fn fit_tail(complete: &ArtifactSlice, tokens: usize) -> BoundedSlice {
    let Some(piece) = complete.pieces.last() else { return unchanged(complete) };
    let cut = tail_of(piece, tokens);
    if cut.start_byte == piece.start_byte {
        return unchanged(complete);
    }
    let count = cut.start_byte - piece.start_byte;
    let next = Some(NextRequest::Bytes(ByteSelection { start: piece.start_byte, count }));
    BoundedSlice {
        slice: ArtifactSlice { pieces: vec![cut], next, ..without_content(complete) },
        truncated: true,
    }
}

/// Keeps the first part of the head and the last part of the tail, with half of the budget each; one side can use
/// what the other does not need.
fn fit_head_and_tail(complete: &ArtifactSlice, tokens: usize) -> BoundedSlice {
    let (head, tail) = match complete.pieces.as_slice() {
        [] => return unchanged(complete),
        [one] if renderer::piece_cost(one) <= tokens => return unchanged(complete),
        // It was complete; now it has a gap.
        [one] => (one, one),
        [head, .., tail] => (head, tail),
    };
    let end = tail_of(tail, tokens - renderer::piece_cost(head).min(tokens / 2));
    let start =
        head_of(&piece_before(head, end.start_byte), tokens.saturating_sub(renderer::piece_cost(&end)));
    let shown = (start.end_byte - start.start_byte) + (end.end_byte - end.start_byte);
    let truncated = shown < complete.pieces.iter().map(|piece| piece.end_byte - piece.start_byte).sum();
    let gap = ByteSelection { start: start.end_byte, count: end.start_byte.saturating_sub(start.end_byte) };
    let ends =
        start.start_line.filter(|_| ends_with_line(&start)).map(|first| first + newlines(&start.content));
    let next = match ends {
        Some(line) if gap.count > 0 && begins_with_line(&end, tail, complete) => {
            let count = end.start_line.map_or(PAGE, |last| last.saturating_sub(line).max(1));
            Some(NextRequest::Lines(LineSelection { start: line, count, at_byte: Some(gap.start) }))
        }
        Some(_) | None => (gap.count > 0).then_some(NextRequest::Bytes(gap)),
    };
    BoundedSlice {
        slice: ArtifactSlice { pieces: vec![start, end], next, ..without_content(complete) },
        truncated,
    }
}

/// Returns true if the shown end begins at a line start. For an uncut tail only the reader of the artifact knows.
fn begins_with_line(end: &SlicePiece, tail: &SlicePiece, complete: &ArtifactSlice) -> bool {
    if end.start_byte == tail.start_byte {
        return matches!(complete.next, Some(NextRequest::Lines(_)));
    }
    end.encoding != PieceEncoding::Hex && piece_before(tail, end.start_byte).content.ends_with('\n')
}

/// Returns the part of a piece before a byte, so that nothing is shown twice.
fn piece_before(piece: &SlicePiece, byte: u64) -> SlicePiece {
    let bytes = usize::try_from(byte.saturating_sub(piece.start_byte)).unwrap_or(usize::MAX);
    let end = match piece.encoding {
        PieceEncoding::Utf8 | PieceEncoding::Lossy => bytes,
        PieceEncoding::Hex => bytes.saturating_mul(2),
    };
    let content = piece.content.get(..end).unwrap_or(&piece.content).to_owned();
    SlicePiece { content, end_byte: piece.end_byte.min(byte), ..piece.clone() }
}

/// Keeps the first matches; `next` continues the search.
fn fit_matches(complete: &ArtifactSlice, tokens: usize) -> BoundedSlice {
    let kept = take_fitting(complete.found.iter(), tokens, |found| line_cost(&renderer::grep_line(found)));
    if kept.len() == complete.found.len() {
        return unchanged(complete);
    }
    let found: Vec<GrepLine> = kept.into_iter().cloned().collect();
    let first = complete.found.get(found.len());
    let next = complete.grep.as_ref().zip(first).map(|(grep, first)| {
        NextRequest::Grep(GrepQuery { from_line: first.line, at_byte: Some(first.at_byte), ..grep.clone() })
    });
    BoundedSlice { slice: ArtifactSlice { found, next, ..without_content(complete) }, truncated: true }
}

fn without_content(complete: &ArtifactSlice) -> ArtifactSlice {
    let mut slice = ArtifactSlice { pieces: Vec::new(), found: Vec::new(), ..complete.clone() };
    slice.next = None;
    slice
}

/// Returns the first part of a piece: whole lines, and a partial one if it is the first or most of the budget is
/// left.
pub(super) fn head_of(piece: &SlicePiece, tokens: usize) -> SlicePiece {
    let (mut end, mut left) = (0, tokens);
    for line in piece.content.split_inclusive('\n') {
        let cost = estimate(&renderer::readable(line));
        if cost > left {
            if end == 0 || left > tokens / 4 {
                end += line_prefix(line, left, piece.encoding);
            }
            break;
        }
        left -= cost;
        end += line.len();
    }
    let end_byte = piece.start_byte + bytes_in(end, piece.encoding);
    SlicePiece { content: piece.content[..end].to_owned(), end_byte, ..piece.clone() }
}

/// Returns the length of the line prefix that fits, at least one character, so that the reader can always continue.
fn line_prefix(line: &str, tokens: usize, encoding: PieceEncoding) -> usize {
    let mut end = prefix_within(line, tokens);
    while end > 0 && estimate(&renderer::readable(&line[..end])) > tokens {
        end = line.floor_char_boundary(end / 2);
    }
    match encoding {
        PieceEncoding::Hex => (end - end % 2).max(2.min(line.len())),
        PieceEncoding::Utf8 | PieceEncoding::Lossy => end.max(line.chars().next().map_or(0, char::len_utf8)),
    }
}

/// Returns the last part of a piece: whole lines if at least one fits.
pub(super) fn tail_of(piece: &SlicePiece, tokens: usize) -> SlicePiece {
    let (mut start, mut left) = (piece.content.len(), tokens);
    for line in piece.content.split_inclusive('\n').rev() {
        let cost = estimate(&renderer::readable(line));
        if cost > left {
            break;
        }
        left -= cost;
        start -= line.len();
    }
    if start == piece.content.len() && !piece.content.is_empty() {
        start = end_of_long_line(&piece.content, tokens, piece.encoding);
    }
    let start_line = piece.start_line.map(|first| first + newlines(&piece.content[..start]));
    let start_byte = piece.start_byte + bytes_in(start, piece.encoding);
    SlicePiece { content: piece.content[start..].to_owned(), start_byte, start_line, ..piece.clone() }
}

/// Returns the start of the part of the last line that fits.
fn end_of_long_line(content: &str, tokens: usize, encoding: PieceEncoding) -> usize {
    let mut length = content.len().min(tokens.saturating_mul(4).max(4));
    loop {
        let start = content.ceil_char_boundary(content.len() - length);
        let start = if encoding == PieceEncoding::Hex { start + start % 2 } else { start };
        if length <= 4 || estimate(&renderer::readable(&content[start..])) <= tokens {
            return start;
        }
        length /= 2;
    }
}

/// Returns the number of artifact bytes for a length of content.
fn bytes_in(length: usize, encoding: PieceEncoding) -> u64 {
    match encoding {
        PieceEncoding::Utf8 | PieceEncoding::Lossy => length as u64,
        PieceEncoding::Hex => (length / 2) as u64,
    }
}

fn ends_with_line(piece: &SlicePiece) -> bool {
    piece.encoding != PieceEncoding::Hex && piece.content.ends_with('\n')
}

pub(super) fn newlines(text: &str) -> u64 {
    text.bytes().filter(|byte| *byte == b'\n').count() as u64
}
