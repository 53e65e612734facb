//! Makes the preview: the beginning and the end of a text within a token budget, and a count of the rest.
//!
//! A text that fits is shown completely. If only some lines are too long, only they are cut. A log that does not fit
//! is folded as little as necessary: repeated lines, then passing tests, then lines that differ in numbers only, of
//! which as many are shown as there is room for. If there are still too many lines, the first and the last are shown
//! around a marker with their number and, for a log, the lines between them that announce a failure or differ from
//! all others: the error in the middle of a build, or one sick row of a table, matters more than the last line.
//!
//! The marker counts lines of the text, including those that a note replaces.

use super::clean::clean;
use super::condense::{FoldLevel, NoteKind, PreviewLine, fold, unfold};
use super::json::readable;
use super::layout::PreviewLayout;
use super::outliers::outliers;
use super::tokenizer::estimate;

/// Smallest budget; needed for a marker and two short lines.
pub const SMALLEST_BUDGET: usize = 40;

/// The output, or the part of it that was kept.
#[derive(Debug, Clone, Copy)]
pub struct PreviewInput<'a> {
    /// The beginning; everything, unless there is a gap.
    pub head: &'a [u8],
    /// The missing part between beginning and end.
    pub gap: Option<InputGap>,
    /// The end, if there is a gap.
    pub tail: &'a [u8],
}

impl<'a> PreviewInput<'a> {
    /// Creates the input for a complete text.
    pub fn whole(bytes: &'a [u8]) -> PreviewInput<'a> {
        PreviewInput { head: bytes, gap: None, tail: &[] }
    }
}

/// The missing part of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InputGap {
    pub bytes: u64,
    /// Number of line ends in it, if counted.
    pub lines: Option<u64>,
}

/// Lines of a gap that announce a failure.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct GapFailures {
    /// The first of them, with their numbers among the lines of the gap, from 0.
    pub(crate) lines: Vec<(u64, String)>,
    /// Number of all of them.
    pub(crate) count: u64,
}

/// Kind of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PreviewStyle {
    /// Output of a command: condensed, JSON made readable, the end more important than the beginning.
    Log,
    /// Any other text: beginning and end equally important, nothing folded.
    Text,
    /// A text that is read from its beginning: a file, a list.
    Prefix,
}

/// A short text for a model, and counts of what it leaves out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextPreview {
    pub text: String,
    /// True if lines or parts of lines are missing that are not merely folded.
    pub truncated: bool,
    /// Number of lines of the text. A lower bound if the lines of the gap were not counted.
    pub lines: u64,
    /// Number of lines that are shown, complete or cut.
    pub shown_lines: u64,
    /// Number of lines that are folded or left out.
    pub left_out_lines: u64,
    /// Number of lines that are shown in part.
    pub cut_lines: u64,
    /// Number of byte sequences that were not UTF-8, each shown as U+FFFD.
    pub not_utf8: u64,
    /// True if the text was JSON and is shown in readable form. Its lines count as shown; omissions are counted in
    /// the text.
    pub from_json: bool,
}

/// Makes the preview. Deterministic, in time proportional to the length of the input.
pub fn preview(input: &PreviewInput<'_>, budget_tokens: usize, style: PreviewStyle) -> TextPreview {
    preview_around(input, &GapFailures::default(), budget_tokens, style)
}

/// Like [`preview`], with the failures that were found in the gap of the input.
pub(crate) fn preview_around(
    input: &PreviewInput<'_>,
    missing: &GapFailures,
    budget_tokens: usize,
    style: PreviewStyle,
) -> TextPreview {
    let budget = budget_tokens.max(SMALLEST_BUDGET);
    let head = clean(input.head);
    let tail = clean(if input.gap.is_some() { input.tail } else { &[] });
    let not_utf8 = head.not_utf8 + tail.not_utf8;
    if style == PreviewStyle::Log
        && input.gap.is_none()
        && let Some(preview) = preview_of_json(input.head, &head.text, budget)
    {
        return TextPreview { not_utf8, ..preview };
    }
    let text = GappedText::of(&head.text, input.gap, &tail.text);
    let whole = input.gap.is_none();
    let ShownLines { mut lines, mut rare } = lines_of(text.head, style, budget, whole);
    let boundary = lines.len();
    let after = lines_of(text.tail, style, budget, whole);
    lines.extend(after.lines);
    rare.extend(after.rare);
    let layout = PreviewLayout { lines: &lines, rare: &rare, boundary, text: &text, budget, style, missing };
    let written = layout.write();
    let shown = written.shown.min(text.lines);
    TextPreview {
        text: written.text,
        truncated: written.truncated || lines.iter().any(PreviewLine::hides_lines),
        lines: text.lines,
        shown_lines: shown,
        left_out_lines: text.lines - shown,
        cut_lines: written.cut,
        not_utf8,
        from_json: false,
    }
}

/// Lines of a preview, and how rare each of them is; 0 if it is like the others.
struct ShownLines<'a> {
    lines: Vec<PreviewLine<'a>>,
    rare: Vec<u32>,
}

impl<'a> From<Vec<PreviewLine<'a>>> for ShownLines<'a> {
    fn from(lines: Vec<PreviewLine<'a>>) -> ShownLines<'a> {
        ShownLines { rare: vec![0; lines.len()], lines }
    }
}

fn lines_of(text: &str, style: PreviewStyle, budget: usize, whole: bool) -> ShownLines<'_> {
    match style {
        PreviewStyle::Log => log_lines(text, budget, whole),
        PreviewStyle::Text | PreviewStyle::Prefix => {
            first_and_last(text, budget.saturating_mul(LINES_PER_TOKEN)).into()
        }
    }
}

