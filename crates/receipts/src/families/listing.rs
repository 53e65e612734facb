//! File listings: as many entries as fit, in order, and how to continue.
//!
//! A listing is never stored as an artifact: it can be requested again and is then current.

pub mod note_outline;

use std::collections::{HashMap, HashSet};

use envelope::{EntryKind, Fault, ReceiptFamily};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::not_looked_into::{self, folders_heading, take_names};
use super::receipt_writer::{
    ReceiptWriter, count_noun, is_zero, json_quoted, left_out_note, line_cost, one_line, take_fitting,
};
use super::{ProjectedResult, Projection, external, project_within};

/// Complete output of a listing tool.
pub struct FileListing<'a, E> {
    /// In the order in which a listing continues after an entry.
    pub entries: E,
    /// True if there are more entries.
    pub more: bool,
    /// Number of skipped names whose paths are too long for a tool.
    pub unusable: u64,
    /// The first of these names.
    pub unusable_names: Vec<&'a str>,
    /// Number of folders that could not be opened.
    pub folders_skipped: u64,
    /// The first of these folders.
    pub not_looked_into: Vec<&'a str>,
}

/// One file or folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListingEntry<Path> {
    pub path: Path,
    pub kind: EntryKind,
    /// `None` unless requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// `None` unless requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtime_ms: Option<i64>,
}

/// The listing in the canonical result.
#[derive(Debug, Serialize, Deserialize)]
struct BoundedListing<Path> {
    entries: Vec<ListingEntry<Path>>,
    /// Number of entries that the call found.
    count: u64,
    /// Number of these that are not listed here.
    #[serde(default, skip_serializing_if = "is_zero")]
    left_out: u64,
    /// True if the call reached its limit and would have found more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    more: bool,
    #[serde(default, skip_serializing_if = "is_zero")]
    unusable: u64,
    #[serde(default = "Vec::new", skip_serializing_if = "Vec::is_empty")]
    unusable_names: Vec<Path>,
    #[serde(default, skip_serializing_if = "is_zero")]
    folders_skipped: u64,
    #[serde(default = "Vec::new", skip_serializing_if = "Vec::is_empty")]
    not_looked_into: Vec<Path>,
    /// True if entries or names are missing here.
    truncated: bool,
    /// Path after which the next listing continues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    next_after: Option<Path>,
}

/// Bounds a listing. Entries beyond the budget are not read.
pub fn project<'a>(
    complete: FileListing<'a, impl ExactSizeIterator<Item = ListingEntry<&'a str>> + Clone>,
    with: &mut Projection<'_>,
) -> Result<ProjectedResult, Fault> {
    let FileListing { entries, more, unusable, unusable_names, folders_skipped, not_looked_into } = complete;
    let count = entries.len() as u64;
    project_within(ReceiptFamily::Listing, with, |mut room| {
        let mut meter = ListingCost::default();
        let skipped = take_names(not_looked_into.clone(), &mut room);
        let passed_over = take_names(unusable_names.clone(), &mut room);
        let kept = take_fitting(entries.clone(), room, |entry| meter.add(entry));
        let left_out = count - kept.len() as u64;
        let continues = left_out > 0 || more;
        let names_left_out =
            (skipped.len() as u64) < folders_skipped || passed_over.len() < unusable_names.len();
        BoundedListing {
            next_after: kept.last().map(|last| last.path).filter(|_| continues),
            entries: kept,
            count,
            left_out,
            more,
            unusable,
            unusable_names: passed_over,
            folders_skipped,
            not_looked_into: skipped,
            truncated: continues || names_left_out,
        }
    })
}

