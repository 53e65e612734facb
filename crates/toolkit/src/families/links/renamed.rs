//! What a rename did: the new place, the links that were written anew, and those that could not be.

use envelope::{Family, Fault};
use serde::{Deserialize, Serialize};

use crate::families::plain::{DRY_RUN, Receipt, cost, is_zero, one_line, projected, room};
use crate::families::{Projected, Projection};

/// Files that are named because their links changed. The record of the call has them all.
const MAX_UPDATED: usize = 20;

/// What a tool did, without bound.
#[derive(Default)]
pub struct Renamed<'a> {
    pub from_path: &'a str,
    pub to_path: &'a str,
    pub etag: Option<&'a str>,
    /// Unknown when the call was found to have happened after a crash.
    pub links_updated: Option<u64>,
    pub files_updated: u64,
    /// Files whose links were written anew.
    pub updated_in: Vec<&'a str>,
    /// Links that lead nowhere now.
    pub not_updated: Vec<Left<&'a str>>,
    /// Files that could not be written, and why.
    pub not_written: Vec<NotWritten<&'a str>>,
    /// Files that mention the old name in a way that is not rewritten.
    pub mentioned_in: Vec<&'a str>,
    /// Files that may link to it and could not be read.
    pub not_looked_into: Vec<&'a str>,
    pub dry_run: bool,
}

/// A link that leads nowhere now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Left<Text> {
    pub path: Text,
    /// Counted from 1.
    pub line: u64,
    /// What the link names.
    pub target: Text,
}

/// A file that keeps its old links.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotWritten<Text> {
    pub path: Text,
    pub reason: Text,
}

/// What stands in the canonical result.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Shown {
    from_path: String,
    to_path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    etag: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    links_updated: Option<u64>,
    files_updated: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    not_updated: Vec<Left<String>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    not_written: Vec<NotWritten<String>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    mentioned_in: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    not_looked_into: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    updated_in: Vec<String>,
    /// How many entries of these lists do not stand here, except for `updated_in`, which `files_updated` counts.
    #[serde(default, skip_serializing_if = "is_zero")]
    left_out: u64,
    truncated: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    dry_run: bool,
}

/// Bounds what a rename has to tell. What went wrong comes before what went well.
pub fn project(complete: &Renamed<'_>, with: &mut Projection<'_>) -> Result<Projected, Fault> {
    let Renamed { from_path, to_path, etag, links_updated, files_updated, dry_run, .. } = *complete;
    let owned = |path: &&str| (*path).to_owned();
    let mut shown = Shown {
        from_path: from_path.to_owned(),
        to_path: to_path.to_owned(),
        etag: etag.map(str::to_owned),
        links_updated,
        files_updated,
        not_updated: Vec::new(),
        not_written: Vec::new(),
        mentioned_in: Vec::new(),
        not_looked_into: Vec::new(),
        updated_in: Vec::new(),
        left_out: 0,
        truncated: false,
        dry_run,
    };
    // The paths stand in the summary as well.
    let mut lists =
        Lists { room: room(with.budget()).saturating_sub(cost(from_path) + cost(to_path)), left_out: 0 };
    for left in &complete.not_updated {
        let left = Left { path: left.path.to_owned(), line: left.line, target: left.target.to_owned() };
        lists.add(&mut shown.not_updated, left, not_updated_words);
    }
    for file in &complete.not_written {
        let file = NotWritten { path: file.path.to_owned(), reason: file.reason.to_owned() };
        lists.add(&mut shown.not_written, file, not_written_words);
    }
    for path in &complete.not_looked_into {
        lists.add(&mut shown.not_looked_into, owned(path), path_words);
    }
    for path in &complete.mentioned_in {
        lists.add(&mut shown.mentioned_in, owned(path), path_words);
    }
    shown.left_out = lists.left_out;
    for path in complete.updated_in.iter().take(MAX_UPDATED) {
        lists.add(&mut shown.updated_in, owned(path), path_words);
    }
    shown.truncated = shown.left_out > 0 || (shown.updated_in.len() as u64) < files_updated;
    projected(Family::Links, &shown)
}

/// Lists that share a budget, the first ones first.
struct Lists {
    room: usize,
    left_out: u64,
}

impl Lists {
    fn add<T>(&mut self, list: &mut Vec<T>, item: T, words: impl Fn(&T) -> String) {
        let cost = cost(&words(&item));
        if cost > self.room {
            // Once full it stays full: a short name further on would only hide the gap.
            self.room = 0;
            self.left_out += 1;
        } else {
            self.room -= cost;
            list.push(item);
        }
    }
}

pub(super) fn render(summary: &str, shown: &Shown, budget: usize) -> String {
    let mut receipt = Receipt::new(summary, budget);
    if let Some(etag) = &shown.etag {
        receipt.add(&format!(" (etag {})", one_line(etag)));
    }
    if shown.dry_run {
        receipt.line(DRY_RUN);
    }
    let mut lists = Lists { room: receipt.room(), left_out: shown.left_out };
    let mut not_updated = Vec::new();
    shown
        .not_updated
        .iter()
        .for_each(|left| lists.add(&mut not_updated, left, |left| not_updated_words(left)));
    let mut not_written = Vec::new();
    shown
        .not_written
        .iter()
        .for_each(|file| lists.add(&mut not_written, file, |file| not_written_words(file)));
    let mut not_looked_into = Vec::new();
    let path = |path: &&String| path_words(path);
    shown.not_looked_into.iter().for_each(|unread| lists.add(&mut not_looked_into, unread, path));
    let mut mentioned_in = Vec::new();
    shown.mentioned_in.iter().for_each(|file| lists.add(&mut mentioned_in, file, path));
    let problems_left_out = lists.left_out;
    let mut updated_in = Vec::new();
    shown.updated_in.iter().for_each(|note| lists.add(&mut updated_in, note, path));

    not_updated.iter().for_each(|left| receipt.line(&not_updated_words(left)));
    not_written.iter().for_each(|file| receipt.line(&not_written_words(file)));
    let paths =
        |names: &[&String]| names.iter().map(|name| format!("\n{}", path_words(name))).collect::<String>();
    if !not_looked_into.is_empty() {
        receipt.line(&format!("Not looked into, may still have the old name:{}", paths(&not_looked_into)));
    }
    if !mentioned_in.is_empty() {
        receipt.line(&format!("Mentioned, not rewritten:{}", paths(&mentioned_in)));
    }
    if problems_left_out > 0 {
        receipt.line(&format!("… {problems_left_out} more such files; search for the old name to find them"));
    }
    if !updated_in.is_empty() {
        let rest = shown.files_updated.saturating_sub(updated_in.len() as u64);
        let verb = if shown.dry_run { "Links would change in" } else { "Links updated in" };
        receipt.line(&format!("{verb}:{}", paths(&updated_in)));
        if rest > 0 {
            receipt.line(&format!("  … and {rest} more"));
        }
    }
    receipt.done()
}

fn not_updated_words<Text: AsRef<str>>(left: &Left<Text>) -> String {
    let (path, target) = (one_line(left.path.as_ref()), one_line(left.target.as_ref()));
    format!("Not updated: {path}:{} links to {target} and leads nowhere now", left.line)
}

fn not_written_words<Text: AsRef<str>>(file: &NotWritten<Text>) -> String {
    format!("Not written: {}: {}", one_line(file.path.as_ref()), one_line(file.reason.as_ref()))
}

fn path_words(path: &String) -> String {
    format!("  {}", one_line(path))
}
