//! Report of a rename: the new path, the updated links, and those that could not be updated.

use envelope::{Fault, ReceiptFamily};
use serde::{Deserialize, Serialize};

use crate::families::receipt_writer::{DRY_RUN, ReceiptWriter, is_zero, one_line, take_within};
use crate::families::{ProjectedResult, Projection, project_within};

/// Number of updated files that are listed. The journal lists them all.
const MAX_UPDATED: usize = 20;

/// Complete output of a rename.
#[derive(Default)]
pub struct RenameReport<'a> {
    pub from_path: &'a str,
    pub to_path: &'a str,
    pub etag: Option<&'a str>,
    /// `None` if the call was found to have happened after a crash.
    pub links_updated: Option<u64>,
    pub files_updated: u64,
    /// Files with updated links.
    pub updated_in: Vec<&'a str>,
    /// Links that are broken now.
    pub not_updated: Vec<BrokenLink<&'a str>>,
    /// Files that could not be written, and why.
    pub not_written: Vec<UnwrittenFile<&'a str>>,
    /// Files that mention the old name in text that is not rewritten.
    pub mentioned_in: Vec<&'a str>,
    /// Files that may contain links and could not be read.
    pub not_looked_into: Vec<&'a str>,
    pub dry_run: bool,
}

/// A link that is broken now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrokenLink<Text> {
    pub path: Text,
    /// Counted from 1.
    pub line: u64,
    /// Target of the link.
    pub target: Text,
}

/// A file that keeps its old links.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnwrittenFile<Text> {
    pub path: Text,
    pub reason: Text,
}

/// The report in the canonical result.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct BoundedRename<Text> {
    from_path: Text,
    to_path: Text,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    etag: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    links_updated: Option<u64>,
    files_updated: u64,
    #[serde(flatten)]
    lists: RenameLists<Text>,
    truncated: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    dry_run: bool,
}

/// The lists of files in a rename report. Problems come before successes.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct RenameLists<Text> {
    #[serde(default = "Vec::new", skip_serializing_if = "Vec::is_empty")]
    not_updated: Vec<BrokenLink<Text>>,
    #[serde(default = "Vec::new", skip_serializing_if = "Vec::is_empty")]
    not_written: Vec<UnwrittenFile<Text>>,
    #[serde(default = "Vec::new", skip_serializing_if = "Vec::is_empty")]
    not_looked_into: Vec<Text>,
    #[serde(default = "Vec::new", skip_serializing_if = "Vec::is_empty")]
    mentioned_in: Vec<Text>,
    /// Number of entries missing in the lists above.
    #[serde(default, skip_serializing_if = "is_zero")]
    left_out: u64,
    /// Files with updated links. Their total is a separate field.
    #[serde(default = "Vec::new", skip_serializing_if = "Vec::is_empty")]
    updated_in: Vec<Text>,
}

impl<Text: AsRef<str>> RenameLists<Text> {
    fn within(self, mut room: usize) -> RenameLists<Text> {
        let all = self.problem_count();
        let mut kept = RenameLists {
            not_updated: take_within(self.not_updated, &mut room, not_updated_words),
            not_written: take_within(self.not_written, &mut room, not_written_words),
            not_looked_into: take_within(self.not_looked_into, &mut room, path_words),
            mentioned_in: take_within(self.mentioned_in, &mut room, path_words),
            left_out: self.left_out,
            updated_in: take_within(self.updated_in.into_iter().take(MAX_UPDATED), &mut room, path_words),
        };
        kept.left_out += (all - kept.problem_count()) as u64;
        kept
    }

    /// Returns the number of entries that report problems.
    fn problem_count(&self) -> usize {
        self.not_updated.len() + self.not_written.len() + self.not_looked_into.len() + self.mentioned_in.len()
    }
}

/// The first entries of the lists, as many as a receipt shows.
struct FirstEntries<'a> {
    not_updated: &'a [BrokenLink<String>],
    not_written: &'a [UnwrittenFile<String>],
    not_looked_into: &'a [String],
    mentioned_in: &'a [String],
    left_out: u64,
    updated_in: &'a [String],
}

