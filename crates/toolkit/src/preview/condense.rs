//! Says the same in fewer lines where no fact is lost: repeated lines once with a count, passing tests as a
//! number, the rows of a builder by their first and last.
//!
//! A line that tells of an error, a failure or a warning with its place is kept, unless the very same line
//! stands right above it. Whatever is not recognised stays as it was, in its place. One pass, and every line
//! is compared with the first of its run only.

use super::facts::tells_a_fact;
use super::runners::{Passed, Runners, chore};
use super::similar::{has_words, same_shape};

/// A line of a preview: one of the text, or a note that stands for some of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line<'a> {
    Verbatim(&'a str),
    Note { text: String, lines: u64 },
}

impl Line<'_> {
    pub fn text(&self) -> &str {
        match self {
            Line::Verbatim(text) => text,
            Line::Note { text, .. } => text,
        }
    }

    /// How many lines of the text it stands for.
    pub fn stands_for(&self) -> u64 {
        match self {
            Line::Verbatim(_) => 1,
            Line::Note { lines, .. } => *lines,
        }
    }
}

/// So many lines have to be alike up to their numbers before they are folded.
const SIMILAR_IN_A_ROW: usize = 4;
/// The longest description that TAP may attach to a test.
const LONGEST_TAP_BLOCK: usize = 40;

/// Folds what can be folded. The lines that it stands for add up to `lines`.
pub fn condense<'a>(lines: &[&'a str]) -> Vec<Line<'a>> {
    fold(lines, similar_lines)
}

/// The same for a text that is short enough for its figures: lines that differ in their numbers all stay.
pub(super) fn condense_repeats<'a>(lines: &[&'a str]) -> Vec<Line<'a>> {
    fold(lines, |_| None)
}

type Folding<'a> = fn(&[&'a str]) -> Option<Fold<'a>>;

fn fold<'a>(lines: &[&'a str], similar: Folding<'a>) -> Vec<Line<'a>> {
    let runners = Runners::of(lines);
    let mut folded = Vec::new();
    let mut rest = lines;
    while let Some((&first, others)) = rest.split_first() {
        let fold = passing_tests(rest, runners)
            .or_else(|| row_of_chores(rest))
            .or_else(|| identical_lines(rest))
            .or_else(|| similar(rest));
        match fold {
            Some(fold) => {
                rest = &rest[fold.lines..];
                folded.extend(fold.shown);
            }
            None => {
                folded.push(Line::Verbatim(first));
                rest = others;
            }
        }
    }
    folded
}

/// The first `lines` of what was looked at, and what is shown for them.
struct Fold<'a> {
    lines: usize,
    shown: Vec<Line<'a>>,
}

/// A note for `lines`, if it is shorter than they are.
fn note<'a>(lines: &[&str], text: String) -> Option<Line<'a>> {
    let length: usize = lines.iter().map(|line| line.len() + 1).sum();
    (text.len() < length).then_some(Line::Note { text, lines: lines.len() as u64 })
}

fn passing_tests<'a>(rest: &[&'a str], runners: Runners) -> Option<Fold<'a>> {
    let (mut tests, mut files, mut end) = (0, 0, 0);
    let mut began = false;
    while let Some(what) = rest.get(end).and_then(|line| runners.passed(line)) {
        began = what == Passed::Begins;
        end += 1;
        match what {
            Passed::Tests(count) => {
                tests += count;
                end += tap_block(&rest[end..]);
            }
            Passed::File => files += 1,
            Passed::Begins => {}
        }
    }
    // What follows a beginning belongs to that test: it is named.
    if began && end < rest.len() {
        end -= 1;
    }
    let count = match (tests, files) {
        (0, 0) => return first_and_last(&rest[..end]),
        (0, files) => format!("{files} passing test files"),
        (tests, 0) => format!("{tests} passing tests"),
        (tests, files) => format!("{tests} passing tests and {files} passing test files"),
    };
    // One test is not worth a note; one line of many is.
    if tests + files < 2 {
        return None;
    }
    let note = note(&rest[..end], format!("[{count} not shown]"))?;
    Some(Fold { lines: end, shown: vec![note] })
}

/// How many lines of a description follow a test in TAP: from `---` to `...`.
fn tap_block(rest: &[&str]) -> usize {
    if !rest.first().is_some_and(|line| line.starts_with(' ') && line.trim() == "---") {
        return 0;
    }
    rest.iter().take(LONGEST_TAP_BLOCK).position(|line| line.trim() == "...").map_or(0, |end| end + 1)
}

fn row_of_chores<'a>(rest: &[&'a str]) -> Option<Fold<'a>> {
    let kind = chore(rest.first()?)?;
    let length = rest
        .iter()
        .take_while(|line| chore(line) == Some(kind) && (kind.names_only() || !tells_a_fact(line)))
        .count();
    first_and_last(&rest[..length])
}

fn identical_lines<'a>(rest: &[&'a str]) -> Option<Fold<'a>> {
    let first = *rest.first()?;
    let length = rest.iter().take_while(|line| **line == first).count();
    let note = note(&rest[1..length], format!("[... {} identical lines]", length - 1))?;
    Some(Fold { lines: length, shown: vec![Line::Verbatim(first), note] })
}

fn similar_lines<'a>(rest: &[&'a str]) -> Option<Fold<'a>> {
    let (&first, others) = rest.split_first()?;
    if !same_shape(first, others.first()?) || !has_words(first) || tells_a_fact(first) {
        return None;
    }
    let more = others.iter().take_while(|line| same_shape(first, line) && !tells_a_fact(line)).count();
    first_and_last(&rest[..=more])
}

fn first_and_last<'a>(row: &[&'a str]) -> Option<Fold<'a>> {
    let [first, between @ .., last] = row else { return None };
    if row.len() < SIMILAR_IN_A_ROW {
        return None;
    }
    let note = note(between, format!("[... {} similar lines]", between.len()))?;
    Some(Fold { lines: row.len(), shown: vec![Line::Verbatim(first), note, Line::Verbatim(last)] })
}
