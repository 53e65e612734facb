//! As much of a slice as fits: the beginning, or the end where the end was asked for.

use super::{Bytes, Encoding, Found, Grep, Lines, Next, Piece, Shown, Slice, View, words};
use crate::families::plain::{cost, fitting};
use crate::preview::tokens::{estimate, prefix_within};

/// Lines to propose where nobody knows how many there are.
const PAGE: u64 = 200;

pub(super) fn fitted(complete: &Slice, tokens: usize) -> Shown {
    match complete.view {
        View::Lines | View::Bytes | View::Head => beginning(complete, tokens),
        View::Tail => end(complete, tokens),
        View::HeadAndTail => both(complete, tokens),
        View::Grep => matches(complete, tokens),
    }
}

fn whole(complete: &Slice) -> Shown {
    Shown { slice: complete.clone(), truncated: false }
}

/// The first part, and how to go on behind it.
fn beginning(complete: &Slice, tokens: usize) -> Shown {
    let Some(piece) = complete.pieces.first() else { return whole(complete) };
    let cut = head_of(piece, tokens);
    if cut.end_byte == piece.end_byte {
        return whole(complete);
    }
    let next = Some(go_on(complete, piece, &cut));
    Shown { slice: Slice { pieces: vec![cut], next, ..without_content(complete) }, truncated: true }
}

/// What is left of the ask behind the part that is shown.
fn go_on(complete: &Slice, piece: &Piece, cut: &Piece) -> Next {
    // Behind the page may be more of what was asked for: `next` of the complete slice says so.
    let (lines_beyond, asked_end) = match &complete.next {
        Some(Next::Lines(lines)) if complete.view == View::Lines => (lines.count, piece.end_byte),
        Some(Next::Bytes(bytes)) => (0, bytes.start + bytes.count),
        Some(Next::Lines(_) | Next::Grep(_)) | None => (0, piece.end_byte),
    };
    let at = cut.end_byte;
    match cut.start_line.filter(|_| ends_with_line(cut) && complete.view != View::Bytes) {
        Some(first) => {
            let shown = newlines(&cut.content);
            let of_page = newlines(&piece.content) + u64::from(!piece.content.ends_with('\n'));
            let count = of_page - shown + lines_beyond;
            Next::Lines(Lines { start: first + shown, count, at_byte: Some(at) })
        }
        None => Next::Bytes(Bytes { start: at, count: asked_end - at }),
    }
}

/// The last part; what is before it can be asked for by its bytes.
fn end(complete: &Slice, tokens: usize) -> Shown {
    let Some(piece) = complete.pieces.last() else { return whole(complete) };
    let cut = tail_of(piece, tokens);
    if cut.start_byte == piece.start_byte {
        return whole(complete);
    }
    let count = cut.start_byte - piece.start_byte;
    let next = Some(Next::Bytes(Bytes { start: piece.start_byte, count }));
    Shown { slice: Slice { pieces: vec![cut], next, ..without_content(complete) }, truncated: true }
}

/// The beginning of the beginning and the end of the end, half of the room each; what one does not need the
/// other has.
fn both(complete: &Slice, tokens: usize) -> Shown {
    let (head, tail) = match complete.pieces.as_slice() {
        [] => return whole(complete),
        [one] if words::cost_of(one) <= tokens => return whole(complete),
        // It was all there; now it has a gap.
        [one] => (one, one),
        [head, .., tail] => (head, tail),
    };
    let end = tail_of(tail, tokens - words::cost_of(head).min(tokens / 2));
    let start = head_of(&before(head, end.start_byte), tokens.saturating_sub(words::cost_of(&end)));
    let shown = (start.end_byte - start.start_byte) + (end.end_byte - end.start_byte);
    let truncated = shown < complete.pieces.iter().map(|piece| piece.end_byte - piece.start_byte).sum();
    let gap = Bytes { start: start.end_byte, count: end.start_byte.saturating_sub(start.end_byte) };
    let ends =
        start.start_line.filter(|_| ends_with_line(&start)).map(|first| first + newlines(&start.content));
    let next = match ends {
        Some(line) if gap.count > 0 && begins_with_line(&end, tail, complete) => {
            let count = end.start_line.map_or(PAGE, |last| last.saturating_sub(line).max(1));
            Some(Next::Lines(Lines { start: line, count, at_byte: Some(gap.start) }))
        }
        Some(_) | None => (gap.count > 0).then_some(Next::Bytes(gap)),
    };
    Shown { slice: Slice { pieces: vec![start, end], next, ..without_content(complete) }, truncated }
}

