//! The preview itself: as much of a text as a budget of tokens allows, its beginning and its end, and an
//! honest count of the rest.
//!
//! Whatever fits is shown whole. If only some lines are too long, they alone are cut. If there are too many,
//! the first and the last are shown around a marker that says how many there are, and, for a log, the lines
//! between them that announce a failure: what broke a build in its middle matters more than its last line.
//!
//! The number of lines in the marker counts lines of the text, with those that a note stands for.

use super::clean::clean;
use super::condense::{Line, condense, condense_repeats};
use super::json::readable;
use super::layout::Layout;
use super::text::{Text, line_ends};
use super::tokens::estimate;

/// A budget below this is read as this: a marker and a word of two lines need that much.
pub const SMALLEST_BUDGET: usize = 40;

/// What was printed, or as much of it as was kept.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// The beginning; everything, unless there is a gap.
    pub head: &'a [u8],
    /// What lies between the beginning and the end and is not here.
    pub gap: Option<Gap>,
    /// The end, if there is a gap.
    pub tail: &'a [u8],
}

impl<'a> Input<'a> {
    /// A text that is all there.
    pub fn whole(bytes: &'a [u8]) -> Input<'a> {
        Input { head: bytes, gap: None, tail: &[] }
    }
}

/// What is not here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    pub bytes: u64,
    /// How many line ends there are in it, if somebody counted.
    pub lines: Option<u64>,
}

/// What kind of text it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Output of a command: condensed, JSON made readable, the end worth more than the beginning.
    Log,
    /// Any other text: beginning and end alike, nothing folded.
    Text,
    /// A text that is read from its beginning: a file, a list.
    Prefix,
}

/// A short text for a model, and what it leaves out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preview {
    pub text: String,
    /// Whether something is missing that is not merely folded: lines, or parts of lines.
    pub truncated: bool,
    /// All lines of the text. A lower bound if nobody counted those of the gap.
    pub lines: u64,
    /// Lines that are shown, whole or cut.
    pub shown_lines: u64,
    /// Lines that are not: folded, or left out.
    pub left_out_lines: u64,
    /// Lines that are shown in part.
    pub cut_lines: u64,
    /// Stretches of bytes that were not UTF-8, each shown as U+FFFD.
    pub not_utf8: u64,
    /// Whether the text was JSON and is shown in its readable form. Its lines count as shown; what was left out
    /// of it is counted inside the text.
    pub from_json: bool,
}

/// Makes the preview. The same input gives the same preview, and it takes time in proportion to its length.
pub fn preview(input: &Input<'_>, budget_tokens: usize, style: Style) -> Preview {
    let budget = budget_tokens.max(SMALLEST_BUDGET);
    let head = clean(input.head);
    let tail = clean(if input.gap.is_some() { input.tail } else { &[] });
    let not_utf8 = head.not_utf8 + tail.not_utf8;
    if style == Style::Log
        && input.gap.is_none()
        && let Some(preview) = preview_of_json(input.head, &head.text, budget)
    {
        return Preview { not_utf8, ..preview };
    }
    let text = Text::of(&head.text, input.gap, &tail.text);
    let mut lines = lines_of(text.head, style, budget);
    let boundary = lines.len();
    lines.extend(lines_of(text.tail, style, budget));
    let written = Layout { lines: &lines, boundary, text: &text, budget, style }.write();
    let shown = written.shown.min(text.lines);
    Preview {
        text: written.text,
        truncated: written.truncated,
        lines: text.lines,
        shown_lines: shown,
        left_out_lines: text.lines - shown,
        cut_lines: written.cut,
        not_utf8,
        from_json: false,
    }
}

fn lines_of(text: &str, style: Style, budget: usize) -> Vec<Line<'_>> {
    match style {
        Style::Log => {
            let mut lines = Vec::with_capacity(line_ends(text) + 1);
            lines.extend(text.split_terminator('\n'));
            // Figures are facts: they go only where there is no room for them.
            let repeats =
                (text.len() <= budget.saturating_mul(BYTES_PER_TOKEN)).then(|| condense_repeats(&lines));
            let tokens =
                |lines: &[Line<'_>]| lines.iter().map(|line| estimate(line.text()) + 1).sum::<usize>();
            repeats.filter(|repeats| tokens(repeats) <= budget).unwrap_or_else(|| condense(&lines))
        }
        Style::Text | Style::Prefix => first_and_last(text, budget.saturating_mul(LINES_PER_TOKEN)),
    }
}

/// No text has more bytes for each of its tokens than this, but for one that is a row of equal signs.
const BYTES_PER_TOKEN: usize = 16;
/// More lines than this cannot be shown, even if all of them are empty.
const LINES_PER_TOKEN: usize = 8;

/// The first `most` lines and the last, and between them one that stands for all others and is never shown.
fn first_and_last(text: &str, most: usize) -> Vec<Line<'_>> {
    let count = line_ends(text) + usize::from(!text.is_empty() && !text.ends_with('\n'));
    let lines = text.split_terminator('\n');
    if count / 2 <= most {
        return lines.map(Line::Verbatim).collect();
    }
    let mut kept: Vec<_> = lines.take(most).map(Line::Verbatim).collect();
    kept.push(Line::Note { text: String::new(), lines: (count - 2 * most) as u64 });
    kept.extend(text.rsplit_terminator('\n').take(most).map(Line::Verbatim));
    kept[most + 1..].reverse();
    kept
}

/// From the bytes as they came, because cleaning spells out what JSON has its own escapes for; else from the
/// clean text, because some programs colour their JSON.
fn preview_of_json(raw: &[u8], clean: &str, budget: usize) -> Option<Preview> {
    let from_raw = std::str::from_utf8(raw).ok().and_then(|raw| readable(raw, budget));
    let readable = from_raw.or_else(|| readable(clean, budget))?;
    let lines = clean.split_terminator('\n').count() as u64;
    Some(Preview {
        text: readable.text,
        truncated: readable.shortened,
        lines,
        shown_lines: lines,
        left_out_lines: 0,
        cut_lines: 0,
        not_utf8: 0,
        from_json: true,
    })
}
