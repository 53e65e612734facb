//! Condenses output without losing facts: repeated lines once with a count, passing tests as a number, the steps of
//! a build tool by their first and last.
//!
//! A line that reports an error, a failure or a warning with its location is kept, unless the same line is directly
//! above it. Unrecognised lines are kept in place. One pass; each line is compared only with the first line of its
//! run.

use std::collections::BTreeMap;

use super::failure_lines::may_report_failure;
use super::line_formatter::line_cost;
use super::similar::{has_words, same_shape};
use super::test_runners::{PassedReport, RunnerDetector, builder_step};
use super::tokenizer::cost_of;

/// A line of a preview: a line of the text, or a note that replaces some lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PreviewLine<'a> {
    Verbatim(&'a str),
    Note { text: String, lines: u64, kind: NoteKind },
}

/// The kind of lines that a note replaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoteKind {
    /// Copies of the line above it. Nothing is missing.
    Identical,
    /// Lines that differ from the line above it only in numbers.
    Similar,
    /// Passing tests, or steps of a build tool.
    Routine,
    /// Lines that are never shown.
    Middle,
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

impl PreviewLine<'_> {
    /// Returns true if lines are missing that the text does not give in full.
    pub(super) fn hides_lines(&self) -> bool {
        match self {
            PreviewLine::Verbatim(_) | PreviewLine::Note { kind: NoteKind::Identical, .. } => false,
            PreviewLine::Note { kind: NoteKind::Similar | NoteKind::Routine | NoteKind::Middle, .. } => true,
        }
    }
}

/// Number of similar lines that are folded.
const SIMILAR_IN_A_ROW: usize = 4;
/// Longest description that TAP may attach to a test.
const LONGEST_TAP_BLOCK: usize = 40;

/// Condenses the lines. The line counts of the result add up to `lines`.
pub fn condense<'a>(lines: &[&'a str]) -> Vec<PreviewLine<'a>> {
    fold(lines, FoldLevel::Similar, &[])
}

/// How much is folded; each level includes the ones before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FoldLevel {
    Identical,
    Routine,
    Similar,
}

/// Folds lines up to a level. A line with a rarity in `rare` is never folded as similar to others.
pub(super) fn fold<'a>(lines: &[&'a str], level: FoldLevel, rare: &[u32]) -> Vec<PreviewLine<'a>> {
    let runners = RunnerDetector::of(lines);
    let mut folded = Vec::new();
    let mut rest = lines;
    // The end of reports of which too few passed to be folded: fewer of them are too few as well.
    let mut too_few = 0;
    while let Some((&first, others)) = rest.split_first() {
        let at = lines.len() - rest.len();
        let rare = rare.get(at..).unwrap_or_default();
        let mut routine = None;
        if level >= FoldLevel::Routine {
            if at >= too_few {
                let (tests, end) = passing_tests(rest, runners);
                too_few = if tests.is_none() { at + end } else { at };
                routine = tests;
            }
            routine = routine.or_else(|| builder_steps(rest));
        }
        let fold = routine
            .or_else(|| identical_lines(rest))
            .or_else(|| (level >= FoldLevel::Similar).then(|| similar_lines(rest, rare)).flatten());
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

/// Shows as many of the similar lines again as cost no more than `tokens`. Short runs come first, and a long run is
/// shown from both ends.
pub(super) fn unfold<'a>(
    folded: Vec<PreviewLine<'a>>,
    lines: &[&'a str],
    tokens: usize,
) -> Vec<PreviewLine<'a>> {
    let mut runs: Vec<(u64, usize)> = Vec::new();
    for (at, line) in folded.iter().enumerate() {
        if let PreviewLine::Note { kind: NoteKind::Similar, lines, .. } = line {
            runs.push((*lines, at));
        }
    }
    runs.sort_unstable();
    let mut starts = Vec::with_capacity(folded.len());
    let mut start = 0;
    for line in &folded {
        starts.push(start);
        start += usize::try_from(line.line_count()).unwrap_or(usize::MAX);
    }
    let mut left = cost_of(tokens);
    let mut shown: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
    for (done, &(count, at)) in runs.iter().enumerate() {
        let share = left / (runs.len() - done) as u64;
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let Some(run) = lines.get(starts[at]..starts[at] + count) else { continue };
        let (first, used) = take_lines(run.iter(), share / 2);
        let (last, more) = take_lines(run[first..].iter().rev(), share - used);
        left = left.saturating_sub(used + more);
        shown.insert(at, (first, last));
    }
    let mut unfolded = Vec::with_capacity(folded.len());
    for (at, line) in folded.into_iter().enumerate() {
        let Some(&(first, last)) = shown.get(&at) else {
            unfolded.push(line);
            continue;
        };
        let count = usize::try_from(line.line_count()).unwrap_or(usize::MAX);
        let run = &lines[starts[at]..starts[at] + count];
        unfolded.extend(run[..first].iter().map(|line| PreviewLine::Verbatim(line)));
        let rest = &run[first..count - last];
        match note(rest, similar_note(rest.len()), NoteKind::Similar) {
            Some(note) => unfolded.push(note),
            None => unfolded.extend(rest.iter().map(|line| PreviewLine::Verbatim(line))),
        }
        unfolded.extend(run[count - last..].iter().map(|line| PreviewLine::Verbatim(line)));
    }
    unfolded
}

