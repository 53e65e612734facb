//! The text of a preview while it is put together, line by line, with its counts.

use super::condense::Line;
use super::cut::cut_line;
use super::tokens::{cost_of, cost_up_to};

/// The finished text.
#[derive(Default)]
pub(super) struct Written {
    pub text: String,
    pub shown: u64,
    pub cut: u64,
    pub truncated: bool,
    /// Whether there is a line yet; it may be empty.
    started: bool,
}

impl Written {
    pub(super) fn push(&mut self, line: &Line<'_>, longest: usize) {
        match line {
            Line::Verbatim(text) => {
                if let Some(cut) = cut_line(text, longest) {
                    self.push_cut(&cut);
                } else {
                    self.shown += 1;
                    self.push_text(text);
                }
            }
            Line::Note { text, .. } => self.push_text(text),
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

/// A line within `longest` tokens, and its line end, which is often part of the sign before it.
pub(super) fn line_cost(text: &str, longest: usize) -> u64 {
    let limit = cost_of(longest);
    let line_end = match text.as_bytes().last() {
        None => 15,
        Some(last) if last.is_ascii_punctuation() => 15,
        Some(_) => 100,
    };
    cost_up_to(text, limit).min(limit) + line_end
}
