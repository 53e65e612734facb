//! Names of files: as many as fit, in their order, and where to go on.
//!
//! A listing is never kept as an artifact: it can be asked for again, and will then be true.

use std::collections::{HashMap, HashSet};

use envelope::{EntryKind, Family, Fault};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::plain::{Receipt, cost, counted, fitting, is_zero, one_line, projected, quoted, room};
use super::{Projected, Projection, external};

/// What a tool found, without bound.
pub struct Listing<E> {
    /// In the order in which a listing that goes on after one of them continues.
    pub entries: E,
    /// Whether there are more than these.
    pub more: bool,
    /// Names that were passed over because no tool can use them.
    pub unusable: u64,
}

/// One file or folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry<Path> {
    pub path: Path,
    pub kind: EntryKind,
    /// Absent unless it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// Absent unless it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtime_ms: Option<i64>,
}

/// What stands in the canonical result.
#[derive(Debug, Serialize, Deserialize)]
struct Listed<Path> {
    entries: Vec<Entry<Path>>,
    /// How many the call found.
    count: u64,
    /// How many of them do not stand here.
    #[serde(default, skip_serializing_if = "is_zero")]
    left_out: u64,
    /// Whether the call would have found more if it had been allowed to.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    more: bool,
    #[serde(default, skip_serializing_if = "is_zero")]
    unusable: u64,
    truncated: bool,
    /// A listing after this path goes on where this one ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    next_after: Option<Path>,
}

/// Bounds a listing. Entries beyond the budget are not even looked at.
pub fn project<'a>(
    complete: Listing<impl ExactSizeIterator<Item = Entry<&'a str>>>,
    with: &mut Projection<'_>,
) -> Result<Projected, Fault> {
    let count = complete.entries.len() as u64;
    let mut meter = Meter::default();
    let entries = fitting(complete.entries, room(with.budget()), |entry| meter.add(entry));
    let left_out = count - entries.len() as u64;
    let truncated = left_out > 0 || complete.more;
    let next_after = entries.last().map(|last| last.path).filter(|_| truncated);
    let (more, unusable) = (complete.more, complete.unusable);
    let listed = Listed { entries, count, left_out, more, unusable, truncated, next_after };
    projected(Family::Listing, &listed)
}

pub(super) fn render(summary: &str, result: &Value, budget: usize) -> String {
    let Ok(listed) = Listed::<String>::deserialize(result) else {
        return external::render(summary, result, budget);
    };
    let mut receipt = Receipt::new(summary);
    if listed.unusable > 0 {
        receipt.line(&format!("{} passed over: no tool can use them", names(listed.unusable)));
    }
    let entries: Vec<Entry<&str>> = listed.entries.iter().map(borrowed).collect();
    receipt.with_most(1..=entries.len(), budget, |most, receipt| {
        let shown = &entries[..most.min(entries.len())];
        outline(shown, receipt);
        let left_out = listed.left_out + (entries.len() - shown.len()) as u64;
        if let Some(last) = shown.last().filter(|_| left_out > 0 || listed.more) {
            let what = match (left_out, listed.more) {
                (0, _) => "more".to_owned(),
                (_, true) => format!("{left_out} of these {} and more", listed.count),
                (_, false) => format!("{left_out} of {} not shown", listed.count),
            };
            receipt.line(&format!("… {what}: list again with after {}", quoted(last.path)));
        }
    })
}

fn names(count: u64) -> String {
    counted(count, "name was", "names were")
}

fn borrowed(entry: &Entry<String>) -> Entry<&str> {
    let Entry { path, kind, size_bytes, mtime_ms } = entry;
    Entry { path, kind: *kind, size_bytes: *size_bytes, mtime_ms: *mtime_ms }
}

/// Adds up what entries cost: each its name, and each folder its path once.
#[derive(Default)]
struct Meter<'a> {
    folders: HashSet<&'a str>,
}

impl<'a> Meter<'a> {
    fn add(&mut self, entry: &Entry<&'a str>) -> usize {
        let (folder, _) = split(entry.path);
        let heading = if self.folders.insert(folder) { cost(&one_line(folder)) } else { 0 };
        heading + cost(&shown(entry))
    }
}

/// The entries by folder: the path of the folder once, then the names in it. What is alone in its folder keeps
/// its path, so that each line is either a path or a name below one.
fn outline(entries: &[Entry<&str>], receipt: &mut Receipt) {
    let mut order = Vec::new();
    let mut folders: HashMap<&str, Vec<&Entry<&str>>> = HashMap::new();
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
        let inside: Vec<&&Entry<&str>> = folders
            .get(folder)
            .into_iter()
            .flatten()
            // A folder whose content is listed is named there.
            .filter(|entry| !has_a_heading(entry.path))
            .collect();
        match (folder.is_empty(), inside.as_slice()) {
            (_, []) => {}
            (true, inside) => inside.iter().for_each(|entry| receipt.line(&shown(entry))),
            (false, [alone]) => receipt.line(&format!("{}/{}", one_line(folder), shown(alone))),
            (false, inside) => {
                receipt.line(&format!("{}/:", one_line(folder)));
                inside.iter().for_each(|entry| receipt.line_below(&shown(entry)));
            }
        }
    }
}

/// The folder and the name.
fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// A name as it stands in a receipt, with what was asked about it.
fn shown(entry: &Entry<&str>) -> String {
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