/// Counts the lines that cost no more than `limit`, and their cost.
fn take_lines<'a>(lines: impl Iterator<Item = &'a &'a str>, limit: u64) -> (usize, u64) {
    let (mut count, mut used) = (0, 0);
    for line in lines {
        let cost = line_cost(line, usize::MAX);
        if used + cost > limit {
            break;
        }
        used += cost;
        count += 1;
    }
    (count, used)
}

/// The first `lines` lines, and their replacement.
struct FoldedLines<'a> {
    lines: usize,
    shown: Vec<PreviewLine<'a>>,
}

/// Returns a note for `lines`, if it is shorter than they are.
fn note<'a>(lines: &[&str], text: String, kind: NoteKind) -> Option<PreviewLine<'a>> {
    let length: usize = lines.iter().map(|line| line.len() + 1).sum();
    (text.len() < length).then_some(PreviewLine::Note { text, lines: lines.len() as u64, kind })
}

/// Returns the reports of tests at the beginning, folded if enough passed, and how many lines they are.
fn passing_tests<'a>(rest: &[&'a str], runners: RunnerDetector) -> (Option<FoldedLines<'a>>, usize) {
    let (mut tests, mut files, mut end) = (0_u64, 0_u64, 0);
    let mut began = false;
    while let Some(what) = rest.get(end).and_then(|line| runners.passed(line)) {
        began = what == PassedReport::Begins;
        end += 1;
        match what {
            PassedReport::Tests(count) => {
                tests = tests.saturating_add(count);
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
        (0, 0) => return (first_and_last(&rest[..end], NoteKind::Routine), end),
        (0, files) => format!("{files} passing test files"),
        (tests, 0) => format!("{tests} passing tests"),
        (tests, files) => format!("{tests} passing tests and {files} passing test files"),
    };
    // A single test is not worth a note; a single line about several tests is.
    if tests.saturating_add(files) < 2 {
        return (None, end);
    }
    let note = note(&rest[..end], format!("[{count} not shown]"), NoteKind::Routine);
    (note.map(|note| FoldedLines { lines: end, shown: vec![note] }), end)
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
    first_and_last(&rest[..length], NoteKind::Routine)
}

fn identical_lines<'a>(rest: &[&'a str]) -> Option<FoldedLines<'a>> {
    let first = *rest.first()?;
    let length = rest.iter().take_while(|line| **line == first).count();
    let note = note(&rest[1..length], format!("[... {} identical lines]", length - 1), NoteKind::Identical)?;
    Some(FoldedLines { lines: length, shown: vec![PreviewLine::Verbatim(first), note] })
}

fn similar_lines<'a>(rest: &[&'a str], rare: &[u32]) -> Option<FoldedLines<'a>> {
    let (&first, others) = rest.split_first()?;
    let is_rare = |at: usize| rare.get(at).is_some_and(|bits| *bits > 0);
    if !same_shape(first, others.first()?) || !has_words(first) || may_report_failure(first) || is_rare(0) {
        return None;
    }
    let alike =
        |at: usize, line: &str| same_shape(first, line) && !may_report_failure(line) && !is_rare(at + 1);
    let more = others.iter().enumerate().take_while(|(at, line)| alike(*at, line)).count();
    first_and_last(&rest[..=more], NoteKind::Similar)
}

fn first_and_last<'a>(row: &[&'a str], kind: NoteKind) -> Option<FoldedLines<'a>> {
    let [first, between @ .., last] = row else { return None };
    if row.len() < SIMILAR_IN_A_ROW {
        return None;
    }
    let note = note(between, similar_note(between.len()), kind)?;
    Some(FoldedLines {
        lines: row.len(),
        shown: vec![PreviewLine::Verbatim(first), note, PreviewLine::Verbatim(last)],
    })
}

fn similar_note(lines: usize) -> String {
    format!("[... {lines} similar lines]")
}