/// Returns the lines of a log, folded as little as necessary.
fn log_lines(text: &str, budget: usize, whole: bool) -> ShownLines<'_> {
    let mut lines = Vec::with_capacity(line_ends(text) + 1);
    lines.extend(text.split_terminator('\n'));
    let tokens = |lines: &[PreviewLine<'_>]| {
        let mut sum = 0;
        // No line costs less, so a long list is not measured to its end.
        let fits = lines.iter().all(|line| {
            sum += estimate(line.text()) + 1;
            sum <= budget
        });
        fits.then_some(sum)
    };
    for level in [FoldLevel::Identical, FoldLevel::Routine] {
        let folded = fold(&lines, level, &[]);
        if whole && (tokens(&folded).is_some() || estimate_joined(&folded, budget)) {
            return folded.into();
        }
    }
    let bits = outliers(&lines);
    let mut folded = fold(&lines, FoldLevel::Similar, &bits);
    if whole && let Some(used) = tokens(&folded) {
        folded = unfold(folded, &lines, budget - used);
    }
    let mut at = 0;
    let rare = folded
        .iter()
        .map(|line| {
            let here = at;
            at += usize::try_from(line.line_count()).unwrap_or(usize::MAX);
            match line {
                PreviewLine::Verbatim(_) => bits.get(here).copied().unwrap_or(0),
                PreviewLine::Note { .. } => 0,
            }
        })
        .collect();
    ShownLines { lines: folded, rare }
}

/// Returns true if the lines fit as one text, which can cost less than the sum of its lines.
fn estimate_joined(lines: &[PreviewLine<'_>], budget: usize) -> bool {
    let bytes: usize = lines.iter().map(|line| line.text().len() + 1).sum();
    if bytes > budget.saturating_mul(BYTES_PER_TOKEN) {
        return false;
    }
    let texts: Vec<&str> = lines.iter().map(PreviewLine::text).collect();
    estimate(&texts.join("\n")) <= budget
}

/// Upper bound for bytes per token, except for a row of equal signs.
const BYTES_PER_TOKEN: usize = 16;
/// Upper bound for lines per token, even if all lines are empty.
const LINES_PER_TOKEN: usize = 8;

/// Returns the first `most` lines and the last, and between them one that replaces all others and is never shown.
fn first_and_last(text: &str, most: usize) -> Vec<PreviewLine<'_>> {
    let count = line_ends(text) + usize::from(!text.is_empty() && !text.ends_with('\n'));
    let lines = text.split_terminator('\n');
    if count / 2 <= most {
        return lines.map(PreviewLine::Verbatim).collect();
    }
    let mut kept: Vec<_> = lines.take(most).map(PreviewLine::Verbatim).collect();
    let middle = (count - 2 * most) as u64;
    kept.push(PreviewLine::Note { text: String::new(), lines: middle, kind: NoteKind::Middle });
    kept.extend(text.rsplit_terminator('\n').take(most).map(PreviewLine::Verbatim));
    kept[most + 1..].reverse();
    kept
}

/// Parses the raw bytes first, because sanitizing escapes characters that JSON escapes itself; then the sanitized
/// text, because some programs colour their JSON.
fn preview_of_json(raw: &[u8], clean: &str, budget: usize) -> Option<TextPreview> {
    let from_raw = std::str::from_utf8(raw).ok().and_then(|raw| readable(raw, budget));
    let readable = from_raw.or_else(|| readable(clean, budget))?;
    let lines = clean.split_terminator('\n').count() as u64;
    Some(TextPreview {
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

/// The sanitized text around a gap, without the two lines that the gap cuts.
pub(super) struct GappedText<'a> {
    pub head: &'a str,
    pub tail: &'a str,
    /// Number of lines, including those of the gap if they were counted.
    pub lines: u64,
    pub gap: Option<InputGap>,
    /// The head is one line that continues in the gap.
    pub head_goes_on: bool,
    /// The tail is one line that began in the gap.
    pub tail_began_before: bool,
}

impl<'a> GappedText<'a> {
    pub(super) fn of(head: &'a str, gap: Option<InputGap>, tail: &'a str) -> GappedText<'a> {
        let Some(gap) = gap else {
            let lines = line_ends(head) as u64 + u64::from(!head.is_empty() && !head.ends_with('\n'));
            return GappedText {
                head,
                tail: "",
                lines,
                gap: None,
                head_goes_on: false,
                tail_began_before: false,
            };
        };
        let ends = (line_ends(head) + line_ends(tail)) as u64 + gap.lines.unwrap_or(0);
        let lines = ends + u64::from(!tail.ends_with('\n'));
        // A line that the gap cuts is left out with it, unless it is the only line on its side.
        let (head, head_goes_on) = match head.rfind('\n') {
            Some(end) => (&head[..=end], false),
            None => (head, !head.is_empty()),
        };
        let (tail, tail_began_before) = match tail.find('\n') {
            Some(end) if end + 1 < tail.len() => (&tail[end + 1..], false),
            Some(_) | None => (tail, !tail.is_empty()),
        };
        GappedText { head, tail, lines, gap: Some(gap), head_goes_on, tail_began_before }
    }

    /// Returns true if `lines` includes the lines of the gap.
    pub(super) fn is_counted(&self) -> bool {
        self.gap.is_none_or(|gap| gap.lines.is_some())
    }
}

pub(super) fn line_ends(text: &str) -> usize {
    text.bytes().filter(|&byte| byte == b'\n').count()
}
