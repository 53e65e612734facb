//! Places that match: as many as fit, by note, and how to get the others.
//!
//! A search is never kept as an artifact: it can be made again, and will then be true.

use envelope::{Family, Fault};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::plain::{Receipt, cost, fitting, is_zero, one_line, projected, room};
use super::{Projected, Projection, external};

/// What a match costs at least. Several on one line are shown as one, but each takes its place in the result.
const LEAST: usize = 4;

/// What a tool found, without bound.
pub struct Search<M> {
    /// Ordered so that a search that passes over some of them finds the others.
    pub matches: M,
    /// How many matches were passed over before these.
    pub offset: u64,
    /// Whether there are more after these.
    pub more: bool,
    pub files_searched: u64,
    pub files_skipped: u64,
}

/// One place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Match<Text> {
    pub path: Text,
    /// Counted from 1.
    pub line: u64,
    /// First byte of the match in the file.
    pub start: u64,
    pub end: u64,
    pub snippet: Text,
}

/// What stands in the canonical result.
#[derive(Debug, Serialize, Deserialize)]
struct Found<Text> {
    matches: Vec<Match<Text>>,
    /// How many the call found.
    count: u64,
    /// How many of them do not stand here.
    #[serde(default, skip_serializing_if = "is_zero")]
    left_out: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    offset: u64,
    /// Whether the call would have found more if it had been allowed to.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    more: bool,
    files_searched: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    files_skipped: u64,
    truncated: bool,
    /// A search with this offset goes on where this one ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    next_offset: Option<u64>,
}

/// Bounds what was found. Matches beyond the budget are not even looked at.
pub fn project<'a>(
    complete: Search<impl ExactSizeIterator<Item = Match<&'a str>>>,
    with: &mut Projection<'_>,
) -> Result<Projected, Fault> {
    let count = complete.matches.len() as u64;
    let mut meter = Meter::default();
    let matches = fitting(complete.matches, room(with.budget()), |found| meter.add(found));
    let Search { offset, more, files_searched, files_skipped, .. } = complete;
    let left_out = count - matches.len() as u64;
    let truncated = left_out > 0 || more;
    let next_offset = truncated.then_some(offset + matches.len() as u64);
    let found = Found {
        matches,
        count,
        left_out,
        offset,
        more,
        files_searched,
        files_skipped,
        truncated,
        next_offset,
    };
    projected(Family::Search, &found)
}

pub(super) fn render(summary: &str, result: &Value, budget: usize) -> String {
    let Ok(found) = Found::<String>::deserialize(result) else {
        return external::render(summary, result, budget);
    };
    let mut receipt = Receipt::new(summary);
    if found.files_skipped > 0 {
        receipt.add(&format!(", {} skipped (no text)", found.files_skipped));
    }
    let matches: Vec<Match<&str>> = found.matches.iter().map(borrowed).collect();
    receipt.with_most(1..=matches.len(), budget, |most, receipt| {
        let shown = &matches[..most.min(matches.len())];
        by_note(shown, receipt);
        let left_out = found.left_out + (matches.len() - shown.len()) as u64;
        if left_out > 0 || found.more {
            let what = match left_out {
                0 => "more".to_owned(),
                _ if found.more => format!("{left_out} of these {} and more", found.count),
                _ => format!("{left_out} of {} not shown", found.count),
            };
            let next = found.offset.saturating_add(shown.len() as u64);
            receipt.line(&format!("… {what}: search again with offset {next}, or narrow it with paths"));
        }
    })
}

fn borrowed(found: &Match<String>) -> Match<&str> {
    let Match { path, line, start, end, snippet } = found;
    Match { path, line: *line, start: *start, end: *end, snippet }
}

/// Adds up what matches cost: each its line, and each note its path once.
#[derive(Default)]
struct Meter<'a> {
    last: Option<Match<&'a str>>,
}

impl<'a> Meter<'a> {
    fn add(&mut self, found: &Match<&'a str>) -> usize {
        let last = self.last.replace(found.clone());
        let heading = match &last {
            Some(last) if last.path == found.path => 0,
            Some(_) | None => cost(&one_line(found.path)),
        };
        match last {
            Some(last) if same_line(&last, found) => LEAST,
            Some(_) | None => (heading + cost(&shown(found, 1))).max(LEAST),
        }
    }
}

/// The matches below the paths of their notes; those that look alike on one line once. What is alone in its note
/// shares a line with the path. No path has a colon in it, so that a line that begins with a number and a colon is
/// a match, without blanks before it that would cost as much as a word.
fn by_note(matches: &[Match<&str>], receipt: &mut Receipt) {
    for note in matches.chunk_by(|a, b| a.path == b.path) {
        let mut lines = note.chunk_by(same_line).filter_map(|alike| Some(shown(alike.first()?, alike.len())));
        let (Some(found), Some(first)) = (note.first(), lines.next()) else { continue };
        let path = one_line(found.path);
        match lines.next() {
            None => receipt.line(&format!("{path}:{first}")),
            Some(second) => {
                receipt.line(&path);
                [first, second].into_iter().chain(lines).for_each(|line| receipt.line(&line));
            }
        }
    }
}

fn same_line(a: &Match<&str>, b: &Match<&str>) -> bool {
    (a.path, a.line, a.snippet) == (b.path, b.line, b.snippet)
}

fn shown(found: &Match<&str>, times: usize) -> String {
    let (line, snippet) = (found.line, one_line(found.snippet));
    match times {
        1 => format!("{line}: {snippet}"),
        _ => format!("{line}: {snippet} ({times} matches)"),
    }
}

#[cfg(test)]
mod tests;