pub(super) fn render(summary: &str, result: &Value, budget: usize) -> String {
    if let Ok(outline) = note_outline::BoundedOutline::<String>::deserialize(result) {
        return note_outline::render(summary, &outline, budget);
    }
    let Ok(listed) = BoundedListing::<String>::deserialize(result) else {
        return external::render(summary, result, budget);
    };
    let mut receipt = ReceiptWriter::new(summary);
    if listed.unusable > 0 {
        let heading = format!("{} passed over, as their paths are too long", names(listed.unusable));
        not_looked_into::render(&heading, listed.unusable, &listed.unusable_names, budget, &mut receipt);
    }
    let (folders, named) = (listed.folders_skipped, &listed.not_looked_into);
    not_looked_into::render(&folders_heading(folders), folders, named, budget, &mut receipt);
    let entries: Vec<ListingEntry<&str>> = listed.entries.iter().map(borrowed).collect();
    receipt.render_most(1..=entries.len(), budget, |most, receipt| {
        let shown = &entries[..most.min(entries.len())];
        outline(shown, receipt);
        let left_out = listed.left_out + (entries.len() - shown.len()) as u64;
        if let Some(last) = shown.last().filter(|_| left_out > 0 || listed.more) {
            let what = left_out_note(left_out, listed.count, listed.more);
            receipt.line(&format!("… {what}: list again with after {}", json_quoted(last.path)));
        }
    })
}

fn names(count: u64) -> String {
    count_noun(count, "name was", "names were")
}

fn borrowed(entry: &ListingEntry<String>) -> ListingEntry<&str> {
    let ListingEntry { path, kind, size_bytes, mtime_ms } = entry;
    ListingEntry { path, kind: *kind, size_bytes: *size_bytes, mtime_ms: *mtime_ms }
}

/// Adds up the cost of entries: each entry its name, and each folder its path once.
#[derive(Default)]
struct ListingCost<'a> {
    folders: HashSet<&'a str>,
}

impl<'a> ListingCost<'a> {
    fn add(&mut self, entry: &ListingEntry<&'a str>) -> usize {
        let (folder, _) = split(entry.path);
        let heading = if self.folders.insert(folder) { line_cost(&one_line(folder)) } else { 0 };
        heading + line_cost(&entry_line(entry))
    }
}

/// Renders the entries by folder: the path of the folder once, then the names in it. A single entry in its folder
/// keeps its path, so that each line is either a path or a name below one.
fn outline(entries: &[ListingEntry<&str>], receipt: &mut ReceiptWriter) {
    let mut order = Vec::new();
    let mut folders: HashMap<&str, Vec<&ListingEntry<&str>>> = HashMap::new();
    for entry in entries {
        let (folder, _) = split(entry.path);
        let inside = folders.entry(folder).or_insert_with(|| {
            order.push(folder);
            Vec::new()
        });
        inside.push(entry);
    }
    let has_a_heading = |folder: &str| folders.get(folder).is_some_and(|inside| !inside.is_empty());
    for folder in &order {
        let inside: Vec<&&ListingEntry<&str>> = folders
            .get(folder)
            .into_iter()
            .flatten()
            // A folder with listed content is named by its heading.
            .filter(|entry| !has_a_heading(entry.path))
            .collect();
        match (folder.is_empty(), inside.as_slice()) {
            (_, []) => {}
            (true, inside) => inside.iter().for_each(|entry| receipt.line(&entry_line(entry))),
            (false, [alone]) => receipt.line(&format!("{}/{}", one_line(folder), entry_line(alone))),
            (false, inside) => {
                receipt.line(&format!("{}/:", one_line(folder)));
                inside.iter().for_each(|entry| receipt.indented_line(&entry_line(entry)));
            }
        }
    }
}

/// Splits a path into folder and name.
fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// Formats the name of an entry with the requested attributes.
fn entry_line(entry: &ListingEntry<&str>) -> String {
    let end = match entry.kind {
        EntryKind::Folder => "/",
        EntryKind::File => "",
    };
    let mut line = format!("{}{end}", one_line(split(entry.path).1));
    if let Some(size) = entry.size_bytes {
        line.push_str(&format!("  {size} bytes"));
    }
    if let Some(time) = entry.mtime_ms.and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok()) {
        line.push_str(&format!("  {}", time.strftime("%Y-%m-%d %H:%MZ")));
    }
    line
}

#[cfg(test)]
mod tests;
