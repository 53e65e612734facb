//! Lines of texts, and the operations from one text to another.
//!
//! A line is compared without its ending: a note that goes from CRLF to LF keeps its lines, and the change of
//! endings is stated once, in words.

use std::collections::HashMap;

use similar::{Algorithm, DiffOp, capture_diff_slices};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DiffLineEnding {
    Lf,
    CrLf,
    /// The last line, when the text does not end in a newline.
    Open,
}

/// Lines of a text with their endings.
pub(super) struct TextLines<'a> {
    pub(super) texts: Vec<&'a str>,
    pub(super) endings: Vec<DiffLineEnding>,
}

impl<'a> TextLines<'a> {
    pub(super) fn of(text: &'a str) -> TextLines<'a> {
        let (texts, endings) = text.split_inclusive('\n').map(split_ending).unzip();
        TextLines { texts, endings }
    }
}

fn split_ending(line: &str) -> (&str, DiffLineEnding) {
    let Some(rest) = line.strip_suffix('\n') else { return (line, DiffLineEnding::Open) };
    rest.strip_suffix('\r').map_or((rest, DiffLineEnding::Lf), |rest| (rest, DiffLineEnding::CrLf))
}

/// Returns the operations from one list of lines to the other, or `None` if that is too much work.
pub(super) fn ops<'a>(before: &[&'a str], after: &[&'a str], compared_lines: usize) -> Option<Vec<DiffOp>> {
    let mut numbers = HashMap::new();
    let mut number = |lines: &[&'a str]| -> Vec<u32> {
        lines
            .iter()
            .map(|line| {
                let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
                *numbers.entry(*line).or_insert(next)
            })
            .collect()
    };
    let (before, after) = (number(before), number(after));
    // Only the lines between the common start and the common end are work.
    let start = before.iter().zip(&after).take_while(|(a, b)| a == b).count();
    let (old, new) = (&before[start..], &after[start..]);
    let end = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    (old.len().max(new.len()) - end <= compared_lines)
        .then(|| capture_diff_slices(Algorithm::Myers, &before, &after))
}

/// Counts added and removed lines, ignoring their order.
pub(super) fn tally(before: &[&str], after: &[&str]) -> (usize, usize) {
    let mut surplus: HashMap<&str, i64> = HashMap::new();
    for line in after {
        *surplus.entry(line).or_default() += 1;
    }
    for line in before {
        *surplus.entry(line).or_default() -= 1;
    }
    let sum = |sign: i64| surplus.values().map(|n| usize::try_from(n * sign).unwrap_or(0)).sum();
    (sum(1), sum(-1))
}
