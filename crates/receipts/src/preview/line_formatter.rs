//! Formats the lines of a preview: cuts long lines to a token limit with a count of the rest, formats numbers, and
//! joins the lines into the text with its counts.

use super::condense::PreviewLine;
use super::tokenizer::{cost_of, cost_up_to, estimate, prefix_within};

/// The text and its counts.
#[derive(Default)]
pub(super) struct PreviewText {
    pub text: String,
    pub shown: u64,
    pub cut: u64,
    pub truncated: bool,
    /// True if there is a line; it may be empty.
    started: bool,
}

impl PreviewText {
    pub(super) fn push(&mut self, line: &PreviewLine<'_>, longest: usize) {
        match line {
            PreviewLine::Verbatim(text) => {
                if let Some(cut) = cut_line(text, longest) {
                    self.push_cut(&cut);
                } else {
                    self.shown += 1;
                    self.push_text(text);
                }
            }
            PreviewLine::Note { text, .. } => self.push_text(text),
        }
    }

    pub(super) fn push_cut(&mut self, text: &str) {
        self.shown += 1;
        self.cut += 1;
        self.push_text(text);
    }

    pub(super) fn push_text(&mut self, text: &str) {
        if self.started {
            self.text.push('\n');
        }
        self.started = true;
        self.text.push_str(text);
    }
}

/// Returns the cost of a line within `longest` tokens, with its line end, which is often part of a punctuation
/// token.
pub(super) fn line_cost(text: &str, longest: usize) -> u64 {
    let limit = cost_of(longest);
    let line_end = match text.as_bytes().last() {
        None => 15,
        Some(last) if last.is_ascii_punctuation() => 15,
        Some(_) => 100,
    };
    cost_up_to(text, limit).min(limit) + line_end
}

/// Returns the cut line, or `None` if it fits within `tokens`.
pub(super) fn cut_line(line: &str, tokens: usize) -> Option<String> {
    let limit = cost_of(tokens);
    if cost_up_to(line, limit.saturating_add(1)) <= limit {
        return None;
    }
    // A text has at most as many characters as bytes, so this is the longest note.
    let room = tokens.saturating_sub(estimate(&note(line.len())));
    let end = prefix_within(line, room);
    let (shown, rest) = line.split_at(end);
    Some(format!("{shown}{}", note(rest.chars().count())))
}

fn note(characters: usize) -> String {
    format!("...[{} more characters]", group_digits(characters as u64))
}

/// Cuts the beginning of a line of unknown length.
pub(super) fn cut_open_end(line: &str, tokens: usize) -> String {
    const NOTE: &str = "...[the line goes on]";
    let end = prefix_within(line, tokens.saturating_sub(estimate(NOTE)));
    format!("{}{NOTE}", &line[..end])
}

/// Cuts the end of a line with an unknown beginning.
pub(super) fn cut_open_start(line: &str, tokens: usize) -> String {
    const NOTE: &str = "[the line began before]...";
    let room = tokens.saturating_sub(estimate(NOTE));
    // A character costs at most about two tokens and often a quarter of one: the longest suffix that fits is found
    // by binary search between these bounds.
    let (mut too_long, mut fits) = (line.len().min(room.saturating_mul(8)) + 1, 0);
    while fits + 1 < too_long {
        let middle = fits.midpoint(too_long);
        let start = line.ceil_char_boundary(line.len() - middle.min(line.len()));
        if estimate(&line[start..]) <= room {
            fits = middle;
        } else {
            too_long = middle;
        }
    }
    format!("{NOTE}{}", &line[line.ceil_char_boundary(line.len() - fits.min(line.len()))..])
}

/// Formats `1234567` as `1,234,567`.
pub(super) fn group_digits(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
