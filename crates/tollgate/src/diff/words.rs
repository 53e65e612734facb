//! Which words of a line changed.
//!
//! Words are those of Unicode, so that a text without spaces between its words is not one word.

use similar::{Algorithm, DiffOp, DiffableStr, capture_diff_slices};

use super::body::{Tag, Word};

/// What stands between two changed words and is no word: kept as it is, it would only tear the change apart.
const GLUE_CHARS: usize = 4;

/// Text that stays, and then text that is replaced. Either may be empty.
#[derive(Default)]
struct Piece {
    same: String,
    del: String,
    ins: String,
}

/// The words of a line that became another, or None when the two have too little in common to be one line.
///
/// Takes from `words_left` what it compares. When that is not enough, all from the first to the last change
/// is marked as changed.
pub(super) fn changed_words(old: &str, new: &str, words_left: &mut usize) -> Option<Vec<Word>> {
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
    let pieces = pieces(&before, &after, &ops);
    let shared: usize = pieces.iter().map(|piece| weight(&piece.same)).sum();
    let least = weight(old).min(weight(new));
    let enough = match (affordable, shared) {
        // Only blanks on both sides, or nothing but blanks in common.
        (_, 0) => weight(old) == weight(new) && least == 0,
        (true, shared) => shared * 2 >= least,
        // How much the middle has in common is not known; where it starts and ends is worth showing.
        (false, _) => true,
    };
    enough.then(|| glued(pieces).into_iter().flat_map(Piece::words).collect())
}

/// A line as its words and what stands between them. A task's box is one word: what changes is the box.
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

/// How much a text counts when two are weighed against each other.
pub(super) fn weight(text: &str) -> usize {
    text.chars().filter(|c| !c.is_whitespace()).count()
}

fn pieces(before: &[&str], after: &[&str], ops: &[DiffOp]) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut open = Piece::default();
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

/// Joins changes that only a space or a comma keeps apart, unless both merely add or both merely take away.
fn glued(pieces: Vec<Piece>) -> Vec<Piece> {
    let mut out: Vec<Piece> = Vec::with_capacity(pieces.len());
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
    text.chars().nth(GLUE_CHARS).is_none() && !text.contains(char::is_alphanumeric)
}

impl Piece {
    /// Whether this change and the next one together take something away and put something in its place.
    fn replaces_with(&self, next: &Piece) -> bool {
        let next_changes = !(next.del.is_empty() && next.ins.is_empty());
        let takes = !(self.del.is_empty() && next.del.is_empty());
        let puts = !(self.ins.is_empty() && next.ins.is_empty());
        next_changes && takes && puts
    }

    fn words(self) -> impl Iterator<Item = Word> {
        let words = [(Tag::Same, self.same), (Tag::Del, self.del), (Tag::Ins, self.ins)];
        words.into_iter().filter(|(_, text)| !text.is_empty()).map(|(tag, text)| Word::new(tag, text))
    }
}
