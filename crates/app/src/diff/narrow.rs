//! Narrows long lines to their changes. A paragraph is often one line of a note, and a few changed words must not show
//! all of it.

use super::body::{DiffWord, WordTag};
use super::limits::DiffLimits;

/// Fewer characters are not cut: the mark of the cut is as long.
const MIN_CUT_CHARS: usize = 20;

/// Narrows a line to its changed words and their neighbourhood.
pub(super) fn narrow_changed(words: Vec<DiffWord>, limits: &DiffLimits) -> Vec<DiffWord> {
    let chars: usize = words.iter().map(|word| length(&word.text)).sum();
    if chars <= limits.line_chars {
        return words;
    }
    let last = words.len() - 1;
    let mut narrowed = Vec::with_capacity(words.len() * 2);
    for (at, word) in words.into_iter().enumerate() {
        let (head, tail) = match word.tag {
            WordTag::Same => {
                (if at > 0 { limits.around } else { 0 }, if at < last { limits.around } else { 0 })
            }
            // A third each, so that removed words, added words and their surroundings fit together.
            WordTag::Del | WordTag::Ins => head_and_tail(limits.shown_chars / 3),
        };
        narrowed.extend(cut_middle(word, head, tail));
    }
    limit_length(narrowed, limits.shown_chars)
}

/// Narrows a line with one tag to its start, and to its end if it was added or removed.
pub(super) fn narrow_whole(word: DiffWord, limits: &DiffLimits) -> Vec<DiffWord> {
    if word.text.is_empty() {
        return Vec::new();
    }
    let (head, tail) = match word.tag {
        WordTag::Same => (limits.line_chars, 0),
        WordTag::Del | WordTag::Ins => head_and_tail(limits.shown_chars),
    };
    cut_middle(word, head, tail)
}

fn head_and_tail(chars: usize) -> (usize, usize) {
    (chars - chars / 4, chars / 4)
}

/// Keeps about this many characters at the start and at the end, and counts the others.
fn cut_middle(word: DiffWord, head: usize, tail: usize) -> Vec<DiffWord> {
    let chars = length(&word.text);
    if chars <= head.saturating_add(tail).saturating_add(MIN_CUT_CHARS) {
        return vec![word];
    }
    let (head, tail) = (start_of(&word.text, head), end_of(&word.text, tail));
    let cut = chars - length(head) - length(tail);
    let mut words = vec![DiffWord { tag: word.tag, text: head.to_owned(), cut }];
    if !tail.is_empty() {
        words.push(DiffWord::new(word.tag, tail));
    }
    words
}

/// Returns at most this many characters from the start. Splits a word only if it fills them all.
fn start_of(text: &str, chars: usize) -> &str {
    let at = text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at);
    let (kept, rest) = text.split_at(at);
    if rest.starts_with(char::is_whitespace) {
        return kept;
    }
    let words = kept.trim_end_matches(|c: char| !c.is_whitespace());
    if words.is_empty() { kept } else { words }
}

/// Returns at most this many characters from the end, likewise.
fn end_of(text: &str, chars: usize) -> &str {
    let Some(skip) = chars.checked_sub(1) else { return "" };
    let at = text.char_indices().rev().nth(skip).map_or(0, |(at, _)| at);
    let (rest, kept) = text.split_at(at);
    if rest.ends_with(char::is_whitespace) {
        return kept;
    }
    let words = kept.trim_start_matches(|c: char| !c.is_whitespace());
    if words.is_empty() { kept } else { words }
}

/// Ends the line after this many characters. The rest is counted, changed words separately.
fn limit_length(words: Vec<DiffWord>, chars: usize) -> Vec<DiffWord> {
    let mut left = chars;
    let mut kept = Vec::with_capacity(words.len());
    let mut rest = words.into_iter().peekable();
    while let Some(word) = rest.next_if(|word| length(&word.text) <= left) {
        left -= length(&word.text);
        kept.push(word);
    }
    let rest: Vec<DiffWord> = rest.collect();
    for tag in [WordTag::Same, WordTag::Del, WordTag::Ins] {
        let of_tag = rest.iter().filter(|word| word.tag == tag);
        let cut = of_tag.map(|word| length(&word.text) + word.cut).sum();
        if cut > 0 {
            kept.push(DiffWord { tag, text: String::new(), cut });
        }
    }
    kept
}

fn length(text: &str) -> usize {
    text.chars().count()
}