impl<'a> FirstEntries<'a> {
    fn of(lists: &'a RenameLists<String>, most: usize) -> FirstEntries<'a> {
        let mut left = most;
        let not_updated = first(&lists.not_updated, &mut left);
        let not_written = first(&lists.not_written, &mut left);
        let not_looked_into = first(&lists.not_looked_into, &mut left);
        let mentioned_in = first(&lists.mentioned_in, &mut left);
        let left_out = lists.left_out + lists.problem_count().saturating_sub(most) as u64;
        let updated_in = first(&lists.updated_in, &mut left);
        FirstEntries { not_updated, not_written, not_looked_into, mentioned_in, left_out, updated_in }
    }
}

fn first<'a, T>(list: &'a [T], left: &mut usize) -> &'a [T] {
    let kept = &list[..list.len().min(*left)];
    *left -= kept.len();
    kept
}

/// Bounds the report of a rename.
pub fn project(complete: RenameReport<'_>, with: &mut Projection<'_>) -> Result<ProjectedResult, Fault> {
    let RenameReport { from_path, to_path, etag, links_updated, files_updated, dry_run, .. } = complete;
    let lists = RenameLists {
        not_updated: complete.not_updated,
        not_written: complete.not_written,
        not_looked_into: complete.not_looked_into,
        mentioned_in: complete.mentioned_in,
        left_out: 0,
        updated_in: complete.updated_in,
    };
    project_within(ReceiptFamily::Links, with, |room| {
        let lists = lists.clone().within(room);
        let truncated = lists.left_out > 0 || (lists.updated_in.len() as u64) < files_updated;
        BoundedRename { from_path, to_path, etag, links_updated, files_updated, lists, truncated, dry_run }
    })
}

pub(super) fn render(summary: &str, shown: &BoundedRename<String>, budget: usize) -> String {
    let mut receipt = ReceiptWriter::new(summary);
    if let Some(etag) = &shown.etag {
        receipt.append(&format!(" (etag {})", one_line(etag)));
    }
    if shown.dry_run {
        receipt.line(DRY_RUN);
    }
    let most = shown.lists.problem_count() + shown.lists.updated_in.len();
    receipt.render_most(0..=most, budget, |most, receipt| {
        let lists = FirstEntries::of(&shown.lists, most);
        lists.not_updated.iter().for_each(|left| receipt.line(&not_updated_words(left)));
        lists.not_written.iter().for_each(|file| receipt.line(&not_written_words(file)));
        render_paths("Not looked into, may still have the old name:", lists.not_looked_into, receipt);
        render_paths("Mentioned, not rewritten:", lists.mentioned_in, receipt);
        if lists.left_out > 0 {
            let left_out = lists.left_out;
            receipt.line(&format!("… {left_out} more of these; search for the old name to find them"));
        }
        let heading = if shown.dry_run { "Links would change in:" } else { "Links updated in:" };
        render_paths(heading, lists.updated_in, receipt);
        let others = shown.files_updated.saturating_sub(lists.updated_in.len() as u64);
        if others > 0 && !lists.updated_in.is_empty() {
            receipt.line(&format!("… and {others} more"));
        }
    })
}

/// Renders paths below a heading; consecutive paths in one folder share one line for the folder. Paths are at the
/// start of their lines; headings end with a colon, which no path contains.
fn render_paths(heading: &str, paths: &[String], receipt: &mut ReceiptWriter) {
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
                (true, _) => receipt.indented_line(&one_line(name)),
                (false, true) => receipt.line(&one_line(name)),
                (false, false) => receipt.line(&one_line(&format!("{folder}/{name}"))),
            }
        }
    }
}

fn not_updated_words<Text: AsRef<str>>(left: &BrokenLink<Text>) -> String {
    let (path, target) = (one_line(left.path.as_ref()), one_line(left.target.as_ref()));
    format!("Not updated: {path}:{} links to {target} and leads nowhere now", left.line)
}

fn not_written_words<Text: AsRef<str>>(file: &UnwrittenFile<Text>) -> String {
    format!("Not written: {}: {}", one_line(file.path.as_ref()), one_line(file.reason.as_ref()))
}

fn path_words<Text: AsRef<str>>(path: &Text) -> String {
    one_line(path.as_ref()).into_owned()
}
