//! Search results: as many matches as fit, grouped by note, and how to get the others.
//!
//! `project` cuts the result to the budget, entry by entry; `render` cuts the receipt, which may show fewer matches.
//! A result is never stored as an artifact: the search can be repeated and is then current.

use std::borrow::Cow;

use envelope::{Fault, ReceiptFamily};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::not_looked_into::{self, folders_heading, take_names};
use super::receipt_writer::{
    ReceiptWriter, is_zero, json_quoted, left_out_note, line_cost, one_line, take_fitting,
};
use super::{ProjectedResult, Projection, external, project_within};

/// Smallest cost of a match. Several matches on one line are rendered once, but each is an entry of the result.
const MIN_MATCH_TOKENS: usize = 4;

/// Complete output of a search.
pub struct SearchOutput<'a, M> {
    /// Sorted, so that a search with an offset continues where another one ended.
    pub matches: M,
    /// Number of matches that were skipped before these.
    pub offset: u64,
    /// True if there are more matches.
    pub more: bool,
    pub files_searched: u64,
    pub files_skipped: u64,
    /// Number of folders that could not be opened.
    pub folders_skipped: u64,
    /// The first of these folders.
    pub not_looked_into: Vec<&'a str>,
}

/// One match.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MatchEntry<Text> {
    pub path: Text,
    /// Counted from 1.
    pub line: u64,
    /// First byte of the match in the file.
    pub start: u64,
    pub end: u64,
    pub snippet: Text,
}

/// The matches in the canonical result.
#[derive(Debug, Serialize, Deserialize)]
struct BoundedSearch<Text> {
    matches: Vec<MatchEntry<Text>>,
    /// Number of matches that the call found.
    count: u64,
    /// Number of these that are not listed here.
    #[serde(default, skip_serializing_if = "is_zero")]
    left_out: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    offset: u64,
    /// True if the call reached its limit and would have found more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    more: bool,
    files_searched: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    files_skipped: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    folders_skipped: u64,
    #[serde(default = "Vec::new", skip_serializing_if = "Vec::is_empty")]
    not_looked_into: Vec<Text>,
    /// True if matches or names of folders are missing here.
    truncated: bool,
    /// Offset with which the next search continues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    next_offset: Option<u64>,
}

/// Truncates a search result to the budget. Matches beyond the budget are not read.
pub fn project<'a>(
    complete: SearchOutput<'a, impl ExactSizeIterator<Item = MatchEntry<&'a str>> + Clone>,
    with: &mut Projection<'_>,
) -> Result<ProjectedResult, Fault> {
    let SearchOutput {
        matches,
        offset,
        more,
        files_searched,
        files_skipped,
        folders_skipped,
        not_looked_into,
    } = complete;
    let count = matches.len() as u64;
    project_within(ReceiptFamily::Search, with, |mut room| {
        let mut meter = SearchCost::default();
        let skipped = take_names(not_looked_into.clone(), &mut room);
        let kept = take_fitting(matches.clone(), room, |found| meter.add(found));
        let left_out = count - kept.len() as u64;
        let continues = left_out > 0 || more;
        BoundedSearch {
            next_offset: continues.then_some(offset + kept.len() as u64),
            matches: kept,
            count,
            left_out,
            offset,
            more,
            files_searched,
            files_skipped,
            folders_skipped,
            truncated: continues || (skipped.len() as u64) < folders_skipped,
            not_looked_into: skipped,
        }
    })
}

pub(super) fn render(summary: &str, result: &Value, budget: usize) -> String {
    let Ok(found) = BoundedSearch::<String>::deserialize(result) else {
        return external::render(summary, result, budget);
    };
    let mut receipt = ReceiptWriter::new(summary);
    if found.files_skipped > 0 {
        receipt.append(&format!(", {} skipped (no text)", found.files_skipped));
    }
    let (folders, named) = (found.folders_skipped, &found.not_looked_into);
    not_looked_into::render(&folders_heading(folders), folders, named, budget, &mut receipt);
    let matches: Vec<MatchEntry<&str>> = found.matches.iter().map(borrowed).collect();
    receipt.render_most(1..=matches.len(), budget, |most, receipt| {
        let shown = &matches[..most.min(matches.len())];
        render_matches(shown, receipt);
        let left_out = found.left_out + (matches.len() - shown.len()) as u64;
        if left_out > 0 || found.more {
            let what = left_out_note(left_out, found.count, found.more);
            let next = found.offset.saturating_add(shown.len() as u64);
            receipt.line(&format!("… {what}: search again with offset {next}, or narrow it with paths"));
        }
    })
}

fn borrowed(found: &MatchEntry<String>) -> MatchEntry<&str> {
    let MatchEntry { path, line, start, end, snippet } = found;
    MatchEntry { path, line: *line, start: *start, end: *end, snippet }
}

/// Adds up the cost of matches: each match its line, and each note its path once.
#[derive(Default)]
struct SearchCost<'a> {
    last: Option<MatchEntry<&'a str>>,
}

impl<'a> SearchCost<'a> {
    fn add(&mut self, found: &MatchEntry<&'a str>) -> usize {
        let last = self.last.replace(found.clone());
        let heading = match &last {
            Some(last) if last.path == found.path => 0,
            Some(_) | None => line_cost(&shown_path(found.path)),
        };
        match last {
            Some(last) if same_line(&last, found) => MIN_MATCH_TOKENS,
            Some(_) | None => (heading + line_cost(&match_line(found, 1))).max(MIN_MATCH_TOKENS),
        }
    }
}

/// Renders the matches below the paths of their notes; equal lines once. A single match shares a line with its
/// path. Paths contain no colon or are quoted, so a line that begins with a number and a colon is a match and needs no
/// indentation.
fn render_matches(matches: &[MatchEntry<&str>], receipt: &mut ReceiptWriter) {
    for note in matches.chunk_by(|a, b| a.path == b.path) {
        let mut lines =
            note.chunk_by(same_line).filter_map(|alike| Some(match_line(alike.first()?, alike.len())));
        let (Some(found), Some(first)) = (note.first(), lines.next()) else { continue };
        let path = shown_path(found.path);
        match lines.next() {
            None => receipt.line(&format!("{path}:{first}")),
            Some(second) => {
                receipt.line(&path);
                [first, second].into_iter().chain(lines).for_each(|line| receipt.line(&line));
            }
        }
    }
}

/// Formats a path. One with a colon, which no tool can use, is quoted: it could look like a match.
fn shown_path(path: &str) -> Cow<'_, str> {
    if path.contains(':') { Cow::Owned(json_quoted(path)) } else { one_line(path) }
}

fn same_line(a: &MatchEntry<&str>, b: &MatchEntry<&str>) -> bool {
    (a.path, a.line, a.snippet) == (b.path, b.line, b.snippet)
}

fn match_line(found: &MatchEntry<&str>, times: usize) -> String {
    let (line, snippet) = (found.line, one_line(found.snippet));
    match times {
        1 => format!("{line}: {snippet}"),
        _ => format!("{line}: {snippet} ({times} matches)"),
    }
}

#[cfg(test)]
mod tests;
