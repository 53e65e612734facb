//! Changed words of a line.
//!
//! Uses Unicode word boundaries, so that a text without spaces is not one word.

use similar::{Algorithm, DiffOp, DiffableStr, capture_diff_slices};

use super::body::{DiffWord, WordTag};

/// Longest separator that joins two changed words. Shown as unchanged, it would split the change.
const MAX_SEPARATOR_CHARS: usize = 4;

/// Unchanged text followed by replaced text. Either can be empty.
#[derive(Default)]
struct LinePiece {
    same: String,
    del: String,
    ins: String,
}

/// Returns the words of a changed line, or `None` if the two lines have too little in common.
///
/// Subtracts the compared words from `words_left`. If that is not enough, everything from the first to the last change
/// is marked as changed.
pub(super) fn changed_words(old: &str, new: &str, words_left: &mut usize) -> Option<Vec<DiffWord>> {
    let (before, after) = (words_of(old), words_of(new));
    let start = before.iter().zip(&after).take_while(|(a, b)| a == b).count();
    let (old_rest, new_rest) = (&before[start..], &after[start..]);
    let end = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(a, b)| a == b).count();
    let (old_len, new_len) = (old_rest.len() - end, new_rest.len() - end);
    let affordable = old_len + new_len <= *words_left;
    let ops = if affordable {
        *words_left -= old_len + new_len;
        capture_diff_slices(Algorithm::Myers, &before, &after)
    } else {
        *words_left = 0;
        vec![
            DiffOp::Equal { old_index: 0, new_index: 0, len: start },
            DiffOp::Replace { old_index: start, old_len, new_index: start, new_len },
            DiffOp::Equal { old_index: start + old_len, new_index: start + new_len, len: end },
        ]
    };
    let pieces = line_pieces(&before, &after, &ops);
    let shared: usize = pieces.iter().map(|piece| weight(&piece.same)).sum();
    let least = weight(old).min(weight(new));
    let enough = match (affordable, shared) {
        // Only blanks on both sides, or only blanks in common.
        (_, 0) => weight(old) == weight(new) && least == 0,
        (true, shared) => shared * 2 >= least,
        // The similarity of the middle is unknown; its start and end are worth showing.
        (false, _) => true,
    };
    enough.then(|| join_pieces(pieces).into_iter().flat_map(LinePiece::words).collect())
}

/// Splits a line into words and separators. The checkbox of a task is one word.
pub(super) fn words_of(line: &str) -> Vec<&str> {
    let mut words: Vec<&str> = Vec::new();
    let mut at = 0;
    for word in line.tokenize_unicode_words() {
        at += word.len();
        if let [.., "[", inside] = words[..]
            && word == "]"
            && inside.chars().nth(1).is_none()
        {
            words.truncate(words.len() - 2);
            words.push(&line[at - inside.len() - 2..at]);
        } else {
            words.push(word);
        }
    }
    words
}

/// Returns the weight of a text in a comparison.
pub(super) fn weight(text: &str) -> usize {
    text.chars().filter(|c| !c.is_whitespace()).count()
}

fn line_pieces(before: &[&str], after: &[&str], ops: &[DiffOp]) -> Vec<LinePiece> {
    let mut pieces: Vec<LinePiece> = Vec::new();
    let mut open = LinePiece::default();
    for op in ops {
        if matches!(op, DiffOp::Equal { .. }) {
            if !(open.del.is_empty() && open.ins.is_empty()) {
                pieces.push(std::mem::take(&mut open));
            }
            open.same.extend(before[op.old_range()].iter().copied());
        } else {
            open.del.extend(before[op.old_range()].iter().copied());
            open.ins.extend(after[op.new_range()].iter().copied());
        }
    }
    pieces.push(open);
    pieces
}

/// Joins changes that only a short separator keeps apart, unless both only add or both only remove.
fn join_pieces(pieces: Vec<LinePiece>) -> Vec<LinePiece> {
    let mut out: Vec<LinePiece> = Vec::with_capacity(pieces.len());
    for piece in pieces {
        match out.last_mut() {
            Some(last) if is_glue(&piece.same) && last.replaces_with(&piece) => {
                last.del.extend([piece.same.as_str(), &piece.del]);
                last.ins.extend([piece.same.as_str(), &piece.ins]);
            }
            Some(_) | None => out.push(piece),
        }
    }
    out
}

fn is_glue(text: &str) -> bool {
    text.chars().nth(MAX_SEPARATOR_CHARS).is_none() && !text.contains(char::is_alphanumeric)
}

impl LinePiece {
    /// Returns true if this change and the next one together replace something.
    fn replaces_with(&self, next: &LinePiece) -> bool {
        let next_changes = !(next.del.is_empty() && next.ins.is_empty());
        let takes = !(self.del.is_empty() && next.del.is_empty());
        let puts = !(self.ins.is_empty() && next.ins.is_empty());
        next_changes && takes && puts
    }

    fn words(self) -> impl Iterator<Item = DiffWord> {
        let words = [(WordTag::Same, self.same), (WordTag::Del, self.del), (WordTag::Ins, self.ins)];
        words.into_iter().filter(|(_, text)| !text.is_empty()).map(|(tag, text)| DiffWord::new(tag, text))
    }
}
