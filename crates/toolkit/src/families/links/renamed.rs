//! What a rename did: the new place, the links that were written anew, and those that could not be.

use envelope::{Family, Fault};
use serde::{Deserialize, Serialize};

use crate::families::plain::{DRY_RUN, Receipt, is_zero, one_line, projected, room, taken};
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
pub(super) struct Shown<Text> {
    from_path: Text,
    to_path: Text,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    etag: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    links_updated: Option<u64>,
    files_updated: u64,
    #[serde(flatten)]
    lists: Lists<Text>,
    truncated: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    dry_run: bool,
}

/// The files that a rename has something to tell about. What went wrong comes before what went well.
#[derive(Debug, Serialize, Deserialize)]
struct Lists<Text> {
    #[serde(default = "Vec::new", skip_serializing_if = "Vec::is_empty")]
    not_updated: Vec<Left<Text>>,
    #[serde(default = "Vec::new", skip_serializing_if = "Vec::is_empty")]
    not_written: Vec<NotWritten<Text>>,
    #[serde(default = "Vec::new", skip_serializing_if = "Vec::is_empty")]
    not_looked_into: Vec<Text>,
    #[serde(default = "Vec::new", skip_serializing_if = "Vec::is_empty")]
    mentioned_in: Vec<Text>,
    /// How many entries of the lists above do not stand here.
    #[serde(default, skip_serializing_if = "is_zero")]
    left_out: u64,
    /// Files whose links changed. All of them are counted elsewhere.
    #[serde(default = "Vec::new", skip_serializing_if = "Vec::is_empty")]
    updated_in: Vec<Text>,
}

impl<Text: AsRef<str>> Lists<Text> {
    fn within(self, mut room: usize) -> Lists<Text> {
        let all = self.troubles();
        let mut kept = Lists {
            not_updated: taken(self.not_updated, &mut room, not_updated_words),
            not_written: taken(self.not_written, &mut room, not_written_words),
            not_looked_into: taken(self.not_looked_into, &mut room, path_words),
            mentioned_in: taken(self.mentioned_in, &mut room, path_words),
            left_out: self.left_out,
            updated_in: taken(self.updated_in.into_iter().take(MAX_UPDATED), &mut room, path_words),
        };
        kept.left_out += (all - kept.troubles()) as u64;
        kept
    }

    /// How many entries there are of what went wrong.
    fn troubles(&self) -> usize {
        self.not_updated.len() + self.not_written.len() + self.not_looked_into.len() + self.mentioned_in.len()
    }
}

/// The first entries of the lists, as many as a receipt may show.
struct First<'a> {
    not_updated: &'a [Left<String>],
    not_written: &'a [NotWritten<String>],
    not_looked_into: &'a [String],
    mentioned_in: &'a [String],
    left_out: u64,
    updated_in: &'a [String],
}

impl<'a> First<'a> {
    fn of(lists: &'a Lists<String>, most: usize) -> First<'a> {
        let mut left = most;
        let not_updated = first(&lists.not_updated, &mut left);
        let not_written = first(&lists.not_written, &mut left);
        let not_looked_into = first(&lists.not_looked_into, &mut left);
        let mentioned_in = first(&lists.mentioned_in, &mut left);
        let left_out = lists.left_out + lists.troubles().saturating_sub(most) as u64;
        let updated_in = first(&lists.updated_in, &mut left);
        First { not_updated, not_written, not_looked_into, mentioned_in, left_out, updated_in }
    }
}

fn first<'a, T>(list: &'a [T], left: &mut usize) -> &'a [T] {
    let kept = &list[..list.len().min(*left)];
    *left -= kept.len();
    kept
}

/// Bounds what a rename has to tell.
pub fn project(complete: Renamed<'_>, with: &mut Projection<'_>) -> Result<Projected, Fault> {
    let Renamed { from_path, to_path, etag, links_updated, files_updated, dry_run, .. } = complete;
    let lists = Lists {
        not_updated: complete.not_updated,
        not_written: complete.not_written,
        not_looked_into: complete.not_looked_into,
        mentioned_in: complete.mentioned_in,
        left_out: 0,
        updated_in: complete.updated_in,
    };
    let lists = lists.within(room(with.budget()));
    let truncated = lists.left_out > 0 || (lists.updated_in.len() as u64) < files_updated;
    let shown = Shown { from_path, to_path, etag, links_updated, files_updated, lists, truncated, dry_run };
    projected(Family::Links, &shown)
}

pub(super) fn render(summary: &str, shown: &Shown<String>, budget: usize) -> String {
    let mut receipt = Receipt::new(summary);
    if let Some(etag) = &shown.etag {
        receipt.add(&format!(" (etag {})", one_line(etag)));
    }
    if shown.dry_run {
        receipt.line(DRY_RUN);
    }
    let most = shown.lists.troubles() + shown.lists.updated_in.len();
    receipt.with_most(0..=most, budget, |most, receipt| {
        let lists = First::of(&shown.lists, most);
        lists.not_updated.iter().for_each(|left| receipt.line(&not_updated_words(left)));
        lists.not_written.iter().for_each(|file| receipt.line(&not_written_words(file)));
        below("Not looked into, may still have the old name:", lists.not_looked_into, receipt);
        below("Mentioned, not rewritten:", lists.mentioned_in, receipt);
        if lists.left_out > 0 {
            let left_out = lists.left_out;
            receipt.line(&format!("… {left_out} more of these; search for the old name to find them"));
        }
        let heading = if shown.dry_run { "Links would change in:" } else { "Links updated in:" };
        below(heading, lists.updated_in, receipt);
        let others = shown.files_updated.saturating_sub(lists.updated_in.len() as u64);
        if others > 0 && !lists.updated_in.is_empty() {
            receipt.line(&format!("… and {others} more"));
        }
    })
}

/// Paths below what there is to say of them all; those in one folder that follow each other name it once. They stand
/// at the start of their lines: what is said of them ends with a colon, which no path has.
fn below(heading: &str, paths: &[String], receipt: &mut Receipt) {
    if paths.is_empty() {
        return;
    }
    receipt.line(heading);
    let paths: Vec<(&str, &str)> =
        paths.iter().map(|path| path.rsplit_once('/').unwrap_or(("", path))).collect();
    for together in paths.chunk_by(|(a, _), (b, _)| a == b) {
        let folder = together.first().map_or("", |(folder, _)| folder);
        let heading = together.len() > 1 && !folder.is_empty();
        if heading {
            receipt.line(&format!("{}/:", one_line(folder)));
        }
        for (_, name) in together {
            match (heading, folder.is_empty()) {
                (true, _) => receipt.line_below(&one_line(name)),
                (false, true) => receipt.line(&one_line(name)),
                (false, false) => receipt.line(&one_line(&format!("{folder}/{name}"))),
            }
        }
    }
}

fn not_updated_words<Text: AsRef<str>>(left: &Left<Text>) -> String {
    let (path, target) = (one_line(left.path.as_ref()), one_line(left.target.as_ref()));
    format!("Not updated: {path}:{} links to {target} and leads nowhere now", left.line)
}

fn not_written_words<Text: AsRef<str>>(file: &NotWritten<Text>) -> String {
    format!("Not written: {}: {}", one_line(file.path.as_ref()), one_line(file.reason.as_ref()))
}

fn path_words<Text: AsRef<str>>(path: &Text) -> String {
    one_line(path.as_ref()).into_owned()
}
