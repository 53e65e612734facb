//! Long lines, narrowed to what changed in them. A paragraph is often one line of a note; a few words of it
//! must not bring the whole paragraph to the screen.

use super::body::{Tag, Word};
use super::limits::Limits;

/// Fewer characters than this are not worth a cut: the mark of the cut is as long.
const SLACK: usize = 20;

/// Of a long line with changed words: these words and their neighbourhood.
pub(super) fn narrow_changed(words: Vec<Word>, limits: &Limits) -> Vec<Word> {
    let chars: usize = words.iter().map(|word| length(&word.text)).sum();
    if chars <= limits.line_chars {
        return words;
    }
    let last = words.len() - 1;
    let mut narrowed = Vec::with_capacity(words.len() * 2);
    for (at, word) in words.into_iter().enumerate() {
        let (head, tail) = match word.tag {
            Tag::Same => (if at > 0 { limits.around } else { 0 }, if at < last { limits.around } else { 0 }),
            // A third each: what goes, what comes, and what stands around the first change fit together.
            Tag::Del | Tag::Ins => head_and_tail(limits.shown_chars / 3),
        };
        narrowed.extend(cut(word, head, tail));
    }
    within(narrowed, limits.shown_chars)
}

/// Of a long line with one fate: its start, and also its end when it comes or goes.
pub(super) fn narrow_whole(word: Word, limits: &Limits) -> Vec<Word> {
    if word.text.is_empty() {
        return Vec::new();
    }
    let (head, tail) = match word.tag {
        Tag::Same => (limits.line_chars, 0),
        Tag::Del | Tag::Ins => head_and_tail(limits.shown_chars),
    };
    cut(word, head, tail)
}

fn head_and_tail(chars: usize) -> (usize, usize) {
    (chars - chars / 4, chars / 4)
}

/// Keeps about so many characters at the start and at the end, and counts the others.
fn cut(word: Word, head: usize, tail: usize) -> Vec<Word> {
    let chars = length(&word.text);
    if chars <= head.saturating_add(tail).saturating_add(SLACK) {
        return vec![word];
    }
    let (head, tail) = (start_of(&word.text, head), end_of(&word.text, tail));
    let cut = chars - length(head) - length(tail);
    let mut words = vec![Word { tag: word.tag, text: head.to_owned(), cut }];
    if !tail.is_empty() {
        words.push(Word::new(word.tag, tail));
    }
    words
}

/// At most so many characters from the start; no word is torn apart unless it fills them all.
fn start_of(text: &str, chars: usize) -> &str {
    let at = text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at);
    let (kept, rest) = text.split_at(at);
    if rest.starts_with(char::is_whitespace) {
        return kept;
    }
    let words = kept.trim_end_matches(|c: char| !c.is_whitespace());
    if words.is_empty() { kept } else { words }
}

/// The same from the end.
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

/// Ends the line when it has so many characters: the rest is only counted, what changes in it apart.
fn within(words: Vec<Word>, chars: usize) -> Vec<Word> {
    let mut left = chars;
    let mut kept = Vec::with_capacity(words.len());
    let mut rest = words.into_iter().peekable();
    while let Some(word) = rest.next_if(|word| length(&word.text) <= left) {
        left -= length(&word.text);
        kept.push(word);
    }
    let rest: Vec<Word> = rest.collect();
    for tag in [Tag::Same, Tag::Del, Tag::Ins] {
        let of_tag = rest.iter().filter(|word| word.tag == tag);
        let cut = of_tag.map(|word| length(&word.text) + word.cut).sum();
        if cut > 0 {
            kept.push(Word { tag, text: String::new(), cut });
        }
    }
    kept
}

fn length(text: &str) -> usize {
    text.chars().count()
}
