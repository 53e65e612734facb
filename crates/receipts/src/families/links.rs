//! Links between notes, and the effect of a rename on them.
//!
//! Neither is stored as an artifact: links can be requested again, and the changes of a rename are in the journal.

pub mod renamed;

use envelope::{Fault, ReceiptFamily};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::not_looked_into;
use super::receipt_writer::{ReceiptWriter, count_noun, is_zero, line_cost, one_line, take_fitting};
use super::{ProjectedResult, Projection, external, project_within};

/// Complete output of a link tool.
pub struct LinkLists<'a, O, B, U> {
    /// The note; `None` for the whole vault.
    pub path: Option<String>,
    /// Links from the note to others, in text order.
    pub outgoing: O,
    /// Links from others to the note, sorted by path.
    pub backlinks: B,
    /// Links without a target file.
    pub unresolved: U,
    /// Number of links of each kind that were skipped before these.
    pub offset: u64,
    /// True if there are more links.
    pub more: bool,
    /// Files and folders that could not be read and may hold links too.
    pub not_looked_into: Vec<&'a str>,
}

/// One link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkLine<Text> {
    /// File that contains the link.
    pub from_path: Text,
    /// Target file, if it exists.
    #[serde(default = "Option::default", skip_serializing_if = "Option::is_none")]
    pub to_path: Option<Text>,
    /// Target as written.
    pub target: Text,
    /// Heading or block in the target.
    #[serde(default = "Option::default", skip_serializing_if = "Option::is_none")]
    pub fragment: Option<Text>,
    /// Counted from 1.
    pub line: u64,
    /// Syntax of the link, such as `wikilink`.
    pub form: Text,
}

/// Syntax of most links, which is not mentioned.
const USUAL: &str = "wikilink";

/// The links in the canonical result.
#[derive(Debug, Serialize, Deserialize)]
struct BoundedLinks<Text> {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    outgoing: Vec<LinkLine<Text>>,
    backlinks: Vec<LinkLine<Text>>,
    unresolved: Vec<LinkLine<Text>>,
    /// Number of links of each kind that are not listed here.
    #[serde(default, skip_serializing_if = "is_zero")]
    outgoing_left_out: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    backlinks_left_out: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    unresolved_left_out: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    offset: u64,
    /// True if the call reached its limit and would have found more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    more: bool,
    /// Number of files and folders that could not be read.
    #[serde(default, skip_serializing_if = "is_zero")]
    unread: u64,
    #[serde(default = "Vec::new", skip_serializing_if = "Vec::is_empty")]
    not_looked_into: Vec<Text>,
    truncated: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LinkDirection {
    Outgoing,
    Backlinks,
    Unresolved,
}

/// Bounds the links of a note or of a vault. Each kind has a share of the budget; unused budget goes to the other
/// kinds.
pub fn project<'a, O, B, U>(
    complete: LinkLists<'a, O, B, U>,
    with: &mut Projection<'_>,
) -> Result<ProjectedResult, Fault>
where
    O: ExactSizeIterator<Item = LinkLine<&'a str>> + Clone,
    B: ExactSizeIterator<Item = LinkLine<&'a str>> + Clone,
    U: ExactSizeIterator<Item = LinkLine<&'a str>> + Clone,
{
    let LinkLists { path, outgoing, backlinks, unresolved, offset, more, not_looked_into } = complete;
    let counts = [outgoing.len(), backlinks.len(), unresolved.len()];
    let unread = not_looked_into.len() as u64;
    project_within(ReceiptFamily::Links, with, |mut room| {
        let skipped = not_looked_into::take_names(not_looked_into.clone(), &mut room);
        let mut shares = BudgetShares::new(room, counts);
        let outgoing = shares.take(LinkDirection::Outgoing, outgoing.clone());
        let backlinks = shares.take(LinkDirection::Backlinks, backlinks.clone());
        let unresolved = shares.take(LinkDirection::Unresolved, unresolved.clone());
        let left_out = |index: usize, kept: &[LinkLine<&str>]| (counts[index] - kept.len()) as u64;
        let lost = [left_out(0, &outgoing), left_out(1, &backlinks), left_out(2, &unresolved)];
        BoundedLinks {
            path: path.clone(),
            outgoing,
            backlinks,
            unresolved,
            outgoing_left_out: lost[0],
            backlinks_left_out: lost[1],
            unresolved_left_out: lost[2],
            offset,
            more,
            unread,
            truncated: more || lost.iter().any(|lost| *lost > 0) || (skipped.len() as u64) < unread,
            not_looked_into: skipped,
        }
    })
}

pub(super) fn render(summary: &str, result: &Value, budget: usize) -> String {
    if let Ok(renamed) = renamed::BoundedRename::<String>::deserialize(result) {
        return renamed::render(summary, &renamed, budget);
    }
    let Ok(found) = BoundedLinks::<String>::deserialize(result) else {
        return external::render(summary, result, budget);
    };
    let kinds = [
        (LinkDirection::Outgoing, &found.outgoing, found.outgoing_left_out),
        (LinkDirection::Backlinks, &found.backlinks, found.backlinks_left_out),
        (LinkDirection::Unresolved, &found.unresolved, found.unresolved_left_out),
    ];
    // The same number for each kind: a kind with fewer links leaves its room to the others.
    let most = kinds.iter().map(|(_, links, _)| links.len()).max().unwrap_or_default();
    let mut receipt = ReceiptWriter::new(summary);
    let unread = count_noun(found.unread, "file or folder", "files and folders");
    let heading = format!("Not looked into, {unread} that may hold links too");
    not_looked_into::render(&heading, found.unread, &found.not_looked_into, budget, &mut receipt);
    receipt.render_most(1..=most, budget, |most, receipt| {
        let mut cut = Vec::new();
        for (kind, links, left_out) in kinds {
            let shown: Vec<LinkLine<&str>> = links.iter().take(most).map(borrowed).collect();
            section(kind, found.path.as_deref(), &shown, receipt);
            let left_out = left_out + (links.len() - shown.len()) as u64;
            if left_out > 0 || found.more {
                cut.push((kind, shown.len() as u64, left_out));
            }
        }
        render_next(&found, &cut, receipt);
    })
}

