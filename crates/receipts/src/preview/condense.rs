//! Condenses output without losing facts: repeated lines once with a count, passing tests as a number, the steps of
//! a build tool by their first and last.
//!
//! A line that reports an error, a failure or a warning with its location is kept, unless the same line is directly
//! above it. Unrecognised lines are kept in place. One pass; each line is compared only with the first line of its
//! run.

use super::failure_lines::may_report_failure;
use super::similar::{has_words, same_shape};
use super::test_runners::{PassedReport, RunnerDetector, builder_step};

/// A line of a preview: a line of the text, or a note that replaces some lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PreviewLine<'a> {
    Verbatim(&'a str),
    Note { text: String, lines: u64 },
}

impl PreviewLine<'_> {
    pub fn text(&self) -> &str {
        match self {
            PreviewLine::Verbatim(text) => text,
            PreviewLine::Note { text, .. } => text,
        }
    }

    /// Returns the number of text lines that this line replaces.
    pub fn line_count(&self) -> u64 {
        match self {
            PreviewLine::Verbatim(_) => 1,
            PreviewLine::Note { lines, .. } => *lines,
        }
    }
}

/// Number of similar lines that are folded.
const SIMILAR_IN_A_ROW: usize = 4;
/// Longest description that TAP may attach to a test.
const LONGEST_TAP_BLOCK: usize = 40;

/// Condenses the lines. The line counts of the result add up to `lines`.
pub fn condense<'a>(lines: &[&'a str]) -> Vec<PreviewLine<'a>> {
    fold(lines, similar_lines)
}

/// Condenses only repeated lines, for a text that is short enough to keep all lines that differ in numbers.
pub(super) fn condense_repeats<'a>(lines: &[&'a str]) -> Vec<PreviewLine<'a>> {
    fold(lines, |_| None)
}

type FoldRule<'a> = fn(&[&'a str]) -> Option<FoldedLines<'a>>;

fn fold<'a>(lines: &[&'a str], similar: FoldRule<'a>) -> Vec<PreviewLine<'a>> {
    let runners = RunnerDetector::of(lines);
    let mut folded = Vec::new();
    let mut rest = lines;
    while let Some((&first, others)) = rest.split_first() {
        let fold = passing_tests(rest, runners)
            .or_else(|| builder_steps(rest))
            .or_else(|| identical_lines(rest))
            .or_else(|| similar(rest));
        match fold {
            Some(fold) => {
                rest = &rest[fold.lines..];
                folded.extend(fold.shown);
            }
            None => {
                folded.push(PreviewLine::Verbatim(first));
                rest = others;
            }
        }
    }
    folded
}

/// The first `lines` lines, and their replacement.
struct FoldedLines<'a> {
    lines: usize,
    shown: Vec<PreviewLine<'a>>,
}

/// Returns a note for `lines`, if it is shorter than they are.
fn note<'a>(lines: &[&str], text: String) -> Option<PreviewLine<'a>> {
    let length: usize = lines.iter().map(|line| line.len() + 1).sum();
    (text.len() < length).then_some(PreviewLine::Note { text, lines: lines.len() as u64 })
}

fn passing_tests<'a>(rest: &[&'a str], runners: RunnerDetector) -> Option<FoldedLines<'a>> {
    let (mut tests, mut files, mut end) = (0, 0, 0);
    let mut began = false;
    while let Some(what) = rest.get(end).and_then(|line| runners.passed(line)) {
        began = what == PassedReport::Begins;
        end += 1;
        match what {
            PassedReport::Tests(count) => {
                tests += count;
                end += tap_block(&rest[end..]);
            }
            PassedReport::File => files += 1,
            PassedReport::Begins => {}
        }
    }
    // The rest of the output belongs to the test that was started, so its start is kept.
    if began && end < rest.len() {
        end -= 1;
    }
    let count = match (tests, files) {
        (0, 0) => return first_and_last(&rest[..end]),
        (0, files) => format!("{files} passing test files"),
        (tests, 0) => format!("{tests} passing tests"),
        (tests, files) => format!("{tests} passing tests and {files} passing test files"),
    };
    // A single test is not worth a note; a single line about several tests is.
    if tests + files < 2 {
        return None;
    }
    let note = note(&rest[..end], format!("[{count} not shown]"))?;
    Some(FoldedLines { lines: end, shown: vec![note] })
}

/// Returns the number of lines in the TAP description of a test: from `---` to `...`.
fn tap_block(rest: &[&str]) -> usize {
    if !rest.first().is_some_and(|line| line.starts_with(' ') && line.trim() == "---") {
        return 0;
    }
    rest.iter().take(LONGEST_TAP_BLOCK).position(|line| line.trim() == "...").map_or(0, |end| end + 1)
}

fn builder_steps<'a>(rest: &[&'a str]) -> Option<FoldedLines<'a>> {
    let kind = builder_step(rest.first()?)?;
    let length = rest
        .iter()
        .take_while(|line| {
            builder_step(line) == Some(kind) && (kind.names_only() || !may_report_failure(line))
        })
        .count();
    first_and_last(&rest[..length])
}

fn identical_lines<'a>(rest: &[&'a str]) -> Option<FoldedLines<'a>> {
    let first = *rest.first()?;
    let length = rest.iter().take_while(|line| **line == first).count();
    let note = note(&rest[1..length], format!("[... {} identical lines]", length - 1))?;
    Some(FoldedLines { lines: length, shown: vec![PreviewLine::Verbatim(first), note] })
}

fn similar_lines<'a>(rest: &[&'a str]) -> Option<FoldedLines<'a>> {
    let (&first, others) = rest.split_first()?;
    if !same_shape(first, others.first()?) || !has_words(first) || may_report_failure(first) {
        return None;
    }
    let more = others.iter().take_while(|line| same_shape(first, line) && !may_report_failure(line)).count();
    first_and_last(&rest[..=more])
}

fn first_and_last<'a>(row: &[&'a str]) -> Option<FoldedLines<'a>> {
    let [first, between @ .., last] = row else { return None };
    if row.len() < SIMILAR_IN_A_ROW {
        return None;
    }
    let note = note(between, format!("[... {} similar lines]", between.len()))?;
    Some(FoldedLines {
        lines: row.len(),
        shown: vec![PreviewLine::Verbatim(first), note, PreviewLine::Verbatim(last)],
    })
}