/// Whether what is left of the end begins with the beginning of a line. Of one that was not cut, only whoever
/// read it knows.
fn begins_with_line(end: &Piece, tail: &Piece, complete: &Slice) -> bool {
    if end.start_byte == tail.start_byte {
        return matches!(complete.next, Some(Next::Lines(_)));
    }
    end.encoding != Encoding::Hex && before(tail, end.start_byte).content.ends_with('\n')
}

/// What of a piece stands before a byte: nothing is shown twice.
fn before(piece: &Piece, byte: u64) -> Piece {
    let bytes = usize::try_from(byte.saturating_sub(piece.start_byte)).unwrap_or(usize::MAX);
    let end = match piece.encoding {
        Encoding::Utf8 | Encoding::Lossy => bytes,
        Encoding::Hex => bytes.saturating_mul(2),
    };
    let content = piece.content.get(..end).unwrap_or(&piece.content).to_owned();
    Piece { content, end_byte: piece.end_byte.min(byte), ..piece.clone() }
}

/// The first matches, and the search to go on with.
fn matches(complete: &Slice, tokens: usize) -> Shown {
    let kept = fitting(complete.found.iter(), tokens, |found| cost(&words::line(found)));
    if kept.len() == complete.found.len() {
        return whole(complete);
    }
    let found: Vec<Found> = kept.into_iter().cloned().collect();
    let first = complete.found.get(found.len());
    let next = complete.grep.as_ref().zip(first).map(|(grep, first)| {
        Next::Grep(Grep { from_line: first.line, at_byte: Some(first.at_byte), ..grep.clone() })
    });
    Shown { slice: Slice { found, next, ..without_content(complete) }, truncated: true }
}

fn without_content(complete: &Slice) -> Slice {
    let mut slice = Slice { pieces: Vec::new(), found: Vec::new(), ..complete.clone() };
    slice.next = None;
    slice
}

/// The first part of a piece: whole lines, and a part of one if it is the first or most of the room is left.
pub(super) fn head_of(piece: &Piece, tokens: usize) -> Piece {
    let (mut end, mut left) = (0, tokens);
    for line in piece.content.split_inclusive('\n') {
        let cost = estimate(&words::readable(line));
        if cost > left {
            if end == 0 || left > tokens / 4 {
                end += part_of(line, left, piece.encoding);
            }
            break;
        }
        left -= cost;
        end += line.len();
    }
    let end_byte = piece.start_byte + bytes_in(end, piece.encoding);
    Piece { content: piece.content[..end].to_owned(), end_byte, ..piece.clone() }
}

/// Up to where a line fits. At least one character, so that there is always a way on.
fn part_of(line: &str, tokens: usize, encoding: Encoding) -> usize {
    let mut end = prefix_within(line, tokens);
    while end > 0 && estimate(&words::readable(&line[..end])) > tokens {
        end = line.floor_char_boundary(end / 2);
    }
    match encoding {
        Encoding::Hex => (end - end % 2).max(2.min(line.len())),
        Encoding::Utf8 | Encoding::Lossy => end.max(line.chars().next().map_or(0, char::len_utf8)),
    }
}

/// The last part of a piece: whole lines if at least one fits.
pub(super) fn tail_of(piece: &Piece, tokens: usize) -> Piece {
    let (mut start, mut left) = (piece.content.len(), tokens);
    for line in piece.content.split_inclusive('\n').rev() {
        let cost = estimate(&words::readable(line));
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
    Piece { content: piece.content[start..].to_owned(), start_byte, start_line, ..piece.clone() }
}

/// From where the last line fits: halved until it does.
fn end_of_long_line(content: &str, tokens: usize, encoding: Encoding) -> usize {
    let mut length = content.len().min(tokens.saturating_mul(4).max(4));
    loop {
        let start = content.ceil_char_boundary(content.len() - length);
        let start = if encoding == Encoding::Hex { start + start % 2 } else { start };
        if length <= 4 || estimate(&words::readable(&content[start..])) <= tokens {
            return start;
        }
        length /= 2;
    }
}

/// How many bytes of the artifact so many bytes of the content stand for.
fn bytes_in(length: usize, encoding: Encoding) -> u64 {
    match encoding {
        Encoding::Utf8 | Encoding::Lossy => length as u64,
        Encoding::Hex => (length / 2) as u64,
    }
}

fn ends_with_line(piece: &Piece) -> bool {
    piece.encoding != Encoding::Hex && piece.content.ends_with('\n')
}

pub(super) fn newlines(text: &str) -> u64 {
    text.bytes().filter(|byte| *byte == b'\n').count() as u64
}