/// Renders how many links were cut, and the call that returns them.
fn render_next(found: &BoundedLinks<String>, cut: &[(LinkDirection, u64, u64)], receipt: &mut ReceiptWriter) {
    for (kind, shown, left_out) in cut.iter().filter(|(_, _, left_out)| *left_out > 0) {
        let next = found.offset.saturating_add(*shown);
        let (words, name) = (kind.words(), kind.name());
        receipt
            .line(&format!("… {left_out} more {words}: call again with kinds [\"{name}\"], offset {next}"));
    }
    if found.more && cut.iter().all(|(_, _, left_out)| *left_out == 0) {
        let next = cut.iter().map(|(_, shown, _)| *shown).max().unwrap_or_default();
        let next = found.offset.saturating_add(next);
        receipt.line(&format!("… more: call again with offset {next}"));
    }
}

impl LinkDirection {
    /// Name in the arguments.
    fn name(self) -> &'static str {
        match self {
            LinkDirection::Outgoing => "outgoing",
            LinkDirection::Backlinks => "backlinks",
            LinkDirection::Unresolved => "unresolved",
        }
    }

    fn words(self) -> &'static str {
        match self {
            LinkDirection::Outgoing => "links out",
            LinkDirection::Backlinks => "links in",
            LinkDirection::Unresolved => "that lead nowhere",
        }
    }
}

/// Budget that is shared by three kinds of links.
struct BudgetShares {
    room: usize,
    /// Number of remaining kinds that have links.
    waiting: usize,
}

impl BudgetShares {
    fn new(room: usize, counts: [usize; 3]) -> BudgetShares {
        BudgetShares { room, waiting: counts.iter().filter(|count| **count > 0).count() }
    }

    fn take<'a>(
        &mut self,
        kind: LinkDirection,
        links: impl ExactSizeIterator<Item = LinkLine<&'a str>>,
    ) -> Vec<LinkLine<&'a str>> {
        if links.len() == 0 {
            return Vec::new();
        }
        let share = self.room / self.waiting.max(1);
        let (mut spent, mut last) = (0, None);
        let kept = take_fitting(links, share, |link| {
            let heading = match (kind, last.replace(link.from_path)) {
                (LinkDirection::Outgoing, _) => 0,
                (LinkDirection::Backlinks | LinkDirection::Unresolved, before)
                    if before == Some(link.from_path) =>
                {
                    0
                }
                (LinkDirection::Backlinks | LinkDirection::Unresolved, _) => {
                    line_cost(&one_line(link.from_path))
                }
            };
            let cost = heading + line_cost(&link_line(kind, link));
            spent += cost;
            cost
        });
        self.room = self.room.saturating_sub(spent.min(share));
        self.waiting = self.waiting.saturating_sub(1);
        kept
    }
}

/// Renders the links of one kind: those of the note by line, all others below the paths of their notes. Paths
/// contain no colon, so that only a link begins with a number and a colon.
fn section(kind: LinkDirection, own: Option<&str>, links: &[LinkLine<&str>], receipt: &mut ReceiptWriter) {
    if links.is_empty() {
        return;
    }
    if own.is_some() {
        receipt.line(match kind {
            LinkDirection::Outgoing => "out:",
            LinkDirection::Backlinks => "in:",
            LinkDirection::Unresolved => "nowhere:",
        });
    }
    for note in links.chunk_by(|a, b| a.from_path == b.from_path) {
        let from = note.iter().take(1).map(|link| link.from_path).find(|from| Some(*from) != own);
        if let Some(from) = from {
            receipt.line(&one_line(from));
        }
        note.iter().for_each(|link| receipt.line(&link_line(kind, link)));
    }
}

/// Formats a link as its line and its target. The syntax is added if it is not the usual one.
fn link_line(kind: LinkDirection, link: &LinkLine<&str>) -> String {
    let fragment = link.fragment.map(|fragment| format!("#{fragment}")).unwrap_or_default();
    let written = format!("{}{fragment}", link.target);
    let leads = match (kind, link.to_path) {
        // The target of a backlink is the note itself.
        (LinkDirection::Backlinks | LinkDirection::Unresolved, _) | (LinkDirection::Outgoing, None) => {
            written
        }
        (LinkDirection::Outgoing, Some(to)) => format!("{to}{fragment}"),
    };
    let form = if link.form == USUAL { String::new() } else { format!(" ({})", one_line(link.form)) };
    format!("{}: {}{form}", link.line, one_line(&leads))
}

fn borrowed(link: &LinkLine<String>) -> LinkLine<&str> {
    LinkLine {
        from_path: &link.from_path,
        to_path: link.to_path.as_deref(),
        target: &link.target,
        fragment: link.fragment.as_deref(),
        line: link.line,
        form: &link.form,
    }
}

#[cfg(test)]
mod tests;
